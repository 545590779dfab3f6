package org.apache.comet.rules

import java.nio.file.Files

import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.comet._
import org.apache.spark.sql.comet.execution.shuffle.CometShuffleExchangeExec
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.SortMergeJoinExec

import org.apache.comet.{Answer, CometTestBase, LogCapture, NativeLibrary, RanNatively}

/** Native plans in real Spark under its adaptive rules: what may not be lost, and what may not change. */
class PlanningContractSuite extends CometTestBase {
  private lazy val dir = Files.createTempDirectory("contracts-").toFile

  override def beforeAll(): Unit = {
    super.beforeAll()
    assert(NativeLibrary.isLoaded, s"the library: ${NativeLibrary.failureReason}")
    withSQLConf("spark.comet.enabled" -> "false") {
      spark.range(0, 1000, 1, 4).selectExpr("id", "id % 10 AS k", "cast(id % 3 AS string) AS s").write.parquet(s"$dir/facts")
      spark.range(0, 10).selectExpr("id AS k", "concat('name', id) AS name").write.parquet(s"$dir/dims")
      spark.range(0, 1000).selectExpr("id", "id % 20 AS p").write.partitionBy("p").parquet(s"$dir/parts")
    }
    Seq("facts", "dims", "parts").foreach(t => spark.read.parquet(s"$dir/$t").createOrReplaceTempView(s"c_$t"))
  }

  override def afterAll(): Unit = {
    Seq("facts", "dims", "parts").foreach(t => spark.catalog.dropTempView(s"c_$t"))
    org.apache.commons.io.FileUtils.deleteDirectory(dir)
    super.afterAll()
  }

  private def nodes(p: SparkPlan): Seq[SparkPlan] = RanNatively.nodes(p)

  private def withEach(settings: (String, String)*)(body: => Unit): Unit =
    Seq("true", "false").foreach { aqe =>
      withClue(s"AQE $aqe: ")(withSQLConf((settings :+ ("spark.sql.adaptive.enabled" -> aqe)): _*)(body))
    }

  private def query(text: String): DataFrame = sql(text)

  test("scan, filter, project, aggregate, exchange, sort run natively") {
    withEach() {
      checkNative(
        query("SELECT k + 1 AS x, sum(id) FROM c_facts WHERE id > 10 GROUP BY k ORDER BY x"),
        "NativeScan",
        "Filter",
        "HashAggregate",
        "HashAggregate",
        "Exchange",
        "Exchange",
        "Sort",
        "*"
      )
    }
  }

  test("one exchange, read twice, runs once") {
    withEach("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val text = "SELECT a.k, a.n, b.n FROM (SELECT k, count(*) AS n FROM c_facts GROUP BY k) a " +
        "JOIN (SELECT k, count(*) AS n FROM c_facts GROUP BY k) b ON a.k = b.k"
      val plan = checkSparkAnswer(query(text)).get
      assert(nodes(plan).exists(_.isInstanceOf[ReusedExchangeExec]), plan)
      assert(nodes(plan).count(_.isInstanceOf[CometShuffleExchangeExec]) == 1, plan)
    }
  }

  test("a stage may have a native reader and a Spark reader") {
    withEach(
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.comet.exec.sort.enabled" -> "false",
      "spark.comet.exec.sortMergeJoin.enabled" -> "false"
    ) {
      val text = "SELECT a.k, n, b.id FROM (SELECT k, count(*) AS n FROM (SELECT /*+ REPARTITION(4, k) */ k, id " +
        "FROM c_facts) GROUP BY k) a JOIN (SELECT /*+ REPARTITION(4, k) */ k, id FROM c_facts) b ON a.k = b.k"
      val plan = checkSparkAnswer(query(text)).get
      assert(nodes(plan).exists(_.isInstanceOf[SortMergeJoinExec]))
    }
  }

  test("dynamic pruning: partitions are pruned, and the build side runs once") {
    withEach() {
      val text = "SELECT count(*), sum(f.id) FROM c_parts f JOIN c_dims d ON f.p = d.k WHERE d.name = 'name3'"
      val plan = checkSparkAnswer(query(text)).get
      val scan = nodes(plan).collectFirst {
        case s: CometNativeScanExec if s.partitionFilters.exists(_.exists(_.isInstanceOf[DynamicPruningExpression])) => s
      }.getOrElse(fail(s"no native scan with dynamic pruning\n$plan"))
      assert(scan.metrics("numFiles").value < 20 * 2 && scan.metrics("numPartitions").value == 1, plan)
      assert(nodes(plan).count(_.isInstanceOf[BroadcastExchangeLike]) == 1, plan)
      assert(scan.metrics("numOutputRows").value == 50)
    }
  }

  test("what turns out to be empty is native, alone and as a part") {
    val none = "SELECT f.id, f.k FROM c_facts f JOIN (SELECT k FROM c_dims WHERE name = 'nobody' GROUP BY k) d ON f.k = d.k"
    Seq(
      none,
      s"SELECT k, count(*) FROM ($none) GROUP BY k",
      s"SELECT count(*), max(id) FROM ($none)",
      s"$none UNION ALL SELECT id, k FROM c_facts WHERE id < 5",
      s"SELECT * FROM (SELECT id, k FROM c_facts WHERE id < 9 ORDER BY id LIMIT 5) a LEFT JOIN ($none) b ON a.k = b.k"
    ).foreach { text =>
      val plan = checkSparkAnswer(query(text)).get
      assert(!nodes(plan).exists(_.isInstanceOf[EmptyRelationExec]), s"$text\n$plan")
    }
    assert(nodes(checkNative(query(none), "*")).exists(_.isInstanceOf[CometEmptyRelationExec]))
    withSQLConf("spark.comet.exec.emptyRelation.enabled" -> "false") {
      assert(nodes(checkSparkAnswer(query(none)).get).exists(_.isInstanceOf[EmptyRelationExec]))
    }
  }

  test("adaptive reads of our exchange: coalesced, local, skewed") {
    withSQLConf("spark.sql.shuffle.partitions" -> "20") {
      val plan = checkSparkAnswer(query("SELECT k, count(*) FROM c_facts GROUP BY k")).get
      val read = nodes(plan).collectFirst { case r: AQEShuffleReadExec => r }.getOrElse(fail(plan.toString))
      assert(read.hasCoalescedPartition && read.supportsColumnar && !read.supportsRowBased)
    }
    withSQLConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10m"
    ) {
      val plan = checkSparkAnswer(query("SELECT f.id, name FROM c_facts f JOIN c_dims d ON f.k = d.k WHERE d.k < 5")).get
      assert(nodes(plan).collect { case r: AQEShuffleReadExec => r }.exists(_.isLocalRead), plan)
    }
    withSQLConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "100",
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "1",
      "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "100",
      "spark.sql.adaptive.coalescePartitions.enabled" -> "false"
    ) {
      val text = "SELECT f.id, d.name FROM (SELECT *, if(id < 900, 1, k) AS j FROM c_facts) f JOIN c_dims d ON f.j = d.k"
      val plan = checkSparkAnswer(query(text)).get
      val reads = nodes(plan).collect { case r: AQEShuffleReadExec => r }
      assert(reads.exists(_.hasSkewedPartition), plan)
    }
  }

  test("a scalar subquery in a fused chain, also one in a chain without a native root of its own") {
    withEach() {
      checkNative(query("SELECT id FROM c_facts WHERE id > (SELECT avg(id) FROM c_facts)"), "Filter", "HashAggregate")
      checkNative(
        query("SELECT k, count(*) FROM c_facts WHERE id > (SELECT max(k) FROM c_dims) GROUP BY k"),
        "Filter",
        "HashAggregate"
      )
      checkSparkAnswer(query("SELECT id + (SELECT max(k) FROM c_dims) FROM c_facts WHERE s = '1'"))
      checkSparkAnswer(query("SELECT count(*) FROM c_parts WHERE p = (SELECT max(k) FROM c_dims)"))
      checkSparkAnswer(query("SELECT id FROM c_facts WHERE id > (SELECT k FROM c_dims WHERE k > 100)"))
    }
  }

  test("a second action on the same frame") {
    withEach() {
      val df = query("SELECT k, count(*) AS n FROM c_facts WHERE id > 5 GROUP BY k ORDER BY k")
      val first = df.collect().toSeq
      assert(df.collect().toSeq == first && df.count() == first.size)
      assert(df.queryExecution.toRdd.count() == first.size)
      assert(df.limit(3).collect().toSeq == first.take(3))
    }
  }

  test("a union of tables bucketed alike keeps their buckets together") {
    withTable("c_b1", "c_b2") {
      withSQLConf("spark.comet.enabled" -> "false") {
        Seq("c_b1", "c_b2").foreach { t =>
          spark.range(0, 500).selectExpr("id % 50 AS k", "id").write.bucketBy(4, "k").saveAsTable(t)
        }
      }
      val text = "SELECT k, count(*), sum(id) FROM (SELECT * FROM c_b1 UNION ALL SELECT * FROM c_b2) GROUP BY k"
      withEach("spark.sql.sources.bucketing.autoBucketedScan.enabled" -> "false") {
        // Spark's own columnar union breaks the promise that its partitioning makes: it answers twice as many groups.
        val right = withSQLConf("spark.comet.enabled" -> "false", "spark.sql.unionOutputPartitioning" -> "false") {
          Answer.of(query(text))._1
        }
        def check(): SparkPlan = {
          val (answer, plan) = Answer.of(query(text))
          Answer.difference(right, answer).foreach(d => fail(s"$d\n$plan"))
          plan.get
        }
        val plan = check()
        val union = nodes(plan).collectFirst { case u: CometUnionExec => u }.getOrElse(fail(plan.toString))
        assert(union.outputPartitioning.isInstanceOf[HashPartitioning])
        assert(!nodes(plan).exists(_.isInstanceOf[CometShuffleExchangeExec]), plan)
        // The same with Spark's own union above native children.
        withSQLConf("spark.comet.exec.union.enabled" -> "false") {
          assert(nodes(check()).exists(_.isInstanceOf[UnionExec]))
        }
      }
    }
  }

  test("bucketed joins read their buckets without an exchange") {
    withTable("c_j1", "c_j2") {
      withSQLConf("spark.comet.enabled" -> "false") {
        Seq("c_j1" -> 8, "c_j2" -> 4).foreach { case (t, n) =>
          spark.range(0, 500).selectExpr("id % 50 AS k", "id").write.bucketBy(n, "k").saveAsTable(t)
        }
      }
      withEach("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.bucketing.coalesceBucketsInJoin.enabled" -> "true") {
        val plan = checkNative(query("SELECT a.id, b.id FROM c_j1 a JOIN c_j2 b ON a.k = b.k"), "NativeScan", "NativeScan")
        assert(!nodes(plan).exists(_.isInstanceOf[CometShuffleExchangeExec]), plan)
      }
    }
  }

  test("ANSI errors on rows that nobody asked for are not raised") {
    withEach("spark.sql.ansi.enabled" -> "true") {
      val bad = "1 / (id - 5)"
      def same(df: => Any): Any = {
        val expected = withSQLConf("spark.comet.enabled" -> "false")(df)
        val actual = df
        assert(actual == expected)
        actual
      }
      val one = "SELECT /*+ COALESCE(1) */ id FROM c_facts WHERE id < 100"
      same(query(s"SELECT $bad FROM ($one) LIMIT 3").collect().toSeq)
      same(query(s"SELECT $bad FROM ($one)").take(3).toSeq)
      same(query(s"SELECT $bad FROM ($one)").isEmpty)
      same(query(s"SELECT $bad AS x FROM ($one) WHERE $bad < 0").head(2).toSeq)
      same(query(s"SELECT sum(x) FROM (SELECT $bad AS x FROM ($one) LIMIT 4)").collect().toSeq)
      same(query(s"SELECT EXISTS (SELECT 1 FROM ($one) WHERE $bad IS NOT NULL)").collect().toSeq)
      checkSparkAnswer(query(s"SELECT $bad FROM ($one)"))
      checkSparkAnswer(query(s"SELECT $bad FROM ($one) LIMIT 7"))
    }
  }

  test("rand and monotonically_increasing_id below union and coalesce are those of the input's partition") {
    withEach() {
      val part = "SELECT id, rand(7) AS r, monotonically_increasing_id() AS m FROM c_facts"
      checkSparkAnswer(query(s"SELECT /*+ COALESCE(2) */ * FROM ($part)"))
      checkSparkAnswer(query(s"SELECT * FROM ($part) UNION ALL SELECT * FROM ($part WHERE id > 10)"))
      checkSparkAnswer(query(s"SELECT /*+ COALESCE(1) */ * FROM ($part UNION ALL $part)"))
    }
  }

  test("input_file_name and metadata columns") {
    withEach() {
      checkNative(query("SELECT input_file_name(), input_file_block_start(), id FROM c_parts WHERE id % 7 = 0"), "Project")
      def withMetadata = spark.read.parquet(s"$dir/parts").select("id", "p", "_metadata.file_name", "_metadata.file_path",
        "_metadata.file_size", "_metadata.file_block_start", "_metadata.file_modification_time")
      checkNative(withMetadata, "NativeScan")
      checkSparkAnswer(withMetadata.filter("file_size > 3 AND id < 100"))
    }
  }

  test("sort aggregates: text keys and values") {
    withEach() {
      checkNative(query("SELECT s, max(s), min(name) FROM c_facts JOIN c_dims USING (k) GROUP BY s"), "HashAggregate")
      checkSparkAnswer(query("SELECT s, max(s) AS m FROM c_facts GROUP BY s ORDER BY s"))
      checkSparkAnswer(query("SELECT m, count(*) FROM (SELECT s, max(s) AS m FROM c_facts GROUP BY s) GROUP BY m"))
    }
  }

  test("sort aggregates: nested keys, in order where it counts") {
    withEach() {
      val text = "SELECT named_struct('a', k, 's', s) AS g, array(k) AS h, max(s) AS m FROM c_facts GROUP BY ALL"
      checkFallback(query(text), "a sort aggregate by nested keys whose order of rows is made use of")
      checkNative(query(s"SELECT m, count(*) FROM ($text) GROUP BY m"), "HashAggregate")
      checkFallback(query(s"SELECT *, row_number() OVER (PARTITION BY g ORDER BY m) FROM ($text)"), "no native counterpart")
    }
  }

  test("a union that stays with Spark, over native operators that read Spark's") {
    withEach() {
      val windowed = "SELECT k, count(*) OVER (PARTITION BY k) AS n FROM c_facts"
      checkNative(query(s"SELECT id, 1 AS n FROM range(3) UNION ALL SELECT k, max(n) FROM ($windowed) GROUP BY k"), "HashAggregate")
      checkNative(
        query(s"SELECT id FROM range(3) UNION ALL (SELECT id FROM range(3) UNION ALL SELECT max(n) FROM ($windowed) GROUP BY k)"),
        "HashAggregate"
      )
    }
  }

  test("distinct aggregates, with and without filters") {
    withEach() {
      checkSparkAnswer(query("SELECT k, count(DISTINCT s), sum(id) FROM c_facts GROUP BY k"))
      checkSparkAnswer(query("SELECT count(DISTINCT s), count(DISTINCT k), sum(id) FROM c_facts"))
      checkSparkAnswer(query("SELECT k, sum(id) FILTER (WHERE s = '1'), count(DISTINCT s) FILTER (WHERE id > 7) FROM c_facts GROUP BY k"))
      checkSparkAnswer(query("SELECT k, s, grouping_id(), sum(id) FROM c_facts GROUP BY CUBE (k, s)"))
    }
  }

  test("cache: built from and read beside native plans") {
    withEach() {
      val df = query("SELECT k, count(*) AS n FROM c_facts GROUP BY k")
      df.cache()
      try {
        checkSparkAnswer(df.filter("n > 5"))
        checkSparkAnswer(df.groupBy("n").count())
        withSQLConf("spark.comet.sparkToColumnar.enabled" -> "true") {
          checkNative(df.groupBy("n").count(), "SparkColumnarToColumnar")
        }
      } finally df.unpersist(blocking = true)
    }
  }

  test("writes over native plans") {
    withEach() {
      withTempDir { out =>
        query("SELECT k, id FROM c_facts WHERE id > 10 ORDER BY id").write.mode("overwrite").partitionBy("k").parquet(s"$out/w")
        checkSparkAnswer(spark.read.parquet(s"$out/w").groupBy("k").count())
      }
    }
  }

  test("a plan with AQE shows in EXPLAIN what will run, before it runs") {
    val df = query("SELECT k, count(*) FROM c_facts f JOIN (VALUES (1), (2)) AS d(k) USING (k) GROUP BY k")
    val text = new org.apache.comet.ExtendedExplainInfo().generateExtendedInfo(df.queryExecution.executedPlan)
    assert(text.contains("CometHashAggregate") && text.contains("CometNativeScan"), text)
    assert(text.contains("LocalTableScan has no native counterpart"), text)
    assert(text.contains("operators are native"), text)
    withSQLConf("spark.comet.explain.format" -> "fallback") {
      val reasons = new org.apache.comet.ExtendedExplainInfo().generateExtendedInfo(df.queryExecution.executedPlan)
      assert(reasons.linesIterator.contains("LocalTableScan has no native counterpart"), reasons)
    }
    withSQLConf("spark.comet.enabled" -> "false") {
      val plan = query("SELECT k FROM c_facts").queryExecution.executedPlan
      assert(new org.apache.comet.ExtendedExplainInfo().generateExtendedInfo(plan).isEmpty)
    }
  }

  test("planOnly runs Spark's plan") {
    withEach("spark.comet.explain.planOnly.enabled" -> "true") {
      val plan = checkSparkAnswer(query("SELECT k, count(*) FROM c_facts GROUP BY k")).get
      assert(!nodes(plan).exists(_.isInstanceOf[CometPlan]))
    }
  }

  test("a stage that turns columns into rows too often is left to Spark where that is asked for") {
    withEach("spark.comet.exec.transitionRevert.enabled" -> "true", "spark.comet.exec.project.enabled" -> "false") {
      def plan = checkSparkAnswer(query("SELECT id + 1 AS x FROM c_facts WHERE id > 3")).get
      assert(nodes(plan).exists(_.isInstanceOf[CometFilterExec]))
      withSQLConf("spark.comet.exec.transitionRevert.maxTransitions" -> "0") {
        val reverted = plan
        assert(!nodes(reverted).exists(_.isInstanceOf[CometPlan]), reverted)
        assert(nodes(reverted).exists(Verdict.reasons(_).exists(_.contains("at 1 places"))))
      }
    }
  }

  test("a stage whose transitions would cost more than its native operators save is left to Spark") {
    // Only the sort is native, between a join and a window function of Spark's.
    def sorted(columns: Int) = {
      val wide = (1 to columns).map(i => s"f.id + $i AS c$i").mkString(", ")
      query(s"SELECT *, lead(id) OVER (PARTITION BY k ORDER BY id) AS n FROM (SELECT f.id, f.k, $wide FROM c_facts f " +
        "JOIN c_dims d ON f.k = d.k)")
    }
    def sorts(columns: Int) = nodes(checkSparkAnswer(sorted(columns)).get).collect { case s: CometSortExec => s }
    val off = Seq("broadcastHashJoin", "project", "window").map(o => s"spark.comet.exec.$o.enabled" -> "false") ++
      Seq("spark.comet.shuffle.enabled" -> "false")
    withEach(off: _*) {
      assert(sorts(3).nonEmpty)
      assert(sorts(120).isEmpty)
      val plan = checkSparkAnswer(sorted(120)).get
      assert(nodes(plan).exists(Verdict.reasons(_).exists(_.contains("spark.comet.exec.transitionRevert.costRatio"))), plan)
      withSQLConf("spark.comet.exec.transitionRevert.costRatio" -> "0")(assert(sorts(120).nonEmpty))
      withSQLConf("spark.comet.exec.transitionRevert.costRatio" -> "50")(assert(sorts(120).nonEmpty))
    }
  }

  test("a join below an operator of Spark's is worth the rows made of its output") {
    withEach("spark.comet.exec.project.enabled" -> "false") {
      val plan = checkSparkAnswer(query("SELECT f.id + 1 AS x, d.name FROM c_facts f JOIN c_dims d ON f.k = d.k")).get
      assert(nodes(plan).exists(_.isInstanceOf[ProjectExec]), plan)
      assert(nodes(plan).exists(_.isInstanceOf[CometBroadcastHashJoinExec]), plan)
    }
  }

  test("the native plan is logged before and after it runs where asked for") {
    val texts = LogCapture.during(org.apache.logging.log4j.Level.INFO) {
      withSQLConf("spark.comet.explain.native.enabled" -> "true")(query("SELECT id + 1 FROM c_facts WHERE id > 3").collect())
    }
    val before = texts.find(_.startsWith("Native plan:")).getOrElse(fail(texts.mkString("\n")))
    assert(before.contains("Project [Add(") && before.contains("Filter") && before.contains("ParquetScan [id]"), before)
    val after = texts.filter(_.contains("after it ran"))
    assert(after.nonEmpty && after.exists(_.contains("output_rows=")), after.mkString("\n"))
  }

  test("names of dispatched expressions are shown where asked for") {
    withSQLConf("spark.comet.explain.codegen.enabled" -> "true") {
      val df = query("SELECT soundex(s) FROM c_facts")
      df.collect()
      val text = new org.apache.comet.ExtendedExplainInfo().generateExtendedInfo(df.queryExecution.executedPlan)
      assert(text.contains("[COMET-INFO: JVM codegen dispatcher: SoundEx]"), text)
    }
  }

  test("stages keep the canonical form of the exchange they stand for") {
    val df = query("SELECT k, count(*) FROM c_facts GROUP BY k")
    df.collect()
    val stages = nodes(df.queryExecution.executedPlan).collect { case s: QueryStageExec => s.plan }
    stages.collect { case e: CometShuffleExchangeExec => assert(e.canonicalized == e.original.canonicalized) }
  }
}
