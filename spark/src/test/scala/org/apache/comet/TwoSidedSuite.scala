package org.apache.comet

import java.io.File
import java.nio.charset.StandardCharsets
import java.nio.file.Files

/**
 * Every query of `src/test/resources/sql/<family>/<file>.sql`, run by Spark alone and with Halley in one session:
 * schema, rows or error must be the same, and the operators that the file names must have run natively.
 * [[TwoSidedFile]] has the format. `-Dhalley.test.sql=<text>` runs only the files whose path has it.
 */
class TwoSidedSuite extends CometTestBase {
  private val root = new File(getClass.getResource("/sql").toURI)
  private val only = System.getProperty("halley.test.sql", "")

  for {
    family <- root.listFiles().filter(_.isDirectory).sortBy(_.getName)
    path <- family.listFiles().filter(_.getName.endsWith(".sql")).sortBy(_.getName)
    title = s"${family.getName}/${path.getName.stripSuffix(".sql")}"
    if title.contains(only)
  } register(title, path)

  private def register(title: String, path: File): Unit = {
    val file = TwoSidedFile.parse(new String(Files.readAllBytes(path.toPath), StandardCharsets.UTF_8))
    val database = "two_sided_" + title.replaceAll("[^A-Za-z0-9]", "_").toLowerCase
    val queries = file.statements.filter(_.isQuery)
    require(queries.nonEmpty, s"$title has no query")

    // Set-up statements run in the file's order, each before the first query that follows it.
    var prepared = 0
    def prepareUpTo(statement: TwoSidedStatement): Unit = {
      if (prepared == 0) {
        sql(s"DROP DATABASE IF EXISTS $database CASCADE")
        sql(s"CREATE DATABASE $database")
      }
      sql(s"USE $database")
      val index = file.statements.indexWhere(_ eq statement)
      val pending = file.statements.slice(prepared, index).filterNot(_.isQuery)
      prepared = math.max(prepared, index)
      withSQLConf((file.config :+ ("spark.comet.enabled" -> "false")): _*) {
        pending.foreach(s => sql(s.sql).collect())
      }
    }

    queries.foreach { query =>
      val name = query.name.getOrElse(s"line ${query.line}")
      test(s"$title: $name") {
        try {
          prepareUpTo(query)
          withSQLConf((file.config ++ query.config): _*)(run(query))
        } finally {
          sql("USE default")
          if (query eq queries.last) sql(s"DROP DATABASE IF EXISTS $database CASCADE")
        }
      }
    }
  }

  private def run(query: TwoSidedStatement): Unit = {
    def loose(answer: Answer): Answer = answer match {
      case rows: Rows if query.ignoreOrder => rows.copy(ordered = false)
      case other => other
    }
    val Outcomes(expected, actual, plan) = outcomes(sql(query.sql))
    Answer.difference(loose(expected), loose(actual)).foreach { text =>
      fail(s"$text\n${query.sql}\nHalley's plan:\n${plan.fold("(none)")(_.toString)}")
    }
    if (query.native.nonEmpty) {
      val ran = plan.getOrElse(fail("the query was not planned"))
      RanNatively.missing(ran, query.native).foreach(text => fail(s"$text\n${query.sql}"))
    }
    if (query.fallback.nonEmpty) {
      val ran = plan.getOrElse(fail("the query was not planned"))
      val info = new ExtendedExplainInfo().generateExtendedInfo(ran)
      query.fallback.foreach(text => assert(info.contains(text), s"\n${query.sql}"))
    }
  }
}
