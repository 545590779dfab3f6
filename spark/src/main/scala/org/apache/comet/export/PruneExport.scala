package org.apache.comet.export

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.{ExecSubqueryExpression, ScalarSubquery}

import org.apache.comet.plan

/**
 * Predicates that a scan may skip data by. Only forms that statistics can speak about travel, and none of them is
 * evaluated anywhere but in the engine: the filter above the scan decides.
 */
object PruneExport {

  def conjunct(e: Expression, input: Seq[Attribute]): Option[plan.Expr] =
    if (e.deterministic && prunable(e)) Some(ExprExport.prune(e, input)) else None

  private def prunable(e: Expression): Boolean = e match {
    case And(l, r) => prunable(l) && prunable(r)
    case Or(l, r) => prunable(l) && prunable(r)
    case Not(c) => prunable(c)
    case c: BinaryComparison => operand(c.left) && operand(c.right)
    case In(v, list) => operand(v) && list.forall(operand)
    case i: InSet => operand(i.child)
    case IsNull(c) => operand(c)
    case IsNotNull(c) => operand(c)
    case StartsWith(l, r) => operand(l) && operand(r)
    case a: AttributeReference => a.dataType == org.apache.spark.sql.types.BooleanType
    case _ => false
  }

  private def operand(e: Expression): Boolean = e match {
    case _: AttributeReference | _: Literal => true
    // With its value it is a constant like others; before that nothing can be skipped by it.
    case s: ScalarSubquery => ExprExport.valueOf(s).isDefined
    case _: ExecSubqueryExpression => false
    case _ => false
  }
}
