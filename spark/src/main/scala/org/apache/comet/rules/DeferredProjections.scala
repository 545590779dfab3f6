package org.apache.comet.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, InnerLike, LeftAnti, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.joins._

/**
 * Spark's generated code computes a projected column where it is used first: below a join that streams through, that is
 * above the join, for rows that the join lets pass. So `x / y` raises nothing for a row that matches nothing. An operator
 * of the engine computes its columns for all rows, so here such columns move above the join, and above a filter.
 *
 * Joins that sort first, or exchange, need the whole row before, and Spark computes it there.
 */
object DeferredProjections {
  def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case j: BroadcastHashJoinExec => above(j, j.buildSide)
    case j: ShuffledHashJoinExec => above(j, j.buildSide)
    case j: BroadcastNestedLoopJoinExec => above(j, j.buildSide)
    case f @ FilterExec(_, p: ProjectExec) => above(f, p, AttributeSet.empty)
  }

  private def above(j: BaseJoinExec, buildSide: BuildSide): SparkPlan = {
    val (streamed, built) = if (buildSide == BuildLeft) (j.right, j.left) else (j.left, j.right)
    streamed match {
      case p: ProjectExec if streams(j, buildSide) => above(j, p, built.outputSet)
      case _ => j
    }
  }

  /** Joins that keep all rows are passed, too: what is above may drop some. */
  private def streams(j: BaseJoinExec, buildSide: BuildSide): Boolean = (j.joinType, buildSide) match {
    case (_: InnerLike, _) | (LeftOuter | LeftSemi | LeftAnti | _: ExistenceJoin, BuildRight) => true
    case (RightOuter, BuildLeft) => true
    case _ => false
  }

  /** @param others columns beside the projection's in what `parent` reads */
  private def above(parent: SparkPlan, p: ProjectExec, others: AttributeSet): SparkPlan = {
    val usedByParent = AttributeSet(parent.expressions.flatMap(_.references))
    val given = p.projectList.filterNot(_.isInstanceOf[Attribute]).map(_.exprId).toSet
    val late = p.projectList.collect {
      case a: Alias
          if a.deterministic && mayRaise(a.child) && !usedByParent.contains(a.toAttribute) &&
            !a.references.exists(r => given(r.exprId)) =>
        a
    }
    if (late.isEmpty) parent else split(parent, p, late, others)
  }

  private def split(parent: SparkPlan, p: ProjectExec, late: Seq[Alias], others: AttributeSet): SparkPlan = {
    val early = p.projectList.filterNot(e => late.exists(_.exprId == e.exprId))
    // What the late columns read passes, by another name where the other side has the same column.
    val passed = AttributeSet(late.flatMap(_.references)).toSeq.filterNot(a => early.exists(_.exprId == a.exprId))
    val renamed = AttributeMap(passed.filter(others.contains).map(a => a -> Alias(a, a.name)()))
    val below = p.copy(projectList = early ++ passed.map(a => renamed.getOrElse(a, a)))
    p.logicalLink.foreach(below.setLogicalLink)
    val moved = parent.withNewChildren(parent.children.map(c => if (c eq p) below else c))
    Verdict.forget(moved)
    val computed = AttributeMap(late.map { a =>
      val child = a.child.transform { case x: Attribute if renamed.contains(x) => renamed(x).toAttribute }
      a.toAttribute -> a.copy(child = child)(a.exprId, a.qualifier, a.explicitMetadata, a.nonInheritableMetadataKeys)
    })
    val out = ProjectExec(parent.output.map(a => computed.getOrElse(a, a)), moved)
    parent.logicalLink.foreach(out.setLogicalLink)
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
