package org.apache.comet

import scala.jdk.CollectionConverters._

import org.apache.comet.plan.{AggCall, Expr, Literal, Metric, Plan}

/** A native plan as text, one operator a line, for logs. */
object NativePlanText {

  /** @param slots the metric slots of an operator by its id, where the plan has run; a slot that is 0 is not shown */
  def of(root: Plan, slots: Int => Option[Array[Long]] = _ => None): String = {
    val out = new StringBuilder
    def node(p: Plan, depth: Int): Unit = {
      out.append("  " * depth).append(operator(p)).append(metrics(slots(p.getId))).append('\n')
      p.getInputsList.asScala.foreach(node(_, depth + 1))
    }
    node(root, 0)
    out.toString
  }

  private def operator(p: Plan): String = p.getOpCase match {
    case Plan.OpCase.FILTER => s"Filter ${expr(p.getFilter.getCondition)}"
    case Plan.OpCase.PROJECT => s"Project ${p.getProject.getExprsList.asScala.map(expr).mkString("[", ", ", "]")}"
    case Plan.OpCase.HASH_AGGREGATE =>
      val a = p.getHashAggregate
      val keys = a.getGroupingsList.asScala.map(expr).mkString("[", ", ", "]")
      s"HashAggregate keys=$keys calls=${a.getCallsList.asScala.map(call).mkString("[", ", ", "]")}"
    case Plan.OpCase.SORT => s"Sort ${orders(p.getSort.getOrdersList.asScala.toSeq)}"
    case Plan.OpCase.TOP_K => s"TopK ${p.getTopK.getLimit} by ${orders(p.getTopK.getOrdersList.asScala.toSeq)}"
    case Plan.OpCase.LIMIT => s"Limit ${p.getLimit.getLimit} offset ${p.getLimit.getOffset}"
    case Plan.OpCase.PARQUET_SCAN =>
      val s = p.getParquetScan
      val columns = s.getDataSchemaList.asScala.map(_.getName).mkString("[", ", ", "]")
      s"ParquetScan $columns prune=${s.getPruneList.asScala.map(expr).mkString("[", ", ", "]")}"
    case Plan.OpCase.SHUFFLE_WRITE => s"ShuffleWrite ${p.getShuffleWrite.getKind} ${p.getShuffleWrite.getNPartitions}"
    case Plan.OpCase.OP_NOT_SET => "(none)"
    case other => other.name.split('_').map(_.toLowerCase.capitalize).mkString
  }

  private def orders(list: Seq[plan.SortOrder]): String =
    list
      .map { o =>
        val direction = if (o.getAscending) "" else " DESC"
        s"${expr(o.getChild)}$direction NULLS ${if (o.getNullsFirst) "FIRST" else "LAST"}"
      }
      .mkString("[", ", ", "]")

  private def call(c: AggCall): String =
    s"${c.getMode.name.toLowerCase} ${c.getCls}${c.getArgsList.asScala.map(expr).mkString("(", ", ", ")")}"

  private def expr(e: Expr): String = e.getCls match {
    case "BoundReference" => s"#${e.getOrdinal}"
    case "Literal" | "ScalarSubquery" if e.hasLiteral => literal(e.getLiteral)
    case cls => s"${cls.split('.').last}${e.getChildrenList.asScala.map(expr).mkString("(", ", ", ")")}"
  }

  private def literal(l: Literal): String = l.getValueCase match {
    case Literal.ValueCase.NULL_VALUE => "null"
    case Literal.ValueCase.BOOL_VALUE => l.getBoolValue.toString
    case Literal.ValueCase.INT_VALUE => l.getIntValue.toString
    case Literal.ValueCase.DOUBLE_VALUE => l.getDoubleValue.toString
    case Literal.ValueCase.BYTES_VALUE if l.getType.getKind == plan.Kind.STRING => s"'${l.getBytesValue.toStringUtf8}'"
    case _ => "?"
  }

  private def metrics(slots: Option[Array[Long]]): String = slots.fold("") { values =>
    val shown = Metric.values.toSeq.filter(m => m != Metric.UNRECOGNIZED && m != Metric.N_METRICS).collect {
      case m if m.getNumber < values.length && values(m.getNumber) != 0 =>
        s"${m.name.toLowerCase}=${values(m.getNumber)}"
    }
    shown.mkString(" {", ", ", "}")
  }
}
