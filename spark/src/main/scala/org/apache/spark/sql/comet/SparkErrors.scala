package org.apache.spark.sql.comet

import java.io.{FileNotFoundException, IOException}

import scala.jdk.CollectionConverters._

import org.apache.spark._
import org.apache.spark.memory.SparkOutOfMemoryError
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.datasources.SchemaColumnConvertNotSupportedException

/**
 * Spark's exceptions for what no expression raises: overflow of an aggregate, files, memory. (What an expression
 * raises is the very throwable of Spark's own code and never comes here.)
 */
object SparkErrors {

  /** @param kind as in engine/include/halley/errors.def */
  def make(
      condition: String,
      kind: String,
      names: Array[String],
      values: Array[String],
      text: String
  ): Throwable = {
    val given = names.zip(values).toMap
    val path = given.getOrElse("path", "")
    // The exceptions that Spark's own reader throws, where it has some of their own.
    def cause: Throwable =
      if (given.contains("requiredFieldName"))
        QueryExecutionErrors.foundDuplicateFieldInCaseInsensitiveModeError(
          given("requiredFieldName"),
          given.getOrElse("matchedOrcFields", "")
        )
      else if (given.contains("requiredId"))
        QueryExecutionErrors.foundDuplicateFieldInFieldIdLookupModeError(
          given("requiredId").toInt,
          given.getOrElse("matchedFields", "")
        )
      else if (given.contains("actualType"))
        new SchemaColumnConvertNotSupportedException(
          given.getOrElse("column", ""),
          given("actualType"),
          given.getOrElse("expectedType", "")
        )
      else new IOException(given.getOrElse("message", text))
    kind match {
      case "ARITHMETIC" =>
        new AggregateFailure(condition, parameters(condition, given), given.get("site").fold(0L)(_.toLong))
      case "RUNTIME" if condition.startsWith("INCONSISTENT_BEHAVIOR_CROSS_VERSION") =>
        new SparkUpgradeException(condition, parameters(condition, given), null)
      case "RUNTIME" => new SparkRuntimeException(condition, parameters(condition, given))
      case "NOT_FOUND" =>
        QueryExecutionErrors.fileNotExistError(path, new FileNotFoundException(given.getOrElse("message", path)))
      case "FILE" if condition.endsWith("PARQUET_COLUMN_DATA_TYPE_MISMATCH") =>
        val Seq(column, actual, expected) = Seq("column", "actualType", "expectedType").map(given.getOrElse(_, ""))
        QueryExecutionErrors.parquetColumnDataTypeMismatchError(
          path,
          column,
          expected,
          actual,
          new SchemaColumnConvertNotSupportedException(column, actual, expected)
        )
      case "FILE" => new SparkException(condition, parameters(condition, given), cause)
      case "IO" => new IOException(text)
      case "MEMORY" =>
        new SparkOutOfMemoryError(condition, parameters(condition, given).asJava)
      case _ => SparkException.internalError(text)
    }
  }

  /** The parameters of the condition's own text, which must be there and may not be more. */
  private def parameters(condition: String, given: Map[String, String]): Map[String, String] =
    SparkThrowableHelper
      .getMessageParameters(condition)
      .map(name => name -> given.getOrElse(name, ""))
      .toMap

  def cancelled(): Throwable = {
    val reason = Option(TaskContext.get()).flatMap(_.getKillReason())
    new TaskKilledException(reason.getOrElse("unknown reason"))
  }

  /** As Spark's file scan wraps what Hadoop throws while it reads `path`. */
  def reading(path: String, e: IOException): Throwable = e match {
    case gone: FileNotFoundException => QueryExecutionErrors.fileNotExistError(path, gone)
    case other => QueryExecutionErrors.cannotReadFilesError(other, path)
  }
}

/** The overflow of an aggregate, until the plan that raised it says where in the query it stands. */
private[comet] final class AggregateFailure(condition: String, parameters: Map[String, String], site: Long)
    extends RuntimeException(condition) {

  def in(sites: Map[Long, QueryContext]): SparkArithmeticException = {
    val place = sites.get(site)
    new SparkArithmeticException(condition, parameters, place.toArray, place.fold("")(_.summary()))
  }
}
