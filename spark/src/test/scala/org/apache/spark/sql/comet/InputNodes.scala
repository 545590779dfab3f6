package org.apache.spark.sql.comet

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, UnsafeProjection}
import org.apache.spark.sql.execution.LeafExecNode
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** A Spark operator that gives rows made in each task. */
case class RowsExec(output: Seq[Attribute], slices: Int, make: Int => Iterator[InternalRow]) extends LeafExecNode {
  override protected def doExecute(): RDD[InternalRow] = {
    val rows = make
    sparkContext.parallelize(0 until slices, slices).mapPartitionsWithIndex((i, _) => rows(i))
  }
}

object RowsExec {
  def attributes(schema: StructType): Seq[Attribute] =
    schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)())

  def of(schema: StructType, rows: Seq[Row], slices: Int = 1): RowsExec = {
    val toCatalyst = CatalystTypeConverters.createToCatalystConverter(schema)
    val internal = rows.map(r => toCatalyst(r).asInstanceOf[InternalRow])
    RowsExec(attributes(schema), slices, i => internal.iterator.zipWithIndex.collect { case (r, k) if k % slices == i => r })
  }
}

/** A Spark operator that gives column batches made in each task. */
case class BatchesExec(output: Seq[Attribute], make: () => Iterator[ColumnarBatch]) extends LeafExecNode {
  override def supportsColumnar: Boolean = true
  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val batches = make
    sparkContext.parallelize(Seq(0), 1).mapPartitions(_ => batches())
  }
}

/** Values of every type, with what is hard about each. */
object AllTypes {
  import java.math.{BigDecimal => JDecimal}
  import java.time._

  import org.apache.spark.sql.types._

  private def decimals(p: Int, s: Int): Seq[Any] = {
    val top = new JDecimal(java.math.BigInteger.TEN.pow(p).subtract(java.math.BigInteger.ONE), s)
    Seq(top, top.negate(), new JDecimal(java.math.BigInteger.ONE, s), new JDecimal(java.math.BigInteger.ZERO, s))
  }

  private def text(n: Int): String = Iterator.continually("añ€𝄞z").flatten.take(n).mkString

  val scalars: Seq[(DataType, Seq[Any])] = Seq(
    BooleanType -> Seq(true, false),
    ByteType -> Seq(Byte.MinValue, 0.toByte, Byte.MaxValue),
    ShortType -> Seq(Short.MinValue, -1.toShort, Short.MaxValue),
    IntegerType -> Seq(Int.MinValue, 0, Int.MaxValue),
    LongType -> Seq(Long.MinValue, -1L, Long.MaxValue),
    FloatType -> Seq(0f, -0f, Float.NaN, Float.PositiveInfinity, Float.MinPositiveValue),
    DoubleType -> Seq(0d, -0d, Double.NaN, Double.NegativeInfinity, Double.MinPositiveValue, 1e300),
    DecimalType(1, 0) -> decimals(1, 0),
    DecimalType(9, 2) -> decimals(9, 2),
    DecimalType(18, 18) -> decimals(18, 18),
    DecimalType(19, 0) -> decimals(19, 0),
    DecimalType(38, 10) -> decimals(38, 10),
    DateType -> Seq(LocalDate.of(1, 1, 1), LocalDate.of(1969, 12, 31), LocalDate.of(9999, 12, 31)),
    TimestampType -> Seq(Instant.parse("0001-01-01T00:00:00Z"), Instant.parse("2024-03-10T10:30:00.123456Z")),
    TimestampNTZType -> Seq(LocalDateTime.of(1582, 10, 15, 1, 2, 3), LocalDateTime.of(2500, 1, 1, 0, 0)),
    YearMonthIntervalType() -> Seq(Period.ofMonths(-13), Period.ofMonths(Int.MaxValue)),
    DayTimeIntervalType() -> Seq(Duration.ofDays(-3), Duration.ofNanos(123456000L)),
    CalendarIntervalType -> Seq(new org.apache.spark.unsafe.types.CalendarInterval(-1, 40, 123456789L)),
    StringType -> Seq("", "short", "twelve bytes", "thirteen byte", text(1000), "a\u0000b"),
    BinaryType -> Seq(Array.empty[Byte], Array[Byte](-1, 0, 1), Array.tabulate(300)(_.toByte)),
    TimeType(6) -> Seq(LocalTime.MIDNIGHT, LocalTime.of(23, 59, 59, 999999000))
  )

  val nested: Seq[(DataType, Seq[Any])] = Seq(
    ArrayType(IntegerType) -> Seq(Seq.empty, Seq(1, null, 3), Seq.tabulate(100)(identity)),
    ArrayType(StringType) -> Seq(Seq(null), Seq("a", text(50), "")),
    ArrayType(ArrayType(DecimalType(30, 3))) -> Seq(Seq(null, Seq(new JDecimal("1.234"), null), Seq.empty)),
    MapType(StringType, LongType) -> Seq(Map.empty, Map("a" -> 1L, text(20) -> null)),
    MapType(IntegerType, ArrayType(StringType)) -> Seq(Map(1 -> Seq("x", null), 2 -> null)),
    StructType.fromDDL("a INT, b STRING, c STRUCT<d: DOUBLE, e: ARRAY<BOOLEAN>>") ->
      Seq(Row(1, text(13), Row(2.5, Seq(true, null))), Row(null, null, null), Row(2, "", Row(null, null))),
    ArrayType(StructType.fromDDL("m MAP<STRING, DATE>, n BINARY")) ->
      Seq(Seq(Row(Map("k" -> LocalDate.of(2020, 2, 29)), Array[Byte](9)), null, Row(null, null)))
  )

  val all: Seq[(DataType, Seq[Any])] = scalars ++ nested

  val schema: StructType = StructType(all.zipWithIndex.map { case ((t, _), i) => StructField(s"c$i", t) })

  /** Each row has each column's values in turn and now and then a null; the last rows are nulls only. */
  def rows(n: Int): Seq[Row] = (0 until n).map { r =>
    Row.fromSeq(all.zipWithIndex.map { case ((_, values), c) =>
      val k = (r + c) % (values.length + 1)
      if (r >= n - 2 || k == values.length) null else values(k)
    })
  }
}

/** Rows as text in which two are the same only if every value is, to the bit. */
object RowText {
  def collect(rdd: RDD[InternalRow], schema: StructType): Seq[Row] = {
    val copies = rdd.mapPartitions { rows =>
      val copy = UnsafeProjection.create(schema)
      rows.map(r => copy(r).copy())
    }
    val toScala = CatalystTypeConverters.createToScalaConverter(schema)
    copies.collect().toSeq.map(r => toScala(r).asInstanceOf[Row])
  }

  def text(rows: Seq[Row]): Seq[String] = rows.map(r => r.toSeq.map(show).mkString("|"))

  private def show(v: Any): String = v match {
    case null => "null"
    case b: Array[Byte] => b.mkString("<", ",", ">")
    case r: Row => r.toSeq.map(show).mkString("{", ",", "}")
    case s: scala.collection.Seq[_] => s.map(show).mkString("[", ",", "]")
    case m: scala.collection.Map[_, _] =>
      m.map { case (k, x) => show(k) + "->" + show(x) }.toSeq.sorted.mkString("(", ",", ")")
    case f: Float => java.lang.Float.floatToRawIntBits(f).toString
    case d: Double => java.lang.Double.doubleToRawLongBits(d).toString
    case other => other.toString
  }
}
