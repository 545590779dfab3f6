package org.apache.comet

import scala.collection.mutable

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, LoggerContext}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}

/** What this process logs, as texts. */
object LogCapture {

  /** The messages at `level` and above, of our own classes, while the body runs. */
  def during(level: Level)(body: => Any): Seq[String] = {
    val seen = mutable.ArrayBuffer.empty[String]
    val appender = new AbstractAppender("capture", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = {
        val ours = event.getLoggerName.contains("comet")
        if (ours && event.getLevel.isMoreSpecificThan(level)) {
          seen.synchronized(seen += event.getMessage.getFormattedMessage)
        }
      }
    }
    appender.start()
    val packages = Seq("org.apache.comet", "org.apache.spark.sql.comet")
    packages.foreach(Configurator.setLevel(_, level))
    val root = LogManager.getContext(false).asInstanceOf[LoggerContext].getConfiguration.getRootLogger
    root.addAppender(appender, level, null)
    try body
    finally {
      root.removeAppender("capture")
      packages.foreach(Configurator.setLevel(_, null.asInstanceOf[Level]))
    }
    seen.synchronized(seen.toSeq)
  }
}
