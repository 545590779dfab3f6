package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

case class CometFilterExec(@transient original: SparkPlan, condition: Expression, child: SparkPlan)
    extends CometUnaryExec {

  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override def exportNode(ctx: ExportContext): plan.Plan.Builder =
    plan.Plan.newBuilder().setFilter(plan.Filter.newBuilder().setCondition(ctx.expr(condition, child.output)))

  override protected def withNewChildInternal(newChild: SparkPlan): CometFilterExec = copy(child = newChild)
}
