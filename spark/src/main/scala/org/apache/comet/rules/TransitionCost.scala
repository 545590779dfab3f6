package org.apache.comet.rules

import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.comet._
import org.apache.spark.sql.comet.execution.shuffle.CometShuffleExchangeExec
import org.apache.spark.sql.execution.{ExpandExec, GenerateExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/**
 * Estimates whether a stage gains by its native operators more than it loses by turning rows into columns and back.
 *
 * Both are in nanoseconds of one core, from rows (as Spark's statistics have them, of finished stages where there
 * are some) and columns. The constants are round figures of what the engine's benches measure for the conversions and
 * of how far native operators were ahead of Spark's; they need to be right in their proportions only.
 *
 * @param saved by native operators
 * @param spent on transitions that the stage would not have without native operators
 */
final case class TransitionCost(saved: Double, spent: Double) {
  def +(other: TransitionCost): TransitionCost = TransitionCost(saved + other.saved, spent + other.spent)
}

object TransitionCost {
  import Replacement.givesNativeBatches

  /** Of a stage in which native nodes are in their places, and transitions not yet. */
  def of(stage: SparkPlan): TransitionCost = {
    val here = stage match {
      case c: CometPlan => TransitionCost(saving(c) * rowsInto(c), rowsTurnedIntoColumns(c).map(toColumns).sum)
      // A stage that was made already.
      case _: QueryStageExec | _: ReusedExchangeExec => TransitionCost(0, 0)
      case p => TransitionCost(0, p.children.filter(isTurnedIntoRows).map(toRows).sum)
    }
    stage.children.map(of).foldLeft(here)(_ + _)
  }

  /** A Spark scan of many columns at a time has its rows made, too, and what reads a shuffle gets rows from it either way. */
  private def isTurnedIntoRows(child: SparkPlan): Boolean = child match {
    case _: CometNativeScanExec | _: CometShuffleExchangeExec | _: QueryStageExec | _: AQEShuffleReadExec |
        _: ReusedExchangeExec =>
      false
    case other => givesNativeBatches(other)
  }

  /** Not the leaves: that their rows become columns is what a switch of the user's asks for. */
  private def rowsTurnedIntoColumns(c: CometPlan): Seq[SparkPlan] = {
    val inputs = c match {
      case b: CometBroadcastReaderExec => b.children.filterNot(_ eq b.broadcastChild)
      case _ if c.supportsColumnar => c.children
      case _ => Nil
    }
    inputs.filterNot(i => givesNativeBatches(i) || i.children.isEmpty)
  }

  private def toRows(p: SparkPlan): Double = rows(p) * (3 + 1.5 * p.output.size)
  private def toColumns(p: SparkPlan): Double = rows(p) * (10 + 2.5 * p.output.size)

  /** For each row that goes in. */
  private def saving(c: CometPlan): Double = c match {
    case s: CometNativeScanExec => 2.0 * s.output.size
    case e: CometShuffleExchangeExec => 40 + 2.0 * e.output.size
    case _: CometSortExec => 150
    case _: CometJoinExec => 40
    case _: CometHashAggregateExec => 30
    case _: CometLocalTopKExec => 20
    case _: CometFilterExec | _: CometProjectExec => 4
    case _ => 0
  }

  private def rowsInto(p: SparkPlan): Double =
    if (p.children.isEmpty) rows(p) else p.children.map(rows).max

  /**
   * Spark's guess, but no more than what goes in: without statistics of columns it takes a join for the product of its
   * sides, and all above it gets that figure.
   */
  private def rows(p: SparkPlan): Double = {
    val below = p match {
      case _: ExpandExec | _: GenerateExec | _: QueryStageExec => None
      case _ => p.children.map(rows).maxOption
    }
    val guess = p.logicalLink.map { l =>
      val stats = l.stats
      stats.rowCount.getOrElse(stats.sizeInBytes / EstimationUtils.getSizePerRow(l.output)).toDouble
    }
    (guess ++ below).minOption.getOrElse(0.0)
  }
}
