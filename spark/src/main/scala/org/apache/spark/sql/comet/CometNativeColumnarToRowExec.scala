package org.apache.spark.sql.comet

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{ColumnarToRowExec, ColumnarToRowTransition, SparkPlan}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * Rows of native batches: the engine writes UnsafeRows, and Spark reads them where they lie. Also over an exchange of
 * ours and its query stages, whose frames then need no batches in between.
 */
case class CometNativeColumnarToRowExec(child: SparkPlan) extends ColumnarToRowTransition with CometPlan {
  override def nodeName: String = "CometNativeColumnarToRow"

  override def original: SparkPlan = ColumnarToRowExec(child)

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows")
  )

  override protected def doExecute(): RDD[InternalRow] = {
    val numOutputRows = longMetric("numOutputRows")
    NativeStage.rowRDD(child).mapPartitionsInternal(new CountedRows(_, numOutputRows))
  }

  override protected[sql] def doExecuteBroadcast[T](): Broadcast[T] = child.executeBroadcast[T]()

  override protected def withNewChildInternal(newChild: SparkPlan): CometNativeColumnarToRowExec =
    copy(child = newChild)
}

private final class CountedRows(rows: Iterator[InternalRow], count: SQLMetric) extends Iterator[InternalRow] {
  override def hasNext: Boolean = rows.hasNext
  override def next(): InternalRow = {
    count += 1
    rows.next()
  }
}
