package org.apache.comet.export

import scala.util.Try

import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.{CometConf, ConfEntry, plan}

/** The session's settings that a native plan may depend on: part of what is bound, and of what a stage carries. */
object SessionConf {
  private val sparkKeys: Seq[String] = Seq(
    SQLConf.ANSI_ENABLED.key,
    SQLConf.SESSION_LOCAL_TIMEZONE.key,
    SQLConf.CASE_SENSITIVE.key,
    SQLConf.DECIMAL_OPERATIONS_ALLOW_PREC_LOSS.key,
    SQLConf.LEGACY_TIME_PARSER_POLICY.key,
    SQLConf.LEGACY_SIZE_OF_NULL.key,
    SQLConf.LEGACY_NULL_IN_EMPTY_LIST_BEHAVIOR.key,
    SQLConf.LEGACY_STATISTICAL_AGGREGATE.key,
    SQLConf.LEGACY_COMPLEX_TYPES_TO_STRING.key,
    SQLConf.MAP_KEY_DEDUP_POLICY.key,
    SQLConf.LEGACY_INTERVAL_ENABLED.key,
    SQLConf.LEGACY_ALLOW_HASH_ON_MAPTYPE.key,
    SQLConf.OPTIMIZER_INSET_CONVERSION_THRESHOLD.key
  )

  private val ownKeys = Seq(CometConf.SKIP_PARTIAL, CometConf.ROW_FILTER, CometConf.DEBUG)

  def entries(conf: SQLConf): Seq[plan.Config] =
    sparkKeys.flatMap(key => valueOf(conf, key).map(entry(key, _))) ++
      (ownKeys ++ engineKeys(conf)).map(e => entry(e.key, e.get(conf).toString))

  private def engineKeys(conf: SQLConf): Seq[ConfEntry[_]] =
    if (CometConf.RESPECT_DATAFUSION.get(conf)) Seq(CometConf.SKIP_PARTIAL_ROWS, CometConf.SKIP_PARTIAL_RATIO) else Nil

  /** None for a key that this Spark does not have, or that has neither a value nor a default. */
  private def valueOf(conf: SQLConf, key: String): Option[String] =
    Try(conf.getConfString(key)).toOption.filter(_ != null)

  private def entry(key: String, value: String): plan.Config =
    plan.Config.newBuilder().setKey(key).setValue(value).build()
}
