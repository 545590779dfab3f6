package org.apache.spark.sql.comet

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

/** The first rows of each partition. */
case class CometLocalLimitExec(@transient original: SparkPlan, limit: Int, child: SparkPlan) extends CometUnaryExec {
  override lazy val metrics: Map[String, SQLMetric] = Map.empty

  override def exportNode(ctx: ExportContext): plan.Plan.Builder = CometLimit.message(limit, 0)

  override protected def withNewChildInternal(newChild: SparkPlan): CometLocalLimitExec = copy(child = newChild)
}

/** Rows `offset` until `limit` of the one partition; a limit of -1 is none. */
case class CometGlobalLimitExec(@transient original: SparkPlan, limit: Int, offset: Int, child: SparkPlan)
    extends CometUnaryExec {
  override lazy val metrics: Map[String, SQLMetric] = Map.empty

  override def exportNode(ctx: ExportContext): plan.Plan.Builder = CometLimit.message(limit, offset)

  override protected def withNewChildInternal(newChild: SparkPlan): CometGlobalLimitExec = copy(child = newChild)
}

private object CometLimit {

  /** Spark's limit counts the rows that the offset drops; the engine's counts those that are left. */
  def message(limit: Int, offset: Int): plan.Plan.Builder = {
    val rows = if (limit < 0) -1L else math.max(limit.toLong - offset, 0L)
    plan.Plan.newBuilder().setLimit(plan.Limit.newBuilder().setLimit(rows).setOffset(offset.toLong))
  }
}
