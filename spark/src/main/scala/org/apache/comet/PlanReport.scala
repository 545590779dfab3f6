package org.apache.comet

import scala.collection.mutable

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.comet.CometPlan
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.rules.{Gate, Replacement, Transitions, Verdict}

/** How much of a plan is native. */
final case class Coverage(native: Int, spark: Int, transitions: Int) {
  def +(other: Coverage): Coverage =
    Coverage(native + other.native, spark + other.spark, transitions + other.transitions)

  override def toString: String = {
    val all = native + spark
    val percent = if (all == 0) 0 else native * 100 / all
    s"$native of $all operators are native ($percent%); rows turn into columns or back at $transitions places."
  }
}

/**
 * A plan as it runs or will run, for people: native nodes, reasons at the others, and how much is native. With AQE
 * Spark's own EXPLAIN shows Spark's nodes until a query has run; this looks ahead.
 */
object PlanReport {

  def verbose(plan: SparkPlan, conf: SQLConf): String = {
    val out = new mutable.StringBuilder
    val coverage = print(asItRuns(plan, conf), "", "", out, conf)
    out.append(coverage).append('\n').toString
  }

  /** Every reason once, sorted. */
  def reasons(plan: SparkPlan, conf: SQLConf): Seq[String] = {
    val found = mutable.SortedSet.empty[String]
    def collect(p: SparkPlan): Unit = {
      found ++= reasonsAt(p)
      below(p, conf).foreach(collect)
    }
    collect(asItRuns(plan, conf))
    found.toSeq
  }

  def coverage(plan: SparkPlan, conf: SQLConf): Coverage = {
    def count(p: SparkPlan): Coverage = below(p, conf).map(count).foldLeft(countOf(p))(_ + _)
    count(asItRuns(plan, conf))
  }

  /** What is to be shown of a node: without what only frames it, and replaced where that is still to come. */
  private def asItRuns(p: SparkPlan, conf: SQLConf): SparkPlan = p match {
    case a: AdaptiveSparkPlanExec =>
      if (a.isFinalPlan) asItRuns(a.executedPlan, conf) else asItRuns(replaced(a.executedPlan, conf), conf)
    case s: QueryStageExec => asItRuns(s.plan, conf)
    case w: WholeStageCodegenExec => asItRuns(w.child, conf)
    case i: InputAdapter => asItRuns(i.child, conf)
    case other => other
  }

  private def replaced(plan: SparkPlan, conf: SQLConf): SparkPlan = plan.session match {
    case session: SparkSession if Gate.isOpen(session, conf) && !Gate.isStreaming(plan) =>
      val native = new Replacement(conf)(Replacement.prepared(plan, conf))
      Transitions(Transitions.bySpark(native))
    case _ => plan
  }

  private def below(p: SparkPlan, conf: SQLConf): Seq[SparkPlan] = {
    val children = p match {
      // Shown, and counted, where it runs first.
      case _: ReusedExchangeExec | _: ReusedSubqueryExec => Nil
      case other => other.children
    }
    (p.subqueries ++ children).map(asItRuns(_, conf))
  }

  private def isTransition(p: SparkPlan): Boolean =
    p.isInstanceOf[ColumnarToRowTransition] || p.isInstanceOf[RowToColumnarTransition]

  private def isFrame(p: SparkPlan): Boolean = p match {
    case _: ReusedExchangeExec | _: ReusedSubqueryExec | _: AQEShuffleReadExec | _: BaseSubqueryExec => true
    case _ => false
  }

  private def countOf(p: SparkPlan): Coverage =
    if (isTransition(p)) Coverage(0, 0, 1)
    else if (isFrame(p)) Coverage(0, 0, 0)
    else if (p.isInstanceOf[CometPlan]) Coverage(1, 0, 0)
    else Coverage(0, 1, 0)

  private def reasonsAt(p: SparkPlan): Seq[String] =
    if (p.isInstanceOf[CometPlan] || isTransition(p) || isFrame(p)) Nil else Verdict.reasons(p)

  private def print(p: SparkPlan, first: String, rest: String, out: mutable.StringBuilder, conf: SQLConf): Coverage = {
    out.append(first).append(p.nodeName.trim)
    val reasons = reasonsAt(p)
    if (reasons.nonEmpty) out.append(reasons.mkString(" [COMET: ", "; ", "]"))
    if (CometConf.EXPLAIN_CODEGEN.get(conf) && p.isInstanceOf[CometPlan]) {
      val dispatched = Verdict.of(p).toSeq.flatMap(_.dispatched)
      if (dispatched.nonEmpty) out.append(dispatched.mkString(" [COMET-INFO: JVM codegen dispatcher: ", ", ", "]"))
    }
    out.append('\n')
    val parts = below(p, conf)
    parts.zipWithIndex
      .map { case (c, i) =>
        val last = i == parts.size - 1
        print(c, rest + (if (last) "+- " else ":- "), rest + (if (last) "   " else ":  "), out, conf)
      }
      .foldLeft(countOf(p))(_ + _)
  }
}
