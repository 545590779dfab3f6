package org.apache.comet.rules

import org.apache.spark.sql.catalyst.trees.TreePattern.IN_SUBQUERY_EXEC
import org.apache.spark.sql.comet.{CometBroadcastExchangeExec, CometNativeColumnarToRowExec}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.CometConf

/**
 * Without AQE dynamic pruning brings a broadcast exchange of its own, over a plan that was prepared by itself, inside an
 * expression. It must become what the exchange of the join becomes, to be found equal and run once.
 */
object PruningBroadcasts {
  def apply(plan: SparkPlan, conf: SQLConf): SparkPlan =
    if (!CometConf.OP_BROADCAST_EXCHANGE.get(conf)) plan
    else
      plan.transformAllExpressionsWithPruning(_.containsPattern(IN_SUBQUERY_EXEC)) {
        case in @ InSubqueryExec(_, s @ SubqueryBroadcastExec(_, _, _, e: BroadcastExchangeExec), _, _, _, _) =>
          native(e, conf).fold(in)(n => in.withNewPlan(s.copy(child = n)))
      }

  private def native(e: BroadcastExchangeExec, conf: SQLConf): Option[SparkPlan] = {
    val input = withoutFrame(e.child)
    if (!Replacement.givesNativeBatches(input)) None
    else {
      val exchange = BroadcastExchangeExec(e.mode, input)
      Judge.native.judge(exchange, conf)
      if (!Verdict.of(exchange).exists(_.bound)) None
      else {
        val made = CometBroadcastExchangeExec(exchange, e.mode, input)
        made.copyTagsFrom(exchange)
        e.logicalLink.foreach(made.setLogicalLink)
        Some(made)
      }
    }
  }

  /** What hands out the rows of a native chain goes. */
  private def withoutFrame(p: SparkPlan): SparkPlan = p match {
    case w: WholeStageCodegenExec => withoutFrame(w.child)
    case i: InputAdapter => withoutFrame(i.child)
    case t: CometNativeColumnarToRowExec => t.child
    case other => other
  }
}
