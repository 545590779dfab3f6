package org.apache.comet.export

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.util.{CollationFactory, ResolveDefaultColumns}
import org.apache.spark.sql.types._

import org.apache.comet.plan
import org.apache.comet.plan.Kind

/** Spark's types and schemas as messages. Never fails: a type that the engine has no kind for goes by its name. */
object TypeExport {
  // Where Spark's Parquet reader keeps a column's field id.
  private val FieldIdKey = "parquet.field.id"

  def dataType(t: DataType): plan.DataType = t match {
    case NullType => kind(Kind.KIND_NULL)
    case BooleanType => kind(Kind.BOOLEAN)
    case ByteType => kind(Kind.BYTE)
    case ShortType => kind(Kind.SHORT)
    case IntegerType => kind(Kind.INT)
    case LongType => kind(Kind.LONG)
    case FloatType => kind(Kind.FLOAT)
    case DoubleType => kind(Kind.DOUBLE)
    case d: DecimalType => builder(Kind.DECIMAL).setPrecision(d.precision).setScale(d.scale).build()
    case DateType => kind(Kind.DATE)
    case TimestampType => kind(Kind.TIMESTAMP)
    case TimestampNTZType => kind(Kind.TIMESTAMP_NTZ)
    case t: TimeType => builder(Kind.TIME).setPrecision(t.precision).build()
    case _: YearMonthIntervalType => kind(Kind.YEAR_MONTH_INTERVAL)
    case _: DayTimeIntervalType => kind(Kind.DAY_TIME_INTERVAL)
    case CalendarIntervalType => kind(Kind.CALENDAR_INTERVAL)
    // CHAR and VARCHAR are string types too, with a length that an operator would have to keep.
    case s: StringType if s.getClass == classOf[StringType] || (s eq StringType) =>
      val out = builder(Kind.STRING)
      if (s.collationId != CollationFactory.UTF8_BINARY_COLLATION_ID) {
        out.setCollation(CollationFactory.fetchCollation(s.collationId).collationName)
      }
      out.build()
    case BinaryType => kind(Kind.BINARY)
    case VariantType => kind(Kind.VARIANT)
    case ArrayType(element, containsNull) =>
      builder(Kind.ARRAY).addFields(field("element", element, containsNull)).build()
    case MapType(key, value, containsNull) =>
      builder(Kind.MAP)
        .addFields(field("key", key, nullable = false))
        .addFields(field("value", value, containsNull))
        .build()
    case s: StructType =>
      val out = builder(Kind.STRUCT)
      s.fields.foreach(f => out.addFields(structField(f)))
      out.build()
    case other => builder(Kind.OTHER).setName(other.typeName).build()
  }

  def field(name: String, t: DataType, nullable: Boolean): plan.Field =
    plan.Field.newBuilder().setName(name).setType(dataType(t)).setNullable(nullable).build()

  def attribute(a: Attribute): plan.Field = field(a.name, a.dataType, a.nullable)

  /** A field of a file's schema: also its Parquet id, and what a file without the column stands for. */
  def structField(f: StructField): plan.Field = {
    val out = plan.Field.newBuilder().setName(f.name).setType(dataType(f.dataType)).setNullable(f.nullable)
    if (f.metadata.contains(FieldIdKey)) out.setFieldId(f.metadata.getLong(FieldIdKey).toInt + 1)
    if (ResolveDefaultColumns.getExistenceDefaultValue(f) != null) {
      out.setDefaultValue(LiteralExport.literal(ResolveDefaultColumns.getExistenceDefaultValue(f), f.dataType))
    }
    out.build()
  }

  private def builder(k: Kind): plan.DataType.Builder = plan.DataType.newBuilder().setKind(k)
  private def kind(k: Kind): plan.DataType = builder(k).build()
}
