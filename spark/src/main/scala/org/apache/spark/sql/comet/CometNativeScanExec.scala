package org.apache.spark.sql.comet

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression, FileSourceConstantMetadataAttribute}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.{FileSourceScanExec, LeafExecNode}
import org.apache.spark.sql.execution.datasources.{FileFormat, FilePartition, FileScanRDD, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.CometConf
import org.apache.comet.export.{ExportContext, LiteralExport, PruneExport, TypeExport}
import org.apache.comet.plan

/**
 * A scan of Parquet files. Which files, in which splits, and with which buckets, is for Spark's scan to say: it plans,
 * prunes (also by what other parts of the query found out) and counts, and only the reading is ours.
 */
case class CometNativeScanExec(
    @transient original: FileSourceScanExec,
    override val output: Seq[Attribute],
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression]
) extends CometOperatorExec
    with CometNativeLeafExec
    with LeafExecNode {

  /** The original, with the filters as rules have rewritten them since. */
  @transient private lazy val wrapped: FileSourceScanExec =
    if ((partitionFilters eq original.partitionFilters) && (dataFilters eq original.dataFilters)) original
    else original.copy(partitionFilters = partitionFilters, dataFilters = dataFilters)

  override def nodeName: String =
    s"CometNativeScan ${original.relation} ${original.tableIdentifier.map(_.unquotedString).getOrElse("")}".trim

  override def simpleString(maxFields: Int): String =
    wrapped.simpleString(maxFields).replaceFirst("^(File)?Scan", "CometNativeScan")

  override def verboseStringWithOperatorId(): String =
    s"\n$formattedNodeName\n${wrapped.verboseStringWithOperatorId().trim.linesIterator.drop(1).mkString("\n")}\n"

  override lazy val metrics: Map[String, SQLMetric] = wrapped.metrics ++ Seq(
    "row_groups_read" -> "row groups read",
    "row_groups_pruned" -> "row groups pruned by statistics",
    "row_groups_pruned_dynamic_filter" -> "row groups pruned by keys of joins",
    "rows_pruned" -> "rows pruned before all their columns were decoded"
  ).map { case (name, text) => name -> SQLMetrics.createMetric(sparkContext, text) }

  private def constantMetadata: Seq[AttributeReference] = output.collect {
    case FileSourceConstantMetadataAttribute(a) => a
  }

  override def exportNode(ctx: ExportContext): plan.Plan.Builder = {
    val relation = original.relation
    val options = new ParquetOptions(CaseInsensitiveMap(relation.options), conf)
    val scan = plan.ParquetScan
      .newBuilder()
      .setCaseSensitive(conf.caseSensitiveAnalysis)
      .setUseFieldIds(conf.parquetFieldIdReadEnabled)
      .setIgnoreMissingFieldIds(conf.ignoreMissingParquetFieldId)
      .setDatetimeRebase(options.datetimeRebaseModeInRead.toUpperCase(Locale.ROOT))
      .setInt96Rebase(options.int96RebaseModeInRead.toUpperCase(Locale.ROOT))
      .setSessionTimeZone(conf.sessionLocalTimeZone)
      .setIgnoreCorruptFiles(options.ignoreCorruptFiles)
      .setIgnoreMissingFiles(options.ignoreMissingFiles)
      .setRowFilter(CometConf.ROW_FILTER.get(conf))
    original.requiredSchema.fields.foreach(f => scan.addDataSchema(TypeExport.structField(f)))
    relation.partitionSchema.fields.foreach(f => scan.addPartitionSchema(TypeExport.field(f.name, f.dataType, f.nullable)))
    constantMetadata.foreach(a => scan.addPartitionSchema(TypeExport.attribute(a)))
    if (conf.parquetFilterPushDown) {
      dataFilters.flatMap(PruneExport.conjunct(_, output)).foreach(e => scan.addPrune(e))
    }
    plan.Plan.newBuilder().setParquetScan(scan)
  }

  override def leafInput(): LeafInput = {
    // Also what sends the scan's driver metrics to the UI.
    val partitions = wrapped.inputRDD match {
      case files: FileScanRDD => files.filePartitions
      case other => throw new IllegalStateException(s"a file scan without files: $other")
    }
    SplitsInput(partitions.map(splits(_).toByteArray).toArray, i => partitions(i).preferredLocations().toSeq)
  }

  private def splits(partition: FilePartition): plan.ScanSplits = {
    val out = plan.ScanSplits.newBuilder()
    partition.files.foreach(f => out.addSplits(split(f)))
    out.build()
  }

  private def split(file: PartitionedFile): plan.FileSplit = {
    val uri = file.pathUri
    val local = uri.getScheme == null || uri.getScheme == "file"
    val out = plan.FileSplit
      .newBuilder()
      .setPath(if (local) uri.getPath else file.urlEncodedPath)
      .setLocal(local)
      .setStart(file.start)
      .setLength(file.length)
      .setFileSize(file.fileSize)
      .setModificationTime(file.modificationTime)
    original.relation.partitionSchema.fields.zipWithIndex.foreach { case (f, i) =>
      val value = if (file.partitionValues.isNullAt(i)) null else file.partitionValues.get(i, f.dataType)
      out.addPartitionValues(LiteralExport.literal(value, f.dataType))
    }
    val extractors = original.relation.fileFormat.fileConstantMetadataExtractors
    constantMetadata.foreach { a =>
      val value = FileFormat.getFileConstantMetadataColumnValue(a.name, file, extractors)
      out.addPartitionValues(LiteralExport.literal(value.value, a.dataType))
    }
    out.build()
  }
}
