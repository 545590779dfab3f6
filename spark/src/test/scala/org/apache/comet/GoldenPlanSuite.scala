package org.apache.comet

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.io.Source

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics

/**
 * The plans of the 22 TPC-H queries, operator by operator, against the files in `resources/golden`: an operator that is no
 * longer native is seen there, with its reason. The tables are empty; Spark plans by the sizes that are set here,
 * those of scale 10. `make golden` writes the files anew.
 */
class GoldenPlanSuite extends CometTestBase {
  private val database = "golden"
  private val target = Option(System.getProperty("halley.test.golden")).map(Paths.get(_))

  private val tables = Seq(
    ("customer", 130L << 20, 1500000L, "c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey INT, c_phone STRING, " +
      "c_acctbal DECIMAL(15,2), c_mktsegment STRING, c_comment STRING"),
    ("lineitem", 2200L << 20, 59986052L, "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, " +
      "l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), " +
      "l_returnflag STRING, l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, " +
      "l_shipinstruct STRING, l_shipmode STRING, l_comment STRING"),
    ("nation", 3L << 10, 25L, "n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING"),
    ("orders", 600L << 20, 15000000L, "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15,2), " +
      "o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING"),
    ("part", 65L << 20, 2000000L, "p_partkey BIGINT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, " +
      "p_container STRING, p_retailprice DECIMAL(15,2), p_comment STRING"),
    ("partsupp", 420L << 20, 8000000L, "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DECIMAL(15,2), " +
      "ps_comment STRING"),
    ("region", 1L << 10, 5L, "r_regionkey INT, r_name STRING, r_comment STRING"),
    ("supplier", 8L << 20, 100000L, "s_suppkey BIGINT, s_name STRING, s_address STRING, s_nationkey INT, s_phone STRING, " +
      "s_acctbal DECIMAL(15,2), s_comment STRING")
  )

  override def beforeAll(): Unit = {
    super.beforeAll()
    sql(s"CREATE DATABASE $database")
    val catalog = spark.sessionState.catalog
    tables.foreach { case (name, size, rows, columns) =>
      sql(s"CREATE TABLE $database.$name ($columns) USING parquet")
      catalog.alterTableStats(TableIdentifier(name, Some(database)), Some(CatalogStatistics(size, Some(BigInt(rows)))))
    }
    sql(s"USE $database")
  }

  override def afterAll(): Unit = {
    sql("USE default")
    sql(s"DROP DATABASE $database CASCADE")
    super.afterAll()
  }

  private def resource(name: String): Option[String] =
    Option(getClass.getClassLoader.getResourceAsStream(name)).map { in =>
      try new String(in.readAllBytes(), UTF_8)
      finally in.close()
    }

  /** The plan as it runs, one operator a line, and how much of it is native. */
  private def planOf(number: Int): String = {
    val text = resource(s"tpch/q$number.sql").getOrElse(fail(s"no text of query $number"))
    withSQLConf("spark.sql.adaptive.enabled" -> "false") {
      PlanReport.verbose(sql(text).queryExecution.executedPlan, spark.sessionState.conf)
    }
  }

  (1 to 22).foreach { number =>
    val name = f"q$number%02d.txt"
    test(s"q$number") {
      val plan = planOf(number)
      target match {
        case Some(folder) =>
          Files.createDirectories(folder)
          Files.write(folder.resolve(name), plan.getBytes(UTF_8))
        case None =>
          val golden = resource(s"golden/$name").getOrElse(fail(s"no golden plan $name; `make golden` writes it"))
          if (plan != golden) {
            fail(s"the plan is not that of golden/$name; `make golden` writes it anew, if it is right\n${difference(golden, plan)}")
          }
      }
    }
  }

  private def difference(golden: String, plan: String): String = {
    val (before, after) = (Source.fromString(golden).getLines().toSeq, Source.fromString(plan).getLines().toSeq)
    before.zipAll(after, "", "").collect { case (b, a) if b != a => s"  was  $b\n  is   $a" }.mkString("\n")
  }
}
