package org.apache.spark.sql.comet

import java.io.File

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.execution.SparkPlan

import org.apache.comet.{CometTestBase, NativeLibrary, RanNatively, plan}

/** Queries whose answer hangs on how native plans are run rather than on what they compute. */
class RuntimeSuite extends CometTestBase {
  private def withFiles(body: => Unit): Unit = withTempDir { dir =>
    withTempView("t", "u") {
      val t = new File(dir, "t").getPath
      val u = new File(dir, "u").getPath
      withSQLConf("spark.comet.enabled" -> "false") {
        spark.range(0, 10000, 1, 3).selectExpr("id", "id % 7 AS k", "cast(id AS string) AS s").write.parquet(t)
        spark.range(0, 500, 1, 2).selectExpr("id + 20000 AS id", "id % 5 AS k", "'u' AS s").write.parquet(u)
      }
      spark.read.parquet(t).createOrReplaceTempView("t")
      spark.read.parquet(u).createOrReplaceTempView("u")
      body
    }
  }

  private def find[T <: SparkPlan](plan: SparkPlan, cls: Class[T]): T =
    RanNatively.nodes(plan).collectFirst { case p if cls.isInstance(p) => cls.cast(p) }.getOrElse(fail(s"$cls in\n$plan"))

  // Small files must not be packed into one partition, or there is nothing to tell apart.
  private val manyPartitions = "spark.sql.files.maxPartitionBytes" -> "6000"

  test("input_file_name and its kin") {
    withFiles {
      withSQLConf(manyPartitions) {
        checkNative(sql("SELECT input_file_name(), input_file_block_start(), input_file_block_length(), id FROM t"), "Project", "NativeScan")
        checkNative(sql("SELECT id FROM t WHERE input_file_name() LIKE '%part-00001%'"), "NativeScan")
      }
    }
  }

  test("expressions that begin with the partition, below union and coalesce") {
    withFiles {
      val exprs = "id, monotonically_increasing_id() AS m, spark_partition_id() AS p, rand(7) AS r, uuid() IS NULL AS n"
      withSQLConf(manyPartitions) {
        checkNative(sql(s"SELECT $exprs FROM t UNION ALL SELECT $exprs FROM u"), "Union", "Project")
        checkNative(sql(s"SELECT /*+ COALESCE(2) */ * FROM (SELECT $exprs FROM t)"), "Coalesce", "Project")
        checkNative(sql(s"SELECT /*+ COALESCE(3) */ * FROM (SELECT $exprs FROM t UNION ALL SELECT $exprs FROM u)"), "Union", "Coalesce")
        checkNative(sql(s"SELECT $exprs, m FROM (SELECT id, monotonically_increasing_id() AS m FROM t UNION ALL SELECT id, rand(1) FROM u)"), "Union")
      }
    }
  }

  test("rows that Spark does not reach raise nothing") {
    withTempDir { dir =>
      withSQLConf("spark.sql.ansi.enabled" -> "true") {
        val one = new File(dir, "one").getPath
        withSQLConf("spark.comet.enabled" -> "false")(spark.range(0, 1000, 1, 1).write.parquet(one))
        val raising = s"SELECT id, 1 / (id - 5) AS x FROM parquet.`$one`"
        checkNative(sql(s"$raising LIMIT 3"), "Project")
        checkSparkAnswer(sql(s"SELECT * FROM ($raising) WHERE x < 0 LIMIT 2"))
        checkSparkAnswer(sql(s"SELECT EXISTS (SELECT x FROM ($raising))"))
        checkSparkAnswer(sql(raising))
        for (enabled <- Seq("false", "true")) withSQLConf("spark.comet.enabled" -> enabled) {
          assert(sql(raising).take(4).length == 4)
          assert(sql(raising).head().getLong(0) == 0)
          assert(!sql(raising).isEmpty)
          assert(sql(raising).limit(5).toLocalIterator().hasNext)
        }
      }
    }
  }

  test("subqueries anywhere in a fused chain") {
    withFiles {
      checkNative(sql("SELECT id + (SELECT max(id) FROM u) FROM t WHERE k = (SELECT min(k) FROM u) + 1"), "Filter", "Project")
      checkNative(
        sql("SELECT k, sum(id) FROM (SELECT * FROM t WHERE id > (SELECT avg(id) FROM t)) WHERE k < (SELECT max(k) FROM u) GROUP BY k"),
        "Filter",
        "HashAggregate"
      )
      checkSparkAnswer(sql("SELECT * FROM t WHERE id IN (SELECT id - 20000 FROM u WHERE k = 3)"))
    }
  }

  test("Spark's metrics are filled in") {
    withFiles {
      var bytes, records = 0L
      val listener = new SparkListener {
        override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized {
          bytes += end.taskMetrics.inputMetrics.bytesRead
          records += end.taskMetrics.inputMetrics.recordsRead
        }
      }
      val df = sql("SELECT id FROM t WHERE k = 3")
      spark.sparkContext.addSparkListener(listener)
      val n =
        try df.collect().length
        finally {
          spark.sparkContext.listenerBus.waitUntilEmpty()
          spark.sparkContext.removeSparkListener(listener)
        }
      val ran = df.queryExecution.executedPlan
      assert(find(ran, classOf[CometFilterExec]).metrics("numOutputRows").value == n)
      assert(find(ran, classOf[CometNativeColumnarToRowExec]).metrics("numOutputRows").value == n)
      assert(records == 10000)
      assert(bytes > 0)
    }
  }

  test("a saved plan is one that the command line reads") {
    withFiles {
      withTempDir { dir =>
        withSQLConf("spark.comet.debug.savePlan.dir" -> dir.getPath) {
          sql("SELECT id FROM t WHERE k = 3").collect()
        }
        val files = dir.listFiles().filter(_.getName.endsWith(".pb"))
        assert(files.nonEmpty)
        val saved = plan.SavedPlan.parseFrom(java.nio.file.Files.readAllBytes(files.head.toPath))
        assert(saved.getStage.getVersion == NativeLibrary.jarVersion())
        assert(saved.getStage.getRoot.getOutputCount == 1)
        assert(saved.getTask.getScansCount == 1)
      }
    }
  }

  test("a cached table under native operators") {
    withFiles {
      withSQLConf("spark.comet.sparkToColumnar.enabled" -> "true") {
        for (offHeap <- Seq("false", "true"))
          withSQLConf("spark.sql.columnVector.offheap.enabled" -> offHeap) {
            sql("CACHE TABLE c AS SELECT id, k, s, array(id, k) AS a, cast(id AS decimal(20, 3)) AS d FROM t")
            try checkNative(sql("SELECT id + 1, s, a, d FROM c WHERE k = 2"), "Filter", "Project")
            finally sql("DROP VIEW c")
          }
      }
    }
  }

  test("a script between two native plans pulls one of them from a thread of its own") {
    withFiles {
      checkSparkAnswer(
        sql("SELECT count(*), sum(cast(x AS bigint)) FROM (SELECT TRANSFORM(id) USING 'cat' AS (x) FROM t WHERE k < 5)")
      )
      val limited = sql("SELECT x FROM (SELECT TRANSFORM(id) USING 'cat' AS (x) FROM t WHERE k < 5) LIMIT 3")
      assert(limited.collect().length == 3)
    }
  }
}
