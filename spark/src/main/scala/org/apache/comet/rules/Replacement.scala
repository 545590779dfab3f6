package org.apache.comet.rules

import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Average, Count, Max, Min, Sum}
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec, ShuffleQueryStageExec, TableCacheQueryStageExec}
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, Exchange, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.{BaseJoinExec, ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DoubleType, FloatType}

import org.apache.comet.CometConf

/**
 * Puts native nodes in the place of judged Spark nodes, from the leaves up, where their inputs make it worth it. A
 * native node keeps the Spark node, with the children that one had, as its `original`.
 */
final class Replacement(conf: SQLConf) {
  import Replacement._

  def apply(plan: SparkPlan): SparkPlan = JoinChoice.withoutSparkHashJoins(replace(plan, orderMatters = true))

  private def replace(p: SparkPlan, orderMatters: Boolean): SparkPlan = p match {
    case _: CometPlan => p
    case _ =>
      val children = p.children.map(c => replace(c, childOrderMatters(p, orderMatters)))
      nativeOf(p, children, orderMatters).getOrElse(left(p, children))
  }

  /** The native node, or None with the reasons on the Spark node. */
  private def nativeOf(p: SparkPlan, children: Seq[SparkPlan], orderMatters: Boolean): Option[SparkPlan] =
    if (!Verdict.of(p).exists(_.bound)) None
    else
      NativeOperators.of(p).flatMap { op =>
        val inputs = p match {
          case _: SortAggregateExec => Seq(withoutSort(children.head))
          case _ => children
        }
        whyNot(p, op, inputs, orderMatters) match {
          case Some(reason) =>
            Verdict.note(p, reason)
            None
          case None =>
            val native = (if (orderMatters) op.build else op.unordered.getOrElse(op.build))(inputs)
            // Before anything else is set on the new node: tags are copied to a node without any only.
            native.copyTagsFrom(p)
            tagInner(native, p)
            Some(if (orderMatters) withOrderOf(p, native) else native)
        }
      }

  private def whyNot(
      p: SparkPlan,
      op: NativeOperator,
      inputs: Seq[SparkPlan],
      orderMatters: Boolean
  ): Option[String] = p match {
    case e: ShuffleExchangeExec => exchangeReason(e, inputs.head)
    case e: BroadcastExchangeExec => broadcastReason(e, inputs.head)
    // It keeps the order of the streamed side in Spark; the native one does so until it spills.
    case j: ShuffledHashJoinExec if orderMatters && j.outputOrdering.nonEmpty =>
      Some("a hash join whose order of rows is made use of")
    case _ if orderMatters && op.noOrder.isDefined => op.noOrder
    case _ =>
      val spark = op.reads(inputs).filterNot(givesNativeBatches)
      if (spark.nonEmpty && !spark.forall(canFeed(_, op.need))) {
        Some(s"its input is not native: ${spark.map(Judge.nameOf).mkString(", ")}")
      } else if (NativeOperators.readsInputFile(p) && !inputs.forall(streamsFromScan)) {
        Some("input_file_name and its kin are known only directly above a native scan")
      } else None
  }

  private def exchangeReason(e: ShuffleExchangeExec, input: SparkPlan): Option[String] =
    if (givesNativeBatches(input)) None
    else if (!CometConf.SHUFFLE_FROM_SPARK.get(conf)) {
      Some(s"its input is not native and ${CometConf.SHUFFLE_FROM_SPARK.key} is false")
    } else if (!canFeed(input, InputNeed.Any)) {
      Some(s"its input is not native: ${Judge.nameOf(input)}")
    } else if (CometConf.SHUFFLE_REVERT.get(conf) && !Verdict.hasNativeConsumer(e)) {
      Some("neither what it reads nor what reads it is native")
    } else None

  /**
   * Over a native input it is native whatever reads it: a join and dynamic pruning, or two joins, find each other's
   * exchange only where both are of one kind. Spark's readers get the relation they expect.
   */
  private def broadcastReason(e: BroadcastExchangeExec, input: SparkPlan): Option[String] =
    if (givesNativeBatches(input)) None
    else if (!canFeed(input, InputNeed.Any)) Some(s"its input is not native: ${Judge.nameOf(input)}")
    else if (!Verdict.hasNativeConsumer(e)) Some("neither what it reads nor what reads it is native")
    else None

  /** Whether a Spark node's rows or columns may be turned into a native operator's input. */
  private def canFeed(input: SparkPlan, need: InputNeed): Boolean = need match {
    case InputNeed.Batches => false
    case InputNeed.Native => convertibleLeaf(input)
    case InputNeed.Any => worthConverting(input)
  }

  /**
   * Native batches or work that only Spark can do is below; it is not all Spark's by choice, as over a leaf whose rows
   * would make a detour.
   */
  private def worthConverting(input: SparkPlan): Boolean = input match {
    case _: CometPlan => true
    case _: TableCacheQueryStageExec => convertibleLeaf(input)
    case s: QueryStageExec => worthConverting(s.plan)
    case r: ReusedExchangeExec => worthConverting(r.child)
    case leaf if leaf.children.isEmpty => convertibleLeaf(leaf)
    case _: ProjectExec | _: FilterExec | _: Exchange | _: BaseAggregateExec | _: SortExec | _: LimitExec |
        _: UnionExec | _: CoalesceExec | _: AQEShuffleReadExec | _: ColumnarToRowTransition |
        _: WholeStageCodegenExec | _: InputAdapter =>
      input.children.exists(worthConverting)
    case _ => true
  }

  private def convertibleLeaf(leaf: SparkPlan): Boolean = leaf match {
    case t: TableCacheQueryStageExec => convertibleLeaf(t.plan)
    case s: FileSourceScanExec =>
      s.relation.fileFormat match {
        case _: ParquetFileFormat => CometConf.CONVERT_PARQUET.get(conf)
        case _: CSVFileFormat => CometConf.CONVERT_CSV.get(conf)
        case _: JsonFileFormat => CometConf.CONVERT_JSON.get(conf)
        case _ => false
      }
    case _: LocalTableScanExec => CometConf.OP_LOCAL_TABLE.get(conf) || listed("LocalTableScan")
    case _: RangeExec => listed("Range")
    case _: InMemoryTableScanExec => listed("InMemoryTableScan")
    case _: RDDScanExec => listed("RDDScan")
    case _: OneRowRelationExec => listed("OneRowRelation")
    case other => other.children.isEmpty && listed(other.getClass.getSimpleName.stripSuffix("Exec"))
  }

  private def listed(name: String): Boolean =
    CometConf.SPARK_TO_COLUMNAR.get(conf) && CometConf.SPARK_TO_COLUMNAR_OPERATORS.get(conf).contains(name)

  /** A Spark node that stays, over what its children became. */
  private def left(p: SparkPlan, children: Seq[SparkPlan]): SparkPlan = {
    val safe = p match {
      // Over columns it would put the children's partitions behind each other, also where it has promised to zip them.
      // All transitions below are made, too: Spark does not look for their places below one that it finds.
      case _: UnionExec if children.exists(givesNativeBatches) =>
        children.map(c => if (givesNativeBatches(c)) Transitions.bySpark(c) else c)
      case _ => children
    }
    if (safe.corresponds(p.children)(_ eq _)) p else p.withNewChildren(safe)
  }

  /** A sort aggregate promises an order that hash aggregation does not give. */
  private def withOrderOf(p: SparkPlan, native: SparkPlan): SparkPlan = p match {
    case s: SortAggregateExec if s.outputOrdering.nonEmpty =>
      val sorted = CometSortExec(s, s.outputOrdering, native)
      sorted.copyTagsFrom(s)
      sorted
    case _ => native
  }

  private def childOrderMatters(p: SparkPlan, own: Boolean): Boolean = p match {
    case a: BaseAggregateExec if a.aggregateExpressions.exists(dependsOnOrder) => true
    // Run as a hash aggregate, whose output is sorted where that matters.
    case s: SortAggregateExec if Verdict.of(s).exists(_.bound) =>
      own && NativeOperators.of(s).exists(_.noOrder.isDefined)
    case j: SortMergeJoinExec if !own && becomesHashJoin(j) => false
    case _: Exchange | _: BaseAggregateExec | _: SortExec | _: TakeOrderedAndProjectExec => p.requiredChildOrdering.exists(_.nonEmpty)
    case _: ProjectExec | _: FilterExec => own
    // It gives the streamed side's order on, and has no use for one itself.
    case j: BaseJoinExec if j.requiredChildOrdering.forall(_.isEmpty) => own
    case _ => true
  }

  /** Its result may differ with the order of its input, in the last digits at least. */
  private def dependsOnOrder(a: AggregateExpression): Boolean = a.aggregateFunction match {
    case _: Count | _: Min | _: Max => false
    case f @ (_: Sum | _: Average) => f.children.exists(c => c.dataType == FloatType || c.dataType == DoubleType)
    case _ => true
  }

  private def becomesHashJoin(j: SortMergeJoinExec): Boolean =
    Verdict.of(j).exists(_.bound) && NativeOperators.of(j).exists(_.unordered.isDefined)

  /** The native part of a node that became two carries the link too: AQE asks any node for it. */
  private def tagInner(native: SparkPlan, p: SparkPlan): Unit = native match {
    case t: CometTakeOrderedAndProjectExec => t.child.copyTagsFrom(p)
    case _ =>
  }
}

object Replacement {

  /** Spark's plan as nodes are replaced in it: rearranged where the native one must differ, each node judged. */
  def prepared(plan: SparkPlan, conf: SQLConf): SparkPlan = {
    val ready = DeferredProjections(PruningBroadcasts(plan, conf))
    Judge.native.judgeRest(ready, conf)
    ready
  }

  /** Hashing has no use for sorted input; the sort that was only there for the operator above goes. */
  def withoutSort(input: SparkPlan): SparkPlan = input match {
    case s: CometSortExec => s.child
    case s: SortExec if !s.global => s.child
    case other => other
  }

  /** Whether the node hands over batches of the engine: then nothing stands between it and a native node above. */
  def givesNativeBatches(p: SparkPlan): Boolean = p match {
    case c: CometPlan => c.supportsColumnar
    case s: ShuffleQueryStageExec => givesNativeBatches(s.plan)
    case a: AQEShuffleReadExec => givesNativeBatches(a.child)
    case r: ReusedExchangeExec => givesNativeBatches(r.child)
    case _: QueryStageExec => false
    case _ => false
  }

  /** At how many places of a stage native batches become rows: below Spark's operators, and at its end. */
  def turnsIntoRows(stage: SparkPlan): Int = {
    def within(p: SparkPlan): Int = {
      val here =
        if (givesNativeBatches(p) || p.isInstanceOf[CometBroadcastExchangeExec]) 0
        else p.children.count(c => givesNativeBatches(c) && !c.supportsRowBased)
      here + p.children.map(within).sum
    }
    within(stage) + (if (givesNativeBatches(stage) && !stage.isInstanceOf[Exchange]) 1 else 0)
  }

  /** Batches come straight from a scan, one file at a time. */
  private def streamsFromScan(p: SparkPlan): Boolean = p match {
    case _: CometNativeScanExec => true
    case f: CometFilterExec => streamsFromScan(f.child)
    case q: CometProjectExec => streamsFromScan(q.child)
    case _ => false
  }
}
