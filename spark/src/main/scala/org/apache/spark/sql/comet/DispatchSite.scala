package org.apache.spark.sql.comet

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.unsafe.Platform

/** A view of a `hly_dispatch_call` (engine/include/halley/host.h). */
private[comet] final class DispatchCall(desc: Long) {
  private def field(offset: Int): Long = Platform.getLong(null, desc + offset)

  def exprs: Array[Int] = {
    val address = field(0)
    Array.tabulate(field(8).toInt)(i => Platform.getInt(null, address + 4L * i))
  }
  val rows: Long = field(16)
  val offsets: Long = field(24)
  val nRows: Int = field(32).toInt
  val partition: Int = field(40).toInt

  def offset(row: Int): Long = Platform.getLong(null, offsets + 8L * row)

  def done(n: Int, outRows: Long, outOffsets: Long): Unit = {
    Platform.putLong(null, desc + 48, n.toLong)
    Platform.putLong(null, desc + 56, outRows)
    Platform.putLong(null, desc + 64, outOffsets)
  }
}

/**
 * One place in a native operator where Spark's own code evaluates expressions over a batch: one projection for all of
 * them, generated or (where Spark falls back from generating) interpreted.
 *
 * @param exprs over the operator's input; the rows that arrive have only the columns these read, ascending
 */
private[comet] final class DispatchSite(exprs: Array[Expression], memory: CometTaskMemory) {
  private val ordinals: Array[Int] =
    exprs.flatMap(_.collect { case b: BoundReference => b.ordinal }).distinct.sorted

  private val projection: UnsafeProjection = {
    val position = ordinals.zipWithIndex.toMap
    UnsafeProjection.create(exprs.toSeq.map(_.transform { case b: BoundReference =>
      b.copy(ordinal = position(b.ordinal))
    }))
  }

  private val input = new UnsafeRow(ordinals.length)
  private val out = new RowBlock(memory)
  private var initialized = -1

  /** Evaluates rows until they end, the output is full or one raises; answers what it raised. */
  def run(call: DispatchCall): Option[Throwable] = {
    if (initialized != call.partition) {
      projection.initialize(call.partition)
      initialized = call.partition
    }
    out.clear()
    var raised: Option[Throwable] = None
    var row = 0
    var start = if (call.nRows > 0) call.offset(0) else 0L
    while (row < call.nRows && raised.isEmpty && out.nBytes < DispatchSite.MaxBytes) {
      val end = call.offset(row + 1)
      input.pointTo(null, call.rows + start, (end - start).toInt)
      try {
        out.add(projection(input))
        row += 1
        start = end
      } catch {
        // The row's own error is data: it may be one that Spark never reaches.
        case e: Throwable if DispatchSite.belongsToRow(e) => raised = Some(e)
      }
    }
    call.done(row, out.data, out.offsets)
    raised
  }

  def close(): Unit = out.free()
}

private[comet] object DispatchSite {

  /** Of the output of one call; the engine comes back with the rows that are left. */
  val MaxBytes: Long = 4L << 20

  private def belongsToRow(e: Throwable): Boolean = e match {
    case _: TaskKilledException => false
    case _: StackOverflowError => true
    case other => scala.util.control.NonFatal(other)
  }
}

/** UnsafeRows one after the other in native memory, with their offsets. */
private[comet] final class RowBlock(memory: CometTaskMemory) {
  private val rows = new memory.Buffer(64 << 10)
  private val starts = new memory.Buffer(8 << 10)
  var nRows = 0
  var nBytes = 0L
  clear()

  def data: Long = rows.address
  def offsets: Long = starts.address

  def clear(): Unit = {
    nRows = 0
    nBytes = 0L
    Platform.putLong(null, starts.address, 0L)
  }

  def add(row: UnsafeRow): Unit = {
    val size = row.getSizeInBytes
    rows.reserve(nBytes + size, nBytes)
    starts.reserve(8L * (nRows + 2), 8L * (nRows + 1))
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, null, rows.address + nBytes, size)
    nBytes += size
    nRows += 1
    Platform.putLong(null, starts.address + 8L * nRows, nBytes)
  }

  def free(): Unit = {
    rows.free()
    starts.free()
  }
}
