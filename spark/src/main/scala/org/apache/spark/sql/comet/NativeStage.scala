package org.apache.spark.sql.comet

import scala.collection.mutable

import org.apache.spark.{QueryContext, SparkContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.{RowToColumnarExec, SparkPlan}
import org.apache.spark.sql.execution.comet.{BroadcastFrames, BroadcastRows}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.SerializableConfiguration

import org.apache.comet.{CometConf, NativeLibrary, NativePlanText}
import org.apache.comet.export.{ExportContext, SessionConf, TypeExport}
import org.apache.comet.plan.{JvmInput, Plan, ScanSplits, ShuffleInput, Stage}

/**
 * What is the same for all tasks of a stage, as it travels to them.
 *
 * @param message the serialized `Stage`
 * @param tables per operator the serialized `Array[Expression]` that Spark's own code evaluates for it
 * @param explain each task logs the plan with its metrics when it has run
 * @param sites where in the query's text calls stand whose errors tell it
 * @param savePlanDir where each task leaves its plan as a file for `halley run`
 */
private[comet] case class StageSpec(
    message: Array[Byte],
    tables: Map[Int, Array[Byte]],
    metrics: Array[MetricSpec],
    output: Array[DataType],
    leafTypes: Array[Array[DataType]],
    leafKinds: Array[LeafKind.Value],
    broadcasts: Map[Int, BroadcastRows],
    broadcastFrames: Map[Int, Broadcast[BroadcastFrames]],
    batchSize: Int,
    hadoopConf: Broadcast[SerializableConfiguration],
    savePlanDir: Option[String],
    explain: Boolean,
    sites: Map[Long, QueryContext]
)

/** How a leaf is fed. */
private[comet] object LeafKind extends Enumeration {
  val Splits, Rows, Columns, Blocks, Broadcast, BroadcastFrames = Value
}

/**
 * A maximal chain of native operators on its way to being run: walks the nodes from the root, exports each, and finds
 * what the leaves read. On the driver, when Spark executes the root.
 */
private[comet] final class NativeStage private (root: SparkPlan, sink: Option[ExportContext => Plan.Builder])
    extends Logging {
  import NativeStage._

  private val sc: SparkContext = root.session.sparkContext
  private val tables = mutable.LinkedHashMap.empty[Int, Array[Byte]]
  private val sites = mutable.LinkedHashMap.empty[Long, QueryContext]
  private val metrics = mutable.ArrayBuffer.empty[MetricSpec]
  private val leaves = mutable.ArrayBuffer.empty[Leaf]
  private var lastId = 0

  private def newId(): Int = {
    lastId += 1
    lastId
  }

  private def keepTable(id: Int, ctx: ExportContext): Unit = {
    sites ++= ctx.sites
    if (ctx.table.nonEmpty) {
      val buffer = SparkEnv.get.closureSerializer.newInstance().serialize(ctx.table.toArray[Expression])
      val bytes = new Array[Byte](buffer.remaining())
      buffer.get(bytes)
      tables(id) = bytes
    }
  }

  private def finish(builder: Plan.Builder, id: Int, output: Seq[Attribute], inputs: Seq[Plan]): Plan = {
    builder.setId(id)
    output.foreach(a => builder.addOutput(TypeExport.attribute(a)))
    inputs.foreach(builder.addInputs)
    builder.build()
  }

  private def visit(node: SparkPlan): (Plan, TaskTree) = node match {
    case native: CometNativeExec =>
      native.awaitSubqueries()
      val id = newId()
      val ctx = new ExportContext
      native match {
        case leaf: CometNativeLeafExec =>
          val input = leaf.leafInput()
          val builder = leaf.exportNode(ctx)
          keepTable(id, ctx)
          metrics += NativeMetrics.of(id, leaf, isScan = input.isInstanceOf[SplitsInput])
          (finish(builder, id, leaf.output, Nil), addLeaf(id, leaf.output, input))
        case _ =>
          val (plans, trees) = native.children.map(visitChild(native, _)).unzip
          val builder = native.exportNode(ctx)
          keepTable(id, ctx)
          metrics += NativeMetrics.of(id, native, isScan = false)
          val tree = native match {
            case branching: CometBranchingExec =>
              BranchingTree(id, trees, branching.branches(trees.map(new PartitionsOnlyRDD(sc, _))))
            case _ if trees.length == 1 => trees.head
            case _ => ZippedTree(trees)
          }
          (finish(builder, id, native.output, plans), tree)
      }
    case boundary =>
      val id = newId()
      val (builder, input) = boundaryInput(boundary)
      (finish(builder, id, boundary.output, Nil), addLeaf(id, boundary.output, input))
  }

  private def visitChild(parent: CometNativeExec, child: SparkPlan): (Plan, TaskTree) = parent match {
    case reader: CometBroadcastReaderExec if child eq reader.broadcastChild =>
      val id = newId()
      val builder = Plan.newBuilder()
      val input = CometBroadcastExchangeExec.of(child) match {
        case Some(exchange) =>
          builder.setShuffleInput(ShuffleInput.newBuilder())
          BroadcastFramesInput(exchange.frames())
        case None =>
          builder.setJvmInput(JvmInput.newBuilder())
          BroadcastInput(BroadcastRows.of(child))
      }
      (finish(builder, id, child.output, Nil), addLeaf(id, child.output, input))
    case _ => visit(child)
  }

  private def addLeaf(id: Int, output: Seq[Attribute], input: LeafInput): TaskTree = {
    val leaf = Leaf(id, leaves.length, output.map(_.dataType).toArray, input)
    leaves += leaf
    input match {
      case _: BroadcastInput | _: BroadcastFramesInput => BroadcastTree(leaf)
      case _ => LeafTree(leaf)
    }
  }

  /** The message, and what each task reads. */
  private def build(): (StageSpec, TaskTree) = {
    val (plan, tree) = sink match {
      case None => visit(root)
      case Some(exportSink) =>
        val (below, tree) = visit(root)
        val id = newId()
        val ctx = new ExportContext
        val builder = exportSink(ctx)
        keepTable(id, ctx)
        (finish(builder, id, root.output, Seq(below)), tree)
    }
    val conf = SQLConf.get
    val stage = Stage
      .newBuilder()
      .setVersion(NativeLibrary.jarVersion())
      .setRoot(plan)
      .setBatchSize(CometConf.BATCH_SIZE.get(conf))
      .setMaxTempBytes(CometConf.MAX_TEMP.get(conf))
      .setDebug(CometConf.DEBUG.get(conf))
      .setFairBytes(CometTaskMemory.fairBytes(conf, sc.getConf))
    SessionConf.entries(conf).foreach(stage.addConf)
    val remote = leaves.exists(_.readsThroughHadoop)
    val spec = StageSpec(
      stage.build().toByteArray,
      tables.toMap,
      metrics.toArray,
      root.output.map(_.dataType).toArray,
      leaves.map(_.types).toArray,
      leaves.map(_.kind).toArray,
      leaves.collect { case Leaf(_, index, _, BroadcastInput(rows)) => index -> rows }.toMap,
      leaves.collect { case Leaf(_, index, _, BroadcastFramesInput(frames)) => index -> frames }.toMap,
      CometConf.BATCH_SIZE.get(conf),
      if (remote) sc.broadcast(new SerializableConfiguration(root.session.sessionState.newHadoopConf())) else null,
      Option(CometConf.SAVE_PLAN_DIR.get(conf)).filter(_.nonEmpty),
      CometConf.EXPLAIN_NATIVE.get(conf),
      sites.toMap
    )
    if (spec.explain) logInfo(s"Native plan:\n${NativePlanText.of(plan)}")
    (spec, tree)
  }

  private def inputs: Array[RDD[_]] = leaves.flatMap(_.rdd).toArray
}

private[comet] object NativeStage {

  /** The batches of a chain of native operators. */
  def columnarRDD(root: SparkPlan): RDD[ColumnarBatch] = {
    val stage = new NativeStage(root, None)
    val (spec, tree) = stage.build()
    new CometColumnarRDD(stage.sc, spec, tree, stage.inputs)
  }

  /** The same as UnsafeRows in native memory, each valid until the next is asked for. */
  def rowRDD(root: SparkPlan): RDD[InternalRow] = {
    val stage = new NativeStage(root, None)
    val (spec, tree) = stage.build()
    new CometRowRDD(stage.sc, spec, tree, stage.inputs)
  }

  /**
   * The map side of an exchange: each partition gives a [[NativeWriteIterator]], whose plan is `child` (native or not)
   * below the ShuffleWrite that `sink` exports, over the child's output.
   */
  def writeRDD(child: SparkPlan, sink: ExportContext => Plan.Builder): RDD[Product2[Int, ColumnarBatch]] = {
    val stage = new NativeStage(child, Some(sink))
    val (spec, tree) = stage.build()
    new CometWriteRDD(stage.sc, spec, tree, stage.inputs)
  }

  /** `child` below the same sink, run as a job of its own whose tasks give their frames ([[CollectedFrames]]). */
  def collectedRDD(child: SparkPlan, sink: ExportContext => Plan.Builder): RDD[Array[Array[Byte]]] =
    writeRDD(child, sink).mapPartitionsInternal(CollectFrames(_))

  /** The reduce side: frames as batches. A native operator above takes the frames themselves. */
  def framesRDD(frames: RDD[ShuffleFrame], output: Seq[Attribute]): RDD[ColumnarBatch] = {
    val (spec, tree, inputs) = framesStage(frames, output)
    new CometColumnarRDD(frames.sparkContext, spec, tree, inputs, Some(frames))
  }

  /** The reduce side as rows. */
  def framesRowRDD(frames: RDD[ShuffleFrame], output: Seq[Attribute]): RDD[InternalRow] = {
    val (spec, tree, inputs) = framesStage(frames, output)
    new CometRowRDD(frames.sparkContext, spec, tree, inputs)
  }

  private def framesStage(frames: RDD[ShuffleFrame], output: Seq[Attribute]) = {
    val stage = new NativeStage(FramesExec(output, frames), None)
    val (spec, tree) = stage.build()
    (spec, tree, stage.inputs)
  }

  /** Where a chain ends: at what Spark's operators give, or at the frames of an exchange of ours. */
  private def boundaryInput(node: SparkPlan): (Plan.Builder, LeafInput) = {
    def rows = Plan.newBuilder().setJvmInput(JvmInput.newBuilder())
    node match {
      // Spark put it there because its child gives rows; rows are what the engine takes, too.
      case RowToColumnarExec(child) => (rows, RowsInput(child.execute()))
      case _ if node.supportsColumnar =>
        node.executeColumnar() match {
          // An exchange of ours, however it is wrapped (query stage, shuffle read, reuse).
          case rdd: CometColumnarRDD if rdd.frames.isDefined =>
            (Plan.newBuilder().setShuffleInput(ShuffleInput.newBuilder()), BlocksInput(rdd.frames.get))
          case rdd => (rows, ColumnsInput(rdd))
        }
      case _ => (rows, RowsInput(node.execute()))
    }
  }

  /** One leaf of the plan. `index` is its place among the stage's leaves. */
  private[comet] case class Leaf(planId: Int, index: Int, types: Array[DataType], input: LeafInput) {
    val kind: LeafKind.Value = input match {
      case _: RowsInput => LeafKind.Rows
      case _: ColumnsInput => LeafKind.Columns
      case _: BlocksInput => LeafKind.Blocks
      case _: SplitsInput => LeafKind.Splits
      case _: BroadcastInput => LeafKind.Broadcast
      case _: BroadcastFramesInput => LeafKind.BroadcastFrames
    }

    val rdd: Option[RDD[_]] = input match {
      case RowsInput(rdd) => Some(rdd)
      case ColumnsInput(rdd) => Some(rdd)
      case BlocksInput(rdd) => Some(rdd)
      case _: SplitsInput | _: BroadcastInput | _: BroadcastFramesInput => None
    }

    lazy val splits: Array[ScanSplits] = input match {
      case SplitsInput(partitions, _) => partitions.map(ScanSplits.parseFrom)
      case _ => Array.empty
    }

    def readsThroughHadoop: Boolean = splits.exists { s =>
      (0 until s.getSplitsCount).exists(i => !s.getSplits(i).getLocal)
    }
  }
}

/** A stand-in for the one leaf of a plan that only reads frames. */
private[comet] case class FramesExec(output: Seq[Attribute], frames: RDD[ShuffleFrame])
    extends org.apache.spark.sql.execution.LeafExecNode
    with CometNativeLeafExec {
  override def original: SparkPlan = this
  override def exportNode(ctx: ExportContext): Plan.Builder =
    Plan.newBuilder().setShuffleInput(ShuffleInput.newBuilder())
  override def leafInput(): LeafInput = BlocksInput(frames)
}
