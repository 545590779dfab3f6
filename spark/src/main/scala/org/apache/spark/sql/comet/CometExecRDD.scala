package org.apache.spark.sql.comet

import java.nio.file.{Files, Paths}

import scala.reflect.ClassTag

import org.apache.spark.{Dependency, NarrowDependency, Partition, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.comet.execution.shuffle.FrameHeader
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.Platform

import org.apache.comet.plan.{Metric, SavedPlan, Stage, TaskInput}
import org.apache.comet.vector.CometVector

/** What one task runs: its message, and the partitions that feed the plan's leaves, by handle. */
private[comet] final class CometPartition(
    override val index: Int,
    val task: Array[Byte],
    val inputs: Array[TaskInputPart],
    @transient val hosts: Seq[String]
) extends Partition

/**
 * A stage of native operators. The message and the tables of expressions are part of the RDD, which Spark sends to an
 * executor once; a partition has only its own splits.
 *
 * @param inputs the RDDs of the leaves that have one, in the order of the leaves
 */
private[comet] abstract class CometExecRDD[T: ClassTag](
    sc: SparkContext,
    stage: StageSpec,
    @transient private val tree: TaskTree,
    private var inputs: Array[RDD[_]]
) extends RDD[T](sc, Nil) {

  // Made by the driver and used by it alone: tasks get what they read with their partition.
  @transient private lazy val parts: Array[CometPartition] = {
    CometExecRDD.numberRdds(tree)
    Array.tabulate(tree.nPartitions) { i =>
      val needs = new TaskInputs
      val task = tree.task(i, needs)
      new CometPartition(i, task.build().toByteArray, needs.parts.toArray, tree.hosts(i))
    }
  }

  override protected def getPartitions: Array[Partition] = parts.toArray[Partition]

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    Option(split.asInstanceOf[CometPartition].hosts).getOrElse(Nil)

  override protected def getDependencies: Seq[Dependency[_]] =
    inputs.toSeq.zipWithIndex.map { case (rdd, i) =>
      new CometDependency(
        rdd,
        p => parts(p).inputs.toSeq.collect { case TaskInputPart(_, `i`, part) => part.index }.distinct
      )
    }

  override def clearDependencies(): Unit = {
    super.clearDependencies()
    inputs = null
  }

  /** Opens the plan of a partition. It is closed when the task ends, or by whoever pulls it to its end. */
  protected def open(split: Partition, context: TaskContext): NativePlan = {
    val partition = split.asInstanceOf[CometPartition]
    val memory = CometTaskMemory.of(context)
    val hostInputs = partition.inputs.map { part =>
      val types = stage.leafTypes(part.leaf)
      val kind = stage.leafKinds(part.leaf)
      def input(data: Iterator[_]) = CometExecRDD.hostInput(data, types, stage.batchSize, memory, kind)
      kind match {
        case LeafKind.Broadcast => new LazyHostInput(() => input(stage.broadcasts(part.leaf).iterator(types)))
        case LeafKind.BroadcastFrames => new BroadcastHostInput(stage.broadcastFrames(part.leaf))
        case _ =>
          // Read now: the RDD forgets its inputs when it is checkpointed.
          val rdd = inputs(part.rdd)
          new LazyHostInput(() => input(rdd.iterator(part.partition, context)))
      }
    }
    stage.savePlanDir.foreach(CometExecRDD.save(_, stage, partition, context))
    val host = new TaskHostImpl(stage, hostInputs.toArray[HostInput], context)
    new NativePlan(stage, partition.task, host, context)
  }
}

private final class CometDependency(rdd: RDD[_], @transient parents: Int => Seq[Int])
    extends NarrowDependency[Any](rdd.asInstanceOf[RDD[Any]]) {
  override def getParents(partitionId: Int): Seq[Int] = parents(partitionId)
}

private object CometExecRDD {

  /** Tells each leaf the place of its RDD among the stage's inputs, which are in the order of the leaves. */
  def numberRdds(tree: TaskTree): Unit = {
    def leaves(t: TaskTree): Seq[LeafTree] = t match {
      case leaf: LeafTree => Seq(leaf)
      case _: BroadcastTree => Nil
      case ZippedTree(inputs) => inputs.flatMap(leaves)
      case BranchingTree(_, inputs, _) => inputs.flatMap(leaves)
    }
    leaves(tree).filter(_.leaf.rdd.isDefined).sortBy(_.leaf.index).zipWithIndex.foreach { case (leaf, i) =>
      leaf.rddIndex = i
    }
  }

  def hostInput(
      iterator: Iterator[_],
      types: Array[DataType],
      batchSize: Int,
      memory: CometTaskMemory,
      kind: LeafKind.Value
  ): HostInput = kind match {
    case LeafKind.Rows | LeafKind.Broadcast =>
      new RowHostInput(iterator.asInstanceOf[Iterator[InternalRow]], types, batchSize, memory)
    case LeafKind.Columns =>
      val rows = RowHostInput.ofBatches(iterator.asInstanceOf[Iterator[ColumnarBatch]])
      new RowHostInput(rows, types, batchSize, memory)
    case LeafKind.Blocks => new FrameHostInput(iterator.asInstanceOf[Iterator[ShuffleFrame]])
  }

  /** Leaves the plan as this task runs it in a file for `halley run`. */
  def save(dir: String, stage: StageSpec, partition: CometPartition, context: TaskContext): Unit = {
    val saved = SavedPlan
      .newBuilder()
      .setStage(Stage.parseFrom(stage.message))
      .setTask(TaskInput.parseFrom(partition.task))
    val folder = Files.createDirectories(Paths.get(dir))
    val name = s"stage-${context.stageId()}-partition-${partition.index}-task-${context.taskAttemptId()}.pb"
    Files.write(folder.resolve(name), saved.build().toByteArray)
  }
}

/** The batches of a stage; `frames` where it only reads an exchange of ours. */
private[comet] final class CometColumnarRDD(
    sc: SparkContext,
    stage: StageSpec,
    tree: TaskTree,
    inputs: Array[RDD[_]],
    @transient val frames: Option[RDD[ShuffleFrame]] = None
) extends CometExecRDD[ColumnarBatch](sc, stage, tree, inputs) {

  override def compute(split: Partition, context: TaskContext): Iterator[ColumnarBatch] = {
    val plan = open(split, context)
    val vectors = stage.output.map(new CometVector(_))
    val batch = new ColumnarBatch(vectors.toArray[ColumnVector])

    new NativeIterator[ColumnarBatch](plan) {
      override protected def advance(): Boolean = {
        val address = plan.next()
        address != 0 && {
          batch.setNumRows(Platform.getLong(null, address).toInt)
          val columns = Platform.getLong(null, address + 16)
          var i = 0
          while (i < vectors.length) {
            vectors(i).pointTo(columns + i * CometVector.columnBytes())
            i += 1
          }
          true
        }
      }
      override protected def current(): ColumnarBatch = batch
    }
  }
}

/** The rows of a stage, in native memory. */
private[comet] final class CometRowRDD(sc: SparkContext, stage: StageSpec, tree: TaskTree, inputs: Array[RDD[_]])
    extends CometExecRDD[InternalRow](sc, stage, tree, inputs) {

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val plan = open(split, context)
    new PlanRows(stage.output.length) {
      override protected def pull(): Long = {
        val address = plan.nextRows()
        if (address == 0) plan.close()
        address
      }
    }
  }
}

/** Pulls a plan and closes it at its end. */
private[comet] abstract class NativeIterator[T](plan: NativePlan) extends Iterator[T] {
  private var ready, finished = false

  /** Moves to the next element; false at the end. */
  protected def advance(): Boolean
  protected def current(): T

  final override def hasNext: Boolean = {
    if (!ready && !finished) {
      if (advance()) ready = true
      else {
        finished = true
        plan.close()
      }
    }
    ready
  }

  final override def next(): T = {
    if (!hasNext) throw new NoSuchElementException("the native plan has ended")
    ready = false
    current()
  }
}

/** The map side of an exchange: each partition is one plan to be run to its end by the shuffle writer. */
private[comet] final class CometWriteRDD(sc: SparkContext, stage: StageSpec, tree: TaskTree, inputs: Array[RDD[_]])
    extends CometExecRDD[Product2[Int, ColumnarBatch]](sc, stage, tree, inputs) {

  override def compute(split: Partition, context: TaskContext): Iterator[Product2[Int, ColumnarBatch]] =
    new NativeWriteIterator(open(split, context), rootId)

  // The sink is numbered last, see NativeStage.
  private lazy val rootId = Stage.parseFrom(stage.message).getRoot.getId
}

/** Handed by Spark to the shuffle writer, which does not iterate it but runs the plan in it. */
private[comet] final class NativeWriteIterator(plan: NativePlan, rootId: Int)
    extends Iterator[Product2[Int, ColumnarBatch]] {
  override def hasNext: Boolean = throw new UnsupportedOperationException("a native map side is run, not iterated")
  override def next(): Product2[Int, ColumnarBatch] = throw new NoSuchElementException

  /** Runs the plan, leaving the map output in `dataFile`; what [[org.apache.comet.Native.write]] returns. */
  def write(dataFile: String): Array[Long] = plan.write(dataFile)

  /** The metric slots of the ShuffleWrite, by number of `Metric`. */
  def sinkSlots(): Array[Long] = plan.slots(rootId)

  /** Frees the plan; also done when the task ends. */
  def close(): Unit = plan.close()
}

/** What each task of a broadcast gives: its partition's frames, as [[CollectedFrames]] packs them. */
private[comet] object CollectFrames {
  def apply(partition: Iterator[Product2[Int, ColumnarBatch]]): Iterator[Array[Array[Byte]]] = {
    val plan = partition.asInstanceOf[NativeWriteIterator]
    val (_, file) = SparkEnv.get.blockManager.diskBlockManager.createTempLocalBlock()
    try {
      plan.write(file.getPath)
      val slots = plan.sinkSlots()
      def of(m: Metric): Long = slots(m.getNumber)
      plan.close()
      val task = TaskContext.get().taskMetrics()
      task.incDiskBytesSpilled(of(Metric.SPILL_BYTES))
      task.incPeakExecutionMemory(of(Metric.PEAK_MEMORY))
      Iterator.single(CollectedFrames.pack(of(Metric.SHUFFLE_RECORDS), of(Metric.DATA_SIZE), FrameHeader.read(file)))
    } finally Files.deleteIfExists(file.toPath)
  }
}
