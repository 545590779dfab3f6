package org.apache.comet

import java.io.File

import scala.util.Try

import org.apache.spark.sql.classic.SparkSession

/**
 * The Spark of the tests: one local session for all suites that ask for the same settings, with the plug-in
 * on as a user turns it on. A suite that needs other start-up settings stops it and gets its own.
 */
object TestSession {

  /** Where everything that a test writes goes; nothing outlives a suite there but what Spark itself keeps. */
  val tmp: File = new File(System.getProperty("java.io.tmpdir"))
  val localDir = new File(tmp, "spark-local")
  val warehouse = new File(tmp, "warehouse")

  val shuffleManager = "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager"

  private def classExists(name: String): Boolean =
    Try(Class.forName(name, false, getClass.getClassLoader)).isSuccess

  /** Start-up settings of every suite, then those of the command line (`-Dhalley.test.conf=k=v,k=v`). */
  def defaults: Map[String, String] = Map(
    "spark.master" -> "local[2]",
    "spark.app.name" -> "halley-tests",
    "spark.plugins" -> "org.apache.spark.CometPlugin",
    "spark.memory.offHeap.enabled" -> "true",
    "spark.memory.offHeap.size" -> "1g",
    "spark.ui.enabled" -> "false",
    "spark.ui.showConsoleProgress" -> "false",
    "spark.local.dir" -> localDir.getPath,
    "spark.sql.warehouse.dir" -> warehouse.getPath,
    "spark.sql.shuffle.partitions" -> "4",
    // Off UTC, and with daylight saving: a kernel that forgets the zone is seen.
    "spark.sql.session.timeZone" -> "America/Los_Angeles"
  ) ++
    (if (classExists(shuffleManager)) Map("spark.shuffle.manager" -> shuffleManager) else Nil) ++
    pairs(System.getProperty("halley.test.conf", ""))

  private def pairs(text: String): Seq[(String, String)] =
    text.split(",").toSeq.filter(_.contains("=")).map { pair =>
      val Array(key, value) = pair.split("=", 2)
      key.trim -> value.trim
    }

  private var current: Option[(Map[String, String], SparkSession)] = None

  /** The running session if it was started with these settings, else a new one in its place. */
  def get(extra: Map[String, String]): SparkSession = synchronized {
    val settings = defaults ++ extra
    current match {
      case Some((`settings`, session)) if !session.sparkContext.isStopped => session
      case _ =>
        stop()
        localDir.mkdirs()
        val builder = SparkSession.builder()
        settings.foreach { case (key, value) => builder.config(key, value) }
        val session = builder.getOrCreate()
        current = Some((settings, session))
        session
    }
  }

  def stop(): Unit = synchronized {
    current.foreach { case (_, session) => session.stop() }
    current = None
    SparkSession.clearActiveSession()
    SparkSession.clearDefaultSession()
  }
}
