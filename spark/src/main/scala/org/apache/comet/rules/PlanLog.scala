package org.apache.comet.rules

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.util.sideBySide
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.{CometConf, PlanReport}

/** What planning says in the log, as far as the session wants it said. */
object PlanLog extends Logging {

  /** `native` is to take the place of `plan`, which is a stage or a whole plan. */
  def planned(plan: SparkPlan, native: SparkPlan, conf: SQLConf): Unit = {
    if (CometConf.EXPLAIN_RULES.get(conf) && !(native eq plan)) {
      logInfo(s"Native operators:\n${sideBySide(plan.treeString, native.treeString).mkString("\n")}")
    }
    if (CometConf.EXPLAIN_PLAN_ONLY.get(conf)) {
      logInfo(s"Spark runs this plan itself; with Halley it would be:\n${PlanReport.verbose(native, conf)}")
    }
    val each = CometConf.EXPLAIN_FALLBACK_LOG.get(conf)
    val together = CometConf.EXPLAIN_FALLBACK.get(conf)
    if (each || together) {
      val reasons = PlanReport.reasons(native, conf)
      if (each) reasons.foreach(r => logWarning(s"Left to Spark: $r"))
      if (together && reasons.nonEmpty) {
        logWarning(s"Not all of this stage is native, because:\n${reasons.map("  - " + _).mkString("\n")}")
      }
    }
  }
}
