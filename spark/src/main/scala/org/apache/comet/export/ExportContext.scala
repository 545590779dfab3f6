package org.apache.comet.export

import scala.collection.mutable

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder}
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.plan

/**
 * What exporting one operator collects: next to its message, the table of expressions that Spark's own code evaluates
 * for it (index = `Expr.dispatch - 1`), bound to the ordinals of the operator's input row.
 */
final class ExportContext {
  val table: mutable.ArrayBuffer[Expression] = mutable.ArrayBuffer.empty

  /** Where in the query's text aggregate calls stand whose errors Spark raises with their place. */
  val sites: mutable.LinkedHashMap[Long, QueryContext] = mutable.LinkedHashMap.empty

  /** Exports an expression over the operator's input. Never fails: what cannot be exported says so in the message. */
  def expr(e: Expression, input: Seq[Attribute]): plan.Expr = ExprExport.expr(e, input, this)

  def sortOrder(o: SortOrder, input: Seq[Attribute]): plan.SortOrder = {
    val key = expr(o.child, input)
    val refused = ExprExport.switchReason(SQLConf.get, "SortOrder")
    plan.SortOrder
      .newBuilder()
      .setChild(refused.fold(key)(text => key.toBuilder.setRefused(text).build()))
      .setAscending(o.isAscending)
      .setNullsFirst(o.nullOrdering.sql.endsWith("FIRST"))
      .build()
  }
}
