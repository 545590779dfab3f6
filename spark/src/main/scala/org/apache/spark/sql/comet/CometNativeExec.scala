package org.apache.spark.sql.comet

import org.apache.spark.SparkException
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.comet.{BroadcastFrames, BroadcastRows}
import org.apache.spark.sql.vectorized.ColumnarBatch

import org.apache.comet.export.ExportContext
import org.apache.comet.plan.Plan

/** Any node of ours in a physical plan: what EXPLAIN and the harness count as native. */
trait CometPlan extends SparkPlan {

  /** The Spark node this one stands for, with its children as they were. Its canonical form is ours. */
  def original: SparkPlan

  /**
   * Waits for the subqueries in this node's own expressions. Spark does so only for the node whose `execute` it calls,
   * so the root of a chain does it for every node fused below.
   */
  private[comet] def awaitSubqueries(): Unit = {
    prepare()
    waitForSubqueries()
  }
}

/**
 * A native operator. Maximal chains of these become one plan message, run by [[NativeStage]].
 *
 * Expressions are constructor arguments of the subclass and the only copy used: Spark rewrites them (subqueries,
 * reuse) and `exportNode` reads them when the stage runs, as the tagging rule read them when it planned.
 */
trait CometNativeExec extends CometPlan {

  /** The operator's part of the message: everything but id, inputs and output, which [[NativeStage]] fills in. */
  def exportNode(ctx: ExportContext): Plan.Builder

  override def supportsColumnar: Boolean = true

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = NativeStage.columnarRDD(this)

  override protected def doExecute(): RDD[InternalRow] =
    throw SparkException.internalError(s"$nodeName gives batches; a row transition belongs above it")
}

/**
 * A native operator whose every output partition is made of chosen partitions of its inputs: union, coalesce, cartesian
 * product. Below it expressions such as `rand()` are initialised with the partition of the input, as Spark does.
 */
trait CometBranchingExec extends CometNativeExec {

  /**
   * For each output partition what it reads, in order: pairs of (number of the child, partition of the child).
   *
   * @param inputs an RDD for each child that knows partitions and their preferred locations; not to be run
   */
  def branches(inputs: Seq[RDD[_]]): Array[Seq[(Int, Int)]]
}

/** A native operator without native inputs: where data enters a chain. */
trait CometNativeLeafExec extends CometNativeExec {

  /** What each task reads. Evaluated on the driver after subqueries are ready. */
  def leafInput(): LeafInput
}

/** What the tasks of a stage read at one leaf. */
sealed trait LeafInput

/** Serialized `ScanSplits` (plan id unset) per partition, and each partition's preferred hosts. */
case class SplitsInput(partitions: Array[Array[Byte]], hosts: Int => Seq[String]) extends LeafInput

/** Rows or foreign batches, turned into UnsafeRows for the engine. */
case class RowsInput(rdd: RDD[InternalRow]) extends LeafInput
case class ColumnsInput(rdd: RDD[ColumnarBatch]) extends LeafInput

/** The rows of a broadcast of Spark's, all of them in every task. */
case class BroadcastInput(rows: BroadcastRows) extends LeafInput

/** A native broadcast, whose table the tasks of an executor share. */
case class BroadcastFramesInput(frames: Broadcast[BroadcastFrames]) extends LeafInput

/** Blocks of our shuffle: an RDD whose partitions give frames, see [[org.apache.spark.sql.comet.execution.shuffle]]. */
case class BlocksInput(rdd: RDD[ShuffleFrame]) extends LeafInput

/**
 * One frame of engine/shuffle in native memory: `nBytes` at `address`, owned by the iterator that gave it and valid
 * until it is advanced.
 */
final class ShuffleFrame(var address: Long, var nBytes: Long)
