package org.apache.comet.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftSemi}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.joins._

/**
 * Spark's generated code computes a projected column where it is used first: below a join that streams through, that is
 * above the join, for rows that the join lets pass. So `x / y` raises nothing for a row that matches nothing. An operator
 * of the engine computes its columns for all rows, so here such columns move above the join.
 *
 * Joins that sort first, or exchange, need the whole row before, and Spark computes it there.
 */
object DeferredProjections {
  def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case j: BroadcastHashJoinExec => above(j, j.buildSide)
    case j: ShuffledHashJoinExec => above(j, j.buildSide)
    case j: BroadcastNestedLoopJoinExec => above(j, j.buildSide)
  }

  private def above(j: BaseJoinExec, buildSide: BuildSide): SparkPlan = {
    val (streamed, built) = if (buildSide == BuildLeft) (j.right, j.left) else (j.left, j.right)
    streamed match {
      case p: ProjectExec if drops(j, buildSide) =>
        val usedByJoin = AttributeSet(j.expressions.flatMap(_.references))
        val late = p.projectList.collect {
          case a: Alias if a.deterministic && mayRaise(a.child) && !usedByJoin.contains(a.toAttribute) => a
        }
        if (late.isEmpty) j else split(j, p, late, built)
      case _ => j
    }
  }

  /** Rows of the streamed side may go without being looked at by anything above. */
  private def drops(j: BaseJoinExec, buildSide: BuildSide): Boolean = (j.joinType, buildSide) match {
    case (_: InnerLike, _) | (LeftSemi | LeftAnti, BuildRight) => true
    case _ => false
  }

  private def split(j: BaseJoinExec, p: ProjectExec, late: Seq[Alias], built: SparkPlan): SparkPlan = {
    val early = p.projectList.filterNot(e => late.exists(_.exprId == e.exprId))
    // What the late columns read passes the join, by another name where the other side has the same column.
    val passed = AttributeSet(late.flatMap(_.references)).toSeq.filterNot(a => early.exists(_.exprId == a.exprId))
    val renamed = AttributeMap(passed.filter(built.outputSet.contains).map(a => a -> Alias(a, a.name)()))
    val below = p.copy(projectList = early ++ passed.map(a => renamed.getOrElse(a, a)))
    p.logicalLink.foreach(below.setLogicalLink)
    val joined = j.withNewChildren(j.children.map(c => if (c eq p) below else c))
    val computed = AttributeMap(late.map { a =>
      val child = a.child.transform { case x: Attribute if renamed.contains(x) => renamed(x).toAttribute }
      a.toAttribute -> a.copy(child = child)(a.exprId, a.qualifier, a.explicitMetadata, a.nonInheritableMetadataKeys)
    })
    val out = ProjectExec(j.output.map(a => computed.getOrElse(a, a)), joined)
    j.logicalLink.foreach(out.setLogicalLink)
    out
  }

  /** All but what is known to raise nothing: moving more than must be does no harm. */
  private def mayRaise(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal => false
    case c: Cast if !Cast.canUpCast(c.child.dataType, c.dataType) => true
    case _: Cast | _: Alias | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: BinaryComparison | _: In | _: InSet |
        _: If | _: CaseWhen | _: Coalesce | _: StringPredicate | _: Substring | _: Upper | _: Lower | _: GetDateField |
        _: GetStructField | _: KnownNotNull | _: KnownFloatingPointNormalized =>
      e.children.exists(mayRaise)
    case _ => true
  }
}
