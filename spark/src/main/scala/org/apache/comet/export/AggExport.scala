package org.apache.comet.export

import scala.util.hashing.MurmurHash3

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DecimalType

import org.apache.comet.plan

/** Aggregates as messages. Buffers are Spark's own, column for column, so that either engine can merge the other's. */
object AggExport {
  private val CatalystPackage = "org.apache.spark.sql.catalyst.expressions.aggregate"

  def aggregate(
      groupings: Seq[NamedExpression],
      calls: Seq[AggregateExpression],
      callResults: Seq[Attribute],
      results: Seq[NamedExpression],
      input: Seq[Attribute],
      ctx: ExportContext
  ): plan.HashAggregate = {
    val out = plan.HashAggregate.newBuilder()
    groupings.foreach(g => out.addGroupings(ctx.expr(g, input)))

    // Spark finds the buffers to merge at the end of the input, in the order of the calls that merge.
    var bufferOffset = input.size - calls.filter(merges).map(bufferOf(_).size).sum
    calls.foreach { c =>
      out.addCalls(call(c, input, bufferOffset, ctx))
      if (merges(c)) bufferOffset += bufferOf(c).size
    }

    val keys = groupings.map(_.toAttribute)
    if (calls.exists(c => c.mode == Partial || c.mode == PartialMerge)) {
      // What a partial aggregate gives is fixed, whatever its result expressions are called.
      val buffers = calls.flatMap(bufferOf)
      (keys ++ buffers).zipWithIndex.foreach { case (a, i) =>
        out.addResults(ctx.expr(BoundReference(i, a.dataType, a.nullable), Nil))
      }
    } else {
      results.foreach(r => out.addResults(ctx.expr(r, keys ++ callResults)))
    }
    out.build()
  }

  private def merges(c: AggregateExpression): Boolean = c.mode == PartialMerge || c.mode == Final

  private def bufferOf(c: AggregateExpression): Seq[AttributeReference] = c.aggregateFunction.aggBufferAttributes

  private def call(c: AggregateExpression, input: Seq[Attribute], bufferOffset: Int, ctx: ExportContext): plan.AggCall = {
    val f = c.aggregateFunction
    val out = plan.AggCall.newBuilder().setCls(className(f)).setMode(mode(c.mode)).setType(TypeExport.dataType(f.dataType))
    // `distinct` stays false: the plan has made the arguments distinct before a call sees them.
    if (merges(c)) {
      out.setBufferOffset(bufferOffset)
    } else {
      arguments(f).foreach(a => out.addArgs(ctx.expr(a, input)))
      c.filter.foreach(p => out.setFilter(ctx.expr(p, input)))
    }
    bufferOf(c).foreach(a => out.addBuffer(TypeExport.attribute(a)))
    ExprExport.params(f).foreach(p => out.addParams(p))
    site(f).foreach { case (id, place) =>
      out.setSite(id)
      ctx.sites(id) = place
    }
    ExprExport.switchReason(SQLConf.get, f.getClass.getSimpleName).foreach(text => out.setRefused(text))
    out.build()
  }

  /** A Bloom filter's size is a constant, and no larger than the session allows. */
  private def arguments(f: AggregateFunction): Seq[Expression] = f match {
    case b: BloomFilterAggregate =>
      def atMost(size: Expression, limit: Long) = Literal(size.eval().asInstanceOf[Number].longValue.min(limit))
      val conf = SQLConf.get
      Seq(
        b.child,
        atMost(b.estimatedNumItemsExpression, conf.getConf(SQLConf.RUNTIME_BLOOM_FILTER_MAX_NUM_ITEMS)),
        atMost(b.numBitsExpression, conf.getConf(SQLConf.RUNTIME_BLOOM_FILTER_MAX_NUM_BITS))
      )
    case other => other.children
  }

  /** A number for the place, the same each time: it is part of the message, which verdicts are kept by. */
  private def site(f: AggregateFunction): Option[(Long, QueryContext)] = {
    val raises: Option[SupportQueryContext] = f match {
      // Integers overflow in an addition that the function is made of, which has a place of its own, or rather none.
      case s: Sum if !s.dataType.isInstanceOf[DecimalType] =>
        s.updateExpressions.iterator.flatMap(_.collectFirst { case add: Add => add }).nextOption()
      case s: SupportQueryContext => Some(s)
      case _ => None
    }
    raises
      .flatMap(r => Option(r.getContextOrNull()))
      .map(c => ((MurmurHash3.stringHash(c.toString) & 0xffffffffL) | 1L << 32, c))
  }

  private def mode(m: AggregateMode): plan.AggMode = m match {
    case Partial => plan.AggMode.PARTIAL
    case PartialMerge => plan.AggMode.PARTIAL_MERGE
    case Final => plan.AggMode.FINAL
    case Complete => plan.AggMode.COMPLETE
  }

  private def className(f: AggregateFunction): String = {
    val name = f.getClass.getName
    if (name.startsWith(CatalystPackage)) f.getClass.getSimpleName else name
  }
}
