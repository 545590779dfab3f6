package org.apache.spark.sql.comet.execution.shuffle

import com.google.protobuf.ByteString

import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.internal.config
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.catalyst.util.CollationFactory
import org.apache.spark.sql.comet.CometUnaryExec
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

import org.apache.comet.CometConf
import org.apache.comet.export.ExportContext
import org.apache.comet.plan.{Checksum, Codec, PartitioningKind, Plan, ShuffleWrite}

/** A partitioning and the settings of its shuffle, as the engine's ShuffleWrite. */
private[comet] object ShuffleWriteMessage {

  def apply(
      partitioning: Partitioning,
      nPartitions: Int,
      bounds: Seq[Array[Byte]],
      input: Seq[Attribute],
      ctx: ExportContext,
      conf: SQLConf,
      app: SparkConf
  ): Plan.Builder = {
    val out = ShuffleWrite.newBuilder().setNPartitions(nPartitions)
    partitioning match {
      case SinglePartition | RoundRobinPartitioning(1) => out.setKind(PartitioningKind.SINGLE)
      case HashPartitioning(keys, _) =>
        out.setKind(PartitioningKind.HASH)
        keys.foreach(k => out.addHashExprs(ctx.expr(k, input)))
      case p: ShufflePartitionIdPassThrough =>
        out.setKind(PartitioningKind.HASH).setPassThrough(true).addHashExprs(ctx.expr(p.expr.child, input))
      case RangePartitioning(orders, _) =>
        out.setKind(PartitioningKind.RANGE)
        orders.foreach(o => out.addOrders(ctx.sortOrder(o, input)))
        bounds.foreach(b => out.addBounds(ByteString.copyFrom(b)))
      case _: RoundRobinPartitioning =>
        out.setKind(PartitioningKind.ROUND_ROBIN)
        roundRobinKeys(input, conf).foreach(k => out.addHashExprs(ctx.expr(k, input)))
      case other => throw new IllegalArgumentException(s"no message for $other")
    }
    out
      .setCodec(codec(conf, app))
      .setLevel(CometConf.SHUFFLE_ZSTD_LEVEL.get(conf))
      .setMaxBufferBytes(CometConf.SHUFFLE_MAX_BUFFER.get(conf))
      .setWriteBufferBytes(CometConf.SHUFFLE_WRITE_BUFFER.get(conf))
      .setChecksum(checksum(app))
    Plan.newBuilder().setShuffleWrite(out)
  }

  private def codec(conf: SQLConf, app: SparkConf): Codec =
    if (!app.get(config.SHUFFLE_COMPRESS)) Codec.NONE
    else
      CometConf.SHUFFLE_CODEC.get(conf) match {
        case "zstd" => Codec.ZSTD
        case "snappy" => Codec.SNAPPY
        case "none" => Codec.NONE
        case _ => Codec.LZ4
      }

  private def checksum(app: SparkConf): Checksum =
    if (!app.get(config.SHUFFLE_CHECKSUM_ENABLED)) Checksum.NO_CHECKSUM
    else Checksum.valueOf(app.get(config.SHUFFLE_CHECKSUM_ALGORITHM))

  /**
   * By what rows are spread where any way of spreading them will do: their content, so that a task that runs again
   * gives every row to the partition that had it.
   */
  def roundRobinKeys(input: Seq[Attribute], conf: SQLConf): Seq[Attribute] = {
    val most = CometConf.SHUFFLE_ROUND_ROBIN_COLUMNS.get(conf)
    val keys = input.filter(a => isHashable(a.dataType))
    if (most > 0) keys.take(most) else keys
  }

  private def isHashable(t: DataType): Boolean = t match {
    case s: StringType => s.collationId == CollationFactory.UTF8_BINARY_COLLATION_ID
    case ArrayType(element, _) => isHashable(element)
    case s: StructType => s.forall(f => isHashable(f.dataType))
    case CalendarIntervalType | VariantType | _: MapType | _: UserDefinedType[_] => false
    case _: AtomicType | NullType => true
    case _ => false
  }
}

/** The ShuffleWrite of an exchange as a node, for the engine to be asked about it. Never run. */
private[comet] case class ShuffleWriteProbe(@transient original: SparkPlan, partitioning: Partitioning, child: SparkPlan)
    extends CometUnaryExec {

  override def exportNode(ctx: ExportContext): Plan.Builder = ShuffleWriteMessage(
    partitioning,
    partitioning.numPartitions,
    Nil,
    child.output,
    ctx,
    SQLConf.get,
    SparkEnv.get.conf
  )

  override protected def withNewChildInternal(newChild: SparkPlan): ShuffleWriteProbe = copy(child = newChild)
}
