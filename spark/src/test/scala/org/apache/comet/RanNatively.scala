package org.apache.comet

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** Which operators of an executed plan were Halley's. */
object RanNatively {

  /** All nodes of the plan as it ran: through adaptive plans, their stages and subqueries. */
  def nodes(plan: SparkPlan): Seq[SparkPlan] = {
    val below = plan match {
      case a: AdaptiveSparkPlanExec => Seq(a.executedPlan)
      case s: QueryStageExec => Seq(s.plan)
      // Counted where it first ran.
      case _: ReusedExchangeExec => Nil
      case s: ReusedSubqueryExec => Seq(s.child)
      case other => other.children
    }
    plan +: (below ++ plan.subqueries).flatMap(nodes)
  }

  /** The first word of the node's name without the prefix, for example `Filter` of `CometFilter`. */
  private def native(node: SparkPlan): Option[String] = {
    val name = node.nodeName.takeWhile(c => !c.isWhitespace && c != '(')
    if (name.startsWith("Comet")) Some(name.stripPrefix("Comet")) else None
  }

  /** Operator names without the prefix `Comet`, one for each node. */
  def nativeOperators(plan: SparkPlan): Seq[String] = nodes(plan).flatMap(native)

  /** The operators that Spark ran itself; what only frames or converts is no operator. */
  def sparkOperators(plan: SparkPlan): Seq[String] = nodes(plan).collect {
    case node if native(node).isEmpty && !isFrame(node) => node.nodeName
  }

  private def isFrame(node: SparkPlan): Boolean = node match {
    case _: AdaptiveSparkPlanExec | _: QueryStageExec | _: AQEShuffleReadExec | _: ReusedExchangeExec |
        _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec | _: RowToColumnarExec |
        _: BaseSubqueryExec =>
      true
    case _ => false
  }

  /** None where every wanted operator ran natively; `*` wants no operator left to Spark. */
  def missing(plan: SparkPlan, wanted: Seq[String]): Option[String] = {
    val ran = nativeOperators(plan)
    val absent = wanted.filterNot(_ == "*").map(_.stripPrefix("Comet")).distinct.flatMap { name =>
      val times = wanted.count(_.stripPrefix("Comet") == name)
      if (ran.count(_ == name) >= times) None else Some(s"$name x $times")
    }
    val left = if (wanted.contains("*")) sparkOperators(plan) else Nil
    // Nothing at all ran natively: then `*` is not met by a plan of frames alone.
    val empty = wanted.nonEmpty && ran.isEmpty
    if (absent.isEmpty && left.isEmpty && !empty) None
    else Some(s"not native: ${(absent ++ left).mkString(", ")}\n$plan")
  }
}
