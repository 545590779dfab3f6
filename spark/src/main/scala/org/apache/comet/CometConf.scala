package org.apache.comet

import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/**
 * Every configuration key, once: what is read, what is documented and what an older spelling stands for all come
 * from this table. `docs/configuration.md` is generated from it.
 */
object CometConf {
  import ConfKind._
  import ConfSection._

  private val builder = Seq.newBuilder[ConfEntry[_]]

  private def add[T](
      key: String,
      section: ConfSection,
      kind: ConfKind[T],
      default: T,
      doc: String,
      works: Boolean = true,
      older: Seq[String] = Nil,
      env: Option[String] = None
  ): ConfEntry[T] = {
    val entry = ConfEntry(key, section, kind, default, doc, works, older, env)
    builder += entry
    entry
  }

  private def flag(
      key: String,
      section: ConfSection,
      default: Boolean,
      doc: String,
      works: Boolean = true,
      older: Seq[String] = Nil,
      env: Option[String] = None
  ): ConfEntry[Boolean] = add(key, section, Bool, default, doc, works, older, env)

  private def ignored(key: String, section: ConfSection, default: Boolean, doc: String): ConfEntry[Boolean] =
    flag(key, section, default, doc, works = false)

  // ---- scans

  val SCAN_ENABLED = flag("spark.comet.scan.enabled", Scan, true, "Read Parquet files natively.")
  val SCAN_WITHOUT_VECTORIZED_READER = flag(
    "spark.comet.scan.allowDisabledParquetVectorizedReader",
    Scan,
    false,
    "Read Parquet natively also where `spark.sql.parquet.enableVectorizedReader` is false. The native reader keeps " +
      "the rules of Spark's vectorised reader, which differ from the other reader's where a file's type is wider " +
      "than the column's; so such a scan is left to Spark unless this is true."
  )
  val SCAN_UNSIGNED_CHECK = flag(
    "spark.comet.scan.unsignedSmallIntSafetyCheck",
    Scan,
    true,
    "Whether SMALLINT columns stay with Spark because a file may hold unsigned bytes in them. The native reader " +
      "reads the file's own annotation and tells the two apart, so SMALLINT columns are native either way.",
    works = false
  )
  val ROW_FILTER = flag(
    "spark.comet.parquet.rowFilterPushdown.enabled",
    Scan,
    true,
    "Decode the columns that a filter reads first, and the others only for rows that pass. On by default (elsewhere " +
      "it is off): no answer and no error depends on it."
  )
  val SCAN_IMPL = add(
    "spark.comet.scan.impl",
    Scan,
    Text,
    "auto",
    "Which native scan. There is one here.",
    works = false
  )
  val PARQUET_WRITE = flag(
    "spark.comet.parquet.write.enabled",
    Development,
    false,
    "Write Parquet natively.",
    works = false,
    env = Some("ENABLE_COMET_WRITE")
  )
  val CONVERT_PARQUET = flag(
    "spark.comet.convert.parquet.enabled",
    Execution,
    false,
    "Let native operators read what Spark's own Parquet scan produces, where the scan itself is not native."
  )
  val CONVERT_CSV =
    flag("spark.comet.convert.csv.enabled", Execution, false, "As for Parquet: native operators over Spark's CSV scan.")
  val CONVERT_JSON =
    flag("spark.comet.convert.json.enabled", Execution, false, "As for Parquet: native operators over Spark's JSON scan.")
  val CSV_V2 = ignored("spark.comet.scan.csv.v2.enabled", Scan, false, "Read CSV files natively.")
  val ICEBERG_SCAN =
    ignored("spark.comet.scan.icebergNative.enabled", Scan, true, "Read Iceberg tables natively.")
  val ICEBERG_CONCURRENCY = add(
    "spark.comet.scan.icebergNative.dataFileConcurrencyLimit",
    Scan,
    Int,
    1,
    "How many Iceberg files one task reads at a time.",
    works = false
  )
  val ICEBERG_WRITE =
    ignored("spark.comet.iceberg.write.enabled", Development, false, "Write the data files of Iceberg tables natively.")
  val ICEBERG_SPLIT_WRITE = ignored(
    "spark.comet.write.iceberg.splitOperator.enabled",
    Development,
    false,
    "Plan an Iceberg write as two operators, one that writes files and one that commits."
  )
  val LIBHDFS_SCHEMES = add(
    "spark.hadoop.fs.comet.libhdfs.schemes",
    Scan,
    TextList,
    Seq("hdfs"),
    "File systems to open through libhdfs. Files that are not local are opened through Hadoop's own client here.",
    works = false
  )
  val S3_SCHEMES = add(
    "spark.hadoop.fs.comet.s3Compliant.schemes",
    Scan,
    TextList,
    Nil,
    "Further schemes that speak S3's protocol. Files that are not local are opened through Hadoop's own client here.",
    works = false
  )

  // ---- execution

  val ENABLED = flag(
    "spark.comet.enabled",
    Execution,
    true,
    "The switch for everything: false leaves each plan to Spark.",
    env = Some("ENABLE_COMET")
  )
  val EXEC_ENABLED =
    flag("spark.comet.exec.enabled", Execution, true, "Run operators natively; each has a switch of its own too.")
  val LOAD_REQUIRED = flag(
    "spark.comet.nativeLoadRequired",
    Execution,
    false,
    "Fail the application where the native library cannot be loaded, instead of warning and leaving plans to Spark."
  )
  val DEBUG = flag(
    "spark.comet.debug.enabled",
    Execution,
    false,
    "Check every batch between operators and keep plans readable. Slow."
  )
  val CASE_CONVERSION = ignored(
    "spark.comet.caseConversion.enabled",
    Execution,
    false,
    "Change the case of text natively. Results are the JVM's either way here, so there is nothing to choose."
  )
  val STRICT_FLOATING_POINT = ignored(
    "spark.comet.exec.strictFloatingPoint",
    Execution,
    false,
    "Leave floating-point operations that might differ from Spark to Spark. None differs here."
  )
  val SORT_MERGE_AS_HASH_JOIN = flag(
    "spark.comet.exec.sortMergeJoin.asHashJoin.enabled",
    Execution,
    true,
    "Run a sort-merge join whose order nobody needs as a hash join of the smaller side, which spills, without the sorts."
  )
  val FORCE_SHUFFLED_HASH_JOIN = flag(
    "spark.comet.exec.forceShuffledHashJoin",
    Execution,
    false,
    "Plan shuffled hash joins instead of sort-merge joins where they can be native and the build side is under " +
      "`spark.comet.exec.forceShuffledHashJoin.maxBuildSize`. Broadcasts are tried first, and joins with a hint are left " +
      "alone. Without this, sort-merge joins run as hash joins all the same where nobody needs their order: see " +
      "`spark.comet.exec.sortMergeJoin.asHashJoin.enabled`.",
    older = Seq("spark.comet.exec.replaceSortMergeJoin")
  )
  val FORCE_SHUFFLED_HASH_JOIN_SIZE = add(
    "spark.comet.exec.forceShuffledHashJoin.maxBuildSize",
    Execution,
    OptionalBytes,
    None,
    "`spark.comet.exec.forceShuffledHashJoin` is for build sides of fewer bytes than this, by Spark's estimate or, with " +
      "AQE, by what their shuffle wrote; not positive: for all. Unset: `spark.sql.autoBroadcastJoinThreshold` (10 MB " +
      "where it turns broadcasts off) times the number of shuffle partitions before any are coalesced, which is Spark's " +
      "own limit for hash joins. A side without statistics is larger than any limit."
  )
  val JOIN_DYNAMIC_FILTER = flag(
    "spark.comet.exec.join.dynamicFilter.enabled",
    Execution,
    true,
    "Let a hash join tell, once its build side is complete, which keys it has: rows of the other side that match none " +
      "are dropped in the Parquet scan (row groups by their statistics, and rows, after the key columns are decoded and " +
      "before the others are) or below other joins. Any number of keys of any type; inner and semi joins, and outer joins " +
      "by their side without nulls. Rows are dropped only where no expression that could raise an error or is not " +
      "deterministic would have seen them, and a filter that drops little is given up. On by default (elsewhere it is off): " +
      "no answer and no error depends on it. A filter stays within a task; over a native broadcast the tasks of an executor " +
      "share it."
  )
  val JOIN_DYNAMIC_FILTER_PUSHDOWN = flag(
    "spark.comet.exec.join.dynamicFilter.allowDeterministicFilterPushdown",
    Execution,
    false,
    "Let such a filter pass deterministic expressions that may raise an error, too. A division by zero or a failed ANSI " +
      "cast on a row that matches nothing may then go unnoticed."
  )
  val SKIP_PARTIAL = flag(
    "spark.comet.exec.aggregate.skipPartial.enabled",
    Execution,
    false,
    "Let a partial aggregate stop grouping, for the rest of its task, as soon as more than 0.8 of its rows had keys of " +
      "their own, looked at from row 100000 on. This also holds for DISTINCT before its shuffle, never for what is " +
      "behind one. No answer depends on it, so without this key partial aggregates other than DISTINCT and those that " +
      "add floating-point numbers do so all the same, from 0.9 on; the metric `rows bypassing partial aggregation` " +
      "shows it either way."
  )
  val TOPK_FUSION = ignored(
    "spark.comet.exec.topK.fusion.enabled",
    Execution,
    false,
    "Run the first step of ORDER BY ... LIMIT together with its scan. It always is here."
  )
  val TOPK_DYNAMIC_FILTER = ignored(
    "spark.comet.exec.topK.dynamicFilter.enabled",
    Execution,
    false,
    "Skip row groups that cannot improve on the rows that ORDER BY ... LIMIT has found so far."
  )
  val SCALA_UDF = flag(
    "spark.comet.exec.scalaUDF.codegen.enabled",
    Execution,
    true,
    "Evaluate Scala and Java functions of the user by Spark's generated code from inside a native operator. False " +
      "leaves operators with such a function to Spark."
  )
  val PYARROW_UDF =
    ignored("spark.comet.exec.pyarrowUDF.enabled", Execution, false, "Hand batches to Python functions without copies.")
  val COLUMNAR_TO_ROW = ignored(
    "spark.comet.exec.columnarToRow.native.enabled",
    Execution,
    false,
    "Turn columns into rows natively. Always so here."
  )
  val SPARK_TO_COLUMNAR = flag(
    "spark.comet.sparkToColumnar.enabled",
    Execution,
    false,
    "Feed what the Spark operators of `spark.comet.sparkToColumnar.supportedOperatorList` produce into native operators."
  )
  val SPARK_TO_COLUMNAR_OPERATORS = add(
    "spark.comet.sparkToColumnar.supportedOperatorList",
    Execution,
    TextList,
    Seq("Range", "InMemoryTableScan", "RDDScan", "OneRowRelation"),
    "The operators, by node name, for `spark.comet.sparkToColumnar.enabled`."
  )
  val TRANSITION_REVERT = flag(
    "spark.comet.exec.transitionRevert.enabled",
    Execution,
    false,
    "Leave a whole stage to Spark where it would turn columns into rows too often."
  )
  val TRANSITION_REVERT_MAX = add(
    "spark.comet.exec.transitionRevert.maxTransitions",
    Execution,
    Int,
    2,
    "How many such turns a stage may have before `spark.comet.exec.transitionRevert.enabled` applies."
  )
  val TRANSITION_REVERT_COST = add(
    "spark.comet.exec.transitionRevert.costRatio",
    Execution,
    Double,
    2.0,
    "Leave a whole stage to Spark, whether or not `spark.comet.exec.transitionRevert.enabled` is set, where turning rows " +
      "and columns into each other is estimated to cost more than this many times what native operators save. The " +
      "estimate is of rows, as Spark's statistics have them, and columns; without AQE a stage is the whole plan. 0: never."
  )
  val CACHE = ignored("spark.comet.exec.inMemoryCache.enabled", Execution, false, "Cache tables in a native format.")
  val CACHE_CODEC = add(
    "spark.comet.exec.inMemoryCache.compression.codec",
    Execution,
    choice("zstd", "none"),
    "zstd",
    "How natively cached tables are compressed.",
    works = false
  )
  val CACHE_LEVEL = add(
    "spark.comet.exec.inMemoryCache.compression.zstd.level",
    Execution,
    Int,
    1,
    "The level of zstd for natively cached tables.",
    works = false
  )
  val METRICS = ignored("spark.comet.metrics.enabled", Execution, false, "Report coverage to Spark's metrics system.")
  val METRICS_INTERVAL = add(
    "spark.comet.metrics.updateInterval",
    Execution,
    Millis,
    3000L,
    "How often the metrics of a running native plan reach its task; negative: only at the end. They are copied with " +
      "each batch here, which costs nothing to speak of.",
    works = false
  )
  val WRITE_COMMAND_INCOMPATIBLE = flag(
    "spark.comet.operator.DataWritingCommandExec.allowIncompatible",
    Execution,
    false,
    "Accept answers that differ from Spark's. Nothing native differs.",
    works = false,
    env = Some("SPARK_COMET_OPERATOR_DATAWRITINGCOMMANDEXEC_ALLOWINCOMPATIBLE")
  )
  val WRITE_FILES_INCOMPATIBLE = flag(
    "spark.comet.operator.WriteFilesExec.allowIncompatible",
    Execution,
    false,
    "Accept answers that differ from Spark's. Nothing native differs.",
    works = false,
    env = Some("SPARK_COMET_OPERATOR_WRITEFILESEXEC_ALLOWINCOMPATIBLE")
  )

  // ---- explain

  val EXPLAIN_CODEGEN = flag(
    "spark.comet.explain.codegen.enabled",
    Explain,
    false,
    "Show at each native operator which of its expressions Spark's own code evaluates.",
    older = Seq("spark.comet.explainCodegen.enabled")
  )
  val EXPLAIN_FALLBACK = flag(
    "spark.comet.explain.fallback.enabled",
    Explain,
    false,
    "Log, for each stage that is not wholly native, the reasons.",
    older = Seq("spark.comet.explainFallback.enabled")
  )
  val EXPLAIN_FALLBACK_LOG = flag(
    "spark.comet.explain.fallback.log.enabled",
    Explain,
    false,
    "Log a warning for each single reason.",
    older = Seq("spark.comet.logFallbackReasons.enabled"),
    env = Some("ENABLE_COMET_LOG_FALLBACK_REASONS")
  )
  val EXPLAIN_FORMAT = add(
    "spark.comet.explain.format",
    Explain,
    choice("verbose", "fallback"),
    "verbose",
    "What EXPLAIN appends: `verbose`, the plan with reasons and how much of it is native; `fallback`, only the reasons."
  )
  val EXPLAIN_NATIVE = flag(
    "spark.comet.explain.native.enabled",
    Explain,
    false,
    "Log the native plan before it runs, and once more with its metrics after it ran."
  )
  val EXPLAIN_PLAN_ONLY = flag(
    "spark.comet.explain.planOnly.enabled",
    Explain,
    false,
    "Log the plan that would run, and let Spark run its own."
  )
  val EXPLAIN_RULES =
    flag("spark.comet.explain.rules", Explain, false, "Log what the planning rules make of each plan.")

  // ---- shuffle

  val SHUFFLE_ENABLED = flag(
    "spark.comet.shuffle.enabled",
    Shuffle,
    true,
    "Exchange data between stages natively. Needs `spark.shuffle.manager` to be " +
      "`org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager` from the start of the application.",
    older = Seq("spark.comet.exec.shuffle.enabled")
  )
  val SHUFFLE_MODE = add(
    "spark.comet.shuffle.mode",
    Shuffle,
    choice("auto", "native", "jvm"),
    "auto",
    "Which native shuffle. There is one here; `jvm` means the same as `auto`.",
    works = false,
    older = Seq("spark.comet.exec.shuffle.mode")
  )
  val SHUFFLE_DIRECT_READ = flag(
    "spark.comet.shuffle.directRead.enabled",
    Shuffle,
    true,
    "Decode shuffled blocks in the operator that reads them. Always so here.",
    works = false,
    older = Seq("spark.comet.exec.shuffle.directRead.enabled")
  )
  val SHUFFLE_FROM_SPARK = flag(
    "spark.comet.shuffle.convertFromSparkPlan.enabled",
    Shuffle,
    true,
    "Shuffle natively also what a Spark operator produces, where a native operator reads it.",
    older = Seq("spark.comet.exec.shuffle.convertFromSparkPlan.enabled")
  )
  val SHUFFLE_REVERT = flag(
    "spark.comet.shuffle.revertRedundantColumnar.enabled",
    Shuffle,
    true,
    "Leave a shuffle between two Spark operators to Spark.",
    older = Seq("spark.comet.exec.shuffle.revertRedundantColumnar.enabled")
  )
  val SHUFFLE_CODEC = add(
    "spark.comet.shuffle.compression.codec",
    Shuffle,
    choice("lz4", "zstd", "snappy", "none"),
    "lz4",
    "How shuffled blocks are compressed; `spark.shuffle.compress=false` turns compression off.",
    older = Seq("spark.comet.exec.shuffle.compression.codec")
  )
  val SHUFFLE_ZSTD_LEVEL = add(
    "spark.comet.shuffle.compression.zstd.level",
    Shuffle,
    Int,
    1,
    "The level of zstd for shuffled blocks.",
    older = Seq("spark.comet.exec.shuffle.compression.zstd.level")
  )
  val SHUFFLE_MAX_BUFFER = add(
    "spark.comet.shuffle.native.maxBufferBytes",
    Shuffle,
    bytes(),
    0L,
    "How much a writer buffers before it spills; 0: as much as it is granted."
  )
  val SHUFFLE_WRITE_BUFFER = add(
    "spark.comet.shuffle.native.writeBufferSize",
    Shuffle,
    bytes(),
    1L << 20,
    "Size of the buffer between a writer and its file.",
    older = Seq("spark.comet.exec.shuffle.writeBufferSize")
  )
  val SHUFFLE_HASH = flag(
    "spark.comet.shuffle.native.partitioning.hash.enabled",
    Shuffle,
    true,
    "Shuffle by hash natively.",
    older = Seq("spark.comet.native.shuffle.partitioning.hash.enabled")
  )
  val SHUFFLE_HASH_NESTED = flag(
    "spark.comet.shuffle.native.partitioning.hash.nested.enabled",
    Shuffle,
    false,
    "Shuffle natively also by a hash over arrays, maps and structs."
  )
  val SHUFFLE_RANGE = flag(
    "spark.comet.shuffle.native.partitioning.range.enabled",
    Shuffle,
    true,
    "Shuffle by range natively.",
    older = Seq("spark.comet.native.shuffle.partitioning.range.enabled")
  )
  val SHUFFLE_ROUND_ROBIN = flag(
    "spark.comet.shuffle.native.partitioning.roundrobin.enabled",
    Shuffle,
    false,
    "Shuffle round-robin natively. Rows go by a hash of their columns, to other partitions than Spark's.",
    older = Seq("spark.comet.native.shuffle.partitioning.roundrobin.enabled")
  )
  val SHUFFLE_ROUND_ROBIN_COLUMNS = add(
    "spark.comet.shuffle.native.partitioning.roundrobin.maxHashColumns",
    Shuffle,
    Int,
    0,
    "How many columns a native round-robin shuffle looks at; 0: all.",
    older = Seq("spark.comet.native.shuffle.partitioning.roundrobin.maxHashColumns")
  )
  val SHUFFLE_ROUND_ROBIN_POSITIONAL = ignored(
    "spark.comet.shuffle.native.partitioning.roundrobin.positional.enabled",
    Shuffle,
    false,
    "Deal rows out by position instead of by content."
  )
  val SHUFFLE_ROUND_ROBIN_GROUP = add(
    "spark.comet.shuffle.native.partitioning.roundrobin.positional.groupRows",
    Shuffle,
    Int,
    0,
    "How many rows at a time are dealt out by position; 0: chosen when the query is planned.",
    works = false
  )
  val SHUFFLE_SIZE_MULTIPLIER = add(
    "spark.comet.shuffle.sizeInBytesMultiplier",
    Shuffle,
    Double,
    1.0,
    "By what to multiply the sizes of native shuffles before Spark chooses joins by them."
  )
  val SHUFFLE_JVM_BATCH = add(
    "spark.comet.shuffle.jvm.batchSize",
    Shuffle,
    Int,
    8192,
    "Rows in a batch of the row-based shuffle. There is none here.",
    works = false,
    older = Seq("spark.comet.columnar.shuffle.batch.size")
  )
  val SHUFFLE_JVM_WRITERS = add(
    "spark.comet.shuffle.jvm.maxWritersPerExecutor",
    Shuffle,
    Int,
    100,
    "Writers of the row-based shuffle in an executor. There are none here.",
    works = false,
    older = Seq("spark.comet.columnar.shuffle.max.writers.per.executor")
  )
  val SHUFFLE_JVM_SPILL = add(
    "spark.comet.shuffle.jvm.spillThreshold",
    Shuffle,
    Int,
    scala.Int.MaxValue,
    "Rows after which the row-based shuffle spills. There is none here.",
    works = false,
    older = Seq("spark.comet.columnar.shuffle.spill.threshold")
  )
  val SHUFFLE_JVM_MEMORY = add(
    "spark.comet.shuffle.jvm.memoryFactor",
    Development,
    Double,
    1.0,
    "Share of memory for the row-based shuffle on the heap. There is none here.",
    works = false,
    older = Seq("spark.comet.columnar.shuffle.memory.factor")
  )
  val SHUFFLE_JVM_DICTIONARY = add(
    "spark.comet.shuffle.jvm.preferDictionary.ratio",
    Shuffle,
    Double,
    10.0,
    "Values per distinct value from which the row-based shuffle writes a dictionary. There is none here.",
    works = false,
    older = Seq("spark.comet.shuffle.preferDictionary.ratio")
  )
  val SHUFFLE_RSS_FRAME = add(
    "spark.comet.shuffle.rss.maxFrameBytes",
    Shuffle,
    bytes(),
    64L << 20,
    "Largest frame for a remote shuffle service.",
    works = false
  )
  val SHUFFLE_RSS_IN_FLIGHT = add(
    "spark.comet.shuffle.rss.maxInFlightBytes",
    Shuffle,
    bytes(),
    512L << 20,
    "Bytes on their way to a remote shuffle service at one time.",
    works = false
  )

  // ---- memory and tuning

  val BATCH_SIZE = add("spark.comet.batchSize", Memory, Int, 8192, "Most rows in a batch.")
  val MEMORY_POOL = add(
    "spark.comet.exec.memoryPool",
    Memory,
    choice("fair_unified", "greedy_unified"),
    "fair_unified",
    "How the native operators of a task share the off-heap memory that Spark's task memory manager has for it. " +
      "`fair_unified`: an operator whose state would pass its share, which is the off-heap size divided by the " +
      "operators of the task that hold state now (1 MiB or more), spills its own. `greedy_unified`: the first to come " +
      "takes what there is. With either, what Spark does not grant is taken from the operator that has most."
  )
  val MEMORY_POOL_FRACTION = add(
    "spark.comet.exec.memoryPool.fraction",
    Memory,
    Double,
    1.0,
    "How much of the off-heap size the operators of a task divide among them under `fair_unified`. It bounds " +
      "each of them, not all: Spark hands out the whole pool whatever this is. `greedy_unified` does not look at it."
  )
  val MAX_TEMP = add(
    "spark.comet.maxTempDirectorySize",
    Memory,
    bytes(),
    100L << 30,
    "Most bytes that a native plan may have in temporary files; a task whose plan would pass them fails with an error " +
      "that names the plan, this key and its value. A task can run more than one native plan at a time."
  )
  val MEMORY_LOG = add(
    "spark.comet.memory.logInterval",
    Memory,
    Millis,
    10000L,
    "How often an executor logs, at INFO, the bytes its native allocator has handed out and those that Spark has " +
      "granted to tasks with native plans, while there are such; a warning where the first are more than its container " +
      "has outside the heap. 0: never. Read when an executor starts its first native plan."
  )
  val TRACING = ignored("spark.comet.tracing.enabled", Memory, false, "Record what happens when, in fine detail.")

  // ---- development and testing

  val ON_HEAP = flag(
    "spark.comet.exec.onHeap.enabled",
    Development,
    false,
    "Run natively also where `spark.memory.offHeap.enabled` is false. Native memory is then counted against the heap's " +
      "share; meant for tests.",
    env = Some("ENABLE_COMET_ONHEAP")
  )
  val ON_HEAP_POOL = add(
    "spark.comet.exec.onHeap.memoryPool",
    Development,
    choice(
      "greedy_task_shared",
      "greedy",
      "fair_spill",
      "fair_spill_task_shared",
      "greedy_global",
      "fair_spill_global",
      "unbounded"
    ),
    "greedy_task_shared",
    "The kind of memory pool on the heap.",
    works = false
  )
  val MEMORY_OVERHEAD = add(
    "spark.comet.memoryOverhead",
    Development,
    bytes(ByteUnit.MiB),
    1L << 30,
    "Further memory of an executor for native operators on the heap, in MiB.",
    works = false
  )
  val SAVE_PLAN_DIR = add(
    "spark.comet.debug.savePlan.dir",
    Development,
    Text,
    "",
    "A folder where each task leaves its native plan and input as files for `halley run`; empty: none."
  )
  val DEBUG_MEMORY =
    ignored("spark.comet.debug.memory", Development, false, "Log whatever is asked of the native memory pool.")
  val RESPECT_DATAFUSION = flag(
    "spark.comet.exec.respectDataFusionConfigs",
    Development,
    false,
    "Heed the keys under `spark.comet.datafusion.`. The two below are all that have an effect."
  )
  val SKIP_PARTIAL_ROWS = add(
    "spark.comet.datafusion.execution.skip_partial_aggregation_probe_rows_threshold",
    Development,
    Int,
    100000,
    "With `spark.comet.exec.aggregate.skipPartial.enabled`: rows of a task before it is first judged whether to group."
  )
  val SKIP_PARTIAL_RATIO = add(
    "spark.comet.datafusion.execution.skip_partial_aggregation_probe_ratio_threshold",
    Development,
    Double,
    0.8,
    "With `spark.comet.exec.aggregate.skipPartial.enabled`: groups by rows beyond which a task stops grouping."
  )
  val STRICT_TESTING = flag(
    "spark.comet.testing.strict",
    Development,
    false,
    "Fail tests that could check more.",
    works = false,
    env = Some("ENABLE_COMET_STRICT_TESTING")
  )

  // ---- one switch an operator

  /** `spark.comet.exec.<name>.enabled` */
  private def operator(name: String, what: String, default: Boolean = true, works: Boolean = true): ConfEntry[Boolean] =
    flag(s"spark.comet.exec.$name.enabled", Operators, default, s"Run $what natively.", works)

  val OP_AGGREGATE = operator("aggregate", "aggregates")
  val OP_BROADCAST_EXCHANGE = operator("broadcastExchange", "broadcasts")
  val OP_BROADCAST_HASH_JOIN = operator("broadcastHashJoin", "broadcast hash joins")
  val OP_NESTED_LOOP_JOIN = operator("broadcastNestedLoopJoin", "nested loop joins and cartesian products")
  val OP_COALESCE = operator("coalesce", "COALESCE of partitions (not the function)")
  val OP_COLLECT_LIMIT = operator("collectLimit", "the limit on what the driver collects")
  val OP_EMPTY = operator("emptyRelation", "empty relations")
  val OP_EXPAND = operator("expand", "the expansion for grouping sets", works = false)
  val OP_EXPLODE = operator("explode", "EXPLODE and its kin", works = false)
  val OP_FILTER = operator("filter", "filters")
  val OP_GLOBAL_LIMIT = operator("globalLimit", "limits over all partitions")
  val OP_HASH_JOIN = operator("hashJoin", "shuffled hash joins")
  val OP_LOCAL_LIMIT = operator("localLimit", "limits within a partition")
  val OP_LOCAL_TABLE = operator("localTableScan", "operators over rows that the driver holds", default = false)
  val OP_PROJECT = operator("project", "projections")
  val OP_SAMPLE = operator("sample", "samples", works = false)
  val OP_SORT = operator("sort", "sorts")
  val OP_SORT_MERGE_JOIN = operator("sortMergeJoin", "sort-merge joins")
  val OP_SORT_MERGE_JOIN_FILTER =
    operator("sortMergeJoinWithJoinFilter", "sort-merge joins with a condition")
  val OP_TAKE_ORDERED = operator("takeOrderedAndProject", "ORDER BY ... LIMIT")
  val OP_UNION = operator("union", "UNION ALL")
  val OP_WINDOW = operator("window", "window functions", works = false)
  val OP_WINDOW_GROUP_LIMIT = operator("windowGroupLimit", "limits within window partitions", works = false)

  /** The whole table, in the order above. */
  val all: Seq[ConfEntry[_]] = builder.result()

  /** Whether native execution is switched on at all for this session. */
  def isExecEnabled(conf: SQLConf): Boolean = ENABLED.get(conf) && EXEC_ENABLED.get(conf)
}
