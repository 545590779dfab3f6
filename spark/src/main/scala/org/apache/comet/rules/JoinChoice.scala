package org.apache.comet.rules

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, RowOrdering, ScalarSubquery, SortOrder}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.LeftSingle
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{SortExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.adaptive.{BroadcastQueryStageExec, LogicalQueryStage}
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.CometConf

/**
 * Prefers a shuffled hash join that can be native where Spark would sort and merge, and lets Spark plan it: exchanges
 * and sorts are then placed for the join that runs, and AQE goes on to treat it as any of its own.
 *
 * This is the last moment before physical planning, without AQE and each time that AQE plans again. The preference is
 * a hint on a copy of the join that lives as long as this call. On the logical plan it would be in the way: Spark does not
 * reorder joins that have hints, AQE would keep it when the sizes of stages say otherwise, and where it is set Spark no
 * longer keeps joins with many empty partitions from becoming broadcasts.
 */
final case class JoinChoice(session: SparkSession) extends SparkStrategy with JoinSelectionHelper {
  import JoinChoice._

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case j: Join if CometConf.FORCE_SHUFFLED_HASH_JOIN.get(SQLConf.get) && isOurs(j, SQLConf.get) =>
      buildSide(j).filter(isSmallEnough(j, _, SQLConf.get)).toSeq.flatMap { side =>
        session.sessionState.planner.JoinSelection(j.copy(hint = preferring(j.hint, side))) match {
          case planned @ Seq(s: ShuffledHashJoinExec) if binds(s, SQLConf.get) =>
            s.setTagValue(chosen, ())
            planned
          // Left to Spark's own strategies.
          case _ => Nil
        }
      }
    case _ => Nil
  }

  private def isOurs(j: Join, conf: SQLConf): Boolean = j match {
    case ExtractEquiJoinKeys(_, _, _, _, _, left, right, hint) =>
      !isBroadcast(left) && !isBroadcast(right) && isFree(hint) && !j.isStreaming && Gate.isOpen(session, conf)
    case _ => false
  }

  /** A broadcast that AQE has made already is joined by a strategy of AQE's own. */
  private def isBroadcast(side: LogicalPlan): Boolean = side match {
    case LogicalQueryStage(_, _: BroadcastQueryStageExec) => true
    case _ => false
  }

  /** Neither the user nor AQE has said anything. */
  private def isFree(hint: JoinHint): Boolean = (hint.leftHint ++ hint.rightHint).forall(_.strategy.isEmpty)

  /** The one that Spark would choose. */
  private def buildSide(j: Join): Option[BuildSide] = {
    val sides = Seq(
      (BuildLeft: BuildSide) -> canBuildShuffledHashJoinLeft(j.joinType),
      (BuildRight: BuildSide) -> canBuildShuffledHashJoinRight(j.joinType)
    ).collect { case (side, true) => side }
    if (sides.size == 2) Some(getSmallerSide(j.left, j.right)) else sides.headOption
  }

  private def isSmallEnough(j: Join, side: BuildSide, conf: SQLConf): Boolean =
    maxBuildSize(conf).forall((if (side == BuildLeft) j.left else j.right).stats.sizeInBytes < _)

  private def preferring(hint: JoinHint, side: BuildSide): JoinHint = {
    def prefer(info: Option[HintInfo]) = Some(info.getOrElse(HintInfo()).copy(strategy = Some(PREFER_SHUFFLE_HASH)))
    if (side == BuildLeft) hint.copy(leftHint = prefer(hint.leftHint)) else hint.copy(rightHint = prefer(hint.rightHint))
  }

  /** Whether the engine takes the join as it is now, before Spark has planned the subqueries in its condition. */
  private def binds(s: ShuffledHashJoinExec, conf: SQLConf): Boolean = {
    def planned(e: Expression) = e.transformUp { case q: ScalarSubquery => Literal(null, q.dataType) }
    val probe = s.copy(
      leftKeys = s.leftKeys.map(planned),
      rightKeys = s.rightKeys.map(planned),
      condition = s.condition.map(planned)
    )
    Judge.native.judge(probe, conf)
    Verdict.of(probe).exists(_.bound)
  }
}

object JoinChoice {
  private val chosen = TreeNodeTag[Unit]("comet.chosenHashJoin")

  /** A build side is to have fewer bytes than this; None: any size will do. */
  private def maxBuildSize(conf: SQLConf): Option[BigInt] =
    CometConf.FORCE_SHUFFLED_HASH_JOIN_SIZE.get(conf) match {
      case Some(limit) => Some(limit).filter(_ > 0).map(BigInt(_))
      case None =>
        val broadcast = Some(conf.autoBroadcastJoinThreshold).filter(_ > 0)
        val threshold = broadcast.getOrElse(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.defaultValue.get)
        Some(BigInt(threshold) * conf.numShufflePartitions)
    }

  /**
   * Hash joins that were chosen for the engine and stay with Spark all the same, because of what is around them, become the
   * sort-merge joins that they would have been: Spark's hash join cannot spill.
   *
   * @param plan a stage, or without AQE a plan, in which native nodes are in their places
   */
  def withoutSparkHashJoins(plan: SparkPlan): SparkPlan = plan.transformUp {
    case s: ShuffledHashJoinExec if s.getTagValue(chosen).isDefined && s.joinType != LeftSingle =>
      asSortMerge(s).getOrElse(s)
  }

  private def asSortMerge(s: ShuffledHashJoinExec): Option[SparkPlan] = {
    val merge = SortMergeJoinExec(s.leftKeys, s.rightKeys, s.joinType, s.condition, s.left, s.right, s.isSkewJoin)
    val keepsOrder = s.outputOrdering.isEmpty || SortOrder.orderingSatisfies(merge.outputOrdering, s.outputOrdering)
    if (!keepsOrder || !RowOrdering.isOrderable(s.leftKeys)) None
    else {
      val sorted = merge.children.zip(merge.requiredChildOrdering).map { case (child, order) =>
        if (SortOrder.orderingSatisfies(child.outputOrdering, order)) child
        else {
          val sort = SortExec(order, global = false, child)
          s.logicalLink.foreach(sort.setLogicalLink)
          sort
        }
      }
      val planned = merge.withNewChildren(sorted)
      planned.copyTagsFrom(s)
      Some(planned)
    }
  }
}
