package org.apache.comet.rules

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.{CometConf, NativeLibrary}

/** Whether plans of a session may become native at all: the switches and conditions that are not about a single node. */
object Gate extends Logging {
  private val OffHeapKey = "spark.memory.offHeap.enabled"

  // What was said already in this application.
  private val said = ConcurrentHashMap.newKeySet[String]()

  def isOpen(session: SparkSession, conf: SQLConf): Boolean = closedBecause(session, conf).isEmpty

  /** Why not; None where nothing stands in the way. */
  def closedBecause(session: SparkSession, conf: SQLConf): Option[String] =
    if (!CometConf.ENABLED.get(conf)) Some(s"${CometConf.ENABLED.key} is false")
    else if (!CometConf.EXEC_ENABLED.get(conf)) Some(s"${CometConf.EXEC_ENABLED.key} is false")
    else if (!hasMemory(conf)) {
      val text = s"$OffHeapKey is false, so Halley leaves all plans to Spark; give Spark off-heap " +
        s"memory, or set ${CometConf.ON_HEAP.key}=true to try it without"
      if (said.add(session.sparkContext.applicationId + text)) logWarning(text)
      Some(text)
    } else if (!NativeLibrary.isLoaded) Some(s"the native library is not loaded: ${NativeLibrary.failureReason}")
    else None

  private def hasMemory(conf: SQLConf): Boolean =
    SparkEnv.get.conf.getBoolean(OffHeapKey, defaultValue = false) || CometConf.ON_HEAP.get(conf)

  /** Streaming queries keep their shapes: state stores, watermarks and checkpoints rely on them. */
  def isStreaming(plan: SparkPlan): Boolean = plan.exists(_.logicalLink.exists(_.isStreaming))
}
