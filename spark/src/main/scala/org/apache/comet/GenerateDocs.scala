package org.apache.comet

import java.nio.charset.StandardCharsets
import java.nio.file.{Files, Path}

/** Writes `configuration.md` into the folder that is its argument; `make docs` calls it. */
object GenerateDocs {
  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments.headOption.getOrElse("docs"))
    Files.write(folder.resolve("configuration.md"), configuration.getBytes(StandardCharsets.UTF_8))
  }

  def configuration: String = {
    val out = new StringBuilder
    out.append(
      """# Configuration
        |
        |<!-- Written by `make docs` from CometConf.scala; change it there. -->
        |
        |Keys and defaults are those that users of Apache DataFusion Comet know, so that their jobs run as they are. A key
        |without effect is accepted all the same, and says so. Set keys with `--conf`, in `spark-defaults.conf`, or, unless
        |they are needed when an application starts, with `SET`.
        |""".stripMargin
    )
    ConfSection.all.foreach { section =>
      out.append(s"\n## ${section.title}\n\n| Key | Default | Meaning |\n|---|---|---|\n")
      CometConf.all.filter(_.section == section).sortBy(_.key).foreach(e => out.append(row(e)))
    }
    out.append(
      s"""
         |## Expressions, one by one
         |
         |`spark.comet.expression.<Class>.enabled=false`, for any of Spark's expression and aggregate classes, keeps that
         |expression out of native plans: it is neither evaluated in C nor handed to Spark's own code from there, and its
         |operator stays with Spark. The default is true. For example:
         |
         |${ExpressionSwitches.documented.map(c => s"`$c`").mkString(", ")}.
         |
         |## Older names
         |
         |Each works as another spelling of the key of today, which wins where both are set; a session warns once for each.
         |
         || Older | Today |
         ||---|---|
         |""".stripMargin
    )
    for (e <- CometConf.all.sortBy(_.key); older <- e.older) out.append(s"| `$older` | `${e.key}` |\n")
    out.toString
  }

  private def row(e: ConfEntry[_]): String = {
    val shown = if (e.defaultText.isEmpty) "(none)" else s"`${e.defaultText}`"
    val words = e.kind.name match {
      case name if name.contains(" / ") => s" One of ${name.split(" / ").map(w => s"`$w`").mkString(", ")}."
      case _ => ""
    }
    val env = e.env.fold("")(name => s" The environment variable `$name` changes the default.")
    val works = if (e.works) "" else " *Without effect at present.*"
    s"| `${e.key}` | $shown | ${e.doc}$words$env$works |\n"
  }
}
