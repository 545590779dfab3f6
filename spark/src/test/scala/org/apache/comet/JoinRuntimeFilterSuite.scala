package org.apache.comet

import java.io.File

import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.SparkPlan

/** Run-time filters of hash joins: the answers and errors are Spark's, and the metrics tell that they worked. */
class JoinRuntimeFilterSuite extends CometTestBase {

  private val enabled = "spark.comet.exec.join.dynamicFilter.enabled"
  private val pastErrors = "spark.comet.exec.join.dynamicFilter.allowDeterministicFilterPushdown"

  private val everyType =
    """SELECT id,
      |  IF(id % 7 = 0, NULL, id * 7919) l,
      |  IF(id % 5 = 1, NULL, CAST(id * 31 % 900 AS INT)) i,
      |  CAST(id % 100 AS TINYINT) y,
      |  CAST(id * 13 % 30000 AS SMALLINT) h,
      |  IF(id % 11 = 3, NULL, id / 7.0D) d,
      |  CAST(id % 500 AS FLOAT) / 3 f,
      |  CAST(id * 1.01 AS DECIMAL(9, 2)) d9,
      |  IF(id % 17 = 4, NULL, CAST(id * -3.001 AS DECIMAL(17, 3))) d17,
      |  CAST(id * 12345678901.5 AS DECIMAL(33, 2)) d33,
      |  DATE_ADD(DATE'1970-01-01', CAST(id * 17 % 40000 - 20000 AS INT)) dt,
      |  IF(id % 3 = 0, NULL, TIMESTAMP_MICROS(id * 987654321 - 1000000000000)) ts,
      |  TIMESTAMP_NTZ'2020-01-01 00:00:00' + MAKE_DT_INTERVAL(0, 0, 0, id) ntz,
      |  IF(id % 4 = 0, NULL, CONCAT('s', id % 200)) s,
      |  CONCAT('prefix/', LPAD(id, 8, '0'), '/suffix') u,
      |  UNHEX(LPAD(HEX(id), 10, '0')) bin
      |FROM RANGE(0, 20000, 1, 1)""".stripMargin

  private val types =
    Seq("l", "i", "y", "h", "d", "f", "d9", "d17", "d33", "dt", "ts", "ntz", "s", "u", "bin")

  /** Written by Spark alone, in many row groups. */
  private def write(query: => DataFrame, path: File): String = {
    withSQLConf("spark.comet.enabled" -> "false") {
      query.write
        .mode("overwrite")
        .option("parquet.block.size", "100000")
        .option("parquet.page.size", "4000")
        .parquet(path.getPath)
    }
    path.getPath
  }

  private def withTables(body: => Unit): Unit = withTempDir { dir =>
    withTempView("t", "few") {
      spark.read.parquet(write(sql(everyType), new File(dir, "t"))).createOrReplaceTempView("t")
      // Conditions are on `tag`: Spark would infer those on a key for the other side, too.
      val few = sql(s"SELECT *, IF(id BETWEEN 100 AND 103, 0, 1) tag FROM ($everyType)")
        .where("id % 977 = 5 OR id BETWEEN 100 AND 103")
      spark.read.parquet(write(few, new File(dir, "few"))).createOrReplaceTempView("few")
      body
    }
  }

  private def metric(plan: SparkPlan, name: String): Long =
    RanNatively.nodes(plan).flatMap(_.metrics.get(name)).map(_.value).filter(_ > 0).sum

  private def pruned(plan: SparkPlan): Long = metric(plan, "dynamic_filter_rows_pruned")
  private def groups(plan: SparkPlan): Long = metric(plan, "row_groups_pruned_dynamic_filter")
  private def early(plan: SparkPlan): Long = metric(plan, "dynamic_filter_early_rows_pruned")
  private def untouched(plan: SparkPlan): Boolean =
    metric(plan, "dynamic_filter_input_rows") == 0 && groups(plan) == 0 &&
      metric(plan, "dynamic_filter_early_input_rows") == 0

  private def broadcastJoin(text: String): SparkPlan = checkNative(sql(text), "BroadcastHashJoin")

  test("every type of key, alone and with another") {
    withTables {
      for (key <- types; on <- if (key == "l") Seq("true", "false") else Seq("true")) withSQLConf(enabled -> on) {
        val one = broadcastJoin(s"SELECT /*+ BROADCAST(few) */ t.*, few.id FROM t JOIN few ON t.$key = few.$key")
        val two =
          broadcastJoin(s"SELECT /*+ BROADCAST(few) */ t.*, few.id FROM t JOIN few ON t.$key = few.$key AND t.id = few.id")
        if (on == "true") {
          // One in 100 values of `y` is every value.
          if (key != "y") assert(pruned(one) + groups(one) > 0, s"by $key")
          assert(pruned(two) > 10000 || groups(two) > 0, s"by $key and id")
        } else assert(untouched(one) && untouched(two))
      }
    }
  }

  test("row groups: no key of theirs is wanted") {
    withTables {
      for (key <- Seq("id", "l", "d9", "d33", "ntz", "u", "d", "bin")) {
        val plan = broadcastJoin(
          s"SELECT /*+ BROADCAST(b) */ t.* FROM t JOIN (SELECT $key k FROM few WHERE tag = 0) b ON t.$key = b.k"
        )
        // Spark's own order of binary values is not in the statistics of its files.
        if (key != "bin") assert(groups(plan) > 3, s"by $key")
      }
    }
  }

  test("rows are dropped late only where columns are decoded late") {
    withTables {
      withSQLConf("spark.comet.parquet.rowFilterPushdown.enabled" -> "false") {
        val plan = broadcastJoin(
          "SELECT /*+ BROADCAST(b) */ t.* FROM t JOIN (SELECT id k FROM few WHERE tag = 0) b ON t.id = b.k WHERE t.s <> 's1'"
        )
        assert(groups(plan) > 3)
        assert(pruned(plan) == 0)
      }
    }
  }

  test("keys as expressions: casts, floats, null-safe equality") {
    withTables {
      Seq(
        "t.i = few.l",
        "t.y = few.i",
        "t.i + 1 = few.i",
        "t.f = few.d",
        "t.s <=> few.s AND t.i <=> few.i",
        "upper(t.s) = upper(few.s)",
        "coalesce(t.i, -1) = coalesce(few.i, -1)"
      ).foreach { on =>
        broadcastJoin(s"SELECT /*+ BROADCAST(few) */ t.id, t.u, few.id FROM t JOIN few ON $on")
        withSQLConf("spark.sql.ansi.enabled" -> "false") {
          broadcastJoin(s"SELECT /*+ BROADCAST(few) */ t.id, t.u, few.id FROM t JOIN few ON $on")
        }
      }
    }
  }

  test("NaN, zeros and nulls") {
    withTempDir { dir =>
      withTempView("x", "y") {
        val values =
          """SELECT id, CASE WHEN id % 100 = 7 THEN double('NaN') WHEN id % 100 = 8 THEN -0.0D WHEN id % 100 = 9 THEN 0.0D
            |  WHEN id % 100 = 10 THEN NULL ELSE id + 0.5D END d FROM RANGE(0, 20000, 1, 1)""".stripMargin
        spark.read
          .parquet(write(sql(s"SELECT id, d, CAST(d AS FLOAT) f FROM ($values)"), new File(dir, "x")))
          .createOrReplaceTempView("x")
        for (wanted <- Seq("double('NaN')", "-0.0D", "0.0D", "double('Infinity')", "17.5D", "NULL"); key <- Seq("d", "f"))
          broadcastJoin(
            s"""SELECT /*+ BROADCAST(b) */ x.* FROM x JOIN
               |(SELECT CAST(IF(rand(1) < 2 AND id = 0, $wanted, 123.5D) AS ${if (key == "d") "DOUBLE" else "FLOAT"}) k FROM RANGE(2)) b
               |ON x.$key = b.k""".stripMargin
          )
      }
    }
  }

  test("join types: only where rows without a match are dropped") {
    withTables {
      val b = "(SELECT id k, u v FROM few WHERE tag = 1)"
      for (join <- Seq("INNER", "LEFT SEMI")) {
        val plan = broadcastJoin(s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM t $join JOIN $b b ON t.id = b.k")
        assert(pruned(plan) > 0, join)
      }
      for (join <- Seq("LEFT OUTER", "LEFT ANTI")) {
        val plan = broadcastJoin(s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM t $join JOIN $b b ON t.id = b.k")
        assert(untouched(plan), join)
      }
      assert(untouched(broadcastJoin(s"SELECT /*+ BROADCAST(b) */ t.* FROM $b b RIGHT OUTER JOIN t ON t.id = b.k")))
      withSQLConf("spark.sql.optimizer.excludedRules" -> "") {
        broadcastJoin(s"SELECT t.id FROM t WHERE t.i > 890 OR t.id IN (SELECT k FROM $b)")
        checkSparkAnswer(sql(s"SELECT t.id FROM t WHERE t.id NOT IN (SELECT k FROM $b)"))
      }
      withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        for (join <- Seq("INNER", "LEFT SEMI", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT ANTI"))
          checkSparkAnswer(sql(s"SELECT t.id FROM t $join JOIN $b b ON t.id = b.k"))
      }
    }
  }

  test("an empty build side") {
    withTables {
      withSQLConf("spark.sql.adaptive.enabled" -> "false") {
        val plan = broadcastJoin(
          "SELECT /*+ BROADCAST(b) */ t.* FROM t JOIN (SELECT id k FROM few WHERE length(u) < 3) b ON t.id = b.k"
        )
        assert(groups(plan) > 10)
        assert(metric(plan, "row_groups_read") == 1) // of `few`
        checkSparkAnswer(
          sql("SELECT /*+ BROADCAST(b) */ t.id FROM t LEFT ANTI JOIN (SELECT id k FROM few WHERE length(u) < 3) b ON t.id = b.k")
        )
      }
    }
  }

  test("an error below the join is raised although its row matches nothing") {
    withTables {
      val b = "(SELECT id k FROM few WHERE tag = 0)"
      val failing = Seq(
        s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM (SELECT * FROM t WHERE 100 DIV (id - 15000) < 1000) t JOIN $b b ON t.id = b.k",
        s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM t JOIN $b b ON t.id = b.k WHERE CAST(IF(t.id = 15000, 'x', '1') AS INT) = 1",
        s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM t JOIN $b b ON CAST(CAST(t.id * 100 AS INT) * 2000 AS BIGINT) = b.k",
        s"""SELECT /*+ BROADCAST(b), BROADCAST(c) */ t.id, t.u FROM t JOIN few c ON 100 DIV (t.id - 15000) = c.id
           |JOIN $b b ON t.id = b.k""".stripMargin
      )
      withSQLConf("spark.sql.ansi.enabled" -> "true") {
        failing.foreach { text =>
          val found = outcomes(sql(text))
          assert(found.spark.isInstanceOf[Failure], text)
          found.difference.foreach(fail(_))
        }
        // Unless the user says that it may go unnoticed.
        withSQLConf(pastErrors -> "true") {
          failing.take(2).foreach(text => assert(sql(text).collect().length == 4))
        }
      }
    }
  }

  test("what counts rows sees all of them") {
    withTables {
      val b = "(SELECT id k FROM few WHERE tag = 0)"
      withSQLConf("spark.sql.files.maxPartitionBytes" -> "1g", "spark.sql.files.minPartitionNum" -> "1") {
        Seq(
          s"SELECT /*+ BROADCAST(b) */ t.* FROM (SELECT id, rand(7) r, u FROM t) t JOIN $b b ON t.id = b.k",
          s"SELECT /*+ BROADCAST(b) */ t.* FROM (SELECT id, monotonically_increasing_id() r, u FROM t) t JOIN $b b ON t.id = b.k",
          s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM (SELECT * FROM t WHERE rand(3) < 0.9) t JOIN $b b ON t.id = b.k",
          s"SELECT /*+ BROADCAST(b) */ t.id, t.u FROM (SELECT * FROM t LIMIT 102) t JOIN $b b ON t.id = b.k",
          s"SELECT /*+ BROADCAST(b) */ t.* FROM (SELECT id, row_number() OVER (ORDER BY id) r FROM t) t JOIN $b b ON t.id = b.k",
          s"SELECT /*+ BROADCAST(b) */ t.* FROM (SELECT y, count(*) c, sum(id) s FROM t GROUP BY y) t JOIN $b b ON t.y = b.k"
        ).foreach(text => checkSparkAnswer(sql(text)))
      }
    }
  }

  test("chains: below other joins, to the scan and above shuffles") {
    withTables {
      val b = "(SELECT id k, u v FROM few WHERE tag = 1)"
      val c = "(SELECT id k, i v FROM few WHERE tag = 0)"
      val scan = broadcastJoin(
        s"""SELECT /*+ BROADCAST(b), BROADCAST(c), BROADCAST(few) */ t.id, t.u, b.v, c.v FROM t
           |JOIN few ON t.i = few.i JOIN $b b ON t.id = b.k JOIN $c c ON t.y = c.k - 60""".stripMargin
      )
      assert(pruned(scan) > 10000)
      // All three by one key: one stage over three shuffles.
      withSQLConf(
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        "spark.sql.adaptive.coalescePartitions.enabled" -> "false",
        "spark.sql.shuffle.partitions" -> "3"
      ) {
        val plan = checkNative(
          sql(s"SELECT /*+ SHUFFLE_HASH(o), SHUFFLE_HASH(c) */ t.id, t.u, o.d, c.v FROM t JOIN t o ON t.id = o.id JOIN $c c ON t.id = c.k"),
          "HashJoin",
          "HashJoin"
        )
        assert(early(plan) > 15000)
        checkSparkAnswer(sql(s"SELECT t.id, o.d, c.v FROM t LEFT JOIN $b o ON t.id = o.k JOIN $c c ON t.id = c.k"))
        checkSparkAnswer(sql(s"SELECT t.id, o.d, c.v FROM $b t RIGHT JOIN t o ON t.k = o.id JOIN $c c ON t.k = c.k".replace("t.id", "t.k")))
        checkSparkAnswer(sql(s"SELECT t.id, c.v FROM t LEFT ANTI JOIN $b o ON t.id = o.k JOIN $c c ON t.id = c.k"))
      }
    }
  }

  test("unions, small batches, a filter that is given up") {
    withTables {
      val b = "(SELECT id k FROM few WHERE tag = 1)"
      for (size <- Seq("1", "7", "8192")) withSQLConf("spark.comet.batchSize" -> size) {
        val plan = broadcastJoin(
          s"""SELECT /*+ BROADCAST(b) */ t.id, t.u FROM (SELECT id, u FROM t UNION ALL SELECT id + 3, s FROM t) t
             |JOIN $b b ON t.id = b.k""".stripMargin
        )
        assert(pruned(plan) > 15000)
        val all = broadcastJoin("SELECT /*+ BROADCAST(o) */ t.id, t.u FROM t JOIN (SELECT id FROM t) o ON t.id = o.id")
        assert(metric(all, "dynamic_filter_input_rows") <= 4 * size.toLong)
        assert(pruned(all) == 0)
      }
    }
  }

  test("other types in the file than in the table") {
    withTables {
      withTempDir { dir =>
        val path = write(sql("SELECT CAST(id AS INT) id, CAST(id * 2 AS INT) n, CONCAT('u', id) u FROM RANGE(0, 20000, 1, 1)"), dir)
        withTempView("wide") {
          spark.read.schema("id BIGINT, n DOUBLE, u STRING, gone INT").parquet(path).createOrReplaceTempView("wide")
          val plan = broadcastJoin(
            "SELECT /*+ BROADCAST(b) */ w.* FROM wide w JOIN (SELECT id k FROM few WHERE tag = 0) b ON w.id = b.k"
          )
          assert(pruned(plan) + groups(plan) > 0)
          checkSparkAnswer(
            sql("SELECT /*+ BROADCAST(b) */ w.* FROM wide w JOIN (SELECT i k FROM few WHERE tag = 0) b ON w.gone = b.k")
          )
          // Spark refuses the column, whichever row groups are wanted.
          spark.read.schema("id BIGINT, u INT").parquet(path).createOrReplaceTempView("wide")
          checkSparkAnswer(
            sql("SELECT /*+ BROADCAST(b) */ w.* FROM wide w JOIN (SELECT id + 100000 k FROM few) b ON w.id = b.k")
          )
        }
      }
    }
  }
}
