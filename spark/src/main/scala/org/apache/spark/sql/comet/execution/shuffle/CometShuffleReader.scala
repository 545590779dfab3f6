package org.apache.spark.sql.comet.execution.shuffle

import java.io.InputStream

import scala.collection

import org.apache.spark.{InterruptibleIterator, SparkEnv, TaskContext}
import org.apache.spark.internal.config
import org.apache.spark.shuffle.{ShuffleReadMetricsReporter, ShuffleReader}
import org.apache.spark.sql.comet.{CometTaskMemory, ShuffleFrame}
import org.apache.spark.storage.{BlockId, BlockManagerId, ShuffleBlockFetcherIterator}
import org.apache.spark.unsafe.Platform
import org.apache.spark.util.CompletionIterator

/** Fetches blocks as Spark does, and gives the frames in them one by one, in native memory. */
private[shuffle] final class CometShuffleReader(
    blocks: Iterator[(BlockManagerId, collection.Seq[(BlockId, Long, Int)])],
    context: TaskContext,
    metrics: ShuffleReadMetricsReporter,
    batchFetch: Boolean
) extends ShuffleReader[Int, ShuffleFrame] {

  override def read(): Iterator[Product2[Int, ShuffleFrame]] = {
    val env = SparkEnv.get
    val conf = env.conf
    val streams = new ShuffleBlockFetcherIterator(
      context,
      env.blockManager.blockStoreClient,
      env.blockManager,
      env.mapOutputTracker,
      blocks,
      // An error that this stream finds becomes a fetch failure, and the map output is made again.
      (_: BlockId, in: InputStream) => new CheckedFrameStream(in),
      conf.get(config.REDUCER_MAX_SIZE_IN_FLIGHT) * 1024 * 1024,
      conf.get(config.REDUCER_MAX_REQS_IN_FLIGHT),
      conf.get(config.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS),
      conf.get(config.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM),
      conf.get(config.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM),
      conf.get(config.SHUFFLE_DETECT_CORRUPT),
      conf.get(config.SHUFFLE_DETECT_CORRUPT_MEMORY),
      conf.get(config.SHUFFLE_CHECKSUM_ENABLED),
      conf.get(config.SHUFFLE_CHECKSUM_ALGORITHM),
      metrics,
      // Frames of neighbouring partitions concatenate, whatever codec is in them.
      batchFetch && !conf.get(config.SHUFFLE_USE_OLD_FETCH_PROTOCOL)
    ).toCompletionIterator

    val frames = new FrameIterator(streams.map(_._2), CometTaskMemory.of(context), context, metrics)
    val counted = CompletionIterator[Product2[Int, ShuffleFrame], Iterator[Product2[Int, ShuffleFrame]]](
      frames,
      context.taskMetrics().mergeShuffleReadMetrics()
    )
    new InterruptibleIterator(context, counted)
  }
}

/** The frames of a sequence of streams; one buffer holds each in turn. */
private[shuffle] final class FrameIterator(
    streams: Iterator[InputStream],
    memory: CometTaskMemory,
    context: TaskContext,
    metrics: ShuffleReadMetricsReporter
) extends Iterator[Product2[Int, ShuffleFrame]] {
  private val header = new Array[Byte](FrameHeader.Bytes)
  private val piece = new Array[Byte](64 * 1024)
  private val frame = new ShuffleFrame(0L, 0L)
  // One object for all frames: who reads them wants no keys.
  private val element: Product2[Int, ShuffleFrame] = (0, frame)
  private var buffer: memory.Buffer = _
  private var stream: InputStream = _
  private var ready, finished = false

  context.addTaskCompletionListener[Unit](_ => free())

  private def free(): Unit = {
    finished = true
    ready = false
    if (buffer != null) buffer.free()
    buffer = null
  }

  override def hasNext: Boolean = {
    while (!ready && !finished) {
      if (stream == null) {
        if (streams.hasNext) stream = streams.next()
        else free()
      } else if (readFrame()) {
        ready = true
      } else {
        stream.close()
        stream = null
      }
    }
    ready
  }

  override def next(): Product2[Int, ShuffleFrame] = {
    if (!hasNext) throw new NoSuchElementException("no more frames")
    ready = false
    element
  }

  /** False at the end of the stream. A stream that ends elsewhere than between frames fails by itself. */
  private def readFrame(): Boolean =
    fill(header, header.length) && {
      val body = FrameHeader.bodyBytes(header)
      val total = header.length.toLong + body
      if (buffer == null) buffer = new memory.Buffer(math.max(total, 256L * 1024))
      else buffer.reserve(total, 0L)
      Platform.copyMemory(header, Platform.BYTE_ARRAY_OFFSET, null, buffer.address, header.length.toLong)
      var at = buffer.address + header.length
      var left = body
      while (left > 0) {
        val n = math.min(left, piece.length)
        fill(piece, n)
        Platform.copyMemory(piece, Platform.BYTE_ARRAY_OFFSET, null, at, n.toLong)
        at += n
        left -= n
      }
      frame.address = buffer.address
      frame.nBytes = total
      metrics.incRecordsRead(FrameHeader.rows(header).toLong)
      true
    }

  private def fill(out: Array[Byte], n: Int): Boolean = {
    var at = 0
    while (at < n) {
      val got = stream.read(out, at, n - at)
      if (got < 0) return false
      at += got
    }
    true
  }
}
