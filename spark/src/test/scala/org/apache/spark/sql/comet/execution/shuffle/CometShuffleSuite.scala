package org.apache.spark.sql.comet.execution.shuffle

import java.io.{File, RandomAccessFile}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.comet.{CometTestBase, RanNatively, TestSession}

import org.apache.spark.scheduler.{SparkListener, SparkListenerStageCompleted}
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.{ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.functions.col

/** Exchanges of native frames: who gets which rows, and that adaptive execution sees what it sees of Spark's. */
class CometShuffleSuite extends CometTestBase {

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      sql("DROP TABLE IF EXISTS shuffled")
      spark
        .range(0, 5000, 1, 3)
        .selectExpr(
          "CAST(id AS INT) AS i",
          "id * 7919 % 1009 AS l",
          "IF(id % 11 = 0, NULL, CAST(id % 97 AS STRING)) AS s",
          "CAST(id % 53 AS DECIMAL(10, 2)) / 4 AS d",
          "CAST(id AS DECIMAL(30, 5)) * 1000003 AS big",
          "IF(id % 5 = 0, CAST('NaN' AS DOUBLE), IF(id % 5 = 1, -0.0D, id / 3.0D)) AS f",
          "id % 3 = 0 AS b",
          "DATE_ADD(DATE'2000-01-01', CAST(id % 400 AS INT)) AS dt",
          "CAST(CONCAT('x', id % 71) AS BINARY) AS bin",
          "ARRAY(id, NULL, id % 3) AS a",
          "NAMED_STRUCT('x', id, 'y', IF(id % 2 = 0, NULL, 'odd')) AS st",
          "MAP(CAST(id % 4 AS STRING), id) AS m",
          "CAST(NULL AS INT) AS n"
        )
        .write
        .format("parquet")
        .saveAsTable("shuffled")
    }
  }

  override def afterAll(): Unit =
    try sql("DROP TABLE IF EXISTS shuffled")
    finally {
      // After a fetch failure Spark drops the executor's block manager, which a local master cannot register again.
      TestSession.stop()
      super.afterAll()
    }

  private def exchanges(plan: SparkPlan): Seq[CometShuffleExchangeExec] =
    RanNatively.nodes(plan).collect { case e: CometShuffleExchangeExec => e }

  private val everything = "SELECT i, l, s, d, big, f, b, dt, bin, n FROM shuffled"

  /** Lets Spark scan the table, whose rows then enter the native plan. */
  private def scannedBySpark[T](body: => T): T =
    withSQLConf("spark.comet.scan.enabled" -> "false", "spark.comet.convert.parquet.enabled" -> "true")(body)

  for {
    aqe <- Seq(true, false)
    key <- Seq("i", "l", "s", "d", "big", "f", "b", "dt", "bin", "n", "i, s, f")
  } test(s"repartition by $key, adaptive execution $aqe") {
    withSQLConf("spark.sql.adaptive.enabled" -> aqe.toString) {
      // Where every row goes is Spark's choice too: the partition's number is part of the answer.
      val plan = checkNative(
        sql(s"SELECT SPARK_PARTITION_ID(), * FROM ($everything DISTRIBUTE BY $key)"),
        "Exchange"
      )
      assert(exchanges(plan).forall(_.nodeName == "CometExchange"))
    }
  }

  test("nested values, and nested keys by their switch") {
    scannedBySpark {
      checkNative(sql("SELECT SPARK_PARTITION_ID(), * FROM (SELECT * FROM shuffled DISTRIBUTE BY i)"), "ColumnarExchange")
      val query = "SELECT SPARK_PARTITION_ID(), * FROM (SELECT * FROM shuffled DISTRIBUTE BY a, st)"
      checkFallback(sql(query), "hash.nested.enabled is false")
      withSQLConf("spark.comet.shuffle.native.partitioning.hash.nested.enabled" -> "true") {
        checkNative(sql(query), "ColumnarExchange")
      }
    }
  }

  test("sort by ranges") {
    for (order <- Seq("i DESC", "s NULLS LAST, i", "f, i", "d DESC NULLS FIRST, i", "big, i", "bin DESC, i")) {
      val plan = checkNative(sql(s"SELECT i, s, f, d, big, bin FROM shuffled ORDER BY $order"), "Exchange")
      assert(exchanges(plan).exists(_.outputPartitioning.isInstanceOf[RangePartitioning]))
    }
    withSQLConf("spark.comet.shuffle.native.partitioning.range.enabled" -> "false") {
      checkFallback(sql("SELECT i FROM shuffled ORDER BY i"), "range.enabled is false")
    }
  }

  test("ranges hold more than bounds can tell apart, and nothing") {
    checkNative(sql("SELECT b, i FROM shuffled ORDER BY b, i"), "Exchange")
    checkNative(sql("SELECT n FROM shuffled ORDER BY n"), "Exchange")
    withSQLConf("spark.sql.adaptive.enabled" -> "false") {
      checkNative(sql("SELECT i FROM shuffled WHERE i < 0 ORDER BY i"), "Exchange")
    }
  }

  test("one partition") {
    checkNative(sql("SELECT COUNT(*), SUM(l), MAX(s) FROM shuffled"), "Exchange")
    checkNative(sql("SELECT COUNT(*) FROM (SELECT i FROM shuffled DISTRIBUTE BY i)"), "Exchange")
  }

  test("round-robin is Spark's unless asked for") {
    def frame = sql(everything).repartition(7)
    checkFallback(frame, "roundrobin.enabled is false")
    withSQLConf("spark.comet.shuffle.native.partitioning.roundrobin.enabled" -> "true") {
      checkNative(frame, "Exchange")
      withSQLConf("spark.comet.shuffle.native.partitioning.roundrobin.maxHashColumns" -> "1") {
        checkNative(frame, "Exchange")
      }
    }
  }

  test("direct partition ids") {
    def frame = spark.table("shuffled").repartitionById(5, (col("i") % 9).cast("int")).selectExpr("SPARK_PARTITION_ID()", "i")
    checkNative(frame, "Exchange")
  }

  for (codec <- Seq("lz4", "zstd", "snappy", "none")) test(s"codec $codec") {
    withSQLConf("spark.comet.shuffle.compression.codec" -> codec) {
      checkNative(sql(s"SELECT * FROM ($everything DISTRIBUTE BY i)"), "Exchange")
    }
  }

  test("many partitions, few rows") {
    withSQLConf("spark.sql.shuffle.partitions" -> "500", "spark.sql.adaptive.enabled" -> "false") {
      checkNative(sql(s"SELECT SPARK_PARTITION_ID(), * FROM ($everything WHERE i < 900 DISTRIBUTE BY l)"), "Exchange")
    }
  }

  test("a row larger than a frame") {
    checkNative(
      sql("SELECT i, LENGTH(r), MD5(r) FROM (SELECT i, REPEAT(s, 3000000) AS r FROM shuffled WHERE i < 6 DISTRIBUTE BY i)"),
      "Exchange"
    )
  }

  test("more rows than the writer may hold") {
    withSQLConf("spark.comet.shuffle.native.maxBufferBytes" -> "1m") {
      val query = "SELECT SUM(k), COUNT(DISTINCT r) FROM (SELECT i * 7 + x.c AS k, REPEAT(s, 9) AS r FROM shuffled " +
        "LATERAL VIEW EXPLODE(SEQUENCE(1, 60)) x AS c DISTRIBUTE BY i, c)"
      scannedBySpark {
        val plan = checkSparkAnswer(sql(query)).get
        assert(exchanges(plan).map(_.metrics("spillSize").value).sum > 0, s"\n$plan")
      }
    }
  }

  test("coalesced, local and skewed reads") {
    val plan = checkNative(sql("SELECT s, COUNT(*), SUM(l) FROM shuffled GROUP BY s"), "Exchange")
    assert(RanNatively.nodes(plan).exists {
      case r: AQEShuffleReadExec => r.hasCoalescedPartition
      case _ => false
    })
    withSQLConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "100000"
    ) {
      val local = checkNative(
        sql("SELECT x.i, y.l FROM shuffled x JOIN (SELECT * FROM shuffled WHERE i % 100 = 3) y ON x.i = y.i"),
        "Exchange"
      )
      assert(RanNatively.nodes(local).exists {
        case r: AQEShuffleReadExec => r.isLocalRead
        case _ => false
      })
    }
    withSQLConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "2000",
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "1.5",
      "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "2000",
      "spark.sql.adaptive.coalescePartitions.enabled" -> "false"
    ) {
      val skewed = checkNative(
        sql("""SELECT x.i, y.i FROM (SELECT i, l, IF(i < 4000, 3L, l) AS k FROM shuffled) x
              |JOIN (SELECT DISTINCT i, l AS k FROM shuffled WHERE i < 50) y ON x.k = y.k""".stripMargin),
        "Exchange"
      )
      assert(RanNatively.nodes(skewed).exists {
        case r: AQEShuffleReadExec => r.hasSkewedPartition
        case _ => false
      })
    }
  }

  for (aqe <- Seq(true, false)) test(s"an exchange is reused, adaptive execution $aqe") {
    withSQLConf(
      "spark.sql.adaptive.enabled" -> aqe.toString,
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1"
    ) {
      val side = "(SELECT s, COUNT(*) AS c FROM shuffled GROUP BY s)"
      val plan = checkNative(sql(s"SELECT x.s, x.c, y.c FROM $side x JOIN $side y ON x.s = y.s"), "Exchange")
      val reused = RanNatively.nodes(plan).collect { case r: ReusedExchangeExec => r }
      assert(reused.exists(_.child.isInstanceOf[CometShuffleExchangeExec]), s"\n$plan")
    }
  }

  test("a native and a Spark consumer read one exchange") {
    val side = "(SELECT l, s FROM shuffled DISTRIBUTE BY l)"
    withSQLConf("spark.comet.exec.filter.enabled" -> "false") {
      checkSparkAnswer(
        sql(s"SELECT COUNT(*), SUM(l) FROM $side UNION ALL SELECT COUNT(*), SUM(l) FROM $side WHERE s > '5'")
      )
    }
  }

  test("rows of a Spark operator") {
    scannedBySpark {
      val query = "SELECT s, COUNT(*), SUM(l) FROM (SELECT * FROM shuffled DISTRIBUTE BY s) GROUP BY s"
      val plan = checkNative(sql(query), "ColumnarExchange")
      assert(exchanges(plan).exists(_.nodeName == "CometColumnarExchange"))
      checkNative(
        spark.table("shuffled").repartitionByRange(3, col("st").desc, col("a")).selectExpr("i + 1", "st"),
        "ColumnarExchange"
      )
      withSQLConf("spark.comet.shuffle.convertFromSparkPlan.enabled" -> "false") {
        checkFallback(sql(query), "convertFromSparkPlan.enabled is false")
      }
    }
  }

  test("statistics are those that Spark's own exchange would report") {
    def stats(enabled: Boolean): Seq[(BigInt, Option[BigInt])] =
      withSQLConf("spark.comet.enabled" -> enabled.toString, "spark.sql.adaptive.coalescePartitions.enabled" -> "false") {
        val frame = sql(s"SELECT * FROM ($everything DISTRIBUTE BY l)")
        frame.collect()
        RanNatively.nodes(frame.queryExecution.executedPlan).collect { case s: ShuffleQueryStageExec =>
          val statistics = s.getRuntimeStatistics
          (statistics.sizeInBytes, statistics.rowCount)
        }
      }
    assert(stats(enabled = true) == stats(enabled = false))
  }

  test("metrics") {
    val frame = sql("SELECT * FROM (SELECT i, s FROM shuffled DISTRIBUTE BY i)")
    frame.collect()
    val exchange = exchanges(frame.queryExecution.executedPlan).head
    def metric(name: String) = exchange.metrics(name).value
    assert(metric("shuffleRecordsWritten") == 5000)
    assert(metric("recordsRead") == 5000)
    assert(metric("shuffleBytesWritten") > 0)
    assert(metric("shuffleBytesWritten") == metric("localBytesRead") + metric("remoteBytesRead"))
    assert(metric("shuffleWriteTime") > 0)
    assert(metric("dataSize") > metric("shuffleBytesWritten") / 4)
  }

  test("Spark's row checksum keeps the exchange with Spark") {
    withSQLConf("spark.sql.shuffle.orderIndependentChecksum.enabled" -> "true") {
      checkFallback(sql("SELECT s, COUNT(*) FROM shuffled GROUP BY s"), "orderIndependentChecksum")
    }
  }

  test("off by its switch") {
    withSQLConf("spark.comet.shuffle.enabled" -> "false") {
      val plan = checkSparkAnswer(sql("SELECT s, COUNT(*) FROM shuffled GROUP BY s")).get
      assert(exchanges(plan).isEmpty)
      assert(RanNatively.nodes(plan).exists(_.isInstanceOf[ShuffleExchangeExec]))
    }
  }

  test("a damaged block is a fetch failure: its map output is made again") {
    withSQLConf("spark.sql.adaptive.enabled" -> "false") {
      val before = files()
      val execution = sql("SELECT SUM(i), COUNT(*) FROM (SELECT i, s FROM shuffled DISTRIBUTE BY i)").queryExecution
      def answer(): Seq[Long] = execution.toRdd.map(row => row.getLong(0) + row.getLong(1)).collect().toSeq
      val expected = answer()
      val attempts = new AtomicInteger
      val listener = new SparkListener {
        override def onStageCompleted(e: SparkListenerStageCompleted): Unit =
          if (e.stageInfo.failureReason.isDefined) attempts.incrementAndGet()
      }
      spark.sparkContext.addSparkListener(listener)
      try {
        for (damage <- Seq[RandomAccessFile => Unit](flip(_, 0.5), flip(_, 0.01), flip(_, 0.99))) {
          attempts.set(0)
          val data = (files() -- before).filter(f => f.getName.endsWith(".data") && f.length() > 0)
          assert(data.nonEmpty)
          data.foreach { f =>
            val file = new RandomAccessFile(f, "rw")
            try damage(file)
            finally file.close()
          }
          assert(answer() == expected)
          spark.sparkContext.listenerBus.waitUntilEmpty()
          assert(attempts.get() > 0, "nothing failed: the damage was not read")
        }
      } finally spark.sparkContext.removeSparkListener(listener)
    }
  }

  /** Changes a byte somewhere in a file. */
  private def flip(file: RandomAccessFile, where: Double): Unit = {
    val at = (file.length() * where).toLong
    file.seek(at)
    val byte = file.read()
    file.seek(at)
    file.write(byte ^ 0x10)
  }

  // Far more than the writer may hold, so that it has written to a file of its own when it is stopped.
  private val spilling = "SELECT COUNT(r) FROM (SELECT passes(i) AS k, REPEAT(CONCAT(s, c), 40) AS r FROM shuffled " +
    "LATERAL VIEW EXPLODE(SEQUENCE(1, 60)) x AS c DISTRIBUTE BY k)"

  /** What a map task makes on the way; what it committed stays until the shuffle is cleaned. */
  private def temporary(before: Set[File]): Set[File] = (files() -- before).filterNot { f =>
    f.getName.matches("shuffle_.*[.](data|index|checksum[.].*)")
  }

  private def eventually(what: => String)(condition: => Boolean): Unit = {
    var tries = 600
    while (!condition && tries > 0) {
      Thread.sleep(100)
      tries -= 1
    }
    assert(condition, what)
  }

  private def stoppedInTheMiddle(name: String)(stop: => Unit): Throwable = {
    import CometShuffleSuite.{fail => failing, passed}
    spark.udf.register(
      "passes",
      (i: Int) => {
        // A third of the rows come at once; the rest waits to be stopped.
        if (passed.incrementAndGet() > 100000) Thread.sleep(1)
        if (failing) throw new IllegalStateException("told to fail")
        i
      }
    )
    passed.set(0)
    val before = files()
    var failure: Throwable = null
    val thread = new Thread(() => {
      spark.sparkContext.setJobGroup(name, name, interruptOnCancel = true)
      try sql(spilling).collect()
      catch { case e: Throwable => failure = e }
    })
    withSQLConf(
      "spark.comet.shuffle.native.maxBufferBytes" -> "1m",
      "spark.sql.adaptive.enabled" -> "false",
      "spark.comet.scan.enabled" -> "false",
      "spark.comet.convert.parquet.enabled" -> "true"
    ) {
      thread.start()
      try eventually(s"${passed.get()} rows came to the writers; $failure")(passed.get() > 100000)
      finally {
        stop
        thread.join(60000)
      }
    }
    assert(!thread.isAlive && failure != null)
    eventually(s"files are left: ${temporary(before)}")(temporary(before).isEmpty)
    failure
  }

  test("a job that is cancelled leaves no files") {
    val failure = stoppedInTheMiddle("cancelled-shuffle")(spark.sparkContext.cancelJobGroup("cancelled-shuffle"))
    assert(failure.getMessage.contains("cancelled"))
  }

  test("a task that fails leaves no files") {
    val failure =
      try stoppedInTheMiddle("failing-shuffle") { CometShuffleSuite.fail = true }
      finally CometShuffleSuite.fail = false
    val causes = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null)
    assert(causes.exists(e => e.getMessage != null && e.getMessage.contains("told to fail")))
  }

  /** Files of shuffles and of the engine in Spark's folders. */
  private def files(): Set[File] = {
    def walk(f: File): Seq[File] = f +: Option(f.listFiles()).toSeq.flatten.flatMap(walk)
    walk(TestSession.localDir).filter { f =>
      f.isFile && (f.getName.contains("shuffle_") || f.getName.startsWith("temp_local_"))
    }.toSet
  }
}

/** Seen by a function that runs in tasks. */
object CometShuffleSuite {
  val passed = new AtomicInteger
  @volatile var fail = false
}
