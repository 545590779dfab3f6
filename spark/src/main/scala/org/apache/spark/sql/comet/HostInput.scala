package org.apache.spark.sql.comet

import org.apache.spark.TaskKilledException
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.comet.BroadcastFrames
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.Platform

/** What feeds one leaf of a native plan from the JVM's side. */
private[comet] sealed trait HostInput {

  /** Fills the `hly_input_block` at `desc`; false at the end. */
  def next(desc: Long): Boolean

  /** The native handle of the broadcast value that is read; 0: it is none of ours. */
  def broadcast: Long = 0L

  def close(): Unit
}

private[comet] object HostInput {
  def fill(desc: Long, data: Long, nBytes: Long, offsets: Long, nRows: Long): Unit = {
    Platform.putLong(null, desc, data)
    Platform.putLong(null, desc + 8, nBytes)
    Platform.putLong(null, desc + 16, offsets)
    Platform.putLong(null, desc + 24, nRows)
  }

  /** Of one block of rows; one row may be larger. */
  val MaxBytes: Long = 1L << 20
}

/** An input that is made when the plan first pulls it: until then nothing below it runs. */
private[comet] final class LazyHostInput(make: () => HostInput) extends HostInput {
  private var made: HostInput = _

  override def next(desc: Long): Boolean = {
    if (made == null) made = make()
    made.next(desc)
  }

  override def close(): Unit = if (made != null) made.close()
}

/** A native broadcast. Its frames are pulled only by a plan that builds a table of them. */
private[comet] final class BroadcastHostInput(source: Broadcast[BroadcastFrames]) extends HostInput {
  // Kept until the plan is closed, which is how long the handle is needed.
  private lazy val value = source.value
  private var buffer: FrameBuffer = _

  override def broadcast: Long = value.handle

  override def next(desc: Long): Boolean = {
    if (buffer == null) buffer = new FrameBuffer(value.frames)
    buffer.next(desc)
  }

  override def close(): Unit = if (buffer != null) buffer.free()
}

/** Rows of Spark's operators, copied into blocks bounded in rows and in bytes. */
private[comet] final class RowHostInput(
    rows: Iterator[InternalRow],
    types: Array[DataType],
    maxRows: Int,
    memory: CometTaskMemory
) extends HostInput {
  private lazy val projection = UnsafeProjection.create(types)
  private lazy val block = {
    opened = true
    new RowBlock(memory)
  }
  private var opened = false
  private var raised: Throwable = _

  override def next(desc: Long): Boolean = {
    if (raised != null) throw raised
    block.clear()
    try {
      while (block.nRows < maxRows && block.nBytes < HostInput.MaxBytes && rows.hasNext) {
        rows.next() match {
          case row: UnsafeRow => block.add(row)
          case row => block.add(projection(row))
        }
      }
    } catch {
      case e: TaskKilledException => throw e
      // Spark might stop at a limit before it reaches the row that raised this: first the rows before it.
      case scala.util.control.NonFatal(e) if block.nRows > 0 => raised = e
    }
    HostInput.fill(desc, block.data, block.nBytes, block.offsets, block.nRows)
    block.nRows > 0
  }

  override def close(): Unit = if (opened) block.free()
}

object RowHostInput {

  /** Rows of batches whose vectors are anybody's: on-heap, off-heap, constant, Arrow. */
  def ofBatches(batches: Iterator[ColumnarBatch]): Iterator[InternalRow] =
    batches.flatMap { batch =>
      val rows = batch.rowIterator()
      new Iterator[InternalRow] {
        override def hasNext: Boolean = rows.hasNext
        override def next(): InternalRow = rows.next()
      }
    }
}

/** Frames of shuffle blocks, handed on where they lie. */
private[comet] final class FrameHostInput(frames: Iterator[ShuffleFrame]) extends HostInput {
  override def next(desc: Long): Boolean =
    frames.hasNext && {
      val frame = frames.next()
      HostInput.fill(desc, frame.address, frame.nBytes, 0L, 0L)
      true
    }

  // The iterator frees what it read when the task ends.
  override def close(): Unit = ()
}
