package org.apache.spark.sql.comet

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}

import org.apache.comet.export.ExportContext
import org.apache.comet.plan.{JvmInput, Plan}

/**
 * What adaptive execution leaves of a plan that turned out to give nothing: no row, no partition. It serves both kinds
 * of consumer, so that as the whole of a plan it is collected without a job, as Spark's.
 */
case class CometEmptyRelationExec(@transient original: SparkPlan)
    extends LeafExecNode
    with CometOperatorExec
    with CometNativeLeafExec {
  override def supportsRowBased: Boolean = true

  override def exportNode(ctx: ExportContext): Plan.Builder = Plan.newBuilder().setJvmInput(JvmInput.newBuilder())
  override def leafInput(): LeafInput = RowsInput(sparkContext.emptyRDD[InternalRow])

  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
  override def executeCollect(): Array[InternalRow] = Array.empty
  override def executeTake(limit: Int): Array[InternalRow] = Array.empty
  override def executeTail(limit: Int): Array[InternalRow] = Array.empty
}
