package org.apache.spark.sql.comet

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkConf, SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{MEMORY_OFFHEAP_ENABLED, MEMORY_OFFHEAP_SIZE}
import org.apache.spark.memory.{MemoryConsumer, TaskMemoryManager}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.Platform

import org.apache.comet.{CometConf, MemoryHost, Native}

/**
 * A task's native memory as Spark sees it: one consumer for all native plans of the task, however they nest. The
 * engine's pool under it reserves in large steps and asks its own operators to spill; Spark's other consumers in the
 * task may ask it to, too.
 */
private[comet] final class CometTaskMemory(manager: TaskMemoryManager)
    extends MemoryConsumer(manager, manager.getTungstenMemoryMode)
    with MemoryHost
    with Logging {

  /** The engine's pool, open from the first plan until the task ends. */
  lazy val pool: Long = Native.openPool(this)
  @volatile private var opened = false

  def open(): Long = {
    val handle = pool
    opened = true
    handle
  }

  // ---- what the engine reserves

  // `used` is read by Spark on whatever thread asks for memory; no lock is held while Spark is asked.
  override def acquire(bytes: Long): Long = {
    val granted = taskMemoryManager.acquireExecutionMemory(bytes, this)
    synchronized(used += granted)
    granted
  }

  override def release(bytes: Long): Unit = {
    taskMemoryManager.releaseExecutionMemory(bytes, this)
    synchronized(used -= bytes)
  }

  override def spill(size: Long, trigger: MemoryConsumer): Long =
    // What the pool itself lacks it takes from its own operators, and it knows which of them is asking.
    if ((trigger eq this) || !opened) 0L else Native.spill(pool, size)

  // ---- off-heap buffers of the JVM's side

  /** A buffer in native memory: counted, and never refused, as it is small and bounded. */
  final class Buffer(initialBytes: Long) {
    private var granted = 0L
    var capacity: Long = 0L
    var address: Long = 0L
    reserve(initialBytes, 0)

    /** Makes room for `bytes`, keeping the first `kept`. */
    def reserve(bytes: Long, kept: Long): Unit =
      if (bytes > capacity) {
        val size = math.max(bytes, capacity * 2)
        val larger = Platform.allocateMemory(size)
        CometTaskMemory.bufferBytes.addAndGet(size)
        if (kept > 0) Platform.copyMemory(null, address, null, larger, kept)
        free()
        address = larger
        capacity = size
        granted = acquire(size)
      }

    def free(): Unit =
      if (address != 0) {
        Platform.freeMemory(address)
        CometTaskMemory.bufferBytes.addAndGet(-capacity)
        if (granted > 0) release(granted)
        address = 0
        capacity = 0
        granted = 0
      }
  }

  private def close(attempt: Long): Unit = {
    CometTaskMemory.tasks.remove(attempt)
    if (opened) {
      val left = Native.closePool(pool)
      if (left != 0) {
        CometTaskMemory.leakedBytes.addAndGet(left)
        logError(s"$left bytes of native memory were still reserved when the task ended")
      }
    }
  }
}

object CometTaskMemory {
  private val tasks = new ConcurrentHashMap[Long, CometTaskMemory]

  /** Bytes that were still reserved when their task ended, in this process. Anything but zero is a fault. */
  val leakedBytes = new AtomicLong

  /** Bytes in buffers of the JVM's side now, in this process. */
  val bufferBytes = new AtomicLong

  /** Bytes that Spark has granted to each task that runs native plans now. */
  private[comet] def grantedByTask: Seq[Long] = tasks.values().asScala.map(_.getUsed).toSeq

  /** What the native consumers of a task divide among them: 0 where the first to come is served. */
  private[comet] def fairBytes(conf: SQLConf, app: SparkConf): Long =
    if (CometConf.MEMORY_POOL.get(conf) != "fair_unified" || !app.get(MEMORY_OFFHEAP_ENABLED)) 0L
    else math.max(1L, (CometConf.MEMORY_POOL_FRACTION.get(conf) * app.get(MEMORY_OFFHEAP_SIZE)).toLong)

  /** The memory of the running task. */
  private[comet] def of(context: TaskContext): CometTaskMemory = {
    val attempt = context.taskAttemptId()
    // A task may open plans from several threads, and must have one pool.
    val existing = tasks.get(attempt)
    if (existing != null) existing
    else tasks.synchronized {
      val other = tasks.get(attempt)
      if (other != null) return other
      require(SparkEnv.get != null, "native plans run in tasks")
      val made = new CometTaskMemory(context.taskMemoryManager())
      tasks.put(attempt, made)
      MemoryLog.start()
      // Listeners run newest first, so this one after those of all plans, which are opened later.
      context.addTaskCompletionListener[Unit](_ => made.close(attempt))
      made
    }
  }
}
