package org.apache.comet

import java.lang.{Double => JDouble, Float => JFloat}
import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, StandardCharsets}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{SparkException, SparkThrowable}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/**
 * What a query gave: rows or an error, in a form in which two engines' outcomes can be compared for being
 * the same to a user. Rows are taken as Spark holds them inside, so that strings of invalid UTF-8, the sign
 * of a zero, the order of a map and a decimal's scale all count. NaNs are one value, as in SQL.
 */
sealed trait Answer

/** `ordered`: the query's own ORDER BY fixes the order. */
case class Rows(schema: String, rows: Seq[String], ordered: Boolean) extends Answer

/** The exception's class, Spark's condition, its parameters, and the query context that it points to. */
case class Failure(
    exception: String,
    condition: Option[String],
    parameters: Map[String, String],
    context: Seq[String],
    message: Option[String]
) extends Answer

object Answer {

  /** Runs the query; also answers the plan that ran (the final one, where the query came that far). */
  def of(query: => DataFrame): (Answer, Option[SparkPlan]) = {
    var plan: Option[SparkPlan] = None
    try {
      val df = query
      val execution = df.queryExecution
      plan = Some(execution.executedPlan)
      val types = df.schema.map(_.dataType)
      val collected = SQLExecution.withNewExecutionId(execution)(execution.executedPlan.executeCollect())
      val rows = collected.toSeq.map(row => types.indices.map(i => show(row, i, types(i))).mkString("|"))
      (Rows(schemaOf(df.schema), rows, isOrdered(execution.analyzed)), plan)
    } catch {
      case NonFatal(e) => (failure(e), plan)
    }
  }

  /** None where the two are the same, else what differs, for a person. */
  def difference(spark: Answer, comet: Answer): Option[String] = (spark, comet) match {
    case (expected: Rows, actual: Rows) =>
      if (expected.schema != actual.schema) {
        Some(s"schema: Spark ${expected.schema}, Halley ${actual.schema}")
      } else if (expected.ordered) {
        rowDifference(expected.rows, actual.rows)
      } else {
        rowDifference(expected.rows.sorted, actual.rows.sorted)
      }
    case (expected, actual) if expected == actual => None
    case (expected, actual) => Some(s"outcome:\n  Spark:  ${brief(expected)}\n  Halley: ${brief(actual)}")
  }

  private def rowDifference(expected: Seq[String], actual: Seq[String]): Option[String] =
    if (expected == actual) None
    else {
      val all = expected.zipAll(actual, "(no row)", "(no row)").zipWithIndex
      val shown = all.collect { case ((e, a), i) if e != a => s"  row $i\n    Spark:  $e\n    Halley: $a" }
      Some(
        s"rows: Spark ${expected.size}, Halley ${actual.size}, ${shown.size} differ\n" +
          shown.take(10).mkString("\n")
      )
    }

  private def brief(answer: Answer): String = answer match {
    case Rows(_, rows, _) => s"${rows.size} rows: ${rows.take(3).mkString("; ")}"
    case other => other.toString
  }

  private def schemaOf(schema: StructType): String =
    schema.map(f => s"${f.name}:${f.dataType.sql}${if (f.nullable) "" else " not null"}").mkString(", ")

  /** Whether a sort above every operator that loses order decides the order of the result. */
  def isOrdered(plan: LogicalPlan): Boolean = plan match {
    case s: Sort => s.global
    case _: Project | _: GlobalLimit | _: LocalLimit | _: Offset | _: Filter | _: SubqueryAlias |
        _: WithCTE | _: ReturnAnswer =>
      // Of a WithCTE the last child is the query itself.
      plan.children.lastOption.exists(isOrdered)
    case _ => false
  }

  private def failure(thrown: Throwable): Failure = {
    val causes = Iterator.iterate(thrown)(_.getCause).takeWhile(_ != null).toSeq
    // What the scheduler wraps around a task's failure ("Job aborted ...") differs in task and stage numbers.
    val root = causes.reverse
      .collectFirst { case e: SparkThrowable if e.getCondition != null => e.asInstanceOf[Throwable] }
      .getOrElse(causes.last)
    root match {
      case e: SparkThrowable =>
        val parameters =
          try e.getMessageParameters.asScala.toMap
          catch { case NonFatal(_) => Map.empty[String, String] }
        Failure(
          root.getClass.getName,
          Option(e.getCondition),
          parameters,
          e.getQueryContext.toSeq.map(_.summary()),
          if (e.getCondition == null) Some(root.getMessage) else None
        )
      case e: SparkException => Failure(e.getClass.getName, None, Map.empty, Nil, Option(e.getMessage))
      case e => Failure(e.getClass.getName, None, Map.empty, Nil, Option(e.getMessage))
    }
  }

  private def show(row: InternalRow, i: Int, dataType: DataType): String =
    if (row.isNullAt(i)) "NULL" else value(row.get(i, dataType), dataType)

  private def array(data: ArrayData, element: DataType): Seq[String] =
    (0 until data.numElements()).map { i =>
      if (data.isNullAt(i)) "NULL" else value(data.get(i, element), element)
    }

  private def value(v: Any, dataType: DataType): String = (v, dataType) match {
    // By bits: == would take the two zeros for one. floatToIntBits makes all NaNs one.
    case (f: Float, _) => s"$f(${JFloat.floatToIntBits(f).toHexString})"
    case (d: Double, _) => s"$d(${JDouble.doubleToLongBits(d).toHexString})"
    case (s: UTF8String, _) => text(s.getBytes)
    case (b: Array[Byte], _) => b.map(x => f"$x%02x").mkString("x'", "", "'")
    case (d: Decimal, _) => s"${d.toJavaBigDecimal.toPlainString}"
    case (a: ArrayData, ArrayType(element, _)) => array(a, element).mkString("[", ",", "]")
    case (m: MapData, MapType(key, item, _)) =>
      array(m.keyArray(), key).zip(array(m.valueArray(), item)).map { case (k, x) => s"$k->$x" }.mkString("{", ",", "}")
    case (r: InternalRow, s: StructType) =>
      s.indices.map(i => show(r, i, s(i).dataType)).mkString("(", ",", ")")
    case (i: CalendarInterval, _) => s"${i.months}m ${i.days}d ${i.microseconds}us"
    case (x: VariantVal, _) => x.toJson(java.time.ZoneOffset.UTC)
    case (x, udt: UserDefinedType[_]) => value(x, udt.sqlType)
    case (x, _) => x.toString
  }

  private def text(bytes: Array[Byte]): String =
    try "'" + StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString + "'"
    catch {
      case _: CharacterCodingException => bytes.map(x => f"$x%02x").mkString("bytes'", "", "'")
    }
}
