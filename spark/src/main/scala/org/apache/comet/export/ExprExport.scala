package org.apache.comet.export

import scala.util.{Failure, Success, Try}

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.trees.{Origin, SQLQueryContext}
import org.apache.spark.sql.execution
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

import org.apache.comet.{CometConf, ExpressionSwitches, plan}

/**
 * Catalyst expressions as messages, without knowing them: class, type, nullability, children, and every constructor
 * argument that is not a child. The engine's registry decides what it understands; an argument that it does not
 * declare, or that has no form here, keeps an expression from being native, and Spark's own code evaluates it over
 * the batch instead.
 */
object ExprExport {
  private val CatalystPackage = "org.apache.spark.sql.catalyst."

  /** What marks a constructor argument that cannot travel: no registry row can declare a name like this. */
  val UnknownMark = "?"

  def expr(e: Expression, input: Seq[Attribute], ctx: ExportContext): plan.Expr = {
    val switchedOff = disabledWrapper(e)
    val out = new Export(Some(ctx), SQLConf.get).node(bind(e, input), noRow = None)
    switchedOff.fold(out)(text => out.toBuilder.setRefused(text).build())
  }

  /** An expression that the engine may look at and that nobody evaluates for it. */
  private[export] def prune(e: Expression, input: Seq[Attribute]): plan.Expr =
    new Export(None, SQLConf.get).node(bind(e, input), noRow = Some("it only prunes"))

  private def bind(e: Expression, input: Seq[Attribute]): Expression =
    BindReferences.bindReference(withValues(e), AttributeSeq(input), allowFailures = true)

  /** Constructor arguments that are not children. */
  def params(e: Expression): Seq[plan.Param] = Params.of(e)

  /** The name that a message calls an expression by: the simple one for Spark's own, so that a user's `Add` is not Spark's. */
  def className(e: Expression): String = e match {
    case _: execution.ScalarSubquery => "ScalarSubquery"
    case _: InSubqueryExec => "InSubqueryExec"
    case _ =>
      val name = e.getClass.getName
      if (name.startsWith(CatalystPackage)) e.getClass.getSimpleName else name
  }

  /** Whether it reads the thread-local that Spark's file scan keeps. */
  def readsInputFile(e: Expression): Boolean = e.exists {
    case _: InputFileName | _: InputFileBlockStart | _: InputFileBlockLength => true
    case _ => false
  }

  /** The switch that is off for a class, as a reason. */
  def switchReason(conf: SQLConf, cls: String): Option[String] =
    if (ExpressionSwitches.isEnabled(conf, cls)) None
    else Some(s"$cls is disabled by ${ExpressionSwitches.key(cls)}")

  // Names are not part of the message, but they have switches like everything else.
  private def disabledWrapper(e: Expression): Option[String] = {
    val conf = SQLConf.get
    Seq(
      e.isInstanceOf[Alias] -> "Alias",
      e.exists(_.isInstanceOf[AttributeReference]) -> "AttributeReference"
    ).collectFirst { case (true, cls) if !ExpressionSwitches.isEnabled(conf, cls) => switchReason(conf, cls).get }
  }

  /** Without names, and with the values of subqueries that have them by now. */
  private def withValues(e: Expression): Expression = e.transformUp {
    case a: Alias => a.child
    case s: execution.ScalarSubquery => valueOf(s).getOrElse(s)
    case i: InSubqueryExec => i.values().fold[Expression](i)(values => InSet(i.child, values.toSet))
  }

  /** None before the subquery has run; there is no other way to ask it. */
  private[export] def valueOf(s: execution.ScalarSubquery): Option[Literal] = Try(s.toLiteral).toOption

  private final class Export(ctx: Option[ExportContext], conf: SQLConf) {

    /** @param noRow why Spark cannot evaluate it from a row of the operator's input, whatever it is */
    def node(e: Expression, noRow: Option[String]): plan.Expr = {
      val out = plan.Expr
        .newBuilder()
        .setType(TypeExport.dataType(typeOf(e)))
        .setNullable(Try(e.nullable).getOrElse(true))
        .setDeterministic(e.deterministic)
      e match {
        case b: BoundReference => out.setCls("BoundReference").setOrdinal(b.ordinal)
        case l: Literal =>
          out.setCls("Literal")
          Try(LiteralExport.literal(l.value, l.dataType)) match {
            case Success(value) => out.setLiteral(value)
            case Failure(e) => out.setRefused(s"a constant of type ${l.dataType.sql} cannot be exported: ${e.getMessage}")
          }
        // A constant of a known type; its value is there by the time a task is sent.
        case s: execution.ScalarSubquery =>
          out.setCls("ScalarSubquery").setLiteral(plan.Literal.newBuilder().setType(TypeExport.dataType(s.dataType)))
        case _ =>
          out.setCls(className(e))
          // The variables of a lambda function are no part of a row.
          val below = if (e.isInstanceOf[LambdaFunction]) Some("it is inside a lambda function") else noRow
          children(e).foreach(c => out.addChildren(node(c, below)))
          Params.of(e).foreach(p => out.addParams(p))
          dispatch(e, below, out)
      }
      refused(e).foreach(text => out.setRefused(text))
      out.build()
    }

    private def typeOf(e: Expression): DataType =
      Try(e.dataType).getOrElse(org.apache.spark.sql.types.NullType)

    private def children(e: Expression): Seq[Expression] = e match {
      // A constant set is a list of constants to the engine, as in IN.
      case s: InSet => s.child +: s.hset.toSeq.map(v => Literal(v, s.child.dataType))
      case other => other.children
    }

    private def dispatch(e: Expression, noRow: Option[String], out: plan.Expr.Builder): Unit =
      noRow.orElse(notFromRow(e)) match {
        case Some(reason) => out.setNoDispatchReason(reason)
        case None =>
          ctx.foreach { c =>
            c.table += e
            out.setDispatch(c.table.size)
          }
      }

    private def notFromRow(e: Expression): Option[String] =
      e.collectFirst {
        case a: AggregateExpression => s"${className(a)} is an aggregate"
        case a: AggregateFunction => s"${className(a)} is an aggregate"
        case g: Generator => s"${className(g)} is a generator"
        case s: SubqueryExpression => s"${className(s)} is a subquery without a plan"
        case a: Attribute => s"${a.name} is not a column of the input"
        case u: Unevaluable => s"${className(u)} cannot be evaluated from a row"
      }

    private def refused(e: Expression): Option[String] = e match {
      case u: ScalaUDF if !CometConf.SCALA_UDF.get(conf) =>
        Some(s"${u.name} is a user's function and ${CometConf.SCALA_UDF.key} is false")
      case _: BoundReference => None
      case other => switchReason(conf, other.getClass.getSimpleName)
    }
  }
}

/** The constructor arguments of an expression that are not children. */
private[export] object Params {
  import ExprExport.UnknownMark

  def of(e: Expression): Seq[plan.Param] = e match {
    // Its set is exported as children.
    case _: InSet => Nil
    // The placeholder has its type, and the plan below it is nobody's argument.
    case _: execution.ScalarSubquery | _: InSubqueryExec => Nil
    case c: Cast =>
      // A zone that cannot change the result must not keep a cast from being native.
      val zoneMatters = Cast.needsTimeZone(c.child.dataType, c.dataType)
      fields(c).filter(f => f._1 != "timeZoneId" || zoneMatters).flatMap { case (name, v) => value(name, v, 0) }
    case p: Product => fields(e).flatMap { case (name, v) => value(name, v, 0) }
    case other => Seq(unknown("class", other))
  }

  private def fields(e: Expression): Seq[(String, Any)] = {
    val product = e.asInstanceOf[Product]
    val children = e.children
    product.productElementNames.zip(product.productIterator).filterNot { case (_, v) => isChild(v, children) }.toSeq
  }

  private def isChild(v: Any, children: Seq[Expression]): Boolean = v match {
    case e: Expression => children.exists(_ eq e)
    case Some(x) => isChild(x, children)
    case (a, b) => isChild(a, children) && isChild(b, children)
    case s: Seq[_] => s.nonEmpty && s.forall(isChild(_, children))
    case _ => false
  }

  private def value(name: String, v: Any, depth: Int): Seq[plan.Param] = {
    def param(set: plan.Param.Builder => plan.Param.Builder): Seq[plan.Param] =
      Seq(set(plan.Param.newBuilder().setName(name)).build())
    v match {
      case null | None => param(_.setNone(true))
      case Some(x) => value(name, x, depth)
      // Where in the query's text an expression stands changes its errors' context only, and Spark's own code raises those.
      case _: QueryContext | _: SQLQueryContext | _: Origin => Nil
      case b: Boolean => param(_.setBoolValue(b))
      case b: Byte => param(_.setIntValue(b.toLong))
      case s: Short => param(_.setIntValue(s.toLong))
      case i: Int => param(_.setIntValue(i.toLong))
      case l: Long => param(_.setIntValue(l))
      case f: Float => param(_.setDoubleValue(f.toDouble))
      case d: Double => param(_.setDoubleValue(d))
      case c: Char => param(_.setStringValue(c.toString))
      case s: String => param(_.setStringValue(s))
      case s: UTF8String => param(_.setStringValue(s.toString))
      case t: DataType => param(_.setTypeValue(TypeExport.dataType(t)))
      case e: Enumeration#Value => param(_.setStringValue(e.toString))
      case e: java.lang.Enum[_] => param(_.setStringValue(e.name()))
      case c: Class[_] => param(_.setStringValue(c.getName))
      case i: Iterable[_] if i.isEmpty => param(_.setNone(true))
      case e: Expression => Seq(unknown(name, e))
      case p: Product if p.productArity == 0 => param(_.setStringValue(p.productPrefix))
      case p: Product if depth < 2 && p.productPrefix != "ExprId" && !p.isInstanceOf[Iterable[_]] =>
        val inner = p.productElementNames.zip(p.productIterator).toSeq.flatMap { case (n, x) =>
          value(s"$name.$n", x, depth + 1)
        }
        // One argument that cannot travel makes the whole a mystery.
        if (inner.exists(_.getName.startsWith(UnknownMark))) Seq(unknown(name, p)) else inner
      case other => Seq(unknown(name, other))
    }
  }

  private def unknown(name: String, v: Any): plan.Param =
    plan.Param.newBuilder().setName(s"$UnknownMark$name:${v.getClass.getName}").setNone(true).build()
}
