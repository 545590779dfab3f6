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
        val ready = Replacement.prepared(plan, conf)
        val native = unlessTorn(ready, new Replacement(conf)(ready))
        PlanLog.planned(ready, native, conf)
        if (CometConf.EXPLAIN_PLAN_ONLY.get(conf)) JoinChoice.withoutSparkHashJoins(plan)
        else if (native eq ready) plan
        else native
      }
  }

  /** Spark's plan where turning rows and columns into each other would happen too often or cost too much. */
  private def unlessTorn(plan: SparkPlan, native: SparkPlan): SparkPlan =
    tornBecause(native, SQLConf.get) match {
      case Some(reason) =>
        Judge.nodes(plan).filter(Verdict.of(_).exists(_.bound)).foreach(Verdict.note(_, reason))
        JoinChoice.withoutSparkHashJoins(plan)
      case None => native
    }

  private def tornBecause(native: SparkPlan, conf: SQLConf): Option[String] = {
    lazy val turns = Replacement.turnsIntoRows(native)
    lazy val cost = TransitionCost.of(native)
    val ratio = CometConf.TRANSITION_REVERT_COST.get(conf)
    if (CometConf.TRANSITION_REVERT.get(conf) && turns > CometConf.TRANSITION_REVERT_MAX.get(conf)) {
      Some(s"columns would become rows at $turns places (${CometConf.TRANSITION_REVERT_MAX.key})")
    } else if (ratio > 0 && cost.spent > ratio * cost.saved) {
      val millis = (nanos: Double) => f"${nanos / 1e6}%.1f ms"
      Some(
        s"turning rows and columns into each other would take ${millis(cost.spent)} and native operators would save " +
          s"${millis(cost.saved)} (${CometConf.TRANSITION_REVERT_COST.key})"
      )
    } else None
  }

  override def postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = "org.apache.comet.rules.CometTransitionRule"

    override def apply(plan: SparkPlan): SparkPlan = Transitions(plan)
  }
}
