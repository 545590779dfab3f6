package org.apache.comet.rules

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.{BaseAggregateExec, HashAggregateExec, ObjectHashAggregateExec, SortAggregateExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, StructType}

import org.apache.comet.{CometConf, ConfEntry}
import org.apache.comet.export.ExprExport

/** How much an operator asks of what it reads. */
sealed trait InputNeed

object InputNeed {

  /** Nothing to it but what is below: native batches. */
  case object Batches extends InputNeed

  /** Worth it only over native batches or a leaf that is to be turned into them: it does little to each row. */
  case object Native extends InputNeed

  /** Worth turning Spark's rows into columns for. */
  case object Any extends InputNeed
}

/**
 * One Spark operator and its native counterpart.
 *
 * @param switches all must be on
 * @param refuse   what speaks against a node that the engine cannot know: it sees the message only
 * @param build    the native node over the given children; its message must not depend on anything of theirs but
 *                 their output
 * @param message what the engine is asked about; None where nothing is left to ask
 * @param unordered what to build instead where nobody needs the order of its rows; then no order is asked of its
 *                inputs, either
 * @param noOrder why there is no native node where the order of its rows is needed; then `message` is of the node
 *                that is built where it is not
 * @param reads   those of the children that must give batches, or be turned into them
 */
final case class NativeOperator(
    switches: Seq[ConfEntry[Boolean]],
    need: InputNeed,
    refuse: () => Seq[String],
    build: Seq[SparkPlan] => SparkPlan,
    message: () => Option[CometNativeExec],
    unordered: Option[Seq[SparkPlan] => SparkPlan] = None,
    noOrder: Option[String] = None,
    reads: Seq[SparkPlan] => Seq[SparkPlan] = identity
) {
  def reasons(conf: SQLConf): Seq[String] =
    switches.filterNot(_.get(conf)).map(s => s"${s.key} is false") ++ refuse()
}

/** The one place that knows which Spark operators have native counterparts. */
object NativeOperators {
  import InputNeed.{Any => AnyInput, Native => NativeInput}

  def of(p: SparkPlan): Option[NativeOperator] = p match {
    case s: FileSourceScanExec =>
      val build = (_: Seq[SparkPlan]) => CometNativeScanExec(s, s.output, s.partitionFilters, s.dataFilters)
      Some(operator(s, Seq(CometConf.SCAN_ENABLED), NativeInput, build, () => ScanConditions.reasons(s)))

    case f: FilterExec =>
      Some(operator(f, CometConf.OP_FILTER, NativeInput, c => CometFilterExec(f, f.condition, c.head)))

    case p: ProjectExec =>
      Some(operator(p, CometConf.OP_PROJECT, NativeInput, c => CometProjectExec(p, p.projectList, c.head)))

    case a: HashAggregateExec => Some(aggregate(a))
    case a: SortAggregateExec => Some(aggregate(a))
    case a: ObjectHashAggregateExec => Some(aggregate(a))

    case s: SortExec =>
      Some(operator(s, Seq(CometConf.OP_SORT), AnyInput, c => CometSortExec(s, s.sortOrder, c.head), refuseInputFile(s)))

    case l: LocalLimitExec =>
      Some(operator(l, CometConf.OP_LOCAL_LIMIT, NativeInput, c => CometLocalLimitExec(l, l.limit, c.head)))

    case g: GlobalLimitExec =>
      Some(operator(g, CometConf.OP_GLOBAL_LIMIT, NativeInput, c => CometGlobalLimitExec(g, g.limit, g.offset, c.head)))

    case u: UnionExec =>
      Some(operator(u, CometConf.OP_UNION, NativeInput, c => CometUnionExec(u, c)))

    case c: CoalesceExec =>
      Some(operator(c, CometConf.OP_COALESCE, NativeInput, k => CometCoalesceExec(c, c.numPartitions, k.head)))

    case t: TakeOrderedAndProjectExec =>
      def local(child: SparkPlan) = CometLocalTopKExec(t, t.sortOrder, t.limit, child)
      Some(
        NativeOperator(
          Seq(CometConf.OP_TAKE_ORDERED),
          AnyInput,
          refuseInputFile(t),
          c => CometTakeOrderedAndProjectExec(t, t.limit, t.offset, t.sortOrder, t.projectList, local(c.head)),
          () => Some(local(t.child))
        )
      )

    case c: CollectLimitExec =>
      Some(
        NativeOperator(
          Seq(CometConf.OP_COLLECT_LIMIT),
          InputNeed.Batches,
          () => Nil,
          k => CometCollectLimitExec(c, c.limit, c.offset, k.head),
          () => None
        )
      )

    case e: EmptyRelationExec =>
      Some(operator(e, CometConf.OP_EMPTY, NativeInput, (_: Seq[SparkPlan]) => CometEmptyRelationExec(e)))

    case e: ShuffleExchangeExec => ExchangeOperator.of(e)
    case e: BroadcastExchangeExec => ExchangeOperator.of(e)

    case j: BaseJoinExec => JoinOperators.of(j)

    case _ => None
  }

  private def operator(
      p: SparkPlan,
      switch: ConfEntry[Boolean],
      need: InputNeed,
      build: Seq[SparkPlan] => CometNativeExec
  ): NativeOperator = operator(p, Seq(switch), need, build, () => Nil)

  private def operator(
      p: SparkPlan,
      switches: Seq[ConfEntry[Boolean]],
      need: InputNeed,
      build: Seq[SparkPlan] => CometNativeExec,
      refuse: () => Seq[String]
  ): NativeOperator = NativeOperator(switches, need, refuse, build, () => Some(build(p.children)))

  private def aggregate(a: BaseAggregateExec): NativeOperator = {
    val build = (c: Seq[SparkPlan]) =>
      CometHashAggregateExec(
        a,
        a.groupingExpressions,
        a.aggregateExpressions,
        a.aggregateAttributes,
        a.resultExpressions,
        c.head
      )
    val refuse = () =>
      (if (a.isStreaming) Seq("a streaming aggregate keeps its state in Spark") else Nil) ++ refuseInputFile(a)()
    // The native one hashes and is sorted after that.
    val noOrder = a match {
      case s: SortAggregateExec if s.outputOrdering.exists(o => !isOrderable(o.dataType)) =>
        Some("a sort aggregate by nested keys whose order of rows is made use of")
      case _ => None
    }
    operator(a, Seq(CometConf.OP_AGGREGATE), InputNeed.Any, build, refuse).copy(noOrder = noOrder)
  }

  /** Whether the engine has an order of such values; of those that it has at all. */
  private[rules] def isOrderable(t: DataType): Boolean = t match {
    case _: StructType | _: ArrayType => false
    case _ => true
  }

  /** Its value is that of the file being read, which is another one by the time an operator has read all its input. */
  private[rules] def refuseInputFile(p: SparkPlan): () => Seq[String] = () =>
    if (readsInputFile(p)) Seq("input_file_name and its kin are known only directly above a scan") else Nil

  def readsInputFile(p: SparkPlan): Boolean = p.expressions.exists((e: Expression) => ExprExport.readsInputFile(e))
}
