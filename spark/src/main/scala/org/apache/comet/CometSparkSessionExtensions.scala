package org.apache.comet

import org.apache.spark.sql.SparkSessionExtensions

/**
 * What a user names in `spark.sql.extensions`, or what the driver plug-in puts there: the rules that hand
 * operators to the native engine.
 */
class CometSparkSessionExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = ()
}
