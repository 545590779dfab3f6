package org.apache.spark.sql.comet

import java.nio.file.Files

import scala.collection.mutable

import org.apache.spark.SparkEnv
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.comet.BroadcastFrames
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, BroadcastExchangeLike, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}

import org.apache.comet.{CometTestBase, Native, RanNatively}

/** Native broadcasts: who reads them, how often they and their tables are made, and what limits them. */
class BroadcastExchangeSuite extends CometTestBase {
  private lazy val dir = Files.createTempDirectory("broadcasts-").toFile
  private val tables = Seq("facts", "dims", "parts", "nulls", "none")

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      spark
        .range(0, 4000, 1, 4)
        .selectExpr("id", "cast(id % 50 AS int) AS k", "id % 7 AS j", "cast(id % 60 AS string) AS s", "id % 900 AS v")
        .write
        .parquet(s"$dir/facts")
      spark
        .range(0, 40, 1, 2)
        .selectExpr("cast(id AS int) AS k", "id % 5 AS j", "concat('name', id) AS name", "cast(id AS string) AS s")
        .write
        .parquet(s"$dir/dims")
      spark.range(0, 1000).selectExpr("id", "id % 20 AS p").write.partitionBy("p").parquet(s"$dir/parts")
      spark.range(0, 30).selectExpr("if(id % 10 = 3, null, cast(id AS int)) AS k", "id AS v").write.parquet(s"$dir/nulls")
      spark.range(0).selectExpr("cast(id AS int) AS k", "id AS v").write.parquet(s"$dir/none")
    }
    tables.foreach(t => spark.read.parquet(s"$dir/$t").createOrReplaceTempView(s"b_$t"))
  }

  override def afterAll(): Unit = {
    tables.foreach(t => spark.catalog.dropTempView(s"b_$t"))
    org.apache.commons.io.FileUtils.deleteDirectory(dir)
    super.afterAll()
  }

  private def nodes(p: SparkPlan): Seq[SparkPlan] = RanNatively.nodes(p)

  private def exchanges(p: SparkPlan): Seq[CometBroadcastExchangeExec] =
    nodes(p).collect { case e: CometBroadcastExchangeExec => e }

  private def withEach(settings: (String, String)*)(body: => Unit): Unit =
    Seq("true", "false").foreach { aqe =>
      withClue(s"AQE $aqe: ")(withSQLConf((settings :+ ("spark.sql.adaptive.enabled" -> aqe)): _*)(body))
    }

  private def built(): Long = Native.broadcastTables()(2)

  /** The jobs of broadcasts that the body starts. */
  private def broadcastJobs(body: => Any): Int = {
    val tags = mutable.ArrayBuffer.empty[String]
    val listener = new SparkListener {
      override def onJobStart(start: SparkListenerJobStart): Unit =
        Option(start.properties.getProperty("spark.job.tags")).foreach(t => tags.synchronized(tags += t))
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      body
      spark.sparkContext.listenerBus.waitUntilEmpty()
    } finally spark.sparkContext.removeSparkListener(listener)
    tags.count(_.contains("broadcast exchange"))
  }

  private def onTwoWays(text: String, operators: String*): SparkPlan =
    checkNative(sql(text), (operators :+ "BroadcastExchange"): _*)

  test("the tasks of a join share one table, of which each kind of join has its own") {
    withEach("spark.sql.files.maxPartitionBytes" -> "2000") {
      def tablesOf(text: String, operators: String*): Long = {
        val before = built()
        withSQLConf("spark.comet.enabled" -> "true")(sql(text).collect())
        val now = built() - before
        val plan = onTwoWays(text, operators: _*)
        val tasks = nodes(plan).collectFirst { case s: CometNativeScanExec if s.original.relation.location.rootPaths.exists(_.getName == "facts") =>
          s.leafInput().asInstanceOf[SplitsInput].partitions.length
        }
        assert(tasks.exists(_ >= 4), plan)
        now
      }
      val dims = "(SELECT /*+ BROADCAST */ * FROM b_dims)"
      assert(tablesOf(s"SELECT f.id, d.name FROM b_facts f JOIN $dims d ON f.k = d.k", "BroadcastHashJoin") == 1)
      assert(tablesOf(s"SELECT f.id, d.name FROM b_facts f LEFT JOIN $dims d ON f.k = d.k AND f.j < d.j", "BroadcastHashJoin") == 1)
      assert(tablesOf(s"SELECT f.id FROM b_facts f LEFT SEMI JOIN $dims d ON f.k = d.k", "BroadcastHashJoin") == 1)
      assert(tablesOf(s"SELECT f.id FROM b_facts f LEFT ANTI JOIN $dims d ON f.k = d.k", "BroadcastHashJoin") == 1)
      assert(tablesOf(s"SELECT f.id, d.name FROM $dims d RIGHT JOIN b_facts f ON f.k = d.k", "BroadcastHashJoin") == 1)
      assert(tablesOf(s"SELECT f.id, d.name FROM b_facts f JOIN $dims d ON f.j < d.j - 3", "BroadcastNestedLoopJoin") == 1)
      assert(tablesOf(s"SELECT f.id, d.name FROM b_facts f JOIN $dims d ON f.k = d.k AND f.s = d.s", "BroadcastHashJoin") == 1)
      // Keys of Spark's own code are each task's own.
      assert(tablesOf(s"SELECT f.id FROM b_facts f JOIN $dims d ON soundex(f.s) = soundex(d.name)", "BroadcastHashJoin") == 0)
    }
  }

  test("one exchange with two native readers runs once") {
    withEach() {
      val dims = "(SELECT k, j, name FROM b_dims WHERE j < 4)"
      val text = s"SELECT /*+ BROADCAST(d, e) */ f.id, d.name, e.name AS other FROM b_facts f JOIN $dims d ON f.k = d.k " +
        s"LEFT SEMI JOIN $dims x ON f.k = x.k JOIN $dims e ON f.k = e.k"
      val plan = onTwoWays(text, "BroadcastHashJoin", "BroadcastHashJoin", "BroadcastHashJoin")
      assert(nodes(plan).exists(_.isInstanceOf[ReusedExchangeExec]), plan)
      assert(broadcastJobs(sql(text).collect()) == exchanges(plan).size)
    }
  }

  test("joins of Spark's read a native broadcast") {
    withEach("spark.comet.exec.broadcastHashJoin.enabled" -> "false", "spark.comet.exec.broadcastNestedLoopJoin.enabled" -> "false") {
      Seq(
        "SELECT f.id, d.name FROM b_facts f JOIN b_dims d ON f.k = d.k",
        "SELECT f.id, d.name FROM b_facts f JOIN b_dims d ON f.s = d.s AND f.v < 100",
        "SELECT /*+ BROADCAST(d) */ f.id, d.name FROM b_facts f JOIN b_dims d ON f.j < d.j - 3",
        "SELECT f.id FROM b_facts f WHERE f.k NOT IN (SELECT k FROM b_dims WHERE j = 1)",
        "SELECT f.id, n.v FROM b_facts f LEFT JOIN b_nulls n ON f.k = n.k"
      ).foreach { text =>
        val plan = onTwoWays(text)
        assert(nodes(plan).exists(n => n.isInstanceOf[BroadcastHashJoinExec] || n.isInstanceOf[BroadcastNestedLoopJoinExec]), plan)
      }
    }
  }

  test("one exchange with a native reader and one of Spark's runs once") {
    // The rows of so small a stage would not be worth turning.
    withEach("spark.comet.expression.Greatest.enabled" -> "false", "spark.comet.exec.transitionRevert.costRatio" -> "0") {
      val dims = "(SELECT k, j, name FROM b_dims WHERE j < 4)"
      val text = s"SELECT /*+ BROADCAST(d, e) */ f.id, d.name, d.j, e.name AS other FROM b_facts f JOIN $dims d ON f.k = d.k " +
        s"JOIN $dims e ON f.k = e.k AND greatest(f.j, e.j) > 2"
      val plan = onTwoWays(text, "BroadcastHashJoin")
      assert(nodes(plan).exists(_.isInstanceOf[BroadcastHashJoinExec]), plan)
      assert(exchanges(plan).size == 1 && nodes(plan).exists(_.isInstanceOf[ReusedExchangeExec]), plan)
      assert(broadcastJobs(sql(text).collect()) == 1)
    }
  }

  test("dynamic pruning reads a native broadcast, which runs once") {
    withEach() {
      Seq(
        "SELECT count(*), sum(f.id) FROM b_parts f JOIN b_dims d ON f.p = d.k WHERE d.name IN ('name3', 'name4')",
        "SELECT f.id, d.name FROM b_dims d JOIN b_parts f ON f.p = d.k WHERE d.name = 'name3'"
      ).foreach { text =>
        val plan = onTwoWays(text, "BroadcastHashJoin")
        val scan = nodes(plan).collectFirst {
          case s: CometNativeScanExec if s.partitionFilters.exists(_.exists(_.isInstanceOf[DynamicPruningExpression])) => s
        }.getOrElse(fail(s"no dynamic pruning\n$plan"))
        assert(scan.metrics("numPartitions").value <= 2, plan)
        assert(nodes(plan).count(_.isInstanceOf[BroadcastExchangeLike]) == 1, plan)
        assert(broadcastJobs(sql(text).collect()) == 1)
      }
    }
    // The same for a join of Spark's.
    withEach("spark.comet.exec.broadcastHashJoin.enabled" -> "false") {
      val text = "SELECT count(*), sum(f.id) FROM b_parts f JOIN b_dims d ON f.p = d.k WHERE d.name = 'name3'"
      val plan = onTwoWays(text)
      assert(nodes(plan).count(_.isInstanceOf[BroadcastExchangeLike]) == 1, plan)
      assert(broadcastJobs(sql(text).collect()) == 1)
    }
  }

  test("NOT IN over nulls, over nothing, and over neither") {
    withEach() {
      Seq("b_nulls", "(SELECT * FROM b_nulls WHERE k IS NOT NULL)", "b_none", "(SELECT * FROM b_nulls WHERE k > 100)").foreach { t =>
        Seq("b_facts", "b_nulls", "b_none").foreach { left =>
          checkSparkAnswer(sql(s"SELECT k FROM $left WHERE k NOT IN (SELECT k FROM $t)"))
        }
      }
      onTwoWays("SELECT id FROM b_facts WHERE k NOT IN (SELECT k FROM b_nulls WHERE k IS NOT NULL)", "BroadcastHashJoin")
    }
    // AQE asks the value whether it has a null key, and then does without the join.
    withSQLConf("spark.sql.adaptive.enabled" -> "true") {
      val plan = checkSparkAnswer(sql("SELECT id FROM b_facts WHERE k NOT IN (SELECT k FROM b_nulls)")).get
      assert(!nodes(plan).exists(_.isInstanceOf[CometBroadcastHashJoinExec]), plan)
    }
    withSQLConf("spark.sql.adaptive.enabled" -> "false") {
      onTwoWays("SELECT id FROM b_facts WHERE k NOT IN (SELECT k FROM b_nulls)", "BroadcastHashJoin")
    }
  }

  test("a broadcast of nothing") {
    withEach() {
      Seq("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN").foreach { join =>
        checkSparkAnswer(sql(s"SELECT /*+ BROADCAST(n) */ f.* FROM b_facts f $join b_none n ON f.k = n.k"))
        checkSparkAnswer(sql(s"SELECT /*+ BROADCAST(n) */ f.* FROM b_facts f $join b_nulls n ON f.k = n.k AND n.v > 100"))
      }
      checkSparkAnswer(sql("SELECT /*+ BROADCAST(n) */ f.id, n.v FROM b_facts f LEFT JOIN b_none n ON f.j < n.v"))
    }
    withSQLConf("spark.sql.adaptive.enabled" -> "false") {
      onTwoWays("SELECT /*+ BROADCAST(n) */ f.id, n.v FROM b_facts f LEFT JOIN b_none n ON f.k = n.k", "BroadcastHashJoin")
    }
  }

  test("rows of every type, for native readers and for Spark's") {
    withTable("b_types") {
      sql(
        """CREATE TABLE b_types USING parquet AS SELECT cast(id AS int) AS k,
          |  if(id % 3 = 0, null, cast(id AS tinyint)) AS t, cast(id AS smallint) AS i2, cast(id AS float) / 3 AS f,
          |  cast(id AS double) / 7 AS d, id % 2 = 0 AS b, cast(id AS decimal(12, 2)) AS d12, cast(id AS decimal(30, 4)) AS d30,
          |  repeat(cast(id AS string), 9) AS s, cast(cast(id AS string) AS binary) AS bin, date_add(DATE'2020-01-01', cast(id AS int)) AS dt,
          |  timestamp_seconds(id * 86400) AS ts, if(id % 4 = 0, null, array(id, null, id + 1)) AS a, map(cast(id AS string), id) AS m,
          |  struct(id AS x, if(id % 2 = 0, null, repeat('y', 30)) AS y) AS st, cast(null AS int) AS n
          |FROM range(40)""".stripMargin
      )
      val text = "SELECT f.id, t.* FROM b_facts f JOIN b_types t ON f.k = t.k"
      // Spark reads the nested columns, and the engine takes its rows.
      val converted = "spark.comet.convert.parquet.enabled" -> "true"
      withEach(converted)(onTwoWays(text, "BroadcastHashJoin"))
      withEach(converted, "spark.comet.exec.broadcastHashJoin.enabled" -> "false")(onTwoWays(text))
      Seq("t", "i2", "f", "d", "b", "d12", "d30", "s", "bin", "dt", "ts").foreach { c =>
        val join = s"SELECT /*+ BROADCAST(t) */ u.k, t.k AS k2 FROM b_types u JOIN b_types t ON u.$c = t.$c"
        withClue(c)(onTwoWays(join, "BroadcastHashJoin"))
      }
    }
  }

  test("strings of megabytes") {
    withTable("b_wide") {
      sql("CREATE TABLE b_wide USING parquet AS SELECT cast(id AS int) AS k, repeat(cast(id AS string), 10 << 20) AS s FROM range(3)")
      val text = "SELECT f.id, length(w.s), md5(w.s) FROM b_facts f JOIN b_wide w ON f.k = w.k WHERE f.id < 100"
      withEach("spark.sql.autoBroadcastJoinThreshold" -> "1g") {
        onTwoWays(text, "BroadcastHashJoin")
        withSQLConf("spark.comet.exec.broadcastHashJoin.enabled" -> "false")(onTwoWays(text))
      }
    }
  }

  test("the switch leaves broadcasts to Spark, and native joins read those") {
    withEach("spark.comet.exec.broadcastExchange.enabled" -> "false") {
      val text = "SELECT f.id, d.name FROM b_facts f JOIN b_dims d ON f.k = d.k"
      val plan = checkNative(sql(text), "BroadcastHashJoin")
      assert(nodes(plan).exists(_.isInstanceOf[BroadcastExchangeExec]) && exchanges(plan).isEmpty, plan)
      checkFallback(sql(text), "spark.comet.exec.broadcastExchange.enabled is false")
    }
  }

  test("rows of a Spark operator are broadcast natively for a native join, not for one of Spark's") {
    withEach("spark.comet.exec.sparkToColumnar.enabled" -> "false", "spark.comet.exec.window.enabled" -> "false") {
      val text = "SELECT f.id, w.r FROM b_facts f JOIN (SELECT k, row_number() OVER (PARTITION BY j ORDER BY k) AS r FROM b_dims) w ON f.k = w.k"
      onTwoWays(text, "BroadcastHashJoin")
      withSQLConf("spark.comet.exec.broadcastHashJoin.enabled" -> "false") {
        val plan = checkSparkAnswer(sql(text)).get
        assert(exchanges(plan).isEmpty, plan)
      }
    }
  }

  test("metrics and statistics are those of the rows") {
    withEach() {
      val df = sql("SELECT f.id, d.name FROM b_facts f JOIN b_dims d ON f.k = d.k WHERE d.j < 3")
      df.collect()
      val e = exchanges(df.queryExecution.executedPlan).head
      assert(e.metrics("numOutputRows").value == 24)
      // An UnsafeRow each: null bits, two columns, and the name padded.
      assert(e.metrics("dataSize").value == 24 * 32)
      assert(e.runtimeStatistics.rowCount.contains(BigInt(24)) && e.runtimeStatistics.sizeInBytes == 24 * 32)
      assert(e.canonicalized == e.original.canonicalized)
      assert(df.collect().length == df.count())
    }
  }

  test("an error of the broadcast rows, of their keys, and none on rows that are not reached") {
    withEach("spark.sql.ansi.enabled" -> "true") {
      checkSparkAnswer(sql("SELECT f.id, d.x FROM b_facts f JOIN (SELECT k, 1 / (j - 3) AS x FROM b_dims) d ON f.k = d.k"))
      checkSparkAnswer(sql("SELECT /*+ BROADCAST(d) */ f.id FROM b_facts f JOIN b_dims d ON f.k = cast(d.name AS int)"))
      checkSparkAnswer(sql("SELECT /*+ BROADCAST(d) */ f.id FROM b_facts f JOIN b_dims d ON f.k = cast(d.s AS int)"))
    }
  }

  test("limits of a broadcast are Spark's, and so are the errors") {
    withEach("spark.sql.autoBroadcastJoinThreshold" -> "100m") {
      Seq("1", "1000", "100k", "1500k", "3m", "1g").foreach { limit =>
        withSQLConf("spark.sql.maxBroadcastTableSize" -> limit) {
          Seq(
            "SELECT f.id, d.name FROM b_facts f JOIN b_dims d ON f.k = d.k",
            "SELECT f.id, g.id FROM b_facts f JOIN b_facts g ON f.id = g.id",
            "SELECT f.id FROM b_facts f JOIN b_facts g ON f.s = g.s AND f.id = g.id",
            "SELECT /*+ BROADCAST(d) */ f.id, d.name FROM b_facts f JOIN b_dims d ON f.j < d.j - 3"
          ).foreach(text => withClue(limit)(checkSparkAnswer(sql(text))))
        }
      }
    }
  }

  test("a broadcast that takes too long") {
    spark.udf.register("b_sleep", (x: Long) => { Thread.sleep(20000); x })
    withSQLConf("spark.sql.broadcastTimeout" -> "1", "spark.sql.adaptive.enabled" -> "false") {
      val found = outcomes(
        sql("SELECT /*+ BROADCAST(d) */ f.id FROM b_facts f JOIN (SELECT k, b_sleep(j) AS j FROM b_dims) d ON f.k = d.k AND f.j = d.j")
      )
      assert(found.difference.isEmpty && found.comet.toString.contains("spark.sql.broadcastTimeout"), found.comet)
    }
  }

  test("a value survives the serializer, and knows its size") {
    val frames = Array(Array.tabulate[Byte](100)(_.toByte), Array.emptyByteArray, new Array[Byte](1 << 20))
    val value = new BroadcastFrames(frames, 7, 1000, true)
    Seq(SparkEnv.get.serializer, SparkEnv.get.closureSerializer).foreach { serializer =>
      val instance = serializer.newInstance()
      val back = instance.deserialize[BroadcastFrames](instance.serialize(value))
      assert(back.rows == 7 && back.estimatedSize == value.estimatedSize)
      assert(back.frames.length == 3 && back.frames.zip(frames).forall { case (a, b) => a.sameElements(b) })
      assert(back != value && back == back)
    }
    assert(value.estimatedSize > (1 << 20) + 1000 && org.apache.spark.util.SizeEstimator.estimate(value) == value.estimatedSize)
  }

  test("tables go with their broadcast") {
    sql("SELECT f.id, d.name FROM b_facts f JOIN b_dims d ON f.k = d.k").collect()
    var tries = 100
    while (Native.broadcastTables()(0) > 0 && tries > 0) {
      System.gc()
      Thread.sleep(100)
      tries -= 1
    }
    assert(Native.broadcastTables().take(2).toSeq == Seq(0L, 0L))
  }
}

/** The same where Kryo serializes what is broadcast. */
class KryoBroadcastSuite extends BroadcastExchangeSuite {
  override protected def sessionConf: Map[String, String] =
    Map("spark.serializer" -> "org.apache.spark.serializer.KryoSerializer")
}
