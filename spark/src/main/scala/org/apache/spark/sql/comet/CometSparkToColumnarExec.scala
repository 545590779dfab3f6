package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{RowToColumnarExec, RowToColumnarTransition, SparkPlan}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.export.ExportContext
import org.apache.comet.plan.{JvmInput, Plan}

/**
 * Where rows or column batches of Spark's own operators enter a native chain. Vectors may be of any class: they are
 * read through Spark's interface.
 */
case class CometSparkToColumnarExec(child: SparkPlan) extends RowToColumnarTransition with CometNativeLeafExec {
  override def nodeName: String =
    if (child.supportsColumnar) "CometSparkColumnarToColumnar" else "CometSparkRowToColumnar"

  override def original: SparkPlan = RowToColumnarExec(child)

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numOutputBatches" -> SQLMetrics.createMetric(sparkContext, "number of output batches")
  )

  override def exportNode(ctx: ExportContext): Plan.Builder =
    Plan.newBuilder().setJvmInput(JvmInput.newBuilder())

  override def leafInput(): LeafInput = child match {
    case RowToColumnarExec(rows) => RowsInput(rows.execute())
    case columns if columns.supportsColumnar => ColumnsInput(columns.executeColumnar())
    case rows => RowsInput(rows.execute())
  }

  override def doExecuteBroadcast[T](): org.apache.spark.broadcast.Broadcast[T] = child.doExecuteBroadcast()

  override protected def withNewChildInternal(newChild: SparkPlan): CometSparkToColumnarExec =
    copy(child = newChild)
}
