package org.apache.spark.sql.comet

import scala.collection.mutable

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD

import org.apache.comet.plan.{Branch, Branches, JvmInputBinding, TaskInput}

/** How the partitions of a native plan are made of those of its leaves. On the driver only. */
private[comet] sealed trait TaskTree {
  def nPartitions: Int

  /** Adds what partition `p` reads at each leaf to the message, and the RDD partitions it needs to `inputs`. */
  def add(p: Int, task: TaskInput.Builder, inputs: TaskInputs): Unit

  def hosts(p: Int): Seq[String]

  final def task(p: Int, inputs: TaskInputs): TaskInput.Builder = {
    val builder = TaskInput.newBuilder().setPartition(p)
    add(p, builder, inputs)
    builder
  }
}

/** The partitions of input RDDs that a task reads; the handle of each is its position. */
private[comet] final class TaskInputs {
  val parts: mutable.ArrayBuffer[TaskInputPart] = mutable.ArrayBuffer.empty

  def handle(leaf: Int, rdd: Int, partition: Partition): Int = {
    parts += TaskInputPart(leaf, rdd, partition)
    parts.length - 1
  }

  def broadcast(leaf: Int): Int = handle(leaf, TaskInputPart.NoRdd, null)
}

/** One partition of the stage's `rdd`th input, for its `leaf`th leaf; a broadcast comes from none. */
private[comet] case class TaskInputPart(leaf: Int, rdd: Int, partition: Partition)

private[comet] object TaskInputPart {
  val NoRdd: Int = -1
}

private[comet] case class LeafTree(leaf: NativeStage.Leaf) extends TaskTree {
  override def nPartitions: Int = leaf.rdd.fold(leaf.splits.length)(_.getNumPartitions)

  /** Place of the leaf's RDD among the stage's, set when all are known. */
  var rddIndex: Int = -1

  override def add(p: Int, task: TaskInput.Builder, inputs: TaskInputs): Unit = leaf.rdd match {
    case Some(rdd) =>
      val handle = inputs.handle(leaf.index, rddIndex, rdd.partitions(p))
      task.addJvmInputs(JvmInputBinding.newBuilder().setPlanId(leaf.planId).setHandle(handle))
    case None => task.addScans(leaf.splits(p).toBuilder.setPlanId(leaf.planId))
  }

  override def hosts(p: Int): Seq[String] = (leaf.rdd, leaf.input) match {
    case (Some(rdd), _) => rdd.preferredLocations(rdd.partitions(p))
    case (_, SplitsInput(_, hosts)) => hosts(p)
    case _ => Nil
  }
}

/** A broadcast: whole in whatever partitions the other inputs have. */
private[comet] case class BroadcastTree(leaf: NativeStage.Leaf) extends TaskTree {
  override def nPartitions: Int = throw new IllegalStateException("a broadcast has the partitions of what reads it")

  override def add(p: Int, task: TaskInput.Builder, inputs: TaskInputs): Unit =
    task.addJvmInputs(JvmInputBinding.newBuilder().setPlanId(leaf.planId).setHandle(inputs.broadcast(leaf.index)))

  override def hosts(p: Int): Seq[String] = Nil
}

/** Inputs whose partitions belong together one by one, and broadcasts. */
private[comet] case class ZippedTree(inputs: Seq[TaskTree]) extends TaskTree {
  override val nPartitions: Int = {
    val counts = inputs.filterNot(_.isInstanceOf[BroadcastTree]).map(_.nPartitions).distinct
    require(counts.length == 1, s"inputs of ${counts.mkString(", ")} partitions cannot be read together")
    counts.head
  }
  override def add(p: Int, task: TaskInput.Builder, parts: TaskInputs): Unit = inputs.foreach(_.add(p, task, parts))
  override def hosts(p: Int): Seq[String] = {
    val all = inputs.map(_.hosts(p)).filter(_.nonEmpty)
    val shared = if (all.isEmpty) Nil else all.reduce(_ intersect _)
    if (shared.nonEmpty) shared else all.flatten.distinct
  }
}

/** Union and coalesce: each partition runs chosen partitions of the inputs. */
private[comet] case class BranchingTree(planId: Int, inputs: Seq[TaskTree], chosen: Array[Seq[(Int, Int)]])
    extends TaskTree {
  override def nPartitions: Int = chosen.length

  override def add(p: Int, task: TaskInput.Builder, parts: TaskInputs): Unit = {
    val branches = Branches.newBuilder().setPlanId(planId)
    chosen(p).foreach { case (input, partition) =>
      branches.addBranches(Branch.newBuilder().setInput(input).setTask(inputs(input).task(partition, parts)))
    }
    task.addBranches(branches)
  }

  override def hosts(p: Int): Seq[String] = {
    val all = chosen(p).map { case (input, partition) => inputs(input).hosts(partition) }.filter(_.nonEmpty)
    if (all.isEmpty) Nil
    else {
      // Where most of what it reads is.
      val counts = all.flatten.groupBy(identity).view.mapValues(_.size).toMap
      counts.toSeq.sortBy { case (host, n) => (-n, host) }.map(_._1).take(3)
    }
  }
}

/** Partitions and their places, for whoever groups them; holds no data. */
private[comet] final class PartitionsOnlyRDD(sc: SparkContext, @transient tree: TaskTree) extends RDD[Nothing](sc, Nil) {
  override protected def getPartitions: Array[Partition] =
    Array.tabulate(tree.nPartitions)(i => new PlainPartition(i))
  override protected def getPreferredLocations(split: Partition): Seq[String] = tree.hosts(split.index)
  override def compute(split: Partition, context: TaskContext): Iterator[Nothing] =
    throw new UnsupportedOperationException("this RDD only knows its partitions")
}

private[comet] final class PlainPartition(override val index: Int) extends Partition
