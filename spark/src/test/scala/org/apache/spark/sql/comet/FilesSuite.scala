package org.apache.spark.sql.comet

import java.io.File
import java.nio.file.{Files, Path}

import org.apache.hadoop.fs.{FSDataInputStream, RawLocalFileSystem}

import org.apache.comet.CometTestBase

/** A file system that the engine does not know: each of its files is opened and read through Hadoop. */
class OtherFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "other"
  override def getUri: java.net.URI = java.net.URI.create("other:///")
  override protected def checkPath(path: org.apache.hadoop.fs.Path): Unit = ()
  override def open(path: org.apache.hadoop.fs.Path, bufferSize: Int): FSDataInputStream = {
    OtherFileSystem.opened.incrementAndGet()
    super.open(path, bufferSize)
  }
}

object OtherFileSystem {
  val opened = new java.util.concurrent.atomic.AtomicInteger
}

/** Files that are broken or gone, and files that only Hadoop can open. */
class FilesSuite extends CometTestBase {
  private val wanted = "id BIGINT, s STRING"

  private def withParquet(body: File => Unit): Unit = withTempDir { dir =>
    val path = new File(dir, "t").getPath
    withSQLConf("spark.comet.enabled" -> "false", "spark.sql.parquet.compression.codec" -> "uncompressed") {
      spark.range(0, 20000, 1, 1).selectExpr("id", "concat('text ', id) AS s").write.parquet(path)
    }
    body(new File(path))
  }

  private def part(dir: File): Path = dir.listFiles().find(_.getName.endsWith(".parquet")).get.toPath

  /** Spark's exception with its parameters, and after it the next query works. */
  private def broken(name: String, schema: String = wanted, condition: String = "FAILED_READ_FILE.NO_HINT")(
      damage: Path => Unit
  ): Unit = test(s"$name: Spark's error") {
    withParquet { dir =>
      damage(part(dir))
      // Hadoop's checksums would find the damage first.
      dir.listFiles().filter(_.getName.endsWith(".crc")).foreach(_.delete())
      checkSparkAnswer(spark.read.schema(schema).parquet(dir.getPath))
      val e = intercept[org.apache.spark.SparkException](spark.read.schema(schema).parquet(dir.getPath).collect())
      assert(e.getCondition == condition)
      assert(e.getMessageParameters.get("path").contains(dir.getName))
      assert(spark.range(3).count() == 3)
    }
  }

  private def rewrite(path: Path)(change: Array[Byte] => Array[Byte]): Unit = {
    val bytes = Files.readAllBytes(path)
    Files.write(path, change(bytes))
  }

  broken("a truncated file")(rewrite(_)(_.take(10000)))
  broken("a file that is not Parquet")(rewrite(_)(_ => Array.fill[Byte](5000)(42)))
  broken("a damaged page header")(rewrite(_) { bytes =>
    for (i <- 4 until 2000) bytes(i) = (bytes(i) ^ 0x5a).toByte
    bytes
  })
  broken("a damaged footer")(rewrite(_) { bytes =>
    for (i <- bytes.length - 300 until bytes.length - 8) bytes(i) = (bytes(i) ^ 0x5a).toByte
    bytes
  })
  broken("a footer of an impossible size")(rewrite(_) { bytes =>
    for (i <- bytes.length - 8 until bytes.length - 4) bytes(i) = 0x7f
    bytes
  })
  broken(
    "a column of another type",
    schema = "id BIGINT, s INT",
    condition = "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH"
  )(_ => ())

  test("an empty file has no rows") {
    withParquet { dir =>
      rewrite(part(dir))(_ => Array.empty)
      checkSparkAnswer(spark.read.schema(wanted).parquet(dir.getPath))
    }
  }

  test("a file deleted after planning: Spark's error") {
    for (enabled <- Seq("false", "true")) withSQLConf("spark.comet.enabled" -> enabled) {
      withParquet { dir =>
        val df = spark.read.parquet(dir.getPath)
        df.queryExecution.toRdd.getNumPartitions
        Files.delete(part(dir))
        val e = intercept[org.apache.spark.SparkException](df.collect())
        assert(e.getCondition == "FAILED_READ_FILE.FILE_NOT_EXIST")
      }
    }
  }

  test("ignoreCorruptFiles and ignoreMissingFiles") {
    withParquet { dir =>
      Files.copy(part(dir), new File(dir, "part-copy.parquet").toPath)
      rewrite(part(dir))(_.take(1000))
      dir.listFiles().filter(_.getName.endsWith(".crc")).foreach(_.delete())
      withSQLConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
        checkSparkAnswer(spark.read.schema(wanted).parquet(dir.getPath).selectExpr("count(*)", "sum(id)"))
      }
    }
  }

  test("a file system that only Hadoop knows") {
    spark.sparkContext.hadoopConfiguration.set("fs.other.impl", classOf[OtherFileSystem].getName)
    withParquet { dir =>
      val path = "other://" + dir.getPath
      OtherFileSystem.opened.set(0)
      checkNative(spark.read.parquet(path).where("id % 3 = 1"), "NativeScan", "Filter")
      assert(OtherFileSystem.opened.get > 0)
      val df = spark.read.parquet(path)
      df.queryExecution.toRdd.getNumPartitions
      Files.delete(part(dir))
      val e = intercept[org.apache.spark.SparkException](df.collect())
      assert(e.getCondition == "FAILED_READ_FILE.FILE_NOT_EXIST")
    }
  }
}
