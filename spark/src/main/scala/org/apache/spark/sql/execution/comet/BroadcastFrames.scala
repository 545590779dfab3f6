package org.apache.spark.sql.execution.comet

import java.io.{DataInput, DataInputStream, DataOutput, DataOutputStream, Externalizable, ObjectInput, ObjectOutput}
import java.lang.ref.Cleaner

import scala.concurrent.ExecutionContextExecutorService

import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}

import org.apache.spark.SparkException
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{HashedRelation, HashedRelationWithAllNullKeys}
import org.apache.spark.util.KnownSizeEstimation

import org.apache.comet.Native

/**
 * The value of a native broadcast: the rows as frames of the engine, and on each executor the handle of the tables that
 * the engine makes of them. One object an executor, as Spark keeps broadcast values; the tables go when it does.
 *
 * @param hasOnlyNullKeys for a null-aware anti join: a row has a null key, so that nothing passes
 */
final class BroadcastFrames(
    private var data: Array[Array[Byte]],
    private var nRows: Long,
    private var nBytes: Long,
    private var hasOnlyNullKeys: Boolean
) extends Externalizable
    with KryoSerializable
    with KnownSizeEstimation {
  import BroadcastFrames._

  def this() = this(Array.empty, 0L, 0L, false) // for whoever reads it from bytes

  def frames: Array[Array[Byte]] = data
  def rows: Long = nRows

  /** The native handle, closed once nobody refers to this object any more. */
  @transient lazy val handle: Long = {
    val opened = Native.openBroadcast()
    cleaner.register(this, new Close(opened))
    opened
  }

  /** What Spark's block manager counts it with: the frames, and a table with its rows as the engine lays them out. */
  override def estimatedSize: Long = data.iterator.map(_.length + 16L).sum + nBytes + nRows * BytesAroundRow

  // AQE asks so whether to replace the join above by an empty relation.
  override def equals(other: Any): Boolean = other match {
    case HashedRelationWithAllNullKeys => hasOnlyNullKeys
    case o: AnyRef => this eq o
    case _ => false
  }
  override def hashCode(): Int = System.identityHashCode(this)

  override def writeExternal(out: ObjectOutput): Unit = save(out)
  override def readExternal(in: ObjectInput): Unit = load(in)
  override def write(kryo: Kryo, out: Output): Unit = save(new DataOutputStream(out)) // which keeps nothing back
  override def read(kryo: Kryo, in: Input): Unit = load(new DataInputStream(in))

  private def save(out: DataOutput): Unit = {
    out.writeLong(nRows)
    out.writeLong(nBytes)
    out.writeBoolean(hasOnlyNullKeys)
    out.writeInt(data.length)
    data.foreach { frame =>
      out.writeInt(frame.length)
      out.write(frame)
    }
  }

  private def load(in: DataInput): Unit = {
    nRows = in.readLong()
    nBytes = in.readLong()
    hasOnlyNullKeys = in.readBoolean()
    data = Array.fill(in.readInt()) {
      val frame = new Array[Byte](in.readInt())
      in.readFully(frame)
      frame
    }
  }
}

object BroadcastFrames {
  // A row's header and its slots in a table.
  private val BytesAroundRow = 32L

  private lazy val cleaner = Cleaner.create()

  // Must not refer to the object it cleans up after.
  private final class Close(handle: Long) extends Runnable {
    override def run(): Unit = Native.closeBroadcast(handle)
  }

  /** Bytes of a hashed relation of Spark's by its own count; it is closed. */
  def sizeOf(relation: Any): Long = relation match {
    case r: HashedRelation =>
      try r.estimatedSize
      finally r.close()
    case other => throw SparkException.internalError(s"a relation of ${other.getClass.getName}")
  }

  /** The threads that Spark prepares broadcasts in. */
  def executionContext: ExecutionContextExecutorService = BroadcastExchangeExec.executionContext
}
