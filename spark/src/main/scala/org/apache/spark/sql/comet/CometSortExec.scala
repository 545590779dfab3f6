package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

/** Sorts each partition. `original` is Spark's sort, or the aggregate whose order this one restores. */
case class CometSortExec(@transient original: SparkPlan, sortOrder: Seq[SortOrder], child: SparkPlan)
    extends CometUnaryExec {

  override def output: Seq[Attribute] = child.output
  override def outputOrdering: Seq[SortOrder] = sortOrder

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "sortTime" -> SQLMetrics.createTimingMetric(sparkContext, "sort time"),
    "peakMemory" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory")
  ) ++ NativeMetrics.ofSpills(sparkContext)

  override def exportNode(ctx: ExportContext): plan.Plan.Builder = {
    val sort = plan.Sort.newBuilder()
    sortOrder.foreach(o => sort.addOrders(ctx.sortOrder(o, child.output)))
    plan.Plan.newBuilder().setSort(sort)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): CometSortExec = copy(child = newChild)
}
