package org.apache.spark.sql.comet

import java.io.File

import org.apache.spark.sql.execution.SparkPlan

import org.apache.comet.{Answer, CometTestBase, Native, RanNatively, TestSession}

/** Many tasks that compete for little memory, and tasks in which Spark's own operators want some of it. */
class SmallPoolSuite extends CometTestBase {
  private val poolBytes = 64L << 20
  private val threads = 64

  override protected def sessionConf: Map[String, String] = Map(
    "spark.master" -> s"local[$threads]",
    "spark.memory.offHeap.size" -> poolBytes.toString,
    "spark.sql.shuffle.partitions" -> threads.toString,
    "spark.sql.adaptive.coalescePartitions.enabled" -> "false",
    "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  )

  override def beforeAll(): Unit = {
    super.beforeAll()
    val dir = new File(TestSession.tmp, "small-pool-suite")
    withSQLConf("spark.comet.enabled" -> "false") {
      spark
        .range(0, 600000, 1, 4)
        .selectExpr("id", "(id * 7919) % 600011 AS k", "id % 5 AS g", "concat('a text that is rather long, of the row ', id) AS s")
        .write
        .mode("overwrite")
        .parquet(dir.getPath)
    }
    spark.read.parquet(dir.getPath).createOrReplaceTempView("rows")
  }

  override def afterAll(): Unit =
    try spark.catalog.dropTempView("rows")
    finally super.afterAll()

  private def sum(plan: SparkPlan, metric: String): Long =
    RanNatively.nodes(plan).flatMap(_.metrics.get(metric)).map(_.value).sum

  /** The most native memory that there was while the body ran. */
  private def peakOf(body: => Unit): Long = {
    @volatile var done = false
    @volatile var peak = 0L
    val sampler = new Thread(() =>
      while (!done) {
        peak = math.max(peak, Native.memoryInUse())
        Thread.sleep(2)
      }
    )
    sampler.setDaemon(true)
    sampler.start()
    try body
    finally {
      done = true
      sampler.join()
    }
    peak
  }

  test("as many tasks as the pool has mebibytes: aggregate, join, sort and exchange") {
    val query = """
      SELECT a.s, b.s AS t, c.n FROM rows a
      JOIN rows b ON a.id = b.k
      JOIN (SELECT k, s, count(*) AS n, max(id) AS m FROM rows GROUP BY k, s) c ON b.id = c.k
      ORDER BY a.s, t"""
    // Spark by itself runs out of memory where so many tasks want some at a time.
    val (expected, _) =
      withSQLConf("spark.comet.enabled" -> "false", "spark.sql.shuffle.partitions" -> "3")(Answer.of(sql(query)))
    for (kind <- Seq("fair_unified", "greedy_unified"))
      withSQLConf("spark.comet.exec.memoryPool" -> kind, "spark.sql.files.maxPartitionBytes" -> "300k") {
        var outcome: (Answer, Option[SparkPlan]) = null
        val peak = peakOf { outcome = Answer.of(sql(query)) }
        Answer.difference(expected, outcome._1).foreach(fail(_))
        val plan = outcome._2.getOrElse(fail("the query was not planned"))
        RanNatively.missing(plan, Seq("HashAggregate", "HashJoin", "Sort", "Exchange")).foreach(fail(_))
        assert(sum(plan, "spill_count") > 0)
        info(s"$kind: at most ${peak >> 20} MiB of native memory")
        // What is not state is each task's own: batches, codecs, buffers of spill files.
        assert(peak < poolBytes + threads * SmallPoolSuite.WorkingBytes, kind)
      }
  }

  // Spark's window and its sort keep rows of their own; what is above and below them is native.
  for ((name, query) <- Seq(
      "an aggregate above" -> "SELECT s, max(n) FROM (SELECT s, g, row_number() OVER (PARTITION BY g ORDER BY s) AS n FROM rows) GROUP BY s",
      "a sort above" -> "SELECT * FROM (SELECT s, g, row_number() OVER (PARTITION BY g ORDER BY s) AS n FROM rows) SORT BY n",
      "an aggregate below" -> "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY n) AS r FROM (SELECT k, s, count(*) AS n FROM rows GROUP BY k, s)",
      "a join below" -> "SELECT k, t, row_number() OVER (PARTITION BY k ORDER BY t) AS r FROM (SELECT /*+ SHUFFLE_HASH(b) */ a.k, b.s AS t FROM rows a JOIN rows b ON a.k = b.k)"
    ))
    test(s"Spark's operators in the task, $name") {
      withSQLConf("spark.comet.exec.sort.enabled" -> name.contains("sort").toString, "spark.sql.shuffle.partitions" -> "1") {
        val plan = checkNative(sql(query), "Exchange")
        assert(RanNatively.sparkOperators(plan).contains("Window"))
        val native = Seq("HashAggregate", "Sort", "HashJoin").filter(RanNatively.nativeOperators(plan).contains)
        assert(native.nonEmpty)
        assert(sum(plan, "spill_count") > 0)
      }
    }
}

object SmallPoolSuite {
  private val WorkingBytes = 8L << 20
}
