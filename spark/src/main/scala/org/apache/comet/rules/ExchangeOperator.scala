package org.apache.comet.rules

import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec

/** The native counterpart of a shuffle exchange. */
object ExchangeOperator {
  def of(e: ShuffleExchangeExec): Option[NativeOperator] = None
}
