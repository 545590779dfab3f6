package org.apache.comet.export

import com.google.protobuf.ByteString

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.apache.comet.plan

/** Constants, as Spark holds them inside, as messages. */
object LiteralExport {

  /** `value` in Catalyst's own form for `t` (`UTF8String`, `Decimal`, days, micros, ...), or null. */
  def literal(value: Any, t: DataType): plan.Literal = {
    val out = plan.Literal.newBuilder().setType(TypeExport.dataType(t))
    (value, t) match {
      case (null, _) => out.setNullValue(true)
      case (v: Boolean, _) => out.setBoolValue(v)
      case (v: Byte, _) => out.setIntValue(v.toLong)
      case (v: Short, _) => out.setIntValue(v.toLong)
      case (v: Int, _) => out.setIntValue(v.toLong)
      case (v: Long, _) => out.setIntValue(v)
      case (v: Float, _) => out.setDoubleValue(v.toDouble)
      case (v: Double, _) => out.setDoubleValue(v)
      case (v: Decimal, d: DecimalType) =>
        if (d.precision <= Decimal.MAX_LONG_DIGITS) out.setIntValue(unscaled(v, d).longValueExact())
        else out.setBytesValue(ByteString.copyFrom(int128(unscaled(v, d))))
      case (v: UTF8String, _) => out.setBytesValue(ByteString.copyFrom(v.getBytes))
      case (v: Array[Byte], _) => out.setBytesValue(ByteString.copyFrom(v))
      case (v, _) => out.setRowValue(row(v, t))
    }
    out.build()
  }

  private def unscaled(v: Decimal, d: DecimalType): java.math.BigInteger =
    v.toJavaBigDecimal.setScale(d.scale).unscaledValue()

  private def int128(v: java.math.BigInteger): Array[Byte] = {
    val big = v.toByteArray
    val out = Array.fill[Byte](16)(if (v.signum() < 0) -1 else 0)
    big.indices.foreach(i => out(big.length - 1 - i) = big(i))
    out
  }

  private def row(v: Any, t: DataType): ByteString = {
    val projected = UnsafeProjection.create(Array[DataType](t)).apply(InternalRow(v))
    ByteString.copyFrom(projected.getBytes)
  }
}
