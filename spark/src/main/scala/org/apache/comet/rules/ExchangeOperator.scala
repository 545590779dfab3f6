package org.apache.comet.rules

import org.apache.spark.SparkEnv
import org.apache.spark.sql.comet.CometBroadcastExchangeExec
import org.apache.spark.sql.comet.execution.shuffle.CometShuffleExchangeExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.CometConf

/** The native counterparts of exchanges. */
object ExchangeOperator {
  def of(e: BroadcastExchangeExec): Option[NativeOperator] = Some(
    NativeOperator(
      Seq(CometConf.OP_BROADCAST_EXCHANGE),
      InputNeed.Any,
      () => CometBroadcastExchangeExec.reasons(SparkEnv.get.conf),
      children => CometBroadcastExchangeExec(e, e.mode, children.head),
      () => Some(CometBroadcastExchangeExec.probe(e))
    )
  )

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
