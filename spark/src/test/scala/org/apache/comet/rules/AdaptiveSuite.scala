package org.apache.comet.rules

import java.nio.file.Files

import org.apache.spark.sql.comet._
import org.apache.spark.sql.comet.execution.shuffle.CometShuffleExchangeExec
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec

import org.apache.comet.{CometTestBase, RanNatively}

/** What AQE does to plans while they run, over native stages: the same answers as Spark's, natively, and done at all. */
class AdaptiveSuite extends CometTestBase {
  private lazy val dir = Files.createTempDirectory("adaptive-").toFile

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      spark.range(0, 3000, 1, 4)
        .selectExpr("id", "if(id % 10 < 8, 1, id % 50) AS k", "id % 40 AS g", "concat('s', id % 17) AS s").write.parquet(s"$dir/facts")
      spark.range(0, 60, 1, 2).selectExpr("id AS k", "concat('name', id) AS name", "nullif(id % 9, 0) AS g").write.parquet(s"$dir/dims")
    }
    Seq("facts", "dims").foreach(t => spark.read.parquet(s"$dir/$t").createOrReplaceTempView(s"ad_$t"))
  }

  override def afterAll(): Unit = {
    Seq("facts", "dims").foreach(t => spark.catalog.dropTempView(s"ad_$t"))
    org.apache.commons.io.FileUtils.deleteDirectory(dir)
    super.afterAll()
  }

  private val shuffles = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1"
  )
  // Spark sees a small side only when it was shuffled.
  private val switches = Seq(
    "spark.sql.autoBroadcastJoinThreshold" -> "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "10m"
  )
  private val skew = Seq(
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "100",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "1",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "200",
    "spark.sql.adaptive.coalescePartitions.enabled" -> "false"
  )

  private def withConf(settings: Seq[(String, String)], more: (String, String)*)(body: => Unit): Unit =
    withSQLConf((settings ++ more :+ ("spark.sql.adaptive.enabled" -> "true")): _*)(body)

  private def nodes(p: SparkPlan): Seq[SparkPlan] = RanNatively.nodes(p)
  private def reads(p: SparkPlan): Seq[AQEShuffleReadExec] = nodes(p).collect { case r: AQEShuffleReadExec => r }

  /** No operator is Spark's but a broadcast. */
  private def allNative(p: SparkPlan): Unit = {
    val left = RanNatively.sparkOperators(p).filterNot(n => n.startsWith("BroadcastExchange") || n.startsWith("ResultQueryStage"))
    assert(left.isEmpty, p)
  }

  test("a sort-merge join becomes a broadcast join that reads the other side's shuffle locally") {
    withConf(switches) {
      Seq("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN").foreach { join =>
        val text = s"SELECT f.id, f.s FROM ad_facts f $join (SELECT * FROM ad_dims WHERE length(name) < 6) d ON f.k = d.k"
        val plan = checkNative(sql(text), "BroadcastHashJoin")
        assert(reads(plan).exists(_.isLocalRead), s"$join\n$plan")
        allNative(plan)
      }
      val right = "SELECT d.name, count(*) FROM ad_dims d RIGHT JOIN ad_facts f ON f.k = d.k GROUP BY d.name"
      assert(reads(checkNative(sql(right), "BroadcastHashJoin")).exists(_.isLocalRead))
    }
    withConf(switches, "spark.sql.adaptive.localShuffleReader.enabled" -> "false") {
      val plan = checkNative(sql("SELECT f.id, d.name FROM ad_facts f JOIN ad_dims d ON f.k = d.k"), "BroadcastHashJoin")
      assert(!reads(plan).exists(_.isLocalRead), plan)
    }
  }

  test("a sort-merge join becomes a shuffled hash join where its partitions are small") {
    withConf(shuffles, "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold" -> "100m") {
      val plan = checkNative(sql("SELECT f.id, d.name FROM ad_facts f JOIN ad_dims d ON f.k = d.k"), "HashJoin")
      assert(nodes(plan).exists { case j: CometHashJoinExec => j.original.isInstanceOf[ShuffledHashJoinExec]; case _ => false }, plan)
      allNative(plan)
    }
  }

  test("partitions are read together") {
    withConf(shuffles, "spark.sql.shuffle.partitions" -> "30") {
      Seq(
        "SELECT g, count(*), sum(id) FROM ad_facts GROUP BY g",
        "SELECT f.id, d.name FROM ad_facts f JOIN ad_dims d ON f.k = d.k",
        "SELECT f.g, count(DISTINCT d.name) FROM ad_facts f LEFT JOIN ad_dims d ON f.k = d.k GROUP BY f.g",
        "SELECT s, id FROM ad_facts ORDER BY s, id",
        "SELECT g, n FROM (SELECT g, count(*) AS n FROM ad_facts GROUP BY g) UNION ALL SELECT k, count(*) FROM ad_dims GROUP BY k"
      ).foreach { text =>
        val plan = checkNative(sql(text), "Exchange", "*")
        assert(reads(plan).exists(_.hasCoalescedPartition), s"$text\n$plan")
      }
      // Nothing at all comes out of the stage that is read.
      checkSparkAnswer(sql("SELECT g, count(*) FROM ad_facts WHERE length(s) > 50 GROUP BY g"))
      checkSparkAnswer(sql("SELECT count(*), max(g) FROM (SELECT DISTINCT g FROM ad_facts WHERE length(s) > 50)"))
    }
  }

  test("skewed partitions are split: each join type that allows it, each way to join") {
    val ways = Seq(
      ("/*+ MERGE(d) */", "SortMergeJoin", Seq("spark.comet.exec.sortMergeJoin.asHashJoin.enabled" -> "false")),
      ("/*+ SHUFFLE_HASH(d) */", "HashJoin", Nil),
      ("", "HashJoin", Seq("spark.comet.exec.forceShuffledHashJoin" -> "true"))
    )
    val joins = Seq("JOIN" -> "f.id, d.name", "LEFT JOIN" -> "f.id, d.name", "LEFT SEMI JOIN" -> "f.id", "LEFT ANTI JOIN" -> "f.id")
    for ((hint, operator, settings) <- ways; (join, columns) <- joins) {
      withConf(shuffles ++ skew ++ settings) {
        val text = s"SELECT $hint $columns FROM ad_facts f $join ad_dims d ON f.k = d.k AND f.g <> 3"
        val plan = checkNative(sql(text), operator)
        assert(reads(plan).exists(_.hasSkewedPartition), s"$hint $join\n$plan")
        allNative(plan)
      }
    }
    // A sort-merge join whose order nobody needs runs as a hash join, of split partitions too.
    withConf(shuffles ++ skew, "spark.sql.adaptive.forceOptimizeSkewedJoin" -> "true") {
      val text = "SELECT d.name, count(*), sum(f.id) FROM ad_dims d RIGHT JOIN ad_facts f ON f.k = d.k GROUP BY d.name"
      val plan = checkNative(sql(text), "HashJoin", "HashAggregate")
      assert(reads(plan).exists(_.hasSkewedPartition), plan)
      allNative(plan)
    }
    // Both sides: each part of one meets each part of the other.
    withConf(shuffles ++ skew) {
      val text = "SELECT count(*), sum(a.id * 7 + b.id) FROM ad_facts a JOIN ad_facts b ON a.k = b.k WHERE a.g = 5"
      checkNative(sql(text), "HashAggregate")
    }
  }

  test("a rebalanced frame: large partitions split, small ones read together") {
    withConf(
      Nil,
      "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "500",
      "spark.sql.adaptive.rebalancePartitionsSmallPartitionFactor" -> "0.5",
      "spark.sql.shuffle.partitions" -> "10"
    ) {
      val plan = checkNative(sql("SELECT /*+ REBALANCE(k) */ k, id, s FROM ad_facts"), "Exchange")
      assert(reads(plan).nonEmpty, plan)
      checkSparkAnswer(sql("SELECT k, count(*) FROM (SELECT /*+ REBALANCE(k) */ k, id FROM ad_facts) GROUP BY k"))
    }
  }

  test("a side that turns out to be empty") {
    val none = "(SELECT * FROM ad_dims WHERE length(name) > 50)"
    Seq(shuffles, switches).foreach { settings =>
      withConf(settings) {
        Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN").foreach { join =>
          checkSparkAnswer(sql(s"SELECT f.id, d.name FROM ad_facts f $join $none d ON f.k = d.k"))
          checkSparkAnswer(sql(s"SELECT count(*), max(d.name) FROM ad_facts f $join $none d ON f.k = d.k"))
        }
        Seq("SEMI", "ANTI").foreach { join =>
          checkSparkAnswer(sql(s"SELECT f.id FROM ad_facts f LEFT $join JOIN $none d ON f.k = d.k"))
          checkSparkAnswer(sql(s"SELECT d.name FROM $none d LEFT $join JOIN ad_facts f ON f.k = d.k"))
        }
        checkSparkAnswer(sql(s"SELECT id FROM ad_facts WHERE k NOT IN (SELECT k FROM $none)"))
        checkSparkAnswer(sql("SELECT id FROM ad_facts WHERE k NOT IN (SELECT g FROM ad_dims)"))
        checkSparkAnswer(sql(s"SELECT id FROM ad_facts WHERE g = 3 OR k IN (SELECT k FROM $none)"))
      }
    }
    // What is left of the plan is native.
    withConf(shuffles) {
      val plan = checkNative(sql(s"SELECT f.id, d.name FROM ad_facts f LEFT JOIN $none d ON f.k = d.k"), "Project")
      assert(!nodes(plan).exists(_.isInstanceOf[CometJoinExec]), plan)
    }
  }

  test("many empty partitions keep a join from becoming a broadcast") {
    withConf(switches, "spark.sql.shuffle.partitions" -> "40", "spark.sql.adaptive.nonEmptyPartitionRatioForBroadcastJoin" -> "0.9") {
      val text = "SELECT f.id, d.name FROM ad_facts f JOIN (SELECT * FROM ad_dims WHERE length(name) < 6) d ON f.k = d.k"
      def joins = nodes(checkSparkAnswer(sql(text)).get).collect { case j: CometJoinExec => j }
      assert(joins.nonEmpty && !joins.exists(_.isInstanceOf[CometBroadcastHashJoinExec]))
      withSQLConf("spark.comet.exec.forceShuffledHashJoin" -> "true") {
        assert(joins.nonEmpty && !joins.exists(_.isInstanceOf[CometBroadcastHashJoinExec]))
      }
    }
  }

  test("one shuffle, read in two ways") {
    withConf(shuffles, "spark.sql.shuffle.partitions" -> "20") {
      val counts = "(SELECT /*+ REPARTITION(k) */ k, id FROM ad_facts)"
      val text = s"SELECT a.k, b.n FROM (SELECT k, max(id) AS m FROM $counts GROUP BY k) a JOIN " +
        s"(SELECT k, count(*) AS n FROM $counts GROUP BY k) b ON a.k = b.k"
      val plan = checkNative(sql(text), "Exchange")
      assert(nodes(plan).exists(_.isInstanceOf[CometShuffleExchangeExec]), plan)
      withSQLConf("spark.comet.exec.aggregate.enabled" -> "false")(checkSparkAnswer(sql(text)))
      withSQLConf("spark.comet.exec.hashJoin.enabled" -> "false", "spark.comet.exec.sortMergeJoin.enabled" -> "false") {
        checkSparkAnswer(sql(text))
      }
    }
  }

  test("subqueries under AQE: scalar, IN, EXISTS, and one used twice") {
    withConf(switches) {
      checkNative(sql("SELECT id FROM ad_facts WHERE id > (SELECT avg(id) FROM ad_facts) AND g < (SELECT max(g) FROM ad_dims)"), "*")
      checkSparkAnswer(sql("SELECT id, (SELECT max(name) FROM ad_dims) FROM ad_facts WHERE k IN (SELECT k FROM ad_dims WHERE g = 2)"))
      checkSparkAnswer(sql("SELECT g, sum(id) FROM ad_facts f WHERE EXISTS (SELECT 1 FROM ad_dims d WHERE d.k = f.g AND d.g > 3) " +
        "GROUP BY g HAVING sum(id) > (SELECT count(*) FROM ad_dims)"))
      checkSparkAnswer(sql("SELECT id FROM ad_facts WHERE id < (SELECT sum(k) FROM ad_dims) AND id > (SELECT sum(k) / 2 FROM ad_dims)"))
    }
  }
}
