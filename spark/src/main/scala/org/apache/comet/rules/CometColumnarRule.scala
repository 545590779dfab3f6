package org.apache.comet.rules

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.CometConf

/** Replaces nodes as a stage is made (or, without AQE, a plan), and puts our transitions where Spark put its own. */
final case class CometColumnarRule(session: SparkSession) extends ColumnarRule {

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = "org.apache.comet.rules.CometReplaceRule"

    override def apply(plan: SparkPlan): SparkPlan =
      if (!Gate.isOpen(session, conf) || Gate.isStreaming(plan)) plan
      else {
        val ready = PruningBroadcasts(plan, conf)
        Judge.native.judgeRest(ready, conf)
        val native = unlessTorn(ready, new Replacement(conf)(ready))
        PlanLog.planned(ready, native, conf)
        if (CometConf.EXPLAIN_PLAN_ONLY.get(conf)) JoinChoice.withoutSparkHashJoins(plan)
        else if (native eq ready) plan
        else native
      }
  }

  /** Spark's plan where so much of it would still be Spark's that rows and columns were turned into each other all the time. */
  private def unlessTorn(plan: SparkPlan, native: SparkPlan): SparkPlan = {
    val conf = SQLConf.get
    if (!CometConf.TRANSITION_REVERT.get(conf)) native
    else {
      val turns = Replacement.turnsIntoRows(native)
      if (turns <= CometConf.TRANSITION_REVERT_MAX.get(conf)) native
      else {
        val reason = s"columns would become rows at $turns places (${CometConf.TRANSITION_REVERT_MAX.key})"
        Judge.nodes(plan).filter(Verdict.of(_).exists(_.bound)).foreach(Verdict.note(_, reason))
        JoinChoice.withoutSparkHashJoins(plan)
      }
    }
  }

  override def postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = "org.apache.comet.rules.CometTransitionRule"

    override def apply(plan: SparkPlan): SparkPlan = Transitions(plan)
  }
}
