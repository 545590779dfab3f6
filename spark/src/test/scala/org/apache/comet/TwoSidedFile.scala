package org.apache.comet

/**
 * A test file of SQL: statements separated by `;`. What is not a query (CREATE, INSERT, SET, ...) is run once
 * and by Spark alone; each query is a test. Comment lines before a statement belong to it:
 * {{{
 * -- name: what the test is called (otherwise: its line)
 * -- native: Filter, Project     these operators ran in Halley; * for all of the plan
 * -- fallback: text              a reason with this text is given
 * -- config: key=value           for this query
 * -- order: ignore               ORDER BY leaves ties: compare as a set
 * -- file-config: key=value      for each query of the file
 * }}}
 * Any other comment is for the reader.
 */
case class TwoSidedFile(config: Seq[(String, String)], statements: Seq[TwoSidedStatement])

case class TwoSidedStatement(
    sql: String,
    line: Int,
    name: Option[String],
    native: Seq[String],
    fallback: Seq[String],
    config: Seq[(String, String)],
    ignoreOrder: Boolean
) {
  private val QueryStart = """(?is)^[\s(]*(select|with|values|from|table)\b.*""".r
  def isQuery: Boolean = QueryStart.matches(sql)
}

object TwoSidedFile {
  private val Annotation = """^--\s*([a-z-]+):\s*(.*)$""".r
  private val Known = Set("name", "native", "fallback", "config", "file-config", "order")

  def parse(text: String): TwoSidedFile = {
    val fileConfig = Seq.newBuilder[(String, String)]
    val statements = split(text).map { case (line, comments, body) =>
      val notes = comments.map(_.trim).collect {
        case Annotation(key, value) if Known(key) => key -> value.trim
      }
      def all(key: String): Seq[String] = notes.collect { case (`key`, value) => value }
      fileConfig ++= all("file-config").map(pair(_, line))
      all("order").foreach(v => require(v == "ignore", s"line $line: order: $v"))
      TwoSidedStatement(
        body,
        line,
        all("name").headOption,
        all("native").flatMap(_.split(",")).map(_.trim).filter(_.nonEmpty),
        all("fallback"),
        all("config").map(pair(_, line)),
        all("order").nonEmpty
      )
    }
    TwoSidedFile(fileConfig.result(), statements)
  }

  private def pair(text: String, line: Int): (String, String) = text.split("=", 2) match {
    case Array(key, value) => key.trim -> value.trim
    case _ => throw new IllegalArgumentException(s"line $line: not key=value: $text")
  }

  /** (line of the first word, comment lines before it, statement); `;` in quotes or comments does not end one. */
  private def split(text: String): Seq[(Int, Seq[String], String)] = {
    val out = Seq.newBuilder[(Int, Seq[String], String)]
    val body = new StringBuilder
    var comments = Vector.empty[String]
    var line = 1
    var start = 1
    var i = 0

    def flush(): Unit = {
      val sql = body.toString.trim
      if (sql.nonEmpty) {
        out += ((start, comments, sql))
        comments = Vector.empty
      }
      body.clear()
    }
    def take(): Unit = {
      if (body.forall(_.isWhitespace) && !text(i).isWhitespace) start = line
      if (text(i) == '\n') line += 1
      body += text(i)
      i += 1
    }

    while (i < text.length) {
      val c = text(i)
      if (c == '-' && text.startsWith("--", i)) {
        val end = text.indexOf('\n', i) match { case -1 => text.length; case n => n }
        if (body.forall(_.isWhitespace)) comments :+= text.substring(i, end)
        i = end
      } else if (c == '\'' || c == '"' || c == '`') {
        take()
        while (i < text.length && text(i) != c) {
          if (text(i) == '\\' && c != '`' && i + 1 < text.length) take()
          take()
        }
        require(i < text.length, s"line $line: a quote is not closed")
        take()
      } else if (c == ';') {
        i += 1
        flush()
      } else take()
    }
    flush()
    out.result()
  }
}
