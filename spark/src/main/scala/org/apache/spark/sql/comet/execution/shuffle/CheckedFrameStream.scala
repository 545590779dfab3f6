package org.apache.spark.sql.comet.execution.shuffle

import java.io.{BufferedInputStream, DataInputStream, EOFException, File, FileInputStream, IOException, InputStream}
import java.nio.{ByteBuffer, ByteOrder}
import java.util

import scala.collection.mutable

import net.jpountz.xxhash.{StreamingXXHash64, XXHashFactory}

/** The fixed part of a frame of engine/shuffle/block.h. */
private[comet] object FrameHeader {
  val Bytes = 32
  private val Magic = 0x46594c48
  private val CheckedBytes = 24

  private def view(header: Array[Byte]): ByteBuffer = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN)

  def isFrame(header: Array[Byte]): Boolean = view(header).getInt(0) == Magic && bodyBytes(header) >= 0
  def bodyBytes(header: Array[Byte]): Int = view(header).getInt(4)
  def rows(header: Array[Byte]): Int = view(header).getInt(12)
  def checksum(header: Array[Byte]): Long = view(header).getLong(24)

  /** What the hash of the body starts from. */
  def seed(header: Array[Byte]): Long = XXHashFactory.fastestJavaInstance().hash64().hash(header, 0, CheckedBytes, 0L)

  /** The frames in a file that has nothing else. */
  def read(file: File): Array[Array[Byte]] = {
    val frames = mutable.ArrayBuffer.empty[Array[Byte]]
    val in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 16))
    try {
      var left = file.length()
      val header = new Array[Byte](Bytes)
      while (left > 0) {
        in.readFully(header)
        if (!isFrame(header)) throw new IOException(s"$file holds something that is no frame")
        val frame = util.Arrays.copyOf(header, Bytes + bodyBytes(header))
        in.readFully(frame, Bytes, frame.length - Bytes)
        frames += frame
        left -= frame.length
      }
    } finally in.close()
    frames.toArray
  }
}

/**
 * Passes frames through and fails where one is damaged or cut off. To be found in a read of the stream, so that Spark
 * knows which block it was and fetches or computes it anew, as it does for blocks of its own.
 */
private[shuffle] final class CheckedFrameStream(in: InputStream) extends InputStream {
  private val header = new Array[Byte](FrameHeader.Bytes)
  private var inHeader = 0
  private var bodyLeft = 0
  private var hash: StreamingXXHash64 = _
  private val single = new Array[Byte](1)

  override def read(): Int = if (read(single, 0, 1) < 0) -1 else single(0) & 0xff

  override def read(out: Array[Byte], offset: Int, length: Int): Int = {
    if (length == 0) return 0
    // Never past the end of the part at hand, whose bytes are looked at here.
    val part = if (bodyLeft > 0) bodyLeft else FrameHeader.Bytes - inHeader
    val n = in.read(out, offset, math.min(length, part))
    if (n < 0) {
      if (bodyLeft > 0 || inHeader > 0) throw new EOFException("a shuffle block ends in the middle of a frame")
      return -1
    }
    if (bodyLeft > 0) {
      hash.update(out, offset, n)
      bodyLeft -= n
    } else {
      System.arraycopy(out, offset, header, inHeader, n)
      inHeader += n
      if (inHeader == FrameHeader.Bytes) {
        if (!FrameHeader.isFrame(header)) throw new IOException("a shuffle block holds something that is no frame")
        bodyLeft = FrameHeader.bodyBytes(header)
        hash = XXHashFactory.fastestJavaInstance().newStreamingHash64(FrameHeader.seed(header))
      }
    }
    if (bodyLeft == 0 && inHeader == FrameHeader.Bytes) {
      inHeader = 0
      if (hash.getValue != FrameHeader.checksum(header)) throw new IOException("a shuffle frame is damaged")
    }
    n
  }

  override def available(): Int = in.available()
  override def close(): Unit = in.close()
}
