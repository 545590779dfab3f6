package org.apache.comet

import java.io.File
import java.nio.file.Files

import org.apache.spark.sql.classic.{DataFrame, SparkSession}
import org.apache.spark.sql.comet.CometTaskMemory
import org.apache.spark.sql.execution.SparkPlan
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/**
 * A suite against real local Spark with the plug-in on. What a suite leaves behind (tracked native memory,
 * a temporary file of the engine) fails it.
 */
abstract class CometTestBase extends AnyFunSuite with BeforeAndAfterAll {

  /** Start-up settings that this suite needs beyond [[TestSession.defaults]]. */
  protected def sessionConf: Map[String, String] = Map.empty

  protected def spark: SparkSession = TestSession.get(sessionConf)

  protected def sql(text: String): DataFrame = spark.sql(text)

  /** Sets session keys for the body, then puts back what was there. */
  protected def withSQLConf[T](pairs: (String, String)*)(body: => T): T = {
    val conf = spark.conf
    // A key that shows only its default must be unset again, not set to it.
    val before = pairs.map { case (key, _) =>
      key -> (if (spark.sessionState.conf.contains(key)) conf.getOption(key) else None)
    }
    pairs.foreach { case (key, value) => conf.set(key, value) }
    try body
    finally before.foreach {
      case (key, Some(value)) => conf.set(key, value)
      case (key, None) => conf.unset(key)
    }
  }

  /** A new folder, gone after the body. */
  protected def withTempDir[T](body: File => T): T = {
    val dir = Files.createTempDirectory("test-").toFile
    try body(dir)
    finally deleteRecursively(dir)
  }

  protected def withTable[T](names: String*)(body: => T): T =
    try body
    finally names.foreach(name => sql(s"DROP TABLE IF EXISTS $name"))

  protected def withTempView[T](names: String*)(body: => T): T =
    try body
    finally names.foreach(spark.catalog.dropTempView)

  /** What came of a query by Spark alone and with Halley, and Halley's plan if it was planned. */
  protected case class Outcomes(spark: Answer, comet: Answer, plan: Option[SparkPlan]) {
    def difference: Option[String] = Answer.difference(spark, comet)
  }

  /** Runs the query by Spark alone and with Halley. */
  protected def outcomes(query: => DataFrame): Outcomes = {
    def once(enabled: Boolean) = withSQLConf("spark.comet.enabled" -> enabled.toString)(Answer.of(query))
    def both(): Outcomes = {
      val (expected, _) = once(enabled = false)
      val (actual, plan) = once(enabled = true)
      Outcomes(expected, actual, plan)
    }
    val first = both()
    (first.spark, first.comet) match {
      // Where several tasks fail, which one is reported is chance, in vanilla Spark too: with one task it is not.
      case (_: Failure, _: Failure) if first.difference.isDefined =>
        withSQLConf("spark.sql.files.minPartitionNum" -> "1", "spark.sql.shuffle.partitions" -> "1")(both())
      case _ => first
    }
  }

  /** Runs the query by Spark alone and with Halley; the outcomes must be the same. Answers Halley's plan. */
  protected def checkSparkAnswer(query: => DataFrame): Option[SparkPlan] = {
    val found = outcomes(query)
    found.difference.foreach { text =>
      fail(s"$text\nHalley's plan:\n${found.plan.fold("(none)")(_.toString)}")
    }
    found.plan
  }

  /** As [[checkSparkAnswer]], and these operators (`Filter`, `HashAggregate`, ..., or `*`) ran natively. */
  protected def checkNative(query: => DataFrame, operators: String*): SparkPlan = {
    require(operators.nonEmpty, "name the operators, or *")
    val plan = checkSparkAnswer(query).getOrElse(fail("the query was not planned"))
    RanNatively.missing(plan, operators).foreach(fail(_))
    plan
  }

  /** As [[checkSparkAnswer]], and a reason with this text is on a node. */
  protected def checkFallback(query: => DataFrame, reason: String): Unit = {
    val plan = checkSparkAnswer(query).getOrElse(fail("the query was not planned"))
    val info = new ExtendedExplainInfo().generateExtendedInfo(plan)
    assert(info.contains(reason), s"\nplan:\n$plan")
  }

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark // started here and not in the first test, whose time it would spoil
  }

  override def afterAll(): Unit =
    try {
      spark.catalog.clearCache()
      assert(spark.sparkContext.getExecutorMemoryStatus.nonEmpty, "a context that cleans up nothing was left behind")
      assert(leftMemory() == 0, "bytes of native memory were left behind")
      assert(CometTaskMemory.bufferBytes.get == 0, "buffers of tasks were left behind")
      assert(CometTaskMemory.leakedBytes.get == 0, "reservations outlived their task")
      assert(leftFiles().isEmpty, "temporary files were left behind")
    } finally super.afterAll()

  /** Tracked native bytes, once what only the collector can free (a broadcast's table) had its chance. */
  private def leftMemory(): Long =
    if (!NativeLibrary.isLoaded) 0
    else {
      // Spark's cleaner goes through the broadcasts of a whole suite one by one: wait as long as there are fewer of them.
      var least = Native.memoryInUse()
      var tries = 100
      while (least != 0 && tries > 0) {
        System.gc()
        Thread.sleep(100)
        val now = Native.memoryInUse()
        tries = if (now < least) 100 else tries - 1
        least = least.min(now)
      }
      Native.memoryInUse()
    }

  /** Files that the engine or the loader named and that should be gone by now. */
  private def leftFiles(): Seq[File] = {
    def walk(file: File): Seq[File] =
      file +: Option(file.listFiles()).toSeq.flatten.flatMap(walk)
    walk(TestSession.tmp).filter { file =>
      val name = file.getName
      file.isFile && (name.startsWith("halley") || name.startsWith("libhalley"))
    }
  }

  private def deleteRecursively(file: File): Unit = {
    Option(file.listFiles()).toSeq.flatten.foreach(deleteRecursively)
    Files.deleteIfExists(file.toPath)
  }
}
