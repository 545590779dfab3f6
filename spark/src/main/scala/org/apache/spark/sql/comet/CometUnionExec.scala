package org.apache.spark.sql.comet

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

/**
 * The rows of all children. Where the children are partitioned alike, Spark promises their partitioning to the nodes
 * above, and partition i then holds the children's partitions i; otherwise the children's partitions follow each
 * other.
 */
case class CometUnionExec(@transient original: SparkPlan, children: Seq[SparkPlan])
    extends CometOperatorExec
    with CometBranchingExec {

  override def branches(inputs: Seq[RDD[_]]): Array[Seq[(Int, Int)]] = {
    val sizes = inputs.map(_.getNumPartitions)
    original.outputPartitioning match {
      case _: UnknownPartitioning =>
        sizes.zipWithIndex.flatMap { case (n, child) => (0 until n).map(i => Seq(child -> i)) }.toArray
      case known =>
        val present = sizes.indices.filter(sizes(_) > 0)
        Array.tabulate(known.numPartitions)(i => present.map(_ -> i))
    }
  }

  override lazy val metrics: Map[String, SQLMetric] = Map.empty

  override def exportNode(ctx: ExportContext): plan.Plan.Builder =
    plan.Plan.newBuilder().setUnion(plan.Union.newBuilder())

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): CometUnionExec =
    copy(children = newChildren)
}
