package org.apache.comet.joins

import org.apache.comet.CometTestBase

/**
 * Each join type by each way to join and by keys and conditions of each kind, over a few rows that have nulls, NaNs, both
 * zeros and duplicates. What is particular to one way to join is in `resources/sql/joins`.
 */
class JoinTypesSuite extends CometTestBase {

  override def beforeAll(): Unit = {
    super.beforeAll()
    withSQLConf("spark.comet.enabled" -> "false") {
      sql("CREATE TABLE jt_l (id INT, k INT, b BIGINT, d DOUBLE, s STRING, n DECIMAL(12, 2), t DATE) USING parquet")
      sql("CREATE TABLE jt_r (id INT, k INT, b BIGINT, d DOUBLE, s STRING, n DECIMAL(12, 2), t DATE, x INT) USING parquet")
      sql("""INSERT INTO jt_l VALUES
            |(1, 1, 1, 1.5, 'a', 1.00, DATE '2020-01-01'),
            |(2, 1, 1, double('NaN'), 'a', 1.00, DATE '2020-01-01'),
            |(3, 2, 2, -0.0D, 'bb', 2.50, DATE '2020-01-02'),
            |(4, NULL, NULL, NULL, NULL, NULL, NULL),
            |(5, 3, 9000000000, 0.0D, '', 3.00, DATE '1900-01-01'),
            |(6, 4, 4, 4D, 'a string of more than twelve bytes', 4.00, DATE '2020-01-04'),
            |(7, 1, NULL, double('NaN'), 'a', NULL, NULL),
            |(8, 7, 7, 7D, 'g', -7.00, DATE '2020-01-07')""".stripMargin)
      sql("""INSERT INTO jt_r VALUES
            |(11, 1, 1, double('NaN'), 'a', 1.00, DATE '2020-01-01', 5),
            |(12, 1, 9000000000, 0.0D, 'a string of more than twelve bytes', 2.50, DATE '1900-01-01', 0),
            |(13, 2, 2, -0.0D, 'bb', 2.50, DATE '2020-01-02', -3),
            |(14, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            |(15, 5, 5, 5D, '', 5.00, NULL, 2),
            |(16, 4, 4, 4D, 'A', 4.01, DATE '2020-01-04', 4),
            |(17, NULL, 1, 1.5, 'a', 1.00, DATE '2020-01-01', 1)""".stripMargin)
    }
  }

  override def afterAll(): Unit =
    try Seq("jt_l", "jt_r").foreach(t => sql(s"DROP TABLE IF EXISTS $t"))
    finally super.afterAll()

  private val conditions = Seq(
    "int" -> "l.k = r.k",
    "two keys" -> "l.k = r.k AND l.b = r.b",
    "zeros and NaN" -> "l.d = r.d",
    "text" -> "l.s = r.s",
    "decimals" -> "l.n = r.n",
    "dates" -> "l.t = r.t",
    "null-safe" -> "l.k <=> r.k AND l.s <=> r.s",
    "a condition" -> "l.k = r.k AND l.id + r.x > 5",
    "a condition that is null" -> "l.k = r.k AND r.x / 2 > l.d"
  )

  private val types = Seq("INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI")
  private def oneSided(joinType: String): Boolean = joinType == "LEFT SEMI" || joinType == "LEFT ANTI"

  /** All columns, so that what comes of each pair is seen. */
  private def pairs(hint: String, joinType: String, condition: String): String = {
    val columns =
      if (oneSided(joinType)) "l.*" else "l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x"
    s"SELECT /*+ $hint */ $columns FROM jt_l l $joinType JOIN jt_r r ON $condition"
  }

  /** An aggregate above the join, which has no use for its order. */
  private def groups(hint: String, joinType: String, condition: String): String = {
    val (keys, values) =
      if (oneSided(joinType)) ("l.k", "min(l.s) AS m") else ("l.k, r.k", "min(r.s) AS m, max(l.id + r.id) AS x")
    s"SELECT /*+ $hint */ $keys, count(*) AS c, $values FROM jt_l l $joinType JOIN jt_r r ON $condition GROUP BY $keys"
  }

  private val noBroadcast = "spark.sql.autoBroadcastJoinThreshold" -> "-1"
  private val merge = "spark.comet.exec.sortMergeJoin.asHashJoin.enabled" -> "false"

  private case class Way(
      name: String,
      operator: String,
      types: Seq[String],
      hint: String => String,
      query: (String, String, String) => String = pairs,
      settings: Seq[(String, String)] = Seq(noBroadcast)
  )

  Seq(
    // Spark has no broadcast for a full outer join, and builds the side whose rows need not all be in the answer.
    Way("broadcast hash", "BroadcastHashJoin", types.filterNot(_ == "FULL OUTER"),
      t => s"BROADCAST(${if (t == "RIGHT OUTER") "l" else "r"})", settings = Nil),
    Way("shuffled hash", "HashJoin", types, _ => "SHUFFLE_HASH(r)"),
    Way("shuffled hash, building left", "HashJoin", types.filterNot(oneSided), _ => "SHUFFLE_HASH(l)"),
    Way("sort-merge", "SortMergeJoin", types, _ => "MERGE(r)", settings = Seq(noBroadcast, merge)),
    Way("sort-merge as hash", "HashJoin", types, _ => "MERGE(r)", groups)
  ).foreach { way =>
    for (joinType <- way.types; (name, condition) <- conditions) test(s"${way.name}, ${joinType.toLowerCase}, $name") {
      withSQLConf(way.settings: _*)(checkNative(sql(way.query(way.hint(joinType), joinType, condition)), way.operator))
    }
  }
}
