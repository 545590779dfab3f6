package org.apache.spark.sql.comet.execution.shuffle

import java.io.File

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.MapStatus
import org.apache.spark.shuffle.{IndexShuffleBlockResolver, ShuffleWriteMetricsReporter, ShuffleWriter}
import org.apache.spark.sql.comet.NativeWriteIterator
import org.apache.spark.sql.vectorized.ColumnarBatch

import org.apache.comet.plan.Metric

/** Runs the native plan of a map task, which leaves the data file, and hands that to Spark as a map output. */
private[shuffle] final class CometShuffleWriter(
    dependency: CometShuffleDependency,
    mapId: Long,
    context: TaskContext,
    reporter: ShuffleWriteMetricsReporter,
    resolver: IndexShuffleBlockResolver
) extends ShuffleWriter[Int, ColumnarBatch]
    with Logging {

  private var lengths: Array[Long] = _
  private var status: Option[MapStatus] = None

  override def write(records: Iterator[Product2[Int, ColumnarBatch]]): Unit = {
    val plan = records.asInstanceOf[NativeWriteIterator]
    val shuffleId = dependency.shuffleId
    val n = dependency.partitioner.numPartitions
    val file = resolver.createTempFile(resolver.getDataFile(shuffleId, mapId))
    try {
      val results = plan.write(file.getPath)
      require(results.length == n || results.length == 2 * n, s"${results.length} results of $n partitions")
      lengths = results.take(n)
      count(plan.sinkSlots())
      plan.close()
      // Where another attempt of this task was first, its lengths are put in the place of ours.
      resolver.writeMetadataFileAndCommit(shuffleId, mapId, lengths, results.drop(n), file)
      status = Some(MapStatus(SparkEnv.get.blockManager.shuffleServerId, lengths, mapId))
    } finally remove(file)
  }

  private def count(slots: Array[Long]): Unit = {
    def of(m: Metric): Long = slots(m.getNumber)
    reporter.incBytesWritten(of(Metric.SHUFFLE_BYTES))
    reporter.incRecordsWritten(of(Metric.SHUFFLE_RECORDS))
    reporter.incWriteTime(of(Metric.SHUFFLE_WRITE_NS))
    dependency.dataSize.add(of(Metric.DATA_SIZE))
    dependency.spillSize.add(of(Metric.SPILL_BYTES))
    dependency.spillCount.add(of(Metric.SPILL_COUNT))
    val task = context.taskMetrics()
    task.incMemoryBytesSpilled(of(Metric.SPILL_MEMORY_BYTES))
    task.incDiskBytesSpilled(of(Metric.SPILL_BYTES))
    task.incPeakExecutionMemory(of(Metric.PEAK_MEMORY))
  }

  /** A committed file was renamed and is no more under this name. */
  private def remove(file: File): Unit =
    if (file.exists() && !file.delete()) logWarning(s"the shuffle file $file could not be removed")

  override def stop(success: Boolean): Option[MapStatus] = if (success) status else None

  override def getPartitionLengths(): Array[Long] = lengths
}
