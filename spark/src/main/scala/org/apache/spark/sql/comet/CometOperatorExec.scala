package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, Partitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/**
 * What native operators share: to the planner each is the Spark node it stands for. Partitioning, ordering and
 * canonical form are that node's, with its children as they were, so that reuse of exchanges and AQE's checks see no
 * difference.
 */
trait CometOperatorExec extends CometNativeExec {
  // Kept, as the original does not travel: joins of Spark's ask their children for it in tasks.
  private val originalOutput: Seq[Attribute] = if (original == null) Nil else original.output

  override def output: Seq[Attribute] = originalOutput
  override def outputPartitioning: Partitioning = original.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = original.outputOrdering
  override def requiredChildDistribution: Seq[Distribution] = original.requiredChildDistribution
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = original.requiredChildOrdering

  override protected def doCanonicalize(): SparkPlan = original.canonicalized

  // The Spark node would show a second copy of everything below.
  override protected def stringArgs: Iterator[Any] =
    super.stringArgs.filterNot(_.asInstanceOf[AnyRef] eq original)
}

trait CometUnaryExec extends CometOperatorExec with UnaryExecNode
