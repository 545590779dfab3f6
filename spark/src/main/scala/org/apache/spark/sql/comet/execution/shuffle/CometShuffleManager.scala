package org.apache.spark.sql.comet.execution.shuffle

import org.apache.spark.{ShuffleDependency, SparkConf, SparkEnv, TaskContext}
import org.apache.spark.shuffle._
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.util.collection.OpenHashSet

/**
 * What a user names in `spark.shuffle.manager`. A shuffle of native frames is written and read here; every other one
 * is Spark's own, and so is where blocks lie, how they are served and when they are removed.
 */
class CometShuffleManager(conf: SparkConf) extends SortShuffleManager(conf) {

  override def registerShuffle[K, V, C](
      shuffleId: Int,
      dependency: ShuffleDependency[K, V, C]
  ): ShuffleHandle = dependency match {
    case d: CometShuffleDependency =>
      new CometShuffleHandle(shuffleId, d).asInstanceOf[ShuffleHandle]
    case _ => super.registerShuffle(shuffleId, dependency)
  }

  override def getWriter[K, V](
      handle: ShuffleHandle,
      mapId: Long,
      context: TaskContext,
      metrics: ShuffleWriteMetricsReporter
  ): ShuffleWriter[K, V] = handle match {
    case h: CometShuffleHandle =>
      // What the shuffle is unregistered by; the map is the resolver's and Spark's manager's alike.
      val maps = shuffleBlockResolver.taskIdMapsForShuffle
        .computeIfAbsent(h.shuffleId, _ => new OpenHashSet[Long](16))
      maps.synchronized(maps.add(mapId))
      new CometShuffleWriter(h.native, mapId, context, metrics, shuffleBlockResolver)
        .asInstanceOf[ShuffleWriter[K, V]]
    case _ => super.getWriter(handle, mapId, context, metrics)
  }

  override def getReader[K, C](
      handle: ShuffleHandle,
      startMapIndex: Int,
      endMapIndex: Int,
      startPartition: Int,
      endPartition: Int,
      context: TaskContext,
      metrics: ShuffleReadMetricsReporter
  ): ShuffleReader[K, C] = handle match {
    case h: CometShuffleHandle =>
      val blocks = SparkEnv.get.mapOutputTracker.getMapSizesByExecutorId(
        h.shuffleId,
        startMapIndex,
        endMapIndex,
        startPartition,
        endPartition
      )
      val batches = SortShuffleManager.canUseBatchFetch(startPartition, endPartition, context)
      new CometShuffleReader(blocks, context, metrics, batches).asInstanceOf[ShuffleReader[K, C]]
    case _ =>
      super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics)
  }
}

/** A shuffle of native frames. */
private[spark] final class CometShuffleHandle(shuffleId: Int, val native: CometShuffleDependency)
    extends BaseShuffleHandle(shuffleId, native)
