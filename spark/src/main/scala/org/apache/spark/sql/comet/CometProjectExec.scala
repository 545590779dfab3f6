package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.expressions.{Attribute, NamedExpression}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric

import org.apache.comet.export.ExportContext
import org.apache.comet.plan

case class CometProjectExec(@transient original: SparkPlan, projectList: Seq[NamedExpression], child: SparkPlan)
    extends CometUnaryExec {

  override def output: Seq[Attribute] = projectList.map(_.toAttribute)

  override lazy val metrics: Map[String, SQLMetric] = Map.empty

  override def exportNode(ctx: ExportContext): plan.Plan.Builder = {
    val project = plan.Project.newBuilder()
    projectList.foreach(e => project.addExprs(ctx.expr(e, child.output)))
    plan.Plan.newBuilder().setProject(project)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): CometProjectExec = copy(child = newChild)
}
