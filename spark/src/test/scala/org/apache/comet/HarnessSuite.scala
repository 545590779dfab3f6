package org.apache.comet

import org.apache.spark.sql.comet.CometStandInExec

/** The harness itself: it must see what it is there to see. */
class HarnessSuite extends CometTestBase {

  private def answer(text: String): Answer = Answer.of(sql(text))._1
  private def differ(one: String, other: String): Boolean =
    Answer.difference(answer(one), answer(other)).isDefined

  test("equal answers are equal") {
    assert(!differ("SELECT * FROM VALUES (1, 'a'), (2, 'b')", "SELECT * FROM VALUES (2, 'b'), (1, 'a')"))
    assert(!differ("SELECT double('NaN') AS a", "SELECT -double('NaN') AS a"))
  }

  test("differing values, zeros, types, names and row counts are seen") {
    assert(differ("SELECT 1 AS a", "SELECT 2 AS a"))
    assert(differ("SELECT 0.0D AS a", "SELECT -0.0D AS a"))
    assert(differ("SELECT array(float(0)) AS a", "SELECT array(float('-0.0')) AS a"))
    assert(differ("SELECT 1 AS a", "SELECT 1L AS a"))
    assert(differ("SELECT 1 AS a", "SELECT 1 AS b"))
    assert(differ("SELECT 1.0 AS a", "SELECT 1.00 AS a"))
    assert(differ("SELECT id FROM range(2)", "SELECT id FROM range(3)"))
    assert(differ("SELECT nullif(1, 1) AS a", "SELECT nullif(2, 1) AS a"))
  }

  test("invalid UTF-8 and the order of a map are seen") {
    assert(differ("SELECT cast(X'ff' AS string) AS a", "SELECT cast(X'fe' AS string) AS a"))
    assert(differ("SELECT map(1, 2, 3, 4) AS a", "SELECT map(3, 4, 1, 2) AS a"))
  }

  test("order counts only under ORDER BY") {
    val up = "SELECT id FROM range(3) ORDER BY id"
    val down = "SELECT id FROM range(3) ORDER BY id DESC"
    assert(differ(up, down))
    assert(differ(s"SELECT id + 0 AS id FROM ($up)", s"SELECT id + 0 AS id FROM ($down)"))
    assert(!differ(s"SELECT id, count(*) AS n FROM ($up) GROUP BY id", s"SELECT id, count(*) AS n FROM ($down) GROUP BY id"))
  }

  test("errors: condition, parameters, query context, and rows against an error") {
    withSQLConf("spark.sql.ansi.enabled" -> "true") {
      val query = "SELECT cast(s AS int) AS a FROM VALUES ('x') AS t(s)"
      answer(query) match {
        case failure: Failure =>
          assert(failure.exception == "org.apache.spark.SparkNumberFormatException")
          assert(failure.condition.contains("CAST_INVALID_INPUT"))
          assert(failure.parameters("expression") == "'x'")
          assert(failure.context.exists(_.contains("cast(s AS int)")))
        case rows => fail(rows.toString)
      }
      assert(!differ(query, query))
      assert(differ(query, "SELECT cast(s AS int) AS a FROM VALUES ('y') AS t(s)"))
      assert(differ(query, "SELECT 1 AS a"))
      assert(differ(query, "SELECT 1 / (id - 1) AS a FROM range(3)"))
    }
  }

  test("an operator that did not run natively is missed") {
    val spark = sql("SELECT id FROM range(9) WHERE id > 3").queryExecution.executedPlan
    assert(RanNatively.nativeOperators(spark).forall(_ => NativeLibrary.isLoaded))
    assert(RanNatively.missing(CometStandInExec(Nil), Seq("StandIn")).isEmpty)
    assert(RanNatively.missing(CometStandInExec(Nil), Seq("*")).isEmpty)
    assert(RanNatively.missing(CometStandInExec(Nil), Seq("Filter")).isDefined)
    assert(RanNatively.missing(CometStandInExec(Nil), Seq("StandIn", "StandIn")).isDefined)
    withSQLConf("spark.comet.enabled" -> "false") {
      val plan = sql("SELECT id FROM range(9) WHERE id > 3").queryExecution.executedPlan
      assert(RanNatively.missing(plan, Seq("Filter")).isDefined)
      assert(RanNatively.missing(plan, Seq("*")).isDefined)
      assert(RanNatively.sparkOperators(plan).contains("Filter"))
    }
  }

  test("test files are split at statements, not at quoted semicolons") {
    val file = TwoSidedFile.parse(
      """-- file-config: a.b=c
        |CREATE TABLE t AS SELECT ';' AS s; -- the rest of the line is a comment; even this
        |-- name: first
        |-- native: Filter, Project
        |-- config: x=y=z
        |SELECT 'it\'s -- no comment' FROM t;
        |
        |(SELECT 2)
        |""".stripMargin
    )
    assert(file.config == Seq("a.b" -> "c"))
    assert(file.statements.map(_.isQuery) == Seq(false, true, true))
    assert(file.statements(1).name.contains("first"))
    assert(file.statements(1).native == Seq("Filter", "Project"))
    assert(file.statements(1).config == Seq("x" -> "y=z"))
    assert(file.statements(1).sql == """SELECT 'it\'s -- no comment' FROM t""")
    assert(file.statements(2).line == 8)
  }
}
