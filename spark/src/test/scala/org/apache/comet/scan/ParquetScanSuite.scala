package org.apache.comet.scan

import java.io.File
import java.nio.file.{Files, StandardOpenOption}

import org.apache.spark.sql.classic.DataFrame

import org.apache.comet.CometTestBase

/** Parquet files through Spark, read natively and by Spark's own reader: rows, refusals and errors are the same. */
class ParquetScanSuite extends CometTestBase {

  private val scan = "NativeScan"

  private val everyType =
    """SELECT id,
      |  IF(id % 7 = 0, NULL, id * 7919) l,
      |  IF(id % 5 = 1, NULL, CAST(id * 31 % 50 AS INT)) i,
      |  CAST(id % 100 AS TINYINT) y,
      |  CAST(id * 13 % 30000 AS SMALLINT) h,
      |  IF(id % 11 = 3, NULL, id / 7.0D) d,
      |  CAST(id % 50 AS FLOAT) / 3 f,
      |  IF(id % 13 = 2, NULL, id % 3 = 1) b,
      |  CAST(id * 1.01 AS DECIMAL(9, 2)) d9,
      |  IF(id % 17 = 4, NULL, CAST(id * -3.001 AS DECIMAL(17, 3))) d17,
      |  CAST(id * 12345678901.5 AS DECIMAL(33, 2)) d33,
      |  DATE_ADD(DATE'1970-01-01', CAST(id * 17 % 40000 - 20000 AS INT)) dt,
      |  IF(id % 3 = 0, NULL, TIMESTAMP_MICROS(id * 987654321 - 1000000000000)) ts,
      |  TIMESTAMP_NTZ'2020-01-01 00:00:00' + MAKE_DT_INTERVAL(0, 0, 0, id) ntz,
      |  IF(id % 4 = 0, NULL, REPEAT(CONCAT('s', id % 20), CAST(id % 5 AS INT))) s,
      |  CONCAT('prefix/', LPAD(id, 8, '0'), '/suffix') u,
      |  UNHEX(LPAD(HEX(id), 10, '0')) bin
      |FROM RANGE(0, 3000, 1, 1)""".stripMargin

  private val predicates = Seq(
    "l < 100000",
    "i = 3 AND s IS NOT NULL",
    "b",
    "NOT b AND h < 100",
    "d17 > -100.5",
    "dt < DATE'1960-01-01'",
    "ts > TIMESTAMP'1970-01-20 00:00:00'",
    "s = 's1' OR u LIKE 'prefix/000001%'",
    "id IN (5, 77, 2999)",
    "id = -5"
  )

  /** Written by Spark alone, once a call. */
  private def write(query: => DataFrame, path: File, options: (String, String)*): String = {
    withSQLConf("spark.comet.enabled" -> "false") {
      query.write.mode("overwrite").options(options.toMap).parquet(path.getPath)
    }
    path.getPath
  }

  private def onlyFile(path: File): File =
    path.listFiles().filter(_.getName.endsWith(".parquet")) match {
      case Array(file) => file
      case files => fail(s"${files.length} files")
    }

  for {
    (codec, version, dictionary, page) <- Seq(
      ("snappy", "PARQUET_1_0", "true", "1048576"),
      ("zstd", "PARQUET_2_0", "true", "512"),
      ("gzip", "PARQUET_2_0", "false", "2000"),
      ("none", "PARQUET_1_0", "false", "512"),
      ("lz4_raw", "PARQUET_1_0", "true", "2000")
    )
  } test(s"every type: $codec, $version, dictionary $dictionary, pages of $page bytes") {
    withTempDir { dir =>
      for (timestamps <- Seq("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS")) {
        val path = withSQLConf(
          "spark.sql.parquet.outputTimestampType" -> timestamps,
          "spark.sql.parquet.writeLegacyFormat" -> (codec == "none").toString
        ) {
          write(
            sql(everyType),
            new File(dir, timestamps),
            "compression" -> codec,
            "parquet.writer.version" -> version,
            "parquet.enable.dictionary" -> dictionary,
            "parquet.page.size" -> page,
            "parquet.block.size" -> "60000",
            "parquet.dictionary.page.size" -> "4000"
          )
        }
        checkNative(spark.read.parquet(path), scan)
        predicates.zipWithIndex.filter(_._2 % 3 == timestamps.length % 3).foreach { case (predicate, _) =>
          checkNative(spark.read.parquet(path).where(predicate), scan, "Filter")
        }
      }
    }
  }

  test("small batches, with and without columns decoded late") {
    withTempDir { dir =>
      val path = write(sql(everyType), dir, "parquet.page.size" -> "700", "parquet.block.size" -> "60000")
      for (size <- Seq("1", "7", "1000"); late <- Seq("true", "false"))
        withSQLConf("spark.comet.batchSize" -> size, "spark.comet.parquet.rowFilterPushdown.enabled" -> late) {
          checkNative(spark.read.parquet(path).where("i < 10 AND s > 's1'"), scan, "Filter")
          checkNative(spark.read.parquet(path).where("id % 1000 = 17").select("u", "bin", "d33"), scan, "Filter")
        }
    }
  }

  test("a file read as other types than it was written with") {
    withTempDir { dir =>
      val path = write(sql(everyType), dir)
      Seq(
        "i BIGINT, y INT, h DOUBLE, f DOUBLE, d9 DECIMAL(12, 4), d17 DECIMAL(20, 3), d33 DECIMAL(38, 5), dt TIMESTAMP_NTZ",
        "i DECIMAL(12, 2), l DECIMAL(20, 0), y BIGINT, d9 DECIMAL(20, 2)",
        "s BINARY, bin STRING, i TINYINT",
        "missing STRING, ID BIGINT, also DECIMAL(20, 2)",
        // Refused, one by one.
        "l INT",
        "d FLOAT",
        "s INT",
        "d9 DECIMAL(9, 1)",
        "d17 DECIMAL(17, 4)",
        "i DECIMAL(9, 0)",
        "b INT",
        "i BOOLEAN",
        "u DATE",
        "ts BIGINT, l TIMESTAMP"
      ).foreach { schema =>
        checkSparkAnswer(spark.read.schema(schema).parquet(path))
        withSQLConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
          checkSparkAnswer(spark.read.schema(schema).parquet(path))
        }
      }
    }
  }

  test("bad files: Spark's exception names the file, and the JVM lives") {
    withTempDir { dir =>
      val good = Files.readAllBytes(onlyFile(new File(write(sql(everyType), new File(dir, "good")))).toPath)
      val n = good.length
      def file(name: String, bytes: Array[Byte]): String = {
        val path = new File(dir, s"$name.parquet").toPath
        Files.write(path, bytes, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)
        path.toString
      }
      val files = Seq(
        file("a text", "this is no Parquet file, but longer than a footer".getBytes),
        file("truncated", good.take(n - 100)),
        file("half", good.take(n / 2)),
        file("magic", good.dropRight(4) ++ "PARX".getBytes),
        file("long footer", good.dropRight(8) ++ Array[Byte](-1, -1, -1, 127) ++ "PAR1".getBytes),
        // The pages are overwritten, the footer is whole.
        file("headers", good.take(4) ++ Array.fill[Byte](n / 2)(-1) ++ good.drop(4 + n / 2))
      )
      files.foreach { path =>
        val found = outcomes(spark.read.schema("id BIGINT, s STRING").parquet(path))
        assert(found.difference.isEmpty, found.difference)
        assert(found.comet.toString.contains(new File(path).toURI.getRawPath), s"${found.comet} does not name $path")
        withSQLConf("spark.sql.files.ignoreCorruptFiles" -> "true") {
          checkSparkAnswer(spark.read.schema("id BIGINT, s STRING").parquet(path))
        }
      }
    }
  }

  test("files that are gone by the time they are read") {
    withTempDir { dir =>
      def query: DataFrame = {
        val path = write(sql("SELECT id FROM RANGE(0, 100, 1, 2)"), new File(dir, "gone"))
        val frame = spark.read.parquet(path)
        frame.queryExecution.executedPlan // the files are listed
        new File(path).listFiles().filter(_.getName.endsWith(".parquet")).minBy(_.getName).delete()
        frame
      }
      val found = outcomes(query)
      assert(found.comet.toString.contains("FAILED_READ_FILE.FILE_NOT_EXIST"), found.comet)
      withSQLConf("spark.sql.files.ignoreMissingFiles" -> "true")(checkNative(query, scan))
    }
  }

  test("partition columns, metadata columns, the name of the file") {
    withTempDir { dir =>
      val path = write(
        sql("SELECT id, CAST(id AS DECIMAL(12, 3)) d, id % 3 p, CONCAT('x y=', id % 2, '%') q FROM RANGE(0, 300, 1, 1)"),
        new File(dir, "a b%c")
      )
      withSQLConf("spark.comet.enabled" -> "false") {
        spark.read.parquet(path).write.partitionBy("p", "q").parquet(s"$dir/parts")
      }
      def parts: DataFrame = spark.read.parquet(s"$dir/parts")
      checkNative(parts, scan)
      checkNative(parts.where("p = 1 AND id < 100"), scan)
      checkNative(parts.where("p = 1 OR id < 100"), scan)
      checkNative(parts.selectExpr("COUNT(*)"), scan)
      checkSparkAnswer(parts.selectExpr("id", "INPUT_FILE_NAME()", "INPUT_FILE_BLOCK_START()").where("id < 7"))
      checkSparkAnswer(spark.read.parquet(path).selectExpr("INPUT_FILE_NAME()", "id").where("id > 290"))
      checkSparkAnswer(
        parts.selectExpr("id", "_metadata.file_path", "_metadata.file_name", "_metadata.file_size", "_metadata.row_index")
      )
    }
  }

  test("names: case, duplicates, field ids, defaults") {
    withTempDir { dir =>
      val path = withSQLConf("spark.sql.caseSensitive" -> "true") {
        write(sql("SELECT id AS a, id + 1 AS A, id * 2 AS c FROM RANGE(3)"), new File(dir, "dup"))
      }
      checkSparkAnswer(spark.read.schema("a BIGINT").parquet(path))
      checkNative(spark.read.schema("C BIGINT").parquet(path), scan)
      withSQLConf("spark.sql.caseSensitive" -> "true") {
        checkNative(spark.read.parquet(path), scan)
        checkNative(spark.read.schema("C BIGINT, c BIGINT").parquet(path), scan)
      }
    }
    withTable("defaults") {
      withSQLConf("spark.comet.enabled" -> "false") {
        sql("CREATE TABLE defaults(a INT) USING parquet")
        sql("INSERT INTO defaults VALUES (1), (2)")
        sql("ALTER TABLE defaults ADD COLUMNS (b STRING DEFAULT 'd', c INT, d DECIMAL(20, 2) DEFAULT 1.5)")
        sql("INSERT INTO defaults VALUES (3, 'x', 4, NULL)")
      }
      checkNative(sql("SELECT * FROM defaults"), scan)
      checkNative(sql("SELECT * FROM defaults WHERE b = 'd' AND c IS NULL"), scan)
    }
  }

  test("the legacy calendar") {
    withTempDir { dir =>
      for (zone <- Seq("America/Los_Angeles", "Europe/Amsterdam"); stored <- Seq("INT96", "TIMESTAMP_MICROS")) {
        val path = withSQLConf(
          "spark.sql.session.timeZone" -> zone,
          "spark.sql.parquet.outputTimestampType" -> stored,
          "spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY",
          "spark.sql.parquet.int96RebaseModeInWrite" -> "LEGACY"
        ) {
          write(
            sql(
              "SELECT id, TIMESTAMP_MICROS(id * 31556952000000 - 62100000000000000) t, " +
                "DATE_ADD(DATE'0001-01-05', CAST(id * 365 AS INT)) d FROM RANGE(2000)"
            ),
            new File(dir, zone.replace('/', '_') + stored)
          )
        }
        checkNative(spark.read.parquet(path), scan)
        checkNative(spark.read.parquet(path).where("t < TIMESTAMP'1400-01-01 00:00:00'"), scan, "Filter")
      }
    }
  }

  test("ancient values of files that do not name their writer") {
    // Written by pyarrow: no version of Spark in it.
    val wide = new File("../engine/test/data/parquet/wide.parquet").getCanonicalPath
    for (mode <- Seq("EXCEPTION", "LEGACY", "CORRECTED"))
      withSQLConf("spark.sql.parquet.datetimeRebaseModeInRead" -> mode) {
        checkSparkAnswer(spark.read.parquet(wide).select("i", "day"))
      }
  }

  test("rows before an error come out") {
    withTempDir { dir =>
      val path = write(sql("SELECT id k, CONCAT('row ', id) s FROM RANGE(0, 1000, 1, 1)"), dir, "parquet.page.size" -> "600")
      withSQLConf("spark.sql.ansi.enabled" -> "true") {
        for (size <- Seq("7", "8192"))
          withSQLConf("spark.comet.batchSize" -> size) {
            checkSparkAnswer(spark.read.parquet(path).where("1000 % (k - 537) >= 0"))
            checkNative(spark.read.parquet(path).where("1000 % (k - 537) >= 0").limit(500), scan)
          }
      }
    }
  }

  test("row groups that statistics rule out are not read") {
    withTempDir { dir =>
      val path = write(
        sql("SELECT id k, CONCAT('key ', LPAD(id, 6, '0')) s, id / 2.0D x FROM RANGE(0, 20000, 1, 1)"),
        dir,
        "parquet.block.size" -> "20000",
        "parquet.page.size" -> "2000"
      )
      Seq("k = 12345", "s = 'key 000077'", "x < 0", "k IN (1, 19999)", "s LIKE 'key 0001%'", "k IS NULL", "NOT (k < 19990)")
        .foreach(p => checkNative(spark.read.parquet(path).where(p), scan))
    }
  }
}
