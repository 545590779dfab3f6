package org.apache.comet.rules

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ColumnarRule, ColumnarToRowExec, RowToColumnarExec, SparkPlan}

import org.apache.comet.CometConf

/** Replaces nodes as a stage is made (or, without AQE, a plan), and puts our transitions where Spark put its own. */
final case class CometColumnarRule(session: SparkSession) extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = "org.apache.comet.rules.CometReplaceRule"

    override def apply(plan: SparkPlan): SparkPlan =
      if (!Gate.isOpen(session, conf) || Gate.isStreaming(plan)) plan
      else {
        Judge.native.judgeRest(plan, conf)
        val native = new Replacement(conf)(plan)
        PlanLog.planned(plan, native, conf)
        if (CometConf.EXPLAIN_PLAN_ONLY.get(conf)) plan else native
      }
  }

  override def postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = "org.apache.comet.rules.CometTransitionRule"

    override def apply(plan: SparkPlan): SparkPlan = Transitions(plan)
  }
}
