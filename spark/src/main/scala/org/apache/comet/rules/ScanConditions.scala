package org.apache.comet.rules

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, FileSourceGeneratedMetadataAttribute}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

import org.apache.comet.CometConf

/** What keeps a file scan with Spark, apart from column types, which the engine judges. */
object ScanConditions {
  private val CryptoFactory = "parquet.crypto.factory.class"

  def reasons(s: FileSourceScanExec): Seq[String] = {
    val conf = s.conf
    if (s.relation.fileFormat.getClass != classOf[ParquetFileFormat]) {
      Seq(s"files of the format ${s.relation.fileFormat} are not read natively")
    } else {
      Seq(
        s.stream.isDefined -> "a streaming source stays with Spark",
        (!conf.parquetVectorizedReaderEnabled && !CometConf.SCAN_WITHOUT_VECTORIZED_READER.get(conf)) ->
          (s"${SQLConf.PARQUET_VECTORIZED_READER_ENABLED.key} is false, and Spark's other reader has rules of its own; " +
            s"${CometConf.SCAN_WITHOUT_VECTORIZED_READER.key}=true overrides this"),
        conf.isParquetINT96TimestampConversion ->
          s"${SQLConf.PARQUET_INT96_TIMESTAMP_CONVERSION.key} is not supported",
        conf.legacyParquetNanosAsLong -> s"${SQLConf.LEGACY_PARQUET_NANOS_AS_LONG.key} is not supported",
        isEncrypted(s) -> s"encrypted files ($CryptoFactory) are not read natively",
        s.output.exists(isGenerated) ->
          "the row index of a file is not read natively",
        s.requiredSchema.exists(f => isShreddedVariant(f.dataType)) -> "fields of a VARIANT are not read natively"
      ).collect { case (true, reason) => reason }
    }
  }

  private def isGenerated(a: Attribute): Boolean = a match {
    case r: AttributeReference => FileSourceGeneratedMetadataAttribute.unapply(r).isDefined
    case _ => false
  }

  private def isEncrypted(s: FileSourceScanExec): Boolean = {
    val places = Iterator(
      CaseInsensitiveMap(s.relation.options).get(CryptoFactory),
      Option(s.conf.getConfString(CryptoFactory, null)),
      Option(s.relation.sparkSession.sparkContext.hadoopConfiguration.get(CryptoFactory))
    )
    places.flatten.exists(_.nonEmpty)
  }

  /** Spark asks its reader for single fields of a VARIANT by a struct that is marked in its fields. */
  private def isShreddedVariant(t: DataType): Boolean = t match {
    case s: StructType =>
      s.fields.exists(f => f.metadata.contains("__VARIANT_METADATA_KEY") || isShreddedVariant(f.dataType))
    case a: ArrayType => isShreddedVariant(a.elementType)
    case m: MapType => isShreddedVariant(m.keyType) || isShreddedVariant(m.valueType)
    case _ => false
  }
}
