package org.apache.comet

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{BloomFilterMightContain, Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate
import org.apache.spark.sql.comet.CometHashAggregateExec
import org.apache.spark.sql.execution.aggregate.ObjectHashAggregateExec

/** Spark's Bloom filters: the ones its planner puts into joins, and as functions, which have no name in SQL otherwise. */
class BloomFilterSuite extends CometTestBase {
  private val functions = Seq[(String, Seq[Expression] => Expression)](
    "bloom_filter_agg" -> {
      case Seq(a) => new BloomFilterAggregate(a)
      case Seq(a, items) => new BloomFilterAggregate(a, items)
      case Seq(a, items, bits) => new BloomFilterAggregate(a, items, bits)
    },
    "might_contain" -> { case Seq(filter, value) => BloomFilterMightContain(filter, value) }
  )

  override def beforeAll(): Unit = {
    super.beforeAll()
    functions.foreach { case (name, make) =>
      val info = new ExpressionInfo(classOf[BloomFilterAggregate].getName, name)
      spark.sessionState.functionRegistry.registerFunction(new FunctionIdentifier(name), info, make)
    }
    withSQLConf("spark.comet.enabled" -> "false") {
      sql("CREATE TABLE bloom USING parquet AS SELECT id AS l, cast(id % 1000 AS INT) AS i, cast(id % 300 AS SMALLINT) AS s, " +
        "cast(id % 100 AS TINYINT) AS b, IF(id % 7 = 0, NULL, concat('text', id)) AS t, id * 10 AS far " +
        "FROM range(0, 20000, 1, 4)")
      sql("CREATE TABLE bloom_keys USING parquet AS SELECT id AS k, id % 5 AS g FROM range(0, 300)")
    }
  }

  override def afterAll(): Unit = {
    Seq("bloom", "bloom_keys").foreach(t => sql(s"DROP TABLE IF EXISTS $t"))
    functions.foreach { case (name, _) => spark.sessionState.functionRegistry.dropFunction(new FunctionIdentifier(name)) }
    super.afterAll()
  }

  test("filters are Spark's to the bit, for each type and size") {
    Seq("l", "i", "s", "b", "t").foreach { column =>
      Seq(", 1000L", ", 1000L, 64L", ", 1000L, 1000L", ", 5L, 9999L").foreach { size =>
        withClue(s"$column$size: ") {
          checkNative(sql(s"SELECT bloom_filter_agg($column$size) FROM bloom"), "HashAggregate", "HashAggregate", "Exchange")
        }
      }
    }
    checkNative(sql("SELECT length(bloom_filter_agg(l)), md5(bloom_filter_agg(l)) FROM bloom"), "HashAggregate", "HashAggregate")
    Seq("l < 0", "t IS NULL AND t IS NOT NULL", "l = 3").foreach { rows =>
      checkNative(sql(s"SELECT bloom_filter_agg(t, 1000L), count(*) FROM bloom WHERE $rows"), "HashAggregate", "HashAggregate")
    }
    checkNative(sql("SELECT bloom_filter_agg(l, 1000L) FILTER (WHERE i < 10) FROM bloom"), "HashAggregate", "HashAggregate")
  }

  test("a filter's size is what the session allows") {
    withSQLConf(
      "spark.sql.optimizer.runtime.bloomFilter.maxNumItems" -> "100000",
      "spark.sql.optimizer.runtime.bloomFilter.maxNumBits" -> "8192"
    ) {
      checkNative(sql("SELECT bloom_filter_agg(l, 100000L, 8192L) FROM bloom"), "HashAggregate", "HashAggregate")
      checkNative(sql("SELECT bloom_filter_agg(l, 10L * 10L, 4096L + 1L) FROM bloom"), "HashAggregate", "HashAggregate")
    }
  }

  test("one half of the aggregation may be Spark's") {
    withSQLConf("spark.comet.expression.StringReverse.enabled" -> "false", "spark.comet.expression.Reverse.enabled" -> "false") {
      Seq("SELECT bloom_filter_agg(length(reverse(t))) FROM bloom", "SELECT reverse(hex(bloom_filter_agg(l, 1000L))) FROM bloom").foreach {
        text =>
          val plan = RanNatively.nodes(checkSparkAnswer(sql(text)).get)
          assert(plan.count(_.isInstanceOf[CometHashAggregateExec]) == 1, text)
          assert(plan.count(_.isInstanceOf[ObjectHashAggregateExec]) == 1, text)
      }
    }
  }

  test("other aggregates on objects stay with Spark") {
    val plan = checkSparkAnswer(sql("SELECT i % 3 AS g, sort_array(collect_set(b)) AS s FROM bloom GROUP BY 1 ORDER BY 1")).get
    assert(RanNatively.nodes(plan).exists(_.isInstanceOf[ObjectHashAggregateExec]), plan)
  }

  test("values are found as Spark finds them: false positives too") {
    Seq("bloom_filter_agg(l, 1000L, 2048L)", "bloom_filter_agg(l, 100L, 1001L)", "bloom_filter_agg(l)").foreach { filter =>
      val text = s"(SELECT $filter FROM bloom WHERE l < 100)"
      checkNative(sql(s"SELECT l, might_contain($text, far) AS m FROM bloom"), "Project")
      checkNative(sql(s"SELECT l, t FROM bloom WHERE might_contain($text, far)"), "Filter")
      checkNative(sql(s"SELECT l, might_contain($text, IF(i % 2 = 0, NULL, l)) AS m FROM bloom"), "Project")
    }
    // No row filled it: unknown for all.
    val none = "(SELECT bloom_filter_agg(l) FROM bloom WHERE l < 0)"
    checkNative(sql(s"SELECT l, might_contain($none, far) AS m FROM bloom"), "Project")
    checkNative(sql(s"SELECT l FROM bloom WHERE might_contain($none, far)"), "Filter")
  }

  test("a filter in the first format is read, too") {
    val bytes = new java.io.ByteArrayOutputStream
    val filter = org.apache.spark.util.sketch.BloomFilter.create(org.apache.spark.util.sketch.BloomFilter.Version.V1, 100L, 1024L, 0)
    (0L until 100L).foreach(filter.putLong)
    filter.writeTo(bytes)
    val hex = bytes.toByteArray.map(b => f"$b%02x").mkString
    checkNative(sql(s"SELECT l, might_contain(X'$hex', far) AS m FROM bloom"), "Project")
    checkSparkAnswer(sql(s"SELECT l, might_contain(X'${hex.dropRight(2)}', far) AS m FROM bloom"))
    checkSparkAnswer(sql("SELECT l, might_contain(X'00000003', far) AS m FROM bloom"))
  }

  test("the filters that Spark's planner puts into joins") {
    Seq("true", "false").foreach { aqe =>
      withSQLConf(
        "spark.sql.adaptive.enabled" -> aqe,
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        "spark.sql.optimizer.runtime.bloomFilter.enabled" -> "true",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold" -> "0",
        "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold" -> "10MB"
      ) {
        val plan = checkSparkAnswer(sql("SELECT l, t, g FROM bloom JOIN bloom_keys ON l = k WHERE g = 3")).get
        val aggregates = RanNatively.nodes(plan).collect { case a: CometHashAggregateExec => a.aggregateExpressions }.flatten
        assert(aggregates.exists(_.aggregateFunction.isInstanceOf[BloomFilterAggregate]), plan)
        assert(RanNatively.missing(plan, Seq("Filter", "HashAggregate", "HashAggregate")).isEmpty, plan)
      }
    }
  }
}
