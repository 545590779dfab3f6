package org.apache.spark.sql.comet.execution.shuffle

import java.nio.ByteBuffer

import scala.reflect.ClassTag

import org.apache.spark.{Partitioner, ShuffleDependency}
import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.{DeserializationStream, SerializationStream, Serializer, SerializerInstance}
import org.apache.spark.shuffle.ShuffleWriteProcessor
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * What connects the two sides of a native exchange. Its RDD gives plans to run, not records; its blocks are frames of
 * the engine.
 *
 * @param dataSize   bytes of the rows as Spark counts them
 * @param spillSize  bytes that map tasks wrote to their spill files
 * @param spillCount how often they did
 */
private[spark] final class CometShuffleDependency(
    rdd: RDD[Product2[Int, ColumnarBatch]],
    partitioner: Partitioner,
    processor: ShuffleWriteProcessor,
    val dataSize: SQLMetric,
    val spillSize: SQLMetric,
    val spillCount: SQLMetric
) extends ShuffleDependency[Int, ColumnarBatch, ColumnarBatch](
      rdd,
      partitioner,
      new FrameSerializer,
      shuffleWriterProcessor = processor
    )

/** Stands where Spark wants a serializer. Frames are written and read by the engine; nothing comes through here. */
private[spark] final class FrameSerializer extends Serializer with java.io.Serializable {
  override private[spark] def supportsRelocationOfSerializedObjects: Boolean = true
  override def newInstance(): SerializerInstance = new FrameSerializerInstance
}

private final class FrameSerializerInstance extends SerializerInstance {
  private def never: Nothing =
    throw new UnsupportedOperationException("the blocks of a native exchange are frames of the engine")

  override def serialize[T: ClassTag](t: T): ByteBuffer = never
  override def deserialize[T: ClassTag](bytes: ByteBuffer): T = never
  override def deserialize[T: ClassTag](bytes: ByteBuffer, loader: ClassLoader): T = never
  override def serializeStream(s: java.io.OutputStream): SerializationStream = never
  override def deserializeStream(s: java.io.InputStream): DeserializationStream = never
}
