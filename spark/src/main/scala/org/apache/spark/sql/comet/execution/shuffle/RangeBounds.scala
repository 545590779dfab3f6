package org.apache.spark.sql.comet.execution.shuffle

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.RangePartitioner
import org.apache.spark.rdd.{PartitionPruningRDD, RDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.comet.{CometNativeExec, CometProjectExec, CometSparkToColumnarExec, NativeStage}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import scala.util.hashing.byteswap32

/**
 * The bounds of a range partitioning, found as Spark's `RangePartitioner` finds them: by sampling the sort keys of
 * every input partition. Its own bounds cannot be asked for, so its steps are taken here, with its parts.
 */
private[shuffle] object RangeBounds {

  /** Bounds in ascending order, each the UnsafeRow of the keys; at most `n` - 1. Runs a job, or two. */
  def sample(
      child: SparkPlan,
      original: SparkPlan,
      orders: Seq[SortOrder],
      n: Int,
      pointsPerPartition: Int
  ): Seq[Array[Byte]] = {
    if (n <= 1) return Nil
    val keys = keysOf(child, original, orders)
    val ordering = new LazilyGeneratedOrdering(orders.zipWithIndex.map { case (o, i) =>
      o.copy(child = BoundReference(i, o.dataType, o.nullable))
    })
    bounds(keys, n, pointsPerPartition)(ordering).map(_.asInstanceOf[UnsafeRow].getBytes)
  }

  /** The sort keys of all rows, each row a copy. */
  private def keysOf(child: SparkPlan, original: SparkPlan, orders: Seq[SortOrder]): RDD[InternalRow] = child match {
    // Only the keys leave the engine.
    case native: CometNativeExec if !native.isInstanceOf[CometSparkToColumnarExec] =>
      val list = orders.zipWithIndex.map { case (o, i) => Alias(o.child, s"key$i")() }
      NativeStage
        .rowRDD(CometProjectExec(ProjectExec(list, original), list, native))
        .mapPartitionsInternal(_.map(_.copy()))
    case _ =>
      val rows = child match {
        case c: CometSparkToColumnarExec if !c.child.supportsColumnar => c.child.execute()
        case c: CometSparkToColumnarExec => NativeStage.rowRDD(c)
        case other => other.execute()
      }
      val output = child.output
      rows.mapPartitionsInternal { iterator =>
        val projection = UnsafeProjection.create(orders.map(_.child), output)
        iterator.map(row => projection(row).copy())
      }
  }

  private def bounds(keys: RDD[InternalRow], n: Int, pointsPerPartition: Int)(implicit
      ordering: Ordering[InternalRow]
  ): Seq[InternalRow] = {
    val wanted = math.min(pointsPerPartition.toDouble * n, 1e6)
    // A little more than the share of a partition, in case they are of different sizes.
    val perPartition = math.ceil(3.0 * wanted / keys.partitions.length).toInt
    val (total, sketched) = RangePartitioner.sketch(keys, perPartition)
    if (total == 0L) return Nil
    val fraction = math.min(wanted / total, 1.0)
    val (large, even) = sketched.partition { case (_, size, _) => fraction * size > perPartition }
    val candidates = ArrayBuffer.empty[(InternalRow, Float)]
    even.foreach { case (_, size, sample) =>
      val weight = (size.toDouble / sample.length).toFloat
      sample.foreach(key => candidates += ((key, weight)))
    }
    if (large.nonEmpty) {
      // A partition far above the average is sampled once more, at the rate that its size asks for.
      val indices = large.map(_._1).toSet
      val again = new PartitionPruningRDD(keys, indices.contains)
        .sample(withReplacement = false, fraction, byteswap32(-keys.id - 1))
        .collect()
      val weight = (1.0 / fraction).toFloat
      again.foreach(key => candidates += ((key, weight)))
    }
    RangePartitioner.determineBounds(candidates, math.min(n, candidates.size)).toSeq
  }
}
