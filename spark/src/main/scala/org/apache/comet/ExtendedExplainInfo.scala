package org.apache.comet

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.execution.SparkPlan

/** The section that EXPLAIN appends to a plan: what runs natively, and why the rest does not. */
class ExtendedExplainInfo extends ExtendedExplainGenerator {
  override def title: String = "Comet"

  override def generateExtendedInfo(plan: SparkPlan): String = {
    val conf = plan.conf
    if (!CometConf.isExecEnabled(conf)) ""
    else
      CometConf.EXPLAIN_FORMAT.get(conf) match {
        case "fallback" => PlanReport.reasons(plan, conf).mkString("\n")
        case _ => PlanReport.verbose(plan, conf)
      }
  }
}
