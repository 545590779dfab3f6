package org.apache.spark.sql.comet.execution.shuffle

import scala.concurrent.Future

import org.apache.spark._
import org.apache.spark.internal.config
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.comet._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ShuffleExchangeLike, ShuffleOrigin}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics, SQLShuffleReadMetricsReporter, SQLShuffleWriteMetricsReporter}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.vectorized.ColumnarBatch

import org.apache.comet.CometConf

/**
 * Exchanges data between stages as frames of the engine. The root of the native plan of its map side writes them;
 * a native operator above takes them as they are. Whoever else reads the exchange, at the same time even, gets columns
 * or rows: a query stage may have native and Spark consumers.
 *
 * To adaptive execution it is the Spark exchange it stands for: same statistics, same origin, same canonical form.
 */
case class CometShuffleExchangeExec(
    @transient original: ShuffleExchangeExec,
    override val outputPartitioning: Partitioning,
    child: SparkPlan,
    shuffleOrigin: ShuffleOrigin,
    advisoryPartitionSize: Option[Long]
) extends ShuffleExchangeLike
    with CometPlan {

  override def nodeName: String = child match {
    case _: CometNativeExec if !child.isInstanceOf[CometSparkToColumnarExec] => "CometExchange"
    case _ => "CometColumnarExchange"
  }

  override def supportsColumnar: Boolean = true
  override def supportsRowBased: Boolean = true

  private lazy val writeMetrics = SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext)
  private lazy val readMetrics = SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext)
  override lazy val metrics: Map[String, SQLMetric] = Map(
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size"),
    "numPartitions" -> SQLMetrics.createMetric(sparkContext, "number of partitions")
  ) ++ NativeMetrics.ofSpills(sparkContext) ++ readMetrics ++ writeMetrics

  // ---- the map side

  @transient private lazy val rangeBounds: Seq[Array[Byte]] = outputPartitioning match {
    case RangePartitioning(orders, n) =>
      RangeBounds.sample(child, original.child, orders, n, SQLConf.get.rangeExchangeSampleSizePerPartition)
    case _ => Nil
  }

  /** As many as there are bounds to tell apart, which can be fewer than were asked for. */
  private def partitionCount: Int = outputPartitioning match {
    case _: RangePartitioning => rangeBounds.length + 1
    case other => other.numPartitions
  }

  @transient private lazy val mapSide: RDD[Product2[Int, ColumnarBatch]] = {
    val partitioning = outputPartitioning
    NativeStage.writeRDD(
      child,
      ctx => ShuffleWriteMessage(partitioning, partitionCount, rangeBounds, child.output, ctx, SQLConf.get, SparkEnv.get.conf)
    )
  }

  @transient lazy val shuffleDependency: CometShuffleDependency = {
    val dependency = new CometShuffleDependency(
      mapSide,
      new PartitionIdPassthrough(partitionCount),
      ShuffleExchangeExec.createShuffleWriteProcessor(writeMetrics),
      longMetric("dataSize"),
      longMetric("spillSize"),
      longMetric("spill_count")
    )
    metrics("numPartitions").set(dependency.partitioner.numPartitions)
    val executionId = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, executionId, metrics("numPartitions") :: Nil)
    dependency
  }

  @transient override lazy val mapOutputStatisticsFuture: Future[MapOutputStatistics] =
    if (mapSide.getNumPartitions == 0) Future.successful(null)
    else sparkContext.submitMapStage(shuffleDependency)

  override def numMappers: Int = shuffleDependency.rdd.getNumPartitions
  override def numPartitions: Int = shuffleDependency.partitioner.numPartitions
  override def shuffleId: Int = shuffleDependency.shuffleId

  override def runtimeStatistics: Statistics = {
    val size = metrics("dataSize").value * CometConf.SHUFFLE_SIZE_MULTIPLIER.get(SQLConf.get)
    val rows = metrics(SQLShuffleWriteMetricsReporter.SHUFFLE_RECORDS_WRITTEN).value
    Statistics(BigDecimal(size).toBigInt, Some(rows))
  }

  // ---- the reduce side

  private def frames(specs: Array[ShufflePartitionSpec]): RDD[ShuffleFrame] =
    new CometShuffledFramesRDD(shuffleDependency, readMetrics, specs)

  private def allPartitions: Array[ShufflePartitionSpec] =
    Array.tabulate(numPartitions)(i => CoalescedPartitionSpec(i, i + 1))

  override def getShuffleRDD(partitionSpecs: Array[ShufflePartitionSpec]): RDD[ColumnarBatch] =
    NativeStage.framesRDD(frames(partitionSpecs), output)

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = getShuffleRDD(allPartitions)

  override protected def doExecute(): RDD[InternalRow] = NativeStage.framesRowRDD(frames(allPartitions), output)

  // ---- the node

  override protected def doCanonicalize(): SparkPlan = original.canonicalized

  override def stringArgs: Iterator[Any] = super.stringArgs.filterNot(_.asInstanceOf[AnyRef] eq original)

  override protected def withNewChildInternal(newChild: SparkPlan): CometShuffleExchangeExec =
    copy(child = newChild)
}

object CometShuffleExchangeExec {

  def apply(original: ShuffleExchangeExec, child: SparkPlan): CometShuffleExchangeExec =
    CometShuffleExchangeExec(
      original,
      original.outputPartitioning,
      child,
      original.shuffleOrigin,
      original.advisoryPartitionSize
    )

  /** What the engine is asked about: the ShuffleWrite of the exchange. */
  def probe(e: ShuffleExchangeExec): CometNativeExec = ShuffleWriteProbe(e, e.outputPartitioning, e.child)

  /** What of the application or the session keeps an exchange with Spark. */
  def reasons(e: ShuffleExchangeExec, conf: SQLConf, app: SparkConf): Seq[String] = {
    val manager = classOf[CometShuffleManager].getName
    Seq(
      (app.get(config.SHUFFLE_MANAGER) != manager) -> s"${config.SHUFFLE_MANAGER.key} is not $manager",
      app.get(config.IO_ENCRYPTION_ENABLED) -> s"${config.IO_ENCRYPTION_ENABLED.key} is true",
      app.get(config.PUSH_BASED_SHUFFLE_ENABLED) -> s"${config.PUSH_BASED_SHUFFLE_ENABLED.key} is true",
      (app.get(config.SHUFFLE_IO_PLUGIN_CLASS) != config.SHUFFLE_IO_PLUGIN_CLASS.defaultValueString) ->
        s"${config.SHUFFLE_IO_PLUGIN_CLASS.key} names another place for shuffle files",
      conf.shuffleOrderIndependentChecksumEnabled ->
        s"${SQLConf.SHUFFLE_ORDER_INDEPENDENT_CHECKSUM_ENABLED.key} is true",
      conf.shuffleChecksumMismatchFullRetryEnabled ->
        s"${SQLConf.SHUFFLE_CHECKSUM_MISMATCH_FULL_RETRY_ENABLED.key} is true"
    ).collect { case (true, reason) => reason } ++ partitioningReasons(e.outputPartitioning, e.child, conf)
  }

  private def partitioningReasons(p: Partitioning, child: SparkPlan, conf: SQLConf): Seq[String] = p match {
    case SinglePartition => Nil
    case HashPartitioning(keys, _) =>
      off(CometConf.SHUFFLE_HASH, conf) ++
        (if (keys.exists(isNested)) off(CometConf.SHUFFLE_HASH_NESTED, conf) else Nil)
    case _: ShufflePartitionIdPassThrough => off(CometConf.SHUFFLE_HASH, conf)
    case _: RangePartitioning => off(CometConf.SHUFFLE_RANGE, conf)
    case RoundRobinPartitioning(n) =>
      off(CometConf.SHUFFLE_ROUND_ROBIN, conf) ++
        (if (n > 1 && ShuffleWriteMessage.roundRobinKeys(child.output, conf).isEmpty) {
           Seq("round-robin over columns that cannot be hashed")
         } else Nil)
    case other => Seq(s"partitioning by ${other.getClass.getSimpleName} is not native")
  }

  private def off(entry: org.apache.comet.ConfEntry[Boolean], conf: SQLConf): Seq[String] =
    if (entry.get(conf)) Nil else Seq(s"${entry.key} is false")

  private def isNested(e: Expression): Boolean = e.dataType match {
    case _: org.apache.spark.sql.types.ArrayType | _: org.apache.spark.sql.types.MapType |
        _: org.apache.spark.sql.types.StructType =>
      true
    case _ => false
  }
}
