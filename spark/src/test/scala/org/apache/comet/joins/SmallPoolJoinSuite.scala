package org.apache.comet.joins

import java.nio.file.Files

import org.apache.spark.sql.comet.{CometJoinExec, CometSortExec}

import org.apache.comet.{Answer, CometTestBase, RanNatively, Rows}

/** Joins whose state does not fit in the memory that there is: the same answers, and they did spill. */
class SmallPoolJoinSuite extends CometTestBase {
  override protected def sessionConf: Map[String, String] = Map("spark.memory.offHeap.size" -> "12m")

  private lazy val dir = Files.createTempDirectory("small-pool-joins-").toFile

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      // One key in twenty rows of a side is the same; a key in a hundred is null.
      def side(n: Int, factor: Int) = spark.range(0, n, 1, 2).selectExpr(
        "id",
        s"CASE WHEN id % 100 = 0 THEN NULL WHEN id % ${factor * 20} = 1 THEN 7 ELSE id * $factor % 90000 END AS k",
        s"if(id % 50 = 3, double('NaN'), cast(id * $factor % 70000 AS double)) AS d",
        "concat('a text that is kept with its row, number ', id) AS s"
      )
      side(120000, 7).write.parquet(s"$dir/l")
      side(100000, 11).write.parquet(s"$dir/r")
    }
    Seq("l", "r").foreach(t => spark.read.parquet(s"$dir/$t").createOrReplaceTempView(s"sp_$t"))
  }

  override def afterAll(): Unit = {
    Seq("l", "r").foreach(t => spark.catalog.dropTempView(s"sp_$t"))
    org.apache.commons.io.FileUtils.deleteDirectory(dir)
    super.afterAll()
  }

  private val types = Seq("INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI")

  /** All rows in one: a sum of their hashes, which does not depend on their order. */
  private def sums(joinType: String, hint: String, key: String): String = {
    val columns = joinType match {
      case "LEFT SEMI" | "LEFT ANTI" => "a.id, a.k, a.s"
      case _ => "a.id, a.s, b.id AS j, b.s AS u"
    }
    val join = s"SELECT $hint $columns FROM sp_l a $joinType JOIN sp_r b ON a.$key = b.$key AND a.id % 90 <> b.id % 80"
    s"SELECT count(*), sum(cast(xxhash64(*) AS decimal(38, 0))) FROM ($join)"
  }

  Seq(
    ("shuffled hash joins", "/*+ SHUFFLE_HASH(b) */", "HashJoin", Nil),
    ("sort-merge joins that run as hash joins", "/*+ MERGE(b) */", "HashJoin", Nil),
    (
      "sort-merge joins",
      "/*+ MERGE(b) */",
      "SortMergeJoin",
      Seq("spark.comet.exec.sortMergeJoin.asHashJoin.enabled" -> "false")
    )
  ).foreach { case (name, hint, operator, settings) =>
    test(name) {
      var spilled = 0L
      withSQLConf((settings :+ ("spark.sql.autoBroadcastJoinThreshold" -> "-1") :+ ("spark.sql.shuffle.partitions" -> "2")): _*) {
        for (joinType <- types; key <- Seq("k", "d")) {
          // Spark's own hash join cannot spill, so Spark sorts and merges in any case.
          val expected = withSQLConf("spark.comet.enabled" -> "false")(Answer.of(sql(sums(joinType, "/*+ MERGE(b) */", key)))._1)
          val (actual, plan) = Answer.of(sql(sums(joinType, hint, key)))
          withClue(s"$joinType by $key: ") {
            Answer.difference(expected, actual).foreach(d => fail(s"$d\n${plan.fold("")(_.toString)}"))
            assert(actual.isInstanceOf[Rows], actual)
            RanNatively.missing(plan.get, Seq(operator)).foreach(fail(_))
          }
          // A merge join keeps little; the sorts below it spill.
          spilled += RanNatively.nodes(plan.get).collect {
            case j: CometJoinExec => j.metrics("spillSize").value
            case s: CometSortExec => s.metrics("spillSize").value
          }.sum
        }
      }
      assert(spilled > 0, "nothing was spilled")
    }
  }
}
