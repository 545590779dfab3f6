package org.apache.comet.rules

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.{CometConf, ConfEntry}

/** The native counterparts of joins. */
object JoinOperators {
  def of(j: BaseJoinExec): Option[NativeOperator] = j match {
    case b: BroadcastHashJoinExec =>
      def build(c: Seq[SparkPlan]) = CometBroadcastHashJoinExec(
        b,
        b.leftKeys,
        b.rightKeys,
        b.joinType,
        b.buildSide,
        b.condition,
        b.isNullAwareAntiJoin,
        c.head,
        c.last
      )
      Some(operator(b, Seq(CometConf.OP_BROADCAST_HASH_JOIN), build).copy(reads = streamed(b.buildSide)))

    case n: BroadcastNestedLoopJoinExec =>
      def build(c: Seq[SparkPlan]) =
        CometBroadcastNestedLoopJoinExec(n, n.joinType, n.buildSide, n.condition, c.head, c.last)
      // Such a join sends its rows without a match once, from the driver, not from each task.
      val refuse = () =>
        if (keepsBroadcastSide(n)) Seq(s"${n.joinType.sql} with a broadcast of the side whose rows are all kept") else Nil
      Some(operator(n, Seq(CometConf.OP_NESTED_LOOP_JOIN), build, refuse).copy(reads = streamed(n.buildSide)))

    case p: CartesianProductExec =>
      def build(c: Seq[SparkPlan]) = CometCartesianProductExec(p, p.condition, c.head, c.last)
      Some(operator(p, Seq(CometConf.OP_NESTED_LOOP_JOIN), build))

    case s: ShuffledHashJoinExec =>
      def hash(side: BuildSide)(c: Seq[SparkPlan]) = CometHashJoinExec(
        s,
        s.leftKeys,
        s.rightKeys,
        s.joinType,
        side,
        s.condition,
        keepsOrder = false,
        c.head,
        c.last
      )
      // Of these Spark has a hash table only of the right side, however large it is.
      val unordered = s.joinType match {
        case LeftSemi | LeftAnti | _: ExistenceJoin => Some(hash(smallerSide(s)) _)
        case _ => None
      }
      Some(operator(s, Seq(CometConf.OP_HASH_JOIN), hash(s.buildSide)).copy(unordered = unordered))

    case m: SortMergeJoinExec =>
      def merge(c: Seq[SparkPlan]) =
        CometSortMergeJoinExec(m, m.leftKeys, m.rightKeys, m.joinType, m.condition, c.head, c.last)
      def hash(c: Seq[SparkPlan]) = CometHashJoinExec(
        m,
        m.leftKeys,
        m.rightKeys,
        m.joinType,
        smallerSide(m),
        m.condition,
        keepsOrder = false,
        Replacement.withoutSort(c.head),
        Replacement.withoutSort(c.last)
      )
      val switches = Seq(CometConf.OP_SORT_MERGE_JOIN) ++ m.condition.map(_ => CometConf.OP_SORT_MERGE_JOIN_FILTER)
      val join = operator(m, switches, merge)
      if (!CometConf.SORT_MERGE_AS_HASH_JOIN.get(SQLConf.get)) Some(join)
      else if (m.leftKeys.forall(k => NativeOperators.isOrderable(k.dataType))) Some(join.copy(unordered = Some(hash _)))
      // The engine has no order of such keys.
      else {
        val noOrder = Some("a sort-merge join by nested keys whose order of rows is made use of")
        Some(operator(m, switches, hash).copy(unordered = Some(hash _), noOrder = noOrder))
      }

    case _ => None
  }

  private def operator(
      p: BaseJoinExec,
      switches: Seq[ConfEntry[Boolean]],
      build: Seq[SparkPlan] => CometNativeExec,
      refuse: () => Seq[String] = () => Nil
  ): NativeOperator = NativeOperator(
    switches,
    InputNeed.Any,
    () => refuseType(p) ++ refuse() ++ NativeOperators.refuseInputFile(p)(),
    build,
    () => Some(build(p.children))
  )

  /** One that raises where a row has a second match. */
  private def refuseType(j: BaseJoinExec): Seq[String] =
    if (j.joinType == LeftSingle) Seq(s"${j.joinType.sql} JOIN has no native form") else Nil

  private def streamed(buildSide: BuildSide)(children: Seq[SparkPlan]): Seq[SparkPlan] =
    Seq(if (buildSide == BuildLeft) children.last else children.head)

  private def keepsBroadcastSide(n: BroadcastNestedLoopJoinExec): Boolean = (n.joinType, n.buildSide) match {
    case (_: InnerLike, _) | (LeftOuter, BuildRight) | (RightOuter, BuildLeft) => false
    case (LeftSemi | LeftAnti | _: ExistenceJoin, BuildRight) => false
    case _ => true
  }

  /** The side to build a table of: any join type can have either. */
  private def smallerSide(j: BaseJoinExec): BuildSide = (sizeOf(j.left), sizeOf(j.right)) match {
    case (Some(l), Some(r)) if l < r => BuildLeft
    case _ => BuildRight
  }

  /** Bytes of a side: what the shuffle below it wrote, else what Spark's planner expected. */
  private def sizeOf(side: SparkPlan): Option[BigInt] =
    shuffled(side).flatMap(s => s.computeStats().map(_.sizeInBytes)).orElse(planned(side))

  /** Exchanges and sorts that Spark has put in stand for no part of the query. */
  private def planned(p: SparkPlan): Option[BigInt] = p.logicalLink.map(_.stats.sizeInBytes).orElse(p match {
    case s: SortExec => planned(s.child)
    case e: Exchange => planned(e.child)
    case _ => None
  })

  private def shuffled(p: SparkPlan): Option[ShuffleQueryStageExec] = p match {
    case s: ShuffleQueryStageExec => Some(s)
    case s: SortExec => shuffled(s.child)
    case r: AQEShuffleReadExec => shuffled(r.child)
    case _ => None
  }
}
