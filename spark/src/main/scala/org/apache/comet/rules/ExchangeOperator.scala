package org.apache.comet.rules

import org.apache.spark.SparkEnv
import org.apache.spark.sql.comet.execution.shuffle.CometShuffleExchangeExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.CometConf

/** The native counterpart of a shuffle exchange. */
object ExchangeOperator {
  def of(e: ShuffleExchangeExec): Option[NativeOperator] = Some(
    NativeOperator(
      Seq(CometConf.SHUFFLE_ENABLED),
      InputNeed.Any,
      () => CometShuffleExchangeExec.reasons(e, SQLConf.get, SparkEnv.get.conf),
      children => CometShuffleExchangeExec(e, children.head),
      () => Some(CometShuffleExchangeExec.probe(e))
    )
  )
}
