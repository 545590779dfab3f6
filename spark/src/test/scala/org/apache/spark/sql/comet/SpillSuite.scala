package org.apache.spark.sql.comet

import java.io.File

import org.apache.spark.executor.TaskMetrics
import org.apache.spark.memory.SparkOutOfMemoryError
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.functions

import org.apache.comet.{CometTestBase, RanNatively}

/** Operators that may keep little in memory: their answers, what they count, and what comes of a disk that is full. */
class SpillSuite extends CometTestBase {
  // Of the gibibyte that the tests have: 2 MiB for a task's operators.
  private val scarce = "spark.comet.exec.memoryPool.fraction" -> "0.002"
  private val realMergeJoin = "spark.comet.exec.sortMergeJoin.asHashJoin.enabled" -> "false"
  private val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"

  override def beforeAll(): Unit = {
    super.beforeAll()
    val dir = new File(org.apache.comet.TestSession.tmp, "spill-suite")
    withSQLConf("spark.comet.enabled" -> "false") {
      spark
        .range(0, 150000, 1, 2)
        .selectExpr("id", "(id * 7919) % 150001 AS k", "if(id % 3 = 0, 0, id) AS h", "concat('the text of row ', id) AS s")
        .write
        .mode("overwrite")
        .parquet(dir.getPath)
    }
    spark.read.parquet(dir.getPath).createOrReplaceTempView("rows")
  }

  override def afterAll(): Unit =
    try spark.catalog.dropTempView("rows")
    finally super.afterAll()

  /** What the plan's nodes of a class say under a metric's name. */
  private def metric(plan: SparkPlan, cls: Class[_], name: String): Long = {
    val nodes = RanNatively.nodes(plan).filter(cls.isInstance)
    assert(nodes.nonEmpty, s"$cls in\n$plan")
    nodes.map(_.metrics(name).value).sum
  }

  private def sumOfTasks(f: TaskMetrics => Long)(body: => Unit): Long = {
    var sum = 0L
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized(sum += f(end.taskMetrics))
    }
    spark.sparkContext.listenerBus.waitUntilEmpty()
    spark.sparkContext.addSparkListener(listener)
    try body
    finally {
      spark.sparkContext.listenerBus.waitUntilEmpty()
      spark.sparkContext.removeSparkListener(listener)
    }
    sum
  }

  private def spills(name: String, cls: Class[_], query: String, conf: (String, String)*): Unit =
    test(s"$name within a fair share, or with whatever there is") {
      val peaks = Seq("Sort", "Aggregate", "Join").exists(cls.getSimpleName.contains(_))
      withSQLConf((scarce +: conf): _*) {
        val fair = checkNative(sql(query), "*")
        val peak = if (peaks) Seq("peakMemory") else Nil
        for (counted <- Seq("spillSize", "spill_count") ++ peak) assert(metric(fair, cls, counted) > 0, counted)
        withSQLConf("spark.comet.exec.memoryPool" -> "greedy_unified") {
          val greedy = checkNative(sql(query), "*")
          for (counted <- Seq("spillSize", "spill_count")) assert(metric(greedy, cls, counted) == 0, counted)
        }
        withSQLConf("spark.comet.exec.memoryPool.fraction" -> "1.0") {
          val roomy = checkNative(sql(query), "*")
          assert(metric(roomy, cls, "spill_count") == 0)
        }
        var memory = 0L
        val disk = sumOfTasks { m =>
          memory += m.memoryBytesSpilled
          m.diskBytesSpilled
        }(sql(query).collect())
        assert(disk > 0 && memory > disk, "as Spark's operators report it: rows in memory are larger")
      }
    }

  spills("a sort", classOf[CometSortExec], "SELECT * FROM rows ORDER BY s")
  spills("an aggregate", classOf[CometHashAggregateExec], "SELECT s, count(*), max(k), min(h) FROM rows GROUP BY s")
  spills("a hash join", classOf[CometHashJoinExec], "SELECT /*+ SHUFFLE_HASH(b) */ a.id, a.s, b.s FROM rows a JOIN rows b ON a.id = b.k", noBroadcast)
  spills(
    "a merge join",
    classOf[CometSortMergeJoinExec],
    "SELECT /*+ MERGE(b) */ a.id, count(b.s) FROM (SELECT * FROM rows WHERE id < 2) a JOIN rows b ON a.h = b.h GROUP BY a.id",
    noBroadcast,
    realMergeJoin
  )
  spills("an exchange", classOf[execution.shuffle.CometShuffleExchangeExec], "SELECT /*+ REPARTITION(3, k) */ * FROM rows")
  spills("the first rows of an order", classOf[CometLocalTopKExec], "SELECT * FROM rows ORDER BY s LIMIT 60000")

  test("an exchange spills beyond the bytes that it may buffer") {
    withSQLConf("spark.comet.shuffle.native.maxBufferBytes" -> "1m") {
      val plan = checkNative(sql("SELECT /*+ REPARTITION(3, k) */ * FROM rows"), "*")
      assert(metric(plan, classOf[execution.shuffle.CometShuffleExchangeExec], "spill_count") > 0)
    }
  }

  test("more temporary bytes than are allowed are one error that says whose and how many") {
    withSQLConf(scarce, "spark.comet.maxTempDirectorySize" -> "100k") {
      for (query <- Seq("SELECT * FROM rows ORDER BY s", "SELECT s, count(*) FROM rows GROUP BY s")) {
        val thrown = intercept[Exception](sql(query).collect())
        val cause = Iterator.iterate[Throwable](thrown)(_.getCause).takeWhile(_ != null).toSeq
        val own = cause.collectFirst { case e: SparkOutOfMemoryError => e }.getOrElse(fail("no cause", thrown))
        assert(own.getCondition == "SPILL_OUT_OF_MEMORY")
        for (said <- Seq("native plan ", "(", "102400 bytes", "spark.comet.maxTempDirectorySize"))
          assert(own.getMessage.contains(said))
      }
    }
    withSQLConf(scarce, "spark.comet.maxTempDirectorySize" -> "1g") {
      checkNative(sql("SELECT * FROM rows ORDER BY s"), "*")
    }
  }

  // ---- somebody else in the task wants memory

  // Within the native plan's call for it, a function of the user has all memory of the task asked for.
  private def spillsInUpcall(name: String, cls: Class[_], query: String): Unit =
    test(s"$name gives its memory up in the middle of an upcall") {
      val take = (id: Long) => {
        if (id % 16384 == 10000) DispatchSuite.takeEverything()
        id
      }
      spark.udf.register("taking", functions.udf(take).asNondeterministic()) // stays where it is
      val plan = checkNative(sql(query), "*")
      assert(metric(plan, cls, "spill_count") > 0)
    }

  spillsInUpcall("an aggregate", classOf[CometHashAggregateExec], "SELECT s, count(id) FROM rows WHERE taking(id) >= 0 GROUP BY s")
  spillsInUpcall("a sort", classOf[CometSortExec], "SELECT k, s FROM rows WHERE taking(id) >= 0 SORT BY s")
  spillsInUpcall(
    "an exchange",
    classOf[execution.shuffle.CometShuffleExchangeExec],
    "SELECT /*+ REPARTITION(3, k) */ k, s FROM rows WHERE taking(id) >= 0"
  )

  // ---- partial aggregation that does not pay

  private val skip = "spark.comet.exec.aggregate.skipPartial.enabled" -> "true"
  private val respect = "spark.comet.exec.respectDataFusionConfigs" -> "true"
  private val rowsKey = "spark.comet.datafusion.execution.skip_partial_aggregation_probe_rows_threshold"
  private val ratioKey = "spark.comet.datafusion.execution.skip_partial_aggregation_probe_ratio_threshold"
  private val onePartition = "spark.sql.files.minPartitionNum" -> "1"

  private def skipped(query: String, conf: (String, String)*): Long =
    withSQLConf((conf :+ onePartition): _*) {
      metric(checkNative(sql(query), "*"), classOf[CometHashAggregateExec], "skipped_partial_rows")
    }

  test("rows bypassing partial aggregation") {
    val distinct = "SELECT DISTINCT k FROM rows"
    val few = "SELECT k % 10, count(id) FROM rows GROUP BY 1"
    val half = "SELECT k div 2, count(id) FROM rows GROUP BY 1"
    val early = Seq(skip, respect, rowsKey -> "20000")
    assert(skipped(distinct) == 0)
    assert(skipped(distinct, skip) >= 40000)
    assert(skipped(distinct, early: _*) >= 120000)
    assert(skipped(distinct, respect, rowsKey -> "20000") == 0)
    assert(skipped(few, skip) == 0)
    assert(skipped(few, early: _*) == 0)
    assert(skipped(half, skip) == 0)
    assert(skipped(half, early :+ (ratioKey -> "0.3"): _*) > 0)
    assert(skipped(half, skip, ratioKey -> "0.3") == 0) // not heeded
    // What is behind an exchange makes rows distinct, whatever is asked.
    withSQLConf(early: _*) {
      checkNative(sql("SELECT count(DISTINCT k) FROM rows"), "*")
      checkNative(sql("SELECT count(DISTINCT k), count(DISTINCT s) FROM rows"), "HashAggregate")
      checkNative(sql("SELECT k, count(DISTINCT h), sum(id) FROM rows GROUP BY k"), "*")
      checkNative(sql("SELECT DISTINCT k FROM rows UNION SELECT id FROM rows"), "*")
    }
    withSQLConf(skip, respect, rowsKey -> "many") {
      val thrown = intercept[Exception](sql(few).collect())
      assert(thrown.getMessage.contains(rowsKey))
    }
  }
}
