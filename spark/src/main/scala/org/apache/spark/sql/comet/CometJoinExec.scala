package org.apache.spark.sql.comet

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions.{Expression, SortOrder}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.execution.{BinaryExecNode, SparkPlan}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.CometConf
import org.apache.comet.export.ExportContext
import org.apache.comet.plan
import org.apache.comet.plan.Plan

/** What the native joins share. */
trait CometJoinExec extends CometOperatorExec with BinaryExecNode {
  def joinType: JoinType
  def condition: Option[Expression]

  override lazy val metrics: Map[String, SQLMetric] = joinMetrics

  protected def joinMetrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "peakMemory" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory")
  ) ++ NativeMetrics.ofSpills(sparkContext)

  protected def exportType: plan.JoinType = joinType match {
    case _: InnerLike => plan.JoinType.INNER
    case LeftOuter => plan.JoinType.LEFT_OUTER
    case RightOuter => plan.JoinType.RIGHT_OUTER
    case FullOuter => plan.JoinType.FULL_OUTER
    case LeftSemi => plan.JoinType.LEFT_SEMI
    case LeftAnti => plan.JoinType.LEFT_ANTI
    case _: ExistenceJoin => plan.JoinType.EXISTENCE
    case other => throw new IllegalArgumentException(s"join type $other")
  }

  protected def exportCondition(ctx: ExportContext): Option[plan.Expr] =
    condition.map(ctx.expr(_, left.output ++ right.output))
}

/** A join by equal keys through a hash table of one side. */
trait CometHashJoinLike extends CometJoinExec {
  def leftKeys: Seq[Expression]
  def rightKeys: Seq[Expression]
  def buildSide: BuildSide
  def isNullAwareAntiJoin: Boolean = false

  override lazy val metrics: Map[String, SQLMetric] = joinMetrics ++ Seq(
    "dynamic_filter_input_rows" -> "rows of scans tested by their keys",
    "dynamic_filter_rows_pruned" -> "rows of scans without a match dropped",
    "dynamic_filter_early_input_rows" -> "rows below other operators tested by their keys",
    "dynamic_filter_early_rows_pruned" -> "rows below other operators without a match dropped"
  ).map { case (name, text) => name -> SQLMetrics.createMetric(sparkContext, text) }

  override def exportNode(ctx: ExportContext): Plan.Builder = {
    val join = plan.HashJoin
      .newBuilder()
      .setType(exportType)
      .setBuildLeft(buildSide == BuildLeft)
      .setNullAwareAnti(isNullAwareAntiJoin)
      .setBroadcast(this.isInstanceOf[CometBroadcastReaderExec])
      .setRuntimeFilter(CometConf.JOIN_DYNAMIC_FILTER.get(conf))
      .setFilterPastErrors(CometConf.JOIN_DYNAMIC_FILTER_PUSHDOWN.get(conf))
    leftKeys.foreach(k => join.addLeftKeys(ctx.expr(k, left.output)))
    rightKeys.foreach(k => join.addRightKeys(ctx.expr(k, right.output)))
    exportCondition(ctx).foreach(c => join.setCondition(c))
    Plan.newBuilder().setHashJoin(join)
  }
}

/**
 * For Spark's shuffled hash join, and for a sort-merge join whose order nobody needs: then `original` is that join, and
 * the sorts below it are gone. The engine's join spills, so the build side need not fit in memory.
 */
case class CometHashJoinExec(
    @transient original: SparkPlan,
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    keepsOrder: Boolean,
    left: SparkPlan,
    right: SparkPlan
) extends CometHashJoinLike {
  override def outputOrdering: Seq[SortOrder] = if (keepsOrder) original.outputOrdering else Nil
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Nil, Nil)

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): CometHashJoinExec =
    copy(left = newLeft, right = newRight)
}

/** A native operator that reads one child as a broadcast: not a part of the chain, and whole in every task. */
trait CometBroadcastReaderExec extends CometNativeExec {
  def broadcastChild: SparkPlan
}

/** Over Spark's own broadcast, whose rows each task reads. */
case class CometBroadcastHashJoinExec(
    @transient original: SparkPlan,
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    override val isNullAwareAntiJoin: Boolean,
    left: SparkPlan,
    right: SparkPlan
) extends CometHashJoinLike
    with CometBroadcastReaderExec {
  override def broadcastChild: SparkPlan = if (buildSide == BuildLeft) left else right

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): CometBroadcastHashJoinExec =
    copy(left = newLeft, right = newRight)
}

case class CometBroadcastNestedLoopJoinExec(
    @transient original: SparkPlan,
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan
) extends CometJoinExec
    with CometBroadcastReaderExec {
  override def broadcastChild: SparkPlan = if (buildSide == BuildLeft) left else right

  override def exportNode(ctx: ExportContext): Plan.Builder = {
    val join = plan.NestedLoopJoin.newBuilder().setType(exportType).setBuildLeft(buildSide == BuildLeft)
    exportCondition(ctx).foreach(c => join.setCondition(c))
    Plan.newBuilder().setNestedLoopJoin(join)
  }

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): CometBroadcastNestedLoopJoinExec = copy(left = newLeft, right = newRight)
}

/** Each partition of the left side with each of the right side, which is read as often as the left one has partitions. */
case class CometCartesianProductExec(
    @transient original: SparkPlan,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan
) extends CometJoinExec
    with CometBranchingExec {
  override def joinType: JoinType = Inner

  override def branches(inputs: Seq[RDD[_]]): Array[Seq[(Int, Int)]] = {
    val Seq(nLeft, nRight) = inputs.map(_.getNumPartitions)
    Array.tabulate(nLeft * nRight)(i => Seq((0, i / nRight), (1, i % nRight)))
  }

  override def exportNode(ctx: ExportContext): Plan.Builder = {
    val join = plan.NestedLoopJoin.newBuilder().setType(exportType)
    exportCondition(ctx).foreach(c => join.setCondition(c))
    Plan.newBuilder().setNestedLoopJoin(join)
  }

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): CometCartesianProductExec =
    copy(left = newLeft, right = newRight)
}

case class CometSortMergeJoinExec(
    @transient original: SparkPlan,
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan
) extends CometJoinExec {
  override def exportNode(ctx: ExportContext): Plan.Builder = {
    val join = plan.MergeJoin.newBuilder().setType(exportType)
    leftKeys.foreach(k => join.addLeftKeys(ctx.expr(k, left.output)))
    rightKeys.foreach(k => join.addRightKeys(ctx.expr(k, right.output)))
    exportCondition(ctx).foreach(c => join.setCondition(c))
    Plan.newBuilder().setMergeJoin(join)
  }

  override protected def withNewChildrenInternal(newLeft: SparkPlan, newRight: SparkPlan): CometSortMergeJoinExec =
    copy(left = newLeft, right = newRight)
}
