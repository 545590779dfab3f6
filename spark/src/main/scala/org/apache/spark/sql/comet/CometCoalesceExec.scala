package org.apache.spark.sql.comet

import org.apache.spark.rdd.{CoalescedRDD, CoalescedRDDPartition, RDD}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

/** Fewer partitions without a shuffle: each takes several of the child's, grouped as `RDD.coalesce` groups them. */
case class CometCoalesceExec(@transient original: SparkPlan, numPartitions: Int, child: SparkPlan)
    extends CometUnaryExec
    with CometBranchingExec {

  override def branches(inputs: Seq[RDD[_]]): Array[Seq[(Int, Int)]] = {
    val input = inputs.head.asInstanceOf[RDD[Any]]
    if (numPartitions == 1 && input.getNumPartitions == 0) {
      // The promise of one partition holds for no input too.
      Array[Seq[(Int, Int)]](Nil)
    } else {
      new CoalescedRDD(input, numPartitions).partitions.map {
        case group: CoalescedRDDPartition => group.parentsIndices.toSeq.map(i => (0, i))
        case other => throw new IllegalStateException(s"not a group of partitions: $other")
      }
    }
  }

  override lazy val metrics: Map[String, SQLMetric] = Map.empty

  override def exportNode(ctx: ExportContext): plan.Plan.Builder =
    plan.Plan.newBuilder().setCoalesce(plan.Coalesce.newBuilder())

  override protected def withNewChildInternal(newChild: SparkPlan): CometCoalesceExec = copy(child = newChild)
}
