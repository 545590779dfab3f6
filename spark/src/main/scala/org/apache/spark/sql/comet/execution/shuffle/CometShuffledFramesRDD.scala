package org.apache.spark.sql.comet.execution.shuffle

import org.apache.spark._
import org.apache.spark.rdd.RDD
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.comet.ShuffleFrame
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLShuffleReadMetricsReporter}
import org.apache.spark.sql.internal.SQLConf

/**
 * The reduce side of a native exchange: each partition gives the frames of what its specification asks for, as Spark's
 * `ShuffledRowRDD` gives rows.
 */
private[comet] final class CometShuffledFramesRDD(
    private var dependency: CometShuffleDependency,
    metrics: Map[String, SQLMetric],
    specs: Array[ShufflePartitionSpec]
) extends RDD[ShuffleFrame](dependency.rdd.context, Nil) {

  dependency.rdd.context.setLocalProperty(
    SortShuffleManager.FETCH_SHUFFLE_BLOCKS_IN_BATCH_ENABLED_KEY,
    SQLConf.get.fetchShuffleBlocksInBatch.toString
  )

  override protected def getDependencies: Seq[Dependency[_]] = List(dependency)

  override protected def getPartitions: Array[Partition] =
    specs.zipWithIndex.map { case (spec, i) => FramesPartition(i, spec): Partition }

  override protected def getPreferredLocations(partition: Partition): Seq[String] = {
    val tracker = SparkEnv.get.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster]
    partition.asInstanceOf[FramesPartition].spec match {
      case CoalescedPartitionSpec(start, end, _) =>
        (start until end).flatMap(tracker.getPreferredLocationsForShuffle(dependency, _))
      case PartialReducerPartitionSpec(_, start, end, _) => tracker.getMapLocation(dependency, start, end)
      case PartialMapperPartitionSpec(map, _, _) => tracker.getMapLocation(dependency, map, map + 1)
      case CoalescedMapperPartitionSpec(start, end, _) => tracker.getMapLocation(dependency, start, end)
    }
  }

  override def compute(partition: Partition, context: TaskContext): Iterator[ShuffleFrame] = {
    val temporary = context.taskMetrics().createTempShuffleReadMetrics()
    val reporter = new SQLShuffleReadMetricsReporter(temporary, metrics)
    val (startMap, endMap, startReducer, endReducer) = partition.asInstanceOf[FramesPartition].spec match {
      case CoalescedPartitionSpec(start, end, _) => (0, Int.MaxValue, start, end)
      case PartialReducerPartitionSpec(reducer, start, end, _) => (start, end, reducer, reducer + 1)
      case PartialMapperPartitionSpec(map, start, end) => (map, map + 1, start, end)
      case CoalescedMapperPartitionSpec(start, end, reducers) => (start, end, 0, reducers)
    }
    SparkEnv.get.shuffleManager
      .getReader[Int, ShuffleFrame](
        dependency.shuffleHandle,
        startMap,
        endMap,
        startReducer,
        endReducer,
        context,
        reporter
      )
      .read()
      .map(_._2)
  }

  override def clearDependencies(): Unit = {
    super.clearDependencies()
    dependency = null
  }
}

private final case class FramesPartition(index: Int, spec: ShufflePartitionSpec) extends Partition
