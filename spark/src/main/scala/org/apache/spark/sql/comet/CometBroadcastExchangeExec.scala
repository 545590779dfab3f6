package org.apache.spark.sql.comet

import java.util.concurrent.{Future, TimeoutException, TimeUnit}
import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.concurrent.Promise
import scala.util.control.NonFatal

import org.apache.spark.{broadcast, SparkConf, SparkEnv}
import org.apache.spark.internal.config
import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.KryoSerializer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.comet.execution.shuffle.{ShuffleWriteMessage, ShuffleWriteProbe}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.comet.BroadcastFrames
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, BroadcastExchangeLike, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.LongType
import org.apache.spark.unsafe.map.BytesToBytesMap
import org.apache.spark.util.SparkFatalException

/**
 * Broadcasts the rows of its child as frames of the engine, which the native plan of the child writes. Native joins
 * build their table of them, one an executor. Whoever else reads the exchange (a join of Spark's, dynamic pruning) gets
 * the relation that Spark's exchange would have made, which is made when it is first asked for.
 *
 * To adaptive execution it is the Spark exchange it stands for, in canonical form and row count; its size is that of the
 * rows, without what a hashed relation adds to them.
 */
case class CometBroadcastExchangeExec(@transient original: BroadcastExchangeExec, mode: BroadcastMode, child: SparkPlan)
    extends BroadcastExchangeLike
    with CometPlan {

  override def nodeName: String = "CometBroadcastExchange"

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "collectTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to collect"),
    "buildTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to build"),
    "broadcastTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to broadcast")
  )

  override def outputPartitioning: Partitioning = BroadcastPartitioning(mode)

  // Over a child of Spark's it must look like Spark's exchange over that child, transitions included.
  override protected def doCanonicalize(): SparkPlan = child match {
    case c: CometPlan if c.supportsColumnar => original.canonicalized
    case _ => BroadcastExchangeExec(mode, child).canonicalized
  }

  override def runtimeStatistics: Statistics =
    Statistics(BigInt(metrics("dataSize").value), Some(BigInt(metrics("numOutputRows").value)))

  // What was materialised once stays so, with its metrics.
  override def resetMetrics(): Unit = ()

  @transient private lazy val promise = Promise[broadcast.Broadcast[Any]]()

  @transient override lazy val completionFuture: scala.concurrent.Future[broadcast.Broadcast[Any]] = promise.future

  @transient private val timeout: Long = conf.broadcastTimeout

  // As in Spark's exchange, whose relations have these limits.
  @transient private lazy val maxRows: Long = mode match {
    case HashedRelationBroadcastMode(key, _) if !(key.length == 1 && key.head.dataType == LongType) =>
      (BytesToBytesMap.MAX_CAPACITY / 1.5).toLong
    case _ => 512000000L
  }

  /** Gives a `Broadcast[BroadcastFrames]`. */
  @transient override lazy val relationFuture: Future[broadcast.Broadcast[Any]] =
    SQLExecution.withThreadLocalCaptured[broadcast.Broadcast[Any]](session, BroadcastFrames.executionContext) {
      try {
        val value = materialize()
        promise.trySuccess(value)
        value
      } catch {
        // What is fatal is wrapped, as in Spark's exchange: a future would not hand it on.
        case oe: OutOfMemoryError =>
          val tables = child.collect {
            case f: FileSourceScanExec => f.tableIdentifier
            case f: CometNativeScanExec => f.original.tableIdentifier
          }.flatten
          throw failed(new SparkFatalException(QueryExecutionErrors.notEnoughMemoryToBuildAndBroadcastTableError(oe, tables)))
        case e if !NonFatal(e) => throw failed(new SparkFatalException(e))
        case e: Throwable => throw failed(e)
      }
    }

  private def failed(e: Throwable): Throwable = {
    promise.tryFailure(e)
    e
  }

  private def materialize(): broadcast.Broadcast[Any] = {
    sparkContext.addJobTag(jobTag)
    sparkContext.setInterruptOnCancel(true)
    val start = System.nanoTime()
    val parts = NativeStage
      .collectedRDD(child, ctx => CometBroadcastExchangeExec.sink(child, ctx))
      .collect()
      .map(CollectedFrames.of)
    val nRows = parts.map(_.rows).sum
    longMetric("numOutputRows") += nRows
    if (nRows >= maxRows) throw QueryExecutionErrors.cannotBroadcastTableOverMaxTableRowsError(maxRows, nRows)
    val collected = System.nanoTime()
    longMetric("collectTime") += NANOSECONDS.toMillis(collected - start)

    val frames = parts.flatMap(_.frames)
    val nBytes = parts.map(_.bytes).sum
    longMetric("dataSize") += nBytes
    checkSize(frames, nRows, nBytes)
    val value = new BroadcastFrames(frames, nRows, nBytes, hasNullKey(frames))
    val built = System.nanoTime()
    longMetric("buildTime") += NANOSECONDS.toMillis(built - collected)

    val out = sparkContext.broadcastInternal(value, serializedOnly = true)
    longMetric("broadcastTime") += NANOSECONDS.toMillis(System.nanoTime() - built)
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, executionId, metrics.values.toSeq)
    out.asInstanceOf[broadcast.Broadcast[Any]]
  }

  /** Spark's limit is on the size of its own relation; where that may be passed, the relation is made to tell. */
  private def checkSize(frames: Array[Array[Byte]], nRows: Long, nBytes: Long): Unit = {
    val limit = conf.maxBroadcastTableSizeInBytes
    val size = mode match {
      case _: HashedRelationBroadcastMode =>
        if (CometBroadcastExchangeExec.mostBytes(nRows, nBytes) < limit) nBytes
        else BroadcastFrames.sizeOf(relation(frames, nRows))
      case _ => nBytes
    }
    if (size >= limit) throw QueryExecutionErrors.cannotBroadcastTableOverMaxTableBytesError(limit, size)
  }

  private def hasNullKey(frames: Array[Array[Byte]]): Boolean = mode match {
    case HashedRelationBroadcastMode(keys, true) =>
      val key = UnsafeProjection.create(keys)
      FrameRows.read(frames, child.output, conf)(_.exists(key(_).anyNull))
    case _ => false
  }

  /** What Spark's exchange would broadcast. */
  private def relation(frames: Array[Array[Byte]], nRows: Long): Any =
    FrameRows.read(frames, child.output, conf)(rows => mode.transform(rows.map(_.copy()), Some(nRows)))

  // Once the rows are there.
  @transient private lazy val sparkValue: broadcast.Broadcast[Any] = {
    val value = await().value
    sparkContext.broadcastInternal(relation(value.frames, value.rows), serializedOnly = true)
  }

  private def await(): broadcast.Broadcast[BroadcastFrames] =
    try relationFuture.get(timeout, TimeUnit.SECONDS).asInstanceOf[broadcast.Broadcast[BroadcastFrames]]
    catch {
      case ex: TimeoutException =>
        logError(s"Could not execute broadcast in $timeout secs.", ex)
        if (!relationFuture.isDone) {
          sparkContext.cancelJobsWithTag(jobTag, "The corresponding broadcast query has failed.")
          relationFuture.cancel(true)
        }
        throw QueryExecutionErrors.executeBroadcastTimeoutError(timeout, Some(ex))
    }

  /** The value for native readers. */
  private[comet] def frames(): broadcast.Broadcast[BroadcastFrames] = await()

  override protected def doPrepare(): Unit = relationFuture

  override protected def doExecute(): RDD[InternalRow] =
    throw QueryExecutionErrors.executeCodePathUnsupportedError("CometBroadcastExchange")

  override protected[sql] def doExecuteBroadcast[T](): broadcast.Broadcast[T] = {
    await() // before this node's lock is taken, which the threads that work for it need
    sparkValue.asInstanceOf[broadcast.Broadcast[T]]
  }

  override def stringArgs: Iterator[Any] = super.stringArgs.filterNot(_.asInstanceOf[AnyRef] eq original)

  override protected def withNewChildInternal(newChild: SparkPlan): CometBroadcastExchangeExec = copy(child = newChild)
}

object CometBroadcastExchangeExec {

  /** The native exchange behind a join's child, however that is wrapped. */
  def of(plan: SparkPlan): Option[CometBroadcastExchangeExec] = plan match {
    case e: CometBroadcastExchangeExec => Some(e)
    case s: BroadcastQueryStageExec => of(s.plan)
    case r: ReusedExchangeExec => of(r.child)
    case _ => None
  }

  private def sink(child: SparkPlan, ctx: org.apache.comet.export.ExportContext) =
    ShuffleWriteMessage(SinglePartition, 1, Nil, child.output, ctx, SQLConf.get, SparkEnv.get.conf)

  /** What the engine is asked about: whether it can write the rows as frames. */
  def probe(e: BroadcastExchangeExec): CometNativeExec = ShuffleWriteProbe(e, SinglePartition, e.child)

  /** What of the application keeps an exchange with Spark. */
  def reasons(app: SparkConf): Seq[String] =
    if (app.get(config.SERIALIZER) == classOf[KryoSerializer].getName && app.get(config.Kryo.KRYO_REGISTRATION_REQUIRED) &&
      !app.get(config.Kryo.KRYO_CLASSES_TO_REGISTER).contains(classOf[BroadcastFrames].getName)) {
      Seq(
        s"${config.Kryo.KRYO_REGISTRATION_REQUIRED.key} is true and ${config.Kryo.KRYO_CLASSES_TO_REGISTER.key} " +
          s"does not name ${classOf[BroadcastFrames].getName}"
      )
    } else Nil

  /** At least the size of Spark's hashed relation of such rows: keys beside the rows, slots, and half-filled pages. */
  private def mostBytes(nRows: Long, nBytes: Long): Long = 2 * (nBytes + 64 * nRows) + (80L << 20)
}
