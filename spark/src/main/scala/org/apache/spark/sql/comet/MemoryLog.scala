package org.apache.spark.sql.comet

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.{EXECUTOR_MEMORY, EXECUTOR_MEMORY_OVERHEAD, EXECUTOR_MEMORY_OVERHEAD_FACTOR, EXECUTOR_MIN_MEMORY_OVERHEAD, MEMORY_OFFHEAP_ENABLED, MEMORY_OFFHEAP_SIZE}
import org.apache.spark.util.ThreadUtils

import org.apache.comet.{CometConf, Native}

/**
 * Logs an executor's native memory while its tasks run native plans: a line an interval, however many tasks there are,
 * and one more after the last.
 *
 * @param containerBytes what a container leaves for memory outside the heap; None where there is no container
 */
private[comet] final class MemoryLog(allocated: () => Long, reserved: () => Seq[Long], containerBytes: Option[Long])
    extends Logging {
  private var running = false

  /** The line for now, if one is due, and whether it is a warning. */
  def line(): Option[(String, Boolean)] = {
    val tasks = reserved()
    val due = tasks.nonEmpty || running
    running = tasks.nonEmpty
    if (!due) None
    else {
      val bytes = allocated()
      val text = s"Native memory of the executor: $bytes bytes allocated, ${tasks.sum} of them granted by Spark to ${tasks.size} tasks"
      containerBytes.filter(bytes > _) match {
        case Some(most) => Some((s"$text; that is more than the $most that its container has outside the heap", true))
        case None => Some((text, false))
      }
    }
  }

  def write(): Unit = line().foreach { case (text, warns) => if (warns) logWarning(text) else logInfo(text) }
}

private[comet] object MemoryLog extends Logging {

  /** Starts with the executor's first native plan. */
  private lazy val started: Unit = {
    val conf = SparkEnv.get.conf
    intervalOf(conf).foreach { millis =>
      val log = new MemoryLog(() => Native.memoryInUse(), () => CometTaskMemory.grantedByTask, containerBytes(conf))
      ThreadUtils
        .newDaemonSingleThreadScheduledExecutor("native-memory-log")
        .scheduleWithFixedDelay(() => log.write(), millis, millis, TimeUnit.MILLISECONDS)
    }
  }

  def start(): Unit = started

  /** None: nothing is logged. */
  def intervalOf(conf: SparkConf): Option[Long] =
    try Some(CometConf.MEMORY_LOG.get(key => conf.getOption(key))).filter(_ > 0)
    catch {
      case NonFatal(e) =>
        logWarning(s"Native memory is not logged: ${e.getMessage}")
        None
    }

  /** What Spark asks of a cluster manager for an executor, less its heap. */
  def containerBytes(conf: SparkConf): Option[Long] =
    if (conf.get("spark.master", "local").startsWith("local[") || conf.get("spark.master", "local") == "local") None
    else {
      val factor = conf.get(EXECUTOR_MEMORY_OVERHEAD_FACTOR)
      val least = conf.get(EXECUTOR_MIN_MEMORY_OVERHEAD)
      val overhead = conf
        .get(EXECUTOR_MEMORY_OVERHEAD)
        .getOrElse(math.max((conf.get(EXECUTOR_MEMORY) * factor).toLong, least))
      val offHeap = if (conf.get(MEMORY_OFFHEAP_ENABLED)) conf.get(MEMORY_OFFHEAP_SIZE) else 0L
      Some((overhead << 20) + offHeap)
    }
}
