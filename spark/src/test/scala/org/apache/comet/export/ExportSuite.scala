package org.apache.comet.export

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import org.apache.comet.plan
import org.apache.comet.plan.Kind

class ExportSuite extends AnyFunSuite {
  private val a = AttributeReference("a", IntegerType)()
  private val s = AttributeReference("s", StringType, nullable = false)()
  private val input = Seq(s, a)

  private def exported(e: Expression): (plan.Expr, ExportContext) = {
    val ctx = new ExportContext
    (ctx.expr(e, input), ctx)
  }

  private def export(e: Expression): plan.Expr = exported(e)._1

  private def params(e: plan.Expr): Map[String, plan.Param] = e.getParamsList.asScala.map(p => p.getName -> p).toMap

  private def withConf[T](pairs: (String, String)*)(body: => T): T = {
    val conf = new SQLConf
    pairs.foreach { case (k, v) => conf.setConfString(k, v) }
    SQLConf.withExistingConf(conf)(body)
  }

  test("columns by ordinal, names stripped") {
    val e = export(Alias(a, "x")())
    assert(e.getCls == "BoundReference" && e.getOrdinal == 1 && e.getNullable && e.getType.getKind == Kind.INT)
    assert(!export(s).getNullable)
    assert(e.getDispatch == 0)
  }

  test("arguments that are not children, nested ones by path") {
    val e = export(Add(a, Literal(1), NumericEvalContext(EvalMode.ANSI)))
    assert(e.getCls == "Add" && e.getChildrenCount == 2)
    assert(params(e)("evalContext.evalMode").getStringValue == "ANSI")
    assert(params(e).contains("evalContext.allowDecimalPrecisionLoss"))
    assert(params(export(Round(a, Literal(2), ansiEnabled = true)))("ansiEnabled").getBoolValue)
  }

  test("a zone travels with a cast only where it matters") {
    val zone = Some("America/Los_Angeles")
    assert(!params(export(Cast(a, LongType, zone))).contains("timeZoneId"))
    val e = export(Cast(s, TimestampType, zone))
    assert(params(e)("timeZoneId").getStringValue == zone.get)
    assert(params(e)("dataType").getTypeValue.getKind == Kind.TIMESTAMP)
  }

  test("branches of CASE and lists of IN are children") {
    val when = export(CaseWhen(Seq((EqualTo(a, Literal(1)), s), (EqualTo(a, Literal(2)), s)), Some(Literal("x"))))
    assert(when.getChildrenCount == 5 && when.getParamsCount == 0)
    val in = export(In(a, Seq(Literal(1), Literal(2))))
    assert(in.getChildrenCount == 3 && in.getParamsCount == 0)
    val set = export(InSet(a, Set[Any](1, 2, null)))
    assert(set.getCls == "InSet" && set.getChildrenCount == 4 && set.getParamsCount == 0)
    assert(set.getChildrenList.asScala.tail.forall(_.getCls == "Literal"))
    assert(set.getDispatch > 0)
  }

  test("every subexpression that Spark can evaluate is in the table") {
    val (e, ctx) = exported(Multiply(Add(a, Literal(1)), Length(s)))
    assert(ctx.table.size == 3)
    def check(x: plan.Expr): Unit = {
      if (x.getDispatch > 0) {
        val held = ctx.table(x.getDispatch - 1)
        assert(held.getClass.getSimpleName == x.getCls)
        assert(held.references.isEmpty)
      }
      x.getChildrenList.asScala.foreach(check)
    }
    check(e)
    val held = ctx.table(e.getDispatch - 1)
    assert(held.eval(InternalRow(UTF8String.fromString("abc"), 4)) == 15)
  }

  test("what Spark cannot evaluate from a row is said so") {
    val e = export(Add(AttributeReference("other", IntegerType)(), Literal(1)))
    assert(e.getDispatch == 0 && e.getNoDispatchReason.contains("other"))
    assert(export(Explode(CreateArray(Seq(a)))).getDispatch == 0)
    assert(export(Sum(a).toAggregateExpression()).getDispatch == 0)
    assert(!export(Rand(Literal(1L))).getDeterministic)
    assert(export(Rand(Literal(1L))).getDispatch > 0)
  }

  test("lambda functions are evaluated as a whole only") {
    val variable = NamedLambdaVariable("x", IntegerType, nullable = false)
    val f = LambdaFunction(Add(variable, a), Seq(variable))
    val e = export(ArrayTransform(CreateArray(Seq(a)), f))
    assert(e.getDispatch > 0)
    val lambda = e.getChildrenList.asScala.find(_.getCls == "LambdaFunction").get
    assert(lambda.getDispatch == 0)
    assert(lambda.getChildren(0).getDispatch == 0)
    assert(lambda.getChildrenList.asScala.exists(_.getParamsList.asScala.exists(_.getName.startsWith("?"))))
  }

  test("a user's class does not pass for Spark's, and an argument without a form is marked") {
    val e = export(ExportSuite.Add(a, new Object))
    assert(e.getCls.endsWith("ExportSuite$Add"))
    assert(params(e).keys.exists(_.startsWith("?secret:")))
  }

  test("switches refuse") {
    withConf("spark.comet.expression.Length.enabled" -> "false") {
      val e = export(Add(a, Length(s)))
      assert(e.getRefused.isEmpty && e.getChildren(1).getRefused.contains("spark.comet.expression.Length.enabled"))
    }
    withConf("spark.comet.expression.Alias.enabled" -> "false") {
      assert(export(Alias(a, "x")()).getRefused.nonEmpty && export(a).getRefused.isEmpty)
    }
    val udf = ScalaUDF((x: Int) => x + 1, IntegerType, Seq(a), udfName = Some("inc"))
    assert(export(udf).getRefused.isEmpty && export(udf).getDispatch > 0)
    withConf("spark.comet.exec.scalaUDF.codegen.enabled" -> "false")(assert(export(udf).getRefused.contains("inc")))
  }

  test("constants of all kinds") {
    def literal(v: Any, t: DataType) = LiteralExport.literal(v, t)
    assert(literal(null, IntegerType).getNullValue)
    assert(literal(-3.toByte, ByteType).getIntValue == -3)
    assert(literal(true, BooleanType).getBoolValue)
    assert(literal(1.5f, FloatType).getDoubleValue == 1.5)
    assert(literal(Decimal("1.50"), DecimalType(10, 2)).getIntValue == 150)
    assert(literal(Decimal("1.5"), DecimalType(10, 2)).getIntValue == 150)
    val wide = literal(Decimal("-1"), DecimalType(38, 0)).getBytesValue.toByteArray
    assert(wide.length == 16 && wide.forall(_ == -1))
    assert(literal(Decimal(BigDecimal(258), 38, 0), DecimalType(38, 0)).getBytesValue.toByteArray.take(3).toSeq == Seq(2, 1, 0))
    assert(literal(UTF8String.fromString("é"), StringType).getBytesValue.size == 2)
    val row = literal(new GenericArrayData(Array[Any](1, 2)), ArrayType(IntegerType)).getRowValue.toByteArray
    val unsafe = new UnsafeRow(1)
    unsafe.pointTo(row, row.length)
    assert(unsafe.getArray(0).toIntArray.toSeq == Seq(1, 2))
  }

  test("types: collations, nested ones, and those without a kind") {
    assert(TypeExport.dataType(StringType("UNICODE_CI")).getCollation == "UNICODE_CI")
    assert(TypeExport.dataType(StringType).getCollation.isEmpty)
    assert(TypeExport.dataType(CharType(3)).getKind == Kind.OTHER)
    val map = TypeExport.dataType(MapType(StringType, ArrayType(IntegerType, containsNull = false), valueContainsNull = true))
    assert(map.getFieldsList.asScala.map(_.getName) == Seq("key", "value"))
    assert(!map.getFields(0).getNullable && map.getFields(1).getNullable)
    assert(TypeExport.dataType(ObjectType(classOf[String])).getKind == Kind.OTHER)
    val field = StructField("x", IntegerType, metadata = new MetadataBuilder().putLong("parquet.field.id", 0).build())
    assert(TypeExport.structField(field).getFieldId == 1)
  }

  test("aggregates: buffers are Spark's, found at the end of the input") {
    val sum = Sum(a)
    val count = Count(Seq(s))
    def call(f: AggregateFunction, mode: AggregateMode) = AggregateExpression(f, mode, isDistinct = false)
    val partial = AggExport.aggregate(
      Seq(s), Seq(call(sum, Partial), call(count, Partial)), Nil, Nil, input, new ExportContext)
    assert(partial.getCallsList.asScala.map(_.getCls) == Seq("Sum", "Count"))
    assert(partial.getCalls(0).getArgs(0).getOrdinal == 1)
    assert(partial.getResultsCount == 1 + sum.aggBufferAttributes.size + 1)
    assert(partial.getResultsList.asScala.map(_.getOrdinal) == partial.getResultsList.asScala.indices)
    assert(partial.getCalls(0).getParamsList.asScala.exists(_.getName == "evalContext.evalMode"))

    val merged = s +: (sum.inputAggBufferAttributes ++ count.inputAggBufferAttributes)
    val results = Seq(call(sum, Final), call(count, Final)).map(_.resultAttribute)
    val finals = AggExport.aggregate(
      Seq(s), Seq(call(sum, Final), call(count, Final)), results, results.reverse, merged, new ExportContext)
    assert(finals.getCalls(0).getBufferOffset == 1)
    assert(finals.getCalls(1).getBufferOffset == 1 + sum.aggBufferAttributes.size)
    assert(finals.getCalls(0).getArgsCount == 0)
    assert(finals.getResultsList.asScala.map(_.getOrdinal) == Seq(2, 1))
  }

  test("only predicates that statistics can speak of are offered for pruning") {
    assert(PruneExport.conjunct(GreaterThan(a, Literal(3)), input).exists(_.getDispatch == 0))
    assert(PruneExport.conjunct(Or(IsNull(a), EqualTo(s, Literal("x"))), input).isDefined)
    assert(PruneExport.conjunct(GreaterThan(Add(a, Literal(1)), Literal(3)), input).isEmpty)
    assert(PruneExport.conjunct(GreaterThan(a, Rand(Literal(1L))), input).isEmpty)
  }
}

object ExportSuite {
  case class Add(child: Expression, secret: Object) extends UnaryExpression with codegen.CodegenFallback {
    override def dataType: DataType = IntegerType
    override protected def nullSafeEval(x: Any): Any = x
    override protected def withNewChildInternal(c: Expression): Expression = copy(child = c)
  }
}
