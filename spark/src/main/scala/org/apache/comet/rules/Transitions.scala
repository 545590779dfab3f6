package org.apache.comet.rules

import org.apache.spark.sql.comet.{CometBroadcastExchangeExec, CometBroadcastReaderExec, CometNativeColumnarToRowExec, CometPlan, CometSparkToColumnarExec}
import org.apache.spark.sql.execution.{ApplyColumnarRulesAndInsertTransitions, ColumnarToRowExec, RowToColumnarExec, SparkPlan}

/** Our transitions between rows and native batches in the places where Spark put its own. */
object Transitions {
  import Replacement.givesNativeBatches

  def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    // There and back again: native batches are what is wanted.
    case RowToColumnarExec(c: CometNativeColumnarToRowExec) => c.child

    case ColumnarToRowExec(child) if givesNativeBatches(child) => over(CometNativeColumnarToRowExec(child), child)

    // It takes batches and gives neither rows nor columns.
    case e @ CometBroadcastExchangeExec(_, _, c: CometNativeColumnarToRowExec) => e.withNewChildren(Seq(c.child))

    // A broadcast is read as it is.
    case p: CometBroadcastReaderExec =>
      p.withNewChildren(p.children.map(c => if (c eq p.broadcastChild) asBroadcast(c) else input(c)))

    case p: CometPlan if p.supportsColumnar && !p.isInstanceOf[CometSparkToColumnarExec] =>
      p.withNewChildren(p.children.map(input))
  }

  /** The plan as rows, with Spark's transitions in all of it, as Spark puts them in after its columnar rules. */
  def bySpark(plan: SparkPlan): SparkPlan = ApplyColumnarRulesAndInsertTransitions(Nil, outputsColumnar = false)(plan)

  /** What a native operator reads. */
  private def input(p: SparkPlan): SparkPlan = p match {
    case _ if givesNativeBatches(p) => p
    case RowToColumnarExec(rows) => over(CometSparkToColumnarExec(rows), rows)
    // Spark puts nothing between two columnar nodes, though their columns may be of different make.
    case columns if columns.supportsColumnar => over(CometSparkToColumnarExec(columns), columns)
    case rows => rows
  }

  private def asBroadcast(p: SparkPlan): SparkPlan = p match {
    case RowToColumnarExec(rows) => rows
    case other => other
  }

  private def over(transition: SparkPlan, child: SparkPlan): SparkPlan = {
    child.logicalLink.foreach(transition.setLogicalLink)
    transition
  }
}
