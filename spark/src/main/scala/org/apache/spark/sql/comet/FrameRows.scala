package org.apache.spark.sql.comet

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.Platform

import org.apache.comet.{CometConf, MemoryHost, Native, NativeLibrary, TaskHost}
import org.apache.comet.export.TypeExport
import org.apache.comet.plan.{JvmInputBinding, Plan, ShuffleInput, Stage, TaskInput}

/** What one task gave for a broadcast: frames, how many rows are in them, and the bytes of these as UnsafeRows. */
private[comet] final case class CollectedFrames(rows: Long, bytes: Long, frames: Array[Array[Byte]])

private[comet] object CollectedFrames {
  // Arrays of bytes only, which every serializer of task results knows.
  def pack(rows: Long, bytes: Long, frames: Array[Array[Byte]]): Array[Array[Byte]] =
    ByteBuffer.allocate(16).putLong(rows).putLong(bytes).array() +: frames

  def of(packed: Array[Array[Byte]]): CollectedFrames = {
    val header = ByteBuffer.wrap(packed.head)
    CollectedFrames(header.getLong(0), header.getLong(8), packed.tail)
  }
}

/** A copy of a frame at a time in native memory. Not the task's: tasks wait for one that reads frames to build a table. */
private[comet] final class FrameBuffer(frames: Array[Array[Byte]]) {
  private var at = 0
  private var address, capacity = 0L

  /** Fills the `hly_input_block` at `desc` with the next frame; false at the end. */
  def next(desc: Long): Boolean =
    if (at == frames.length) {
      free()
      false
    } else {
      val frame = frames(at)
      at += 1
      if (frame.length > capacity) {
        free()
        address = Platform.allocateMemory(frame.length)
        capacity = frame.length
        CometTaskMemory.bufferBytes.addAndGet(capacity)
      }
      Platform.copyMemory(frame, Platform.BYTE_ARRAY_OFFSET, null, address, frame.length)
      HostInput.fill(desc, address, frame.length, 0L, 0L)
      true
    }

  def free(): Unit = if (address != 0) {
    Platform.freeMemory(address)
    CometTaskMemory.bufferBytes.addAndGet(-capacity)
    address = 0
    capacity = 0
  }
}

/** Rows of frames outside any task: on the driver, for what reads a native broadcast there. */
private[comet] object FrameRows {

  /** Each row is valid until the next is asked for, and none after the body. */
  def read[T](frames: Array[Array[Byte]], output: Seq[Attribute], conf: SQLConf)(body: Iterator[UnsafeRow] => T): T = {
    val leaf = Plan.newBuilder().setId(1).setShuffleInput(ShuffleInput.newBuilder())
    output.foreach(a => leaf.addOutput(TypeExport.attribute(a)))
    val stage = Stage
      .newBuilder()
      .setVersion(NativeLibrary.jarVersion())
      .setRoot(leaf)
      .setBatchSize(CometConf.BATCH_SIZE.get(conf))
    val task = TaskInput.newBuilder().addJvmInputs(JvmInputBinding.newBuilder().setPlanId(1).setHandle(0))
    val buffer = new FrameBuffer(frames)
    val pool = Native.openPool(Unlimited)
    try {
      val plan = Native.open(stage.build().toByteArray, task.build().toByteArray, new FrameHost(buffer), pool)
      try body(new PlanRows(output.length) { override protected def pull(): Long = Native.nextRows(plan) })
      finally Native.close(plan)
    } finally {
      Native.closePool(pool)
      buffer.free()
    }
  }

  private object Unlimited extends MemoryHost {
    override def acquire(bytes: Long): Long = bytes
    override def release(bytes: Long): Unit = ()
  }

  /** A host that has frames to read and nothing else, for a plan that asks for nothing else. */
  private final class FrameHost(buffer: FrameBuffer) extends TaskHost {
    private def never: Nothing = throw new UnsupportedOperationException("a plan that reads frames asks for frames only")

    override def cancelled(): Boolean = false
    override def inputNext(handle: Int, desc: Long): Boolean = buffer.next(desc)
    override def broadcast(handle: Int): Long = 0L
    override def dispatch(planId: Int, site: Int, desc: Long): Long = never
    override def raised(reference: Long): Throwable = never
    override def tempFile(): String = never
    override def fileOpen(uri: String): Long = never
    override def fileRead(file: Long, position: Long, address: Long, n: Int): Unit = never
    override def fileClose(file: Long): Unit = never
    override def inputFile(path: String, start: Long, length: Long): Unit = never
  }
}

/** The rows of `hly_export_rows` blocks, one after the other. */
private[comet] abstract class PlanRows(nColumns: Int) extends Iterator[UnsafeRow] {
  private val row = new UnsafeRow(nColumns)
  private var nRows, at = 0L
  private var data, offsets, start = 0L
  private var ended = false

  /** Address of the next block; 0 at the end. */
  protected def pull(): Long

  override def hasNext: Boolean = {
    while (at == nRows && !ended) {
      val address = pull()
      if (address == 0) ended = true
      else {
        nRows = Platform.getLong(null, address)
        data = Platform.getLong(null, address + 8)
        offsets = Platform.getLong(null, address + 16)
        at = 0
        start = Platform.getLong(null, offsets)
      }
    }
    at < nRows
  }

  override def next(): UnsafeRow = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    at += 1
    val end = Platform.getLong(null, offsets + 8 * at)
    row.pointTo(null, data + start, (end - start).toInt)
    start = end
    row
  }
}
