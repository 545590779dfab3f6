package org.apache.comet.rules

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan

/**
 * Judges each plan that AQE prepares, and changes nothing: until a stage is made, Spark's adaptive rules are to see
 * Spark's own nodes, by whose classes they go.
 */
final case class CometTagRule(session: SparkSession) extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = {
    if (Gate.isOpen(session, conf) && !Gate.isStreaming(plan)) Judge.native.judge(plan, conf)
    plan
  }
}
