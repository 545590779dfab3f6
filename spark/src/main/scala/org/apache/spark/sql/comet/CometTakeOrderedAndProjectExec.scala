package org.apache.spark.sql.comet

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, NamedExpression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CollectLimitExec, SparkPlan, TakeOrderedAndProjectExec, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

/** The first rows of each partition in an order, sorted: the native part of ORDER BY ... LIMIT. */
case class CometLocalTopKExec(@transient original: SparkPlan, sortOrder: Seq[SortOrder], limit: Int, child: SparkPlan)
    extends CometUnaryExec {

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = sortOrder

  // Not the original's own: the node above has that one.
  override protected def doCanonicalize(): SparkPlan =
    copy(sortOrder = Nil, child = original.canonicalized)

  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows")) ++
      NativeMetrics.ofSpills(sparkContext)

  override def exportNode(ctx: ExportContext): plan.Plan.Builder = {
    val topK = plan.TopK.newBuilder().setLimit(limit.toLong)
    sortOrder.foreach(o => topK.addOrders(ctx.sortOrder(o, child.output)))
    plan.Plan.newBuilder().setTopK(topK)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): CometLocalTopKExec = copy(child = newChild)
}

/**
 * A node that ends a query on the driver. It gives rows, so that its own way of collecting is what Spark calls: behind
 * a row transition a limit would run as a shuffle and read every partition to its end. What it does with the few rows
 * of its native child is what Spark does.
 */
trait CometDriverSideExec extends CometPlan with UnaryExecNode {

  /** Spark's operator over `child`. */
  protected def delegate: SparkPlan

  @transient private lazy val delegated: SparkPlan = delegate

  // Kept, as the original does not travel to where a task may ask for it.
  private val originalOutput: Seq[Attribute] = if (original == null) Nil else original.output

  override def output: Seq[Attribute] = originalOutput
  override def outputPartitioning: Partitioning = original.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = original.outputOrdering
  override lazy val metrics: Map[String, SQLMetric] = delegated.metrics

  override def executeCollect(): Array[InternalRow] = delegated.executeCollect()
  override def executeTake(n: Int): Array[InternalRow] = delegated.executeTake(n)
  override def executeTail(n: Int): Array[InternalRow] = delegated.executeTail(n)
  override protected def doExecute(): RDD[InternalRow] = delegated.execute()

  override protected def doCanonicalize(): SparkPlan = original.canonicalized
  override protected def stringArgs: Iterator[Any] =
    super.stringArgs.filterNot(_.asInstanceOf[AnyRef] eq original)
}

case class CometTakeOrderedAndProjectExec(
    @transient original: SparkPlan,
    limit: Int,
    offset: Int,
    sortOrder: Seq[SortOrder],
    projectList: Seq[NamedExpression],
    child: SparkPlan
) extends CometDriverSideExec {

  override protected def delegate: SparkPlan = TakeOrderedAndProjectExec(limit, sortOrder, projectList, child, offset)

  override protected def withNewChildInternal(newChild: SparkPlan): CometTakeOrderedAndProjectExec =
    copy(child = newChild)
}

case class CometCollectLimitExec(@transient original: SparkPlan, limit: Int, offset: Int, child: SparkPlan)
    extends CometDriverSideExec {

  override protected def delegate: SparkPlan = CollectLimitExec(limit, child, offset)

  override protected def withNewChildInternal(newChild: SparkPlan): CometCollectLimitExec = copy(child = newChild)
}
