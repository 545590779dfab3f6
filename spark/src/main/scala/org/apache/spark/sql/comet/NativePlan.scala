package org.apache.spark.sql.comet

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

import org.apache.comet.{Native, NativePlanText}
import org.apache.comet.plan.Stage

/**
 * A native plan that one task has open. Closed once: at its end, or when the task ends. `close` waits for a call that
 * another thread is in (Spark pulls some inputs from threads of its own), and a close from within a call, on the same
 * thread, takes effect after it.
 */
private[comet] final class NativePlan(stage: StageSpec, task: Array[Byte], host: TaskHostImpl, context: TaskContext)
    extends Logging {
  private var handle: Long = 0L
  private var running = false
  private var closing = false
  private val memory = CometTaskMemory.of(context)
  private val metrics = stage.metrics.map(new NativeMetrics(_))

  context.addTaskCompletionListener[Unit](_ => close())
  synchronized {
    try handle = Native.open(stage.message, task, host, memory.open())
    catch {
      case e: Throwable =>
        host.close()
        throw e
    }
  }

  private def call[T](atEnd: => T)(body: Long => T): T = synchronized {
    if (handle == 0) atEnd
    else {
      running = true
      try body(handle)
      catch {
        case e: AggregateFailure => throw e.in(stage.sites)
      } finally {
        running = false
        if (closing) close()
      }
    }
  }

  /** Address of the next `hly_export_batch`; 0 at the end, and from then on. */
  def next(): Long = call(0L)(Native.next)

  /** Address of the next `hly_export_rows`; 0 at the end, and from then on. */
  def nextRows(): Long = call(0L)(Native.nextRows)

  /** Runs a plan that writes shuffle output; see [[Native.write]]. */
  def write(dataFile: String): Array[Long] =
    call(throw new IllegalStateException("the task has ended"))(Native.write(_, dataFile))

  /** Metric slots of one operator as they are now; zeroes where there is none. */
  def slots(planId: Int): Array[Long] = {
    val out = new Array[Long](NativeMetrics.Slots)
    call(false)(Native.metrics(_, planId, out))
    out
  }

  /** Adds what the operators have counted since the last time to Spark's metrics. */
  def updateMetrics(): Unit = call(())(h => metrics.foreach(_.update(h, context)))

  def close(): Unit = {
    host.stop()
    synchronized {
      if (handle != 0) {
        if (running) closing = true
        else {
          val closed = handle
          try {
            metrics.foreach(_.update(closed, context))
            if (stage.explain) explain(closed)
          }
          finally {
            handle = 0
            Native.close(closed)
            host.close()
          }
        }
      }
    }
  }

  private def explain(handle: Long): Unit = {
    val slots = (id: Int) => {
      val out = new Array[Long](NativeMetrics.Slots)
      if (Native.metrics(handle, id, out)) Some(out) else None
    }
    logInfo(
      s"Native plan of partition ${context.partitionId()} after it ran:\n" +
        NativePlanText.of(Stage.parseFrom(stage.message).getRoot, slots)
    )
  }
}
