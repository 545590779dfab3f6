package org.apache.comet.rules

import java.nio.file.Files

import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.joins._

import org.apache.comet.{CometTestBase, RanNatively}

/** `spark.comet.exec.forceShuffledHashJoin`: which joins become shuffled hash joins, and which do not. */
class JoinChoiceSuite extends CometTestBase {
  private lazy val dir = Files.createTempDirectory("join-choice-").toFile

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      spark.range(0, 2000, 1, 4).selectExpr("id", "id % 100 AS k", "id % 7 AS g", "cast(id AS string) AS s").write.parquet(s"$dir/big")
      spark.range(0, 300).selectExpr("id AS k", "id % 5 AS g", "concat('name', id) AS name").write.parquet(s"$dir/small")
      spark.range(0, 300).selectExpr("id AS k", "concat('name', id) AS name").write.csv(s"$dir/csv")
    }
    Seq("big", "small").foreach(t => spark.read.parquet(s"$dir/$t").createOrReplaceTempView(s"jc_$t"))
    spark.read.schema("k BIGINT, name STRING").csv(s"$dir/csv").createOrReplaceTempView("jc_csv")
  }

  override def afterAll(): Unit = {
    Seq("big", "small", "csv").foreach(t => spark.catalog.dropTempView(s"jc_$t"))
    org.apache.commons.io.FileUtils.deleteDirectory(dir)
    super.afterAll()
  }

  private val join = "SELECT b.id, b.s, d.name FROM jc_big b JOIN jc_small d ON b.k = d.k"
  private val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  private val force = "spark.comet.exec.forceShuffledHashJoin" -> "true"
  private val maxSize = "spark.comet.exec.forceShuffledHashJoin.maxBuildSize"

  private def withEach(settings: (String, String)*)(body: => Unit): Unit =
    Seq("true", "false").foreach { aqe =>
      withClue(s"AQE $aqe: ")(withSQLConf((settings :+ ("spark.sql.adaptive.enabled" -> aqe)): _*)(body))
    }

  /** The joins of the plan as it ran: Spark's name of the node that each native one stands for, or its own. */
  private def joins(df: => DataFrame): Seq[String] = {
    val plan = checkSparkAnswer(df).get
    RanNatively.nodes(plan).collect {
      case c: CometJoinExec => c.original.getClass.getSimpleName
      case j: BaseJoinExec => s"Spark's ${j.getClass.getSimpleName}"
    }
  }

  private val hash = Seq("ShuffledHashJoinExec")
  private val merge = Seq("SortMergeJoinExec")

  test("a hash join without sorts where it is forced, and only there") {
    withEach(noBroadcast) {
      assert(joins(sql(join)) == merge)
      withSQLConf(force) {
        assert(joins(sql(join)) == hash)
        val plan = checkNative(sql(join), "HashJoin", "*")
        assert(!RanNatively.nodes(plan).exists(p => p.isInstanceOf[SortExec] || p.isInstanceOf[CometSortExec]), plan)
      }
      withSQLConf("spark.comet.exec.replaceSortMergeJoin" -> "true")(assert(joins(sql(join)) == hash))
    }
  }

  test("every join type") {
    withEach(noBroadcast, force) {
      Seq("INNER", "LEFT", "RIGHT", "FULL").foreach { t =>
        assert(joins(sql(s"SELECT b.id, d.name FROM jc_big b $t JOIN jc_small d ON b.k = d.k AND b.g > d.g")) == hash, t)
      }
      Seq("SEMI", "ANTI").foreach { t =>
        assert(joins(sql(s"SELECT b.id FROM jc_big b LEFT $t JOIN jc_small d ON b.k = d.k AND b.g > d.g")) == hash, t)
      }
      assert(joins(sql("SELECT id FROM jc_big b WHERE g = 3 OR EXISTS (SELECT 1 FROM jc_small d WHERE b.k = d.k)")) == hash)
      assert(joins(sql("SELECT b.id FROM jc_big b JOIN jc_small d ON b.k <=> d.k AND b.g <=> d.g")) == hash)
    }
  }

  test("a chain of joins: no sorts, also where the order of the last one is made use of") {
    withEach(noBroadcast, force) {
      val chain = "SELECT a.id, b.id AS i, d.name FROM jc_big a JOIN jc_big b ON a.id = b.id JOIN jc_small d ON a.id = d.k"
      assert(joins(sql(chain)) == hash ++ hash)
      val ranked = s"SELECT name, row_number() OVER (PARTITION BY i ORDER BY id) FROM ($chain)"
      val plan = checkSparkAnswer(sql(ranked)).get
      val sorts = RanNatively.nodes(plan).count(p => p.isInstanceOf[SortExec] || p.isInstanceOf[CometSortExec])
      assert(sorts == 1, plan)
    }
  }

  test("the build side is to be under the limit") {
    withEach(noBroadcast, force) {
      withSQLConf(maxSize -> "1")(assert(joins(sql(join)) == merge))
      withSQLConf(maxSize -> "1g")(assert(joins(sql(join)) == hash))
      withSQLConf(maxSize -> "")(assert(joins(sql(join)) == hash))
    }
    // Four partitions of so many bytes.
    withEach(force, "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1") {
      withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "20")(assert(joins(sql(join)) == merge))
    }
    withSQLConf(
      force,
      "spark.sql.autoBroadcastJoinThreshold" -> "20",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.coalescePartitions.initialPartitionNum" -> "20000"
    )(assert(JoinChoice(spark).apply(optimized(join)).nonEmpty))
  }

  private def optimized(text: String) =
    sql(text).queryExecution.optimizedPlan.collectFirst {
      case j: org.apache.spark.sql.catalyst.plans.logical.Join => j
    }.get

  test("a side without statistics is larger than any limit, unless there is none") {
    val rows = spark.createDataFrame(spark.sparkContext.parallelize(0 until 50).map(i => (i.toLong, i.toString)))
    rows.toDF("k", "t").createOrReplaceTempView("jc_rdd")
    try {
      val text = "SELECT b.id, r.t FROM jc_rdd r LEFT SEMI JOIN jc_big b ON b.k = r.k".replace("b.id, r.t", "r.t")
      val left = "SELECT b.id FROM jc_big b LEFT SEMI JOIN jc_rdd r ON b.k = r.k"
      withSQLConf(noBroadcast, force, "spark.sql.adaptive.enabled" -> "false") {
        assert(JoinChoice(spark).apply(optimized(text)).nonEmpty)
        assert(JoinChoice(spark).apply(optimized(left)).isEmpty)
        withSQLConf(maxSize -> "0")(assert(JoinChoice(spark).apply(optimized(left)).nonEmpty))
        withSQLConf(maxSize -> "-1")(assert(JoinChoice(spark).apply(optimized(left)).nonEmpty))
      }
    } finally spark.catalog.dropTempView("jc_rdd")
  }

  test("with AQE the size is what the shuffle wrote") {
    // Nine tenths of the estimate are filtered away where Spark cannot see it.
    val text = "SELECT b.id, d.name FROM jc_big b JOIN (SELECT * FROM jc_small WHERE length(name) < 6) d ON b.k = d.k"
    val estimate = optimized(text).right.stats.sizeInBytes
    withSQLConf(noBroadcast, force, maxSize -> (estimate / 2).toString) {
      withSQLConf("spark.sql.adaptive.enabled" -> "false")(assert(joins(sql(text)) == merge))
      withSQLConf("spark.sql.adaptive.enabled" -> "true")(assert(joins(sql(text)) == hash))
    }
    // Strings that Spark takes to be short: what was written is more than the estimate.
    val long = "SELECT b.id, d.t FROM jc_big b LEFT JOIN (SELECT k, repeat(sha2(name, 512), 9) AS t FROM jc_small) d ON b.k = d.k"
    val short = optimized(long).right.stats.sizeInBytes
    withSQLConf(noBroadcast, force, maxSize -> (short * 4).toString) {
      withSQLConf("spark.sql.adaptive.enabled" -> "false")(assert(joins(sql(long)) == hash))
      withSQLConf("spark.sql.adaptive.enabled" -> "true")(assert(joins(sql(long)) == merge))
    }
  }

  test("hints and small sides go first") {
    def hinted(hint: String) = join.replace("SELECT", s"SELECT /*+ $hint */")
    withEach(force) {
      assert(joins(sql(join)) == Seq("BroadcastHashJoinExec"))
      withSQLConf(noBroadcast) {
        assert(joins(sql(hinted("MERGE(d)"))) == merge)
        assert(joins(sql(hinted("BROADCAST(d)"))) == Seq("BroadcastHashJoinExec"))
        assert(joins(sql(hinted("SHUFFLE_HASH(b)"))) == hash)
      }
    }
    // Not small by its estimate, but when it was shuffled.
    withSQLConf(force, noBroadcast, "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10m") {
      assert(joins(sql(join)) == Seq("BroadcastHashJoinExec"))
    }
  }

  test("a join that the engine does not take is left as it is") {
    withEach(noBroadcast, force) {
      withSQLConf("spark.comet.exec.hashJoin.enabled" -> "false") {
        assert(joins(sql(join)) == merge)
      }
      withSQLConf("spark.comet.exec.enabled" -> "false")(assert(joins(sql(join)) == Seq("Spark's SortMergeJoinExec")))
      withSQLConf("spark.comet.expression.EqualTo.enabled" -> "false") {
        val text = s"$join AND (b.g = d.g OR d.g > 2)"
        assert(joins(sql(text)) == Seq("Spark's SortMergeJoinExec"))
      }
    }
  }

  test("a join that stays with Spark because of its inputs is planned back as a sort-merge join") {
    val text = "SELECT a.k, b.name FROM jc_csv a JOIN jc_csv b ON a.k = b.k"
    withEach(noBroadcast, force, maxSize -> "0") {
      val plan = checkSparkAnswer(sql(text)).get
      val merges = RanNatively.nodes(plan).collect { case m: SortMergeJoinExec => m }
      assert(merges.size == 1 && merges.head.children.forall(_.exists(_.isInstanceOf[SortExec])), plan)
      // What a user asked for stays.
      assert(joins(sql(text.replace("SELECT", "SELECT /*+ SHUFFLE_HASH(b) */"))) == Seq("Spark's ShuffledHashJoinExec"))
      withSQLConf("spark.comet.explain.planOnly.enabled" -> "true") {
        assert(joins(sql(join)) == Seq("Spark's SortMergeJoinExec"))
      }
    }
  }

  test("skewed partitions are split, which stays Spark's work") {
    withSQLConf(
      noBroadcast,
      force,
      "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "100",
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "1",
      "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "100",
      "spark.sql.adaptive.coalescePartitions.enabled" -> "false"
    ) {
      val text = "SELECT f.id, d.name FROM (SELECT *, if(id < 1900, 1, k) AS j FROM jc_big) f JOIN jc_small d ON f.j = d.k"
      val plan = checkNative(sql(text), "HashJoin")
      assert(RanNatively.nodes(plan).collect { case r: AQEShuffleReadExec => r }.exists(_.hasSkewedPartition), plan)
    }
  }

  test("a scalar subquery in the condition") {
    withEach(noBroadcast, force) {
      joins(sql(s"$join AND b.g + d.g > (SELECT avg(g) FROM jc_small)"))
      assert(joins(sql("SELECT b.id, d.name FROM jc_big b LEFT JOIN jc_small d ON b.k = d.k AND " +
        "b.g + d.g > (SELECT avg(g) FROM jc_small)")) == hash)
    }
  }
}
