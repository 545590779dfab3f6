package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, NamedExpression, SortOrder}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.export.{AggExport, ExportContext}
import org.apache.comet.plan

/**
 * Aggregation by hash, for Spark's hash and sort aggregates. It neither needs nor keeps an order, so the rule that
 * puts it in the place of a sort aggregate sorts its output where that matters.
 */
case class CometHashAggregateExec(
    @transient original: SparkPlan,
    groupingExpressions: Seq[NamedExpression],
    aggregateExpressions: Seq[AggregateExpression],
    aggregateAttributes: Seq[Attribute],
    resultExpressions: Seq[NamedExpression],
    child: SparkPlan
) extends CometUnaryExec {

  override def output: Seq[Attribute] = resultExpressions.map(_.toAttribute)
  override def producedAttributes: AttributeSet = original.producedAttributes
  override def outputOrdering: Seq[SortOrder] = Nil
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Nil)

  // Groups alone carry no mode. Spark has the last of two such aggregates, and no other, require that equal keys meet.
  private def distinctAbove: Boolean = original match {
    case spark: BaseAggregateExec =>
      aggregateExpressions.isEmpty && spark.requiredChildDistributionExpressions.isEmpty
    case _ => false
  }

  // The two that Spark's hash aggregate has beside these count what its own hash table does.
  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "peakMemory" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory"),
    "aggTime" -> SQLMetrics.createTimingMetric(sparkContext, "time in aggregation build"),
    "skipped_partial_rows" -> SQLMetrics.createMetric(sparkContext, "rows bypassing partial aggregation")
  ) ++ NativeMetrics.ofSpills(sparkContext)

  override def exportNode(ctx: ExportContext): plan.Plan.Builder =
    plan.Plan
      .newBuilder()
      .setHashAggregate(
        AggExport
          .aggregate(
            groupingExpressions,
            aggregateExpressions,
            aggregateAttributes,
            resultExpressions,
            child.output,
            ctx
          )
          .toBuilder
          .setDistinctAbove(distinctAbove)
      )

  override protected def withNewChildInternal(newChild: SparkPlan): CometHashAggregateExec = copy(child = newChild)
}
