package org.apache.spark.sql.comet

import java.io.{EOFException, FileNotFoundException, IOException}
import java.net.URI
import java.nio.ByteBuffer

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{FSDataInputStream, Path}
import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.Logging
import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.unsafe.Platform
import org.apache.spark.util.Utils

import org.apache.comet.TaskHost

/** What one native plan of a task asks of the JVM. */
private[comet] final class TaskHostImpl(stage: StageSpec, inputs: Array[HostInput], context: TaskContext)
    extends TaskHost
    with Logging {
  private val memory = CometTaskMemory.of(context)
  @volatile private var stopped = false

  /** From now on the plan is told to stop at its next question. */
  def stop(): Unit = stopped = true

  override def cancelled(): Boolean = stopped || context.isInterrupted()

  // ---- inputs

  override def inputNext(handle: Int, desc: Long): Boolean = inputs(handle).next(desc)

  override def broadcast(handle: Int): Long = inputs(handle).broadcast

  // ---- dispatcher

  private val sites = mutable.HashMap.empty[(Int, Int), DispatchSite]
  private val tables = mutable.HashMap.empty[Int, Array[Expression]]
  private val raisedBefore = mutable.ArrayBuffer.empty[Throwable]

  // Once per task: what is stateful in an expression (lambda variables, encoders) must not be shared between tasks.
  private def table(planId: Int): Array[Expression] =
    tables.getOrElseUpdate(
      planId, {
        val bytes = stage.tables.getOrElse(planId, throw new IllegalStateException(s"operator $planId has no expressions"))
        val serializer = SparkEnv.get.closureSerializer.newInstance()
        serializer.deserialize[Array[Expression]](ByteBuffer.wrap(bytes), Utils.getContextOrSparkClassLoader)
      }
    )

  override def dispatch(planId: Int, siteId: Int, desc: Long): Long = {
    val call = new DispatchCall(desc)
    val site = sites.getOrElseUpdate((planId, siteId), new DispatchSite(call.exprs.map(table(planId)(_)), memory))
    site.run(call) match {
      case None => 0L
      case Some(thrown) =>
        raisedBefore += thrown
        raisedBefore.length.toLong
    }
  }

  override def raised(reference: Long): Throwable = raisedBefore((reference - 1).toInt)

  // ---- files

  private val files = mutable.ArrayBuffer.empty[(String, FSDataInputStream)]

  override def tempFile(): String = {
    val (_, file) = SparkEnv.get.blockManager.diskBlockManager.createTempLocalBlock()
    file.getPath
  }

  override def fileOpen(uri: String): Long = {
    val stream =
      try {
        val path = new Path(new URI(uri))
        path.getFileSystem(stage.hadoopConf.value.value).open(path)
      } catch {
        case _: FileNotFoundException => return 0L // the engine knows whether such a file may be missing
        case e: IOException => throw SparkErrors.reading(uri, e)
      }
    files += ((uri, stream))
    files.length.toLong
  }

  // One copy through the heap: not every file system reads into native memory.
  private var chunk = new Array[Byte](0)

  override def fileRead(file: Long, position: Long, address: Long, n: Int): Unit = {
    val (uri, stream) = files((file - 1).toInt)
    if (stream == null) throw SparkErrors.reading(uri, new EOFException("the file is closed"))
    try {
      var done = 0
      while (done < n) {
        val some = math.min(n - done, TaskHostImpl.ChunkBytes)
        if (chunk.length < some) chunk = new Array[Byte](some)
        stream.readFully(position + done, chunk, 0, some)
        Platform.copyMemory(chunk, Platform.BYTE_ARRAY_OFFSET, null, address + done, some)
        done += some
      }
    } catch { case e: IOException => throw SparkErrors.reading(uri, e) }
  }

  override def fileClose(file: Long): Unit = {
    val index = (file - 1).toInt
    val (uri, stream) = files(index)
    files(index) = (uri, null)
    if (stream != null) stream.close()
  }

  private var setInputFile = false

  override def inputFile(path: String, start: Long, length: Long): Unit =
    if (path.isEmpty) unsetInputFile()
    else {
      InputFileBlockHolder.set(path, start, length)
      setInputFile = true
    }

  private def unsetInputFile(): Unit =
    if (setInputFile) {
      InputFileBlockHolder.unset()
      setInputFile = false
    }

  /** Frees what belongs to the host; after the plan is closed. */
  def close(): Unit = {
    unsetInputFile()
    inputs.foreach(_.close())
    sites.values.foreach(_.close())
    sites.clear()
    files.indices.foreach { i =>
      try fileClose(i + 1L)
      catch { case NonFatal(e) => logWarning("A file that was only read from did not close", e) }
    }
    files.clear()
  }
}

private[comet] object TaskHostImpl {
  private val ChunkBytes = 1 << 20
}
