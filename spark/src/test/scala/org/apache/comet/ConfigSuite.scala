package org.apache.comet

import org.apache.logging.log4j.Level
import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

class ConfigSuite extends AnyFunSuite {

  private def conf(pairs: (String, String)*): SQLConf = {
    val c = new SQLConf
    pairs.foreach { case (k, v) => c.setConfString(k, v) }
    c
  }

  private def warnings(body: => Unit): Seq[String] = LogCapture.during(Level.WARN)(body)

  test("a default where nothing is set, and what is set otherwise") {
    assert(CometConf.BATCH_SIZE.get(conf()) == 8192)
    assert(CometConf.BATCH_SIZE.get(conf("spark.comet.batchSize" -> "7")) == 7)
    assert(CometConf.MAX_TEMP.get(conf("spark.comet.maxTempDirectorySize" -> "2g")) == (2L << 30))
    assert(CometConf.MEMORY_OVERHEAD.get(conf("spark.comet.memoryOverhead" -> "512")) == (512L << 20))
    assert(CometConf.SHUFFLE_CODEC.get(conf("spark.comet.shuffle.compression.codec" -> "ZSTD")) == "zstd")
  }

  test("a value that cannot be read names its key") {
    val e = intercept[IllegalArgumentException](CometConf.ENABLED.get(conf("spark.comet.enabled" -> "maybe")))
    assert(e.getMessage.contains("spark.comet.enabled") && e.getMessage.contains("maybe"))
    intercept[IllegalArgumentException](CometConf.SHUFFLE_CODEC.get(conf("spark.comet.shuffle.compression.codec" -> "arj")))
  }

  test("every older name stands for its key, with one warning a session; the newer name wins") {
    val entries = CometConf.all.flatMap(e => e.older.map(e -> _))
    assert(entries.size == 21)
    entries.foreach { case (entry, older) =>
      val value = entry.kind match {
        case ConfKind.Bool => (!entry.default.asInstanceOf[Boolean]).toString
        case _ if entry == CometConf.SHUFFLE_CODEC => "zstd"
        case _ if entry == CometConf.SHUFFLE_MODE => "native"
        case _ => "17"
      }
      val session = conf(older -> value)
      val texts = warnings {
        assert(entry.get(session).toString.toLowerCase.startsWith(value), older)
        assert(entry.get(session) != entry.default, older)
      }
      assert(texts.count(t => t.contains(older) && t.contains(entry.key)) == 1, older)

      val both = conf(older -> value, entry.key -> entry.default.toString)
      assert(warnings(assert(entry.get(both) == entry.default, older)).isEmpty)
    }
  }

  test("keys are there once, and documented") {
    val keys = CometConf.all.map(_.key) ++ CometConf.all.flatMap(_.older)
    assert(keys.distinct == keys)
    assert(CometConf.all.forall(e => e.doc.nonEmpty && e.doc.endsWith(".")))
    assert(ExpressionSwitches.documented.distinct.size > 300)
  }

  test("docs/configuration.md is what the table says") {
    val page = Iterator.iterate(new java.io.File("").getAbsoluteFile)(_.getParentFile).takeWhile(_ != null)
      .map(new java.io.File(_, "docs/configuration.md")).find(_.exists).getOrElse(fail("no docs/configuration.md"))
    val text = new String(java.nio.file.Files.readAllBytes(page.toPath), java.nio.charset.StandardCharsets.UTF_8)
    assert(text == GenerateDocs.configuration, "run `make docs`")
  }

  test("switches of expressions") {
    assert(ExpressionSwitches.isEnabled(conf(), "Add"))
    assert(!ExpressionSwitches.isEnabled(conf("spark.comet.expression.Add.enabled" -> "false"), "Add"))
    assert(ExpressionSwitches.isEnabled(conf("spark.comet.expression.Add.enabled" -> "false"), "Subtract"))
  }
}
