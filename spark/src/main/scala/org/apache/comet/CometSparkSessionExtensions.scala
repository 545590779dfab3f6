package org.apache.comet

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.classic.SparkSession

import org.apache.comet.rules.{CometColumnarRule, CometTagRule, JoinChoice}

/**
 * What a user names in `spark.sql.extensions`, or what the driver plug-in puts there: the rules that hand
 * operators to the native engine.
 */
class CometSparkSessionExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPlannerStrategy(session => JoinChoice(session.asInstanceOf[SparkSession]))
    extensions.injectQueryStagePrepRule(session => CometTagRule(session.asInstanceOf[SparkSession]))
    extensions.injectColumnar(session => CometColumnarRule(session.asInstanceOf[SparkSession]))
  }
}
