package org.apache.comet.rules

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.aggregate.{HashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}

import org.apache.comet.{CometTestBase, plan}

/** What becomes of plans, with an engine that agrees to everything but what a test refuses. */
class PlanningSuite extends CometTestBase {

  private class Engine(refuse: plan.Plan => Option[String] = _ => None) {
    var calls = 0
    var asked = Seq.empty[plan.Plan]

    val judge = new Judge(bytes => {
      calls += 1
      val request = plan.BindRequest.parseFrom(bytes)
      asked ++= request.getNodesList.asScala
      val response = plan.BindResponse.newBuilder()
      request.getNodesList.asScala.foreach { node =>
        val reason = refuse(node)
        response.addVerdicts(
          plan.BindVerdict.newBuilder().setBound(reason.isEmpty).addAllReasons(reason.toSeq.asJava)
        )
      }
      response.build().toByteArray
    })
  }

  private lazy val dir = java.nio.file.Files.createTempDirectory("planning-").toFile

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      spark.range(0, 100, 1, 2).selectExpr("id", "id % 7 AS k", "cast(id AS string) AS s").write.parquet(s"$dir/t")
      spark.range(0, 10).selectExpr("id AS k", "id * 2 AS v").write.parquet(s"$dir/u")
    }
    spark.read.parquet(s"$dir/t").createOrReplaceTempView("pl_t")
    spark.read.parquet(s"$dir/u").createOrReplaceTempView("pl_u")
  }

  override def afterAll(): Unit = {
    Seq("pl_t", "pl_u").foreach(spark.catalog.dropTempView)
    org.apache.commons.io.FileUtils.deleteDirectory(dir)
    super.afterAll()
  }

  /** The plan as Spark hands it to the rules: before stages are made. */
  private def sparkPlan(df: => DataFrame): SparkPlan =
    withSQLConf("spark.comet.exec.enabled" -> "false", "spark.sql.adaptive.forceApply" -> "true") {
      df.queryExecution.executedPlan.asInstanceOf[AdaptiveSparkPlanExec].initialPlan
    }

  private def planned(df: => DataFrame, engine: Engine = new Engine): SparkPlan = {
    val before = sparkPlan(df)
    engine.judge.judge(before, spark.sessionState.conf)
    val replaced = new Replacement(spark.sessionState.conf)(before)
    Transitions(ApplyColumnarRulesAndInsertTransitions(Nil, outputsColumnar = false)(replaced))
  }

  private def names(p: SparkPlan): Seq[String] = p.map(_.nodeName.takeWhile(c => c != ' '))

  test("a chain over a scan is native to the top, with one transition") {
    val p = planned(sql("SELECT k + 1 AS x FROM pl_t WHERE id > 3"))
    assert(names(p) == Seq("CometNativeColumnarToRow", "CometProject", "CometFilter", "CometNativeScan"))
  }

  test("one question for a whole plan, none for what is known") {
    val engine = new Engine
    val query = "SELECT k, sum(id) FROM pl_t WHERE id > 3 GROUP BY k"
    planned(sql(query), engine)
    assert(engine.calls == 1 && engine.asked.size >= 4)
    assert(engine.asked.forall(_.getInputsList.asScala.forall(_.hasJvmInput)))
    planned(sql(query), engine)
    assert(engine.calls == 1)
  }

  test("a refused node stays with its reason, and what is below it is native") {
    val engine = new Engine(p => if (p.hasFilter) Some("filters are out") else None)
    val p = planned(sql("SELECT k + 1 AS x FROM pl_t WHERE id > 3"), engine)
    assert(names(p) == Seq("Project", "Filter", "CometNativeColumnarToRow", "CometNativeScan"))
    assert(Verdict.reasons(p.find(_.isInstanceOf[FilterExec]).get) == Seq("filters are out"))
    assert(Verdict.reasons(p).exists(_.contains("its input is not native")))
  }

  test("switches of operators") {
    Seq(
      "filter" -> "CometFilter",
      "project" -> "CometProject",
      "aggregate" -> "CometHashAggregate",
      "sort" -> "CometSort",
      "union" -> "CometUnion"
    ).foreach { case (switch, name) =>
      def query = sql("SELECT k, x FROM (SELECT k, count(*) AS x FROM pl_t WHERE id > 3 GROUP BY k UNION ALL " +
        "SELECT k + 1, v FROM pl_u) SORT BY x")
      assert(names(planned(query)).contains(name), name)
      withSQLConf(s"spark.comet.exec.$switch.enabled" -> "false") {
        val p = planned(query)
        assert(!names(p).contains(name), name)
        assert(p.exists(Verdict.reasons(_).exists(_.contains(s"spark.comet.exec.$switch.enabled is false"))), name)
      }
    }
    withSQLConf("spark.comet.scan.enabled" -> "false") {
      assert(!planned(sql("SELECT * FROM pl_t")).exists(_.isInstanceOf[CometPlan]))
    }
  }

  test("scans that stay with Spark say why") {
    def reason(df: => DataFrame): String = planned(df).flatMap(Verdict.reasons).mkString("; ")
    withSQLConf("spark.sql.parquet.enableVectorizedReader" -> "false") {
      assert(reason(sql("SELECT * FROM pl_t")).contains("spark.sql.parquet.enableVectorizedReader"))
      withSQLConf("spark.comet.scan.allowDisabledParquetVectorizedReader" -> "true") {
        assert(reason(sql("SELECT * FROM pl_t")).isEmpty)
      }
    }
    withSQLConf("parquet.crypto.factory.class" -> "x.Y")(assert(reason(sql("SELECT * FROM pl_t")).contains("encrypted")))
    assert(reason(spark.read.parquet(s"$dir/t").select("_metadata.row_index")).contains("row index"))
    assert(reason(spark.read.parquet(s"$dir/t").select("_metadata.file_name")).isEmpty)
    withTempDir { dir =>
      val path = s"$dir/csv"
      spark.range(3).write.csv(path)
      assert(reason(spark.read.csv(path)).contains("CSV"))
    }
  }

  test("rows of Spark feed an aggregate and a sort above a join, not a lone projection") {
    withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.comet.exec.sortMergeJoin.enabled" -> "false") {
      val p = planned(sql("SELECT s, sum(v) FROM pl_t JOIN pl_u USING (k) GROUP BY s"))
      assert(p.exists(_.isInstanceOf[SortMergeJoinExec]))
      assert(p.collect { case c: CometSparkToColumnarExec => c }.nonEmpty)
      assert(p.exists(_.isInstanceOf[CometHashAggregateExec]))
      val q = planned(sql("SELECT v + 1 FROM pl_t JOIN pl_u USING (k)"))
      assert(q.exists(_.isInstanceOf[ProjectExec]))
    }
  }

  test("sort-merge joins whose order nobody needs hash, also below a broadcast join and each other") {
    val two = "(SELECT a.k, a.v, b.v AS w FROM pl_u a JOIN pl_u b ON a.k = b.k JOIN pl_u c ON a.k = c.k)"
    withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val p = planned(sql(s"SELECT /*+ BROADCAST(t) */ count(*), sum(v) FROM $two JOIN pl_t t USING (k)"))
      assert(names(p).count(_ == "CometHashJoin") == 2 && names(p).contains("CometBroadcastHashJoin"), p)
      assert(!names(p).contains("CometSort"), p)
      val ordered = planned(sql(s"SELECT /*+ BROADCAST(t) */ w FROM $two JOIN pl_t t USING (k) LIMIT 3"))
      assert(names(ordered).count(_ == "CometSortMergeJoin") == 2, ordered)
    }
  }

  test("leaves are turned into columns only where asked for") {
    assert(!planned(sql("SELECT id % 3, count(*) FROM range(10) GROUP BY 1")).exists(_.isInstanceOf[CometPlan]))
    withSQLConf("spark.comet.sparkToColumnar.enabled" -> "true") {
      val p = planned(sql("SELECT id + 1 AS x FROM range(10) WHERE id > 3"))
      assert(names(p) ==
        Seq("CometNativeColumnarToRow", "CometProject", "CometFilter", "CometSparkRowToColumnar", "Range"))
      withSQLConf("spark.comet.sparkToColumnar.supportedOperatorList" -> "RDDScan") {
        assert(!planned(sql("SELECT id + 1 AS x FROM range(10)")).exists(_.isInstanceOf[CometPlan]))
      }
    }
  }

  test("a sort aggregate becomes a hash aggregate without the sort below, in order only where order counts") {
    val query = "SELECT s, max(s) AS m FROM pl_t GROUP BY s"
    val before = sparkPlan(sql(query))
    assert(before.exists(_.isInstanceOf[SortAggregateExec]))
    val p = planned(sql(query))
    assert(!p.exists(_.isInstanceOf[SortExec]))
    val sorts = p.collect { case s: CometSortExec => s }
    assert(sorts.size == 1 && sorts.head.child.isInstanceOf[CometHashAggregateExec])
    assert(p.collect { case a: CometHashAggregateExec => a }.size == 2)
  }

  test("a sort-merge join whose order nobody needs is a hash join, below other joins too") {
    withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val merge = "SELECT a.id, a.k, a.s FROM pl_t a JOIN pl_t b ON a.id = b.id"
      def joins(text: String) = planned(sql(text)).collect { case j: CometJoinExec => j.nodeName.takeWhile(_ != ' ') }
      assert(joins(merge) == Seq("CometSortMergeJoin"))
      assert(joins(s"SELECT k, count(*) FROM ($merge) GROUP BY k") == Seq("CometHashJoin"))
      def above(hint: String) = s"SELECT /*+ $hint(u) */ s, count(*) FROM ($merge) t JOIN pl_u u ON t.k = u.k GROUP BY s"
      assert(joins(above("BROADCAST")) == Seq("CometBroadcastHashJoin", "CometHashJoin"))
      assert(joins(above("SHUFFLE_HASH")) == Seq("CometHashJoin", "CometHashJoin"))
      assert(joins(above("MERGE")) == Seq("CometHashJoin", "CometHashJoin"))
      val ordered = s"SELECT id, count(*) OVER (PARTITION BY id) FROM ($merge)"
      assert(joins(ordered) == Seq("CometSortMergeJoin"))
    }
  }

  test("semi, anti and existence joins build the smaller side, whichever it is") {
    withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val (few, many) = ("(SELECT DISTINCT k FROM pl_u LIMIT 1)", "pl_t")
      def side(text: String) = planned(sql(text)).collectFirst { case j: CometHashJoinExec => j.buildSide }
      for (hint <- Seq("MERGE", "SHUFFLE_HASH"); kind <- Seq("SEMI", "ANTI")) {
        def semi(l: String, r: String) = s"SELECT /*+ $hint(r) */ count(*) FROM $l l LEFT $kind JOIN $r r ON l.k = r.k"
        assert(side(semi(few, many)).contains(BuildLeft))
        assert(side(semi(many, few)).contains(BuildRight))
      }
      val either = s"SELECT count(*) FROM $few l WHERE l.k < 0 OR EXISTS (SELECT 1 FROM $many r WHERE l.k = r.k)"
      assert(side(either).contains(BuildLeft))
    }
  }

  test("a hash join whose streamed side has an order that is made use of stays with Spark") {
    withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
      val merge = "SELECT a.id, a.k, a.s FROM pl_t a JOIN pl_t b ON a.id = b.id"
      val text = s"SELECT t.id, count(*) OVER (PARTITION BY t.id) FROM ($merge) t LEFT JOIN " +
        "(SELECT /*+ REPARTITION(id) */ id FROM pl_t) u ON t.id = u.id"
      val p = planned(sql(text.replace("SELECT t.id", "SELECT /*+ SHUFFLE_HASH(u) */ t.id")))
      val join = p.collectFirst { case s: ShuffledHashJoinExec => s }.getOrElse(fail(p.toString))
      assert(Verdict.reasons(join).exists(_.contains("order of rows is made use of")))
    }
  }

  test("limits: native within the plan, and the driver's own keep their way of collecting") {
    val p = planned(sql("SELECT id FROM pl_t LIMIT 3"))
    assert(names(p).head == "CometCollectLimit" && !p.supportsColumnar)
    val top = planned(sql("SELECT id FROM pl_t ORDER BY s LIMIT 3 OFFSET 1"))
    assert(names(top).take(3) == Seq("CometTakeOrderedAndProject", "CometNativeColumnarToRow", "CometLocalTopK"))
    val engine = new Engine
    planned(sql("SELECT count(*) FROM (SELECT id FROM pl_t LIMIT 5 OFFSET 2)"), engine)
    val limit = engine.asked.filter(_.hasLimit).map(_.getLimit).maxBy(_.getOffset)
    assert(limit.getLimit == 5 && limit.getOffset == 2)
  }

  test("a union that stays with Spark gets rows") {
    val engine = new Engine(p => if (p.hasUnion) Some("no unions") else None)
    val p = planned(sql("SELECT id FROM pl_t UNION ALL SELECT k FROM pl_u"), engine)
    val union = p.collectFirst { case u: UnionExec => u }.get
    assert(union.children.forall(_.isInstanceOf[CometNativeColumnarToRowExec]))
    assert(!union.supportsColumnar)
  }

  test("native nodes are Spark's to the planner: canonical form, partitioning, order, link, tags") {
    val before = sparkPlan(sql("SELECT k, sum(id) FROM pl_t WHERE id > 3 GROUP BY k"))
    new Engine().judge.judge(before, spark.sessionState.conf)
    val after = new Replacement(spark.sessionState.conf)(before)
    after.collect { case c: CometNativeExec => c }.foreach { c =>
      assert(c.canonicalized == c.original.canonicalized)
      assert(c.outputPartitioning == c.original.outputPartitioning)
      assert(c.output == c.original.output)
      assert(c.logicalLink.isDefined && c.logicalLink == c.original.logicalLink)
      assert(Verdict.of(c).exists(_.bound))
      assert(!c.original.exists(_.isInstanceOf[CometPlan]))
      val again = c.withNewChildren(c.children.map(_.clone()))
      assert(again.asInstanceOf[CometNativeExec].original eq c.original)
      assert(!c.toString.contains("HashAggregate(keys") || c.toString.contains("CometHashAggregate"))
    }
    assert(after.exists(_.isInstanceOf[CometHashAggregateExec]) || before.exists(_.isInstanceOf[HashAggregateExec]))
  }

  test("a verdict does not change when a child becomes a stage, and is written anew each time") {
    val before = sparkPlan(sql("SELECT k, sum(id) FROM pl_t GROUP BY k"))
    new Engine(_ => Some("no")).judge.judge(before, spark.sessionState.conf)
    assert(!before.exists(Verdict.of(_).exists(_.bound)))
    val engine = new Engine
    engine.judge.judge(before, spark.sessionState.conf)
    val top = before.collectFirst { case a: HashAggregateExec => a }.get
    assert(Verdict.of(top).exists(_.bound))
    assert(Verdict.of(top.withNewChildren(Seq(top.child.clone()))) == Verdict.of(top))
  }

  test("input_file_name is native only in a chain that streams from a scan") {
    val p = planned(sql("SELECT input_file_name() AS f, id FROM pl_t WHERE id > 3"))
    assert(names(p).contains("CometProject"))
    val engine = new Engine(p => if (p.hasFilter) Some("no") else None)
    val q = planned(sql("SELECT input_file_name() AS f, id FROM pl_t WHERE id > 3"), engine)
    assert(names(q).contains("Project"))
  }

  test("a switched-off expression is refused by the message, not by a list of ours") {
    withSQLConf("spark.comet.expression.Add.enabled" -> "false") {
      val engine = new Engine
      planned(sql("SELECT id + 1 FROM pl_t"), engine)
      val project = engine.asked.find(_.hasProject).get.getProject
      assert(project.getExprs(0).getRefused.contains("spark.comet.expression.Add.enabled"))
    }
  }
}
