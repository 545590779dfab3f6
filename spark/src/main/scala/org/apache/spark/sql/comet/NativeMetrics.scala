package org.apache.spark.sql.comet

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

import org.apache.comet.Native
import org.apache.comet.plan.Metric

/** Which of an operator's metric slots are shown where. */
private[comet] case class MetricSpec(planId: Int, slots: Array[(Int, SQLMetric)], isScan: Boolean)

/** Copies an operator's slots to Spark's metrics: always the difference to the last time, as a task may run several plans. */
private[comet] final class NativeMetrics(spec: MetricSpec) {
  private val now = new Array[Long](NativeMetrics.Slots)
  private val before = new Array[Long](NativeMetrics.Slots)

  def update(handle: Long, context: TaskContext): Unit =
    if (Native.metrics(handle, spec.planId, now)) {
      spec.slots.foreach { case (slot, metric) =>
        val scale = NativeMetrics.nanosPerUnit(slot, metric)
        val delta = now(slot) / scale - before(slot) / scale
        if (delta != 0) metric.add(delta)
      }
      if (spec.isScan) {
        val input = context.taskMetrics().inputMetrics
        input.incBytesRead(change(Metric.BYTES_SCANNED))
        input.incRecordsRead(change(Metric.OUTPUT_ROWS))
      }
      context.taskMetrics().incMemoryBytesSpilled(change(Metric.SPILL_MEMORY_BYTES))
      context.taskMetrics().incPeakExecutionMemory(change(Metric.PEAK_MEMORY))
      context.taskMetrics().incDiskBytesSpilled(change(Metric.SPILL_BYTES))
      System.arraycopy(now, 0, before, 0, now.length)
    }

  private def change(metric: Metric): Long = now(metric.getNumber) - before(metric.getNumber)
}

private[comet] object NativeMetrics {
  val Slots: Int = Metric.N_METRICS.getNumber

  /** Names under which Spark's and Comet's operators show a slot; an operator shows those it has. */
  private val names: Seq[(Metric, String)] = Seq(
    Metric.OUTPUT_ROWS -> "numOutputRows",
    Metric.OUTPUT_BATCHES -> "numOutputBatches",
    Metric.ELAPSED_NS -> "elapsed_compute",
    Metric.SPILL_BYTES -> "spillSize",
    Metric.SPILL_COUNT -> "spill_count",
    Metric.PEAK_MEMORY -> "peakMemory",
    Metric.BYTES_SCANNED -> "bytes_scanned",
    Metric.ROW_GROUPS_READ -> "row_groups_read",
    Metric.ROW_GROUPS_PRUNED -> "row_groups_pruned",
    Metric.ROWS_PRUNED -> "rows_pruned",
    Metric.SCAN_NS -> "scanTime",
    Metric.SORT_NS -> "sortTime",
    Metric.AGG_NS -> "aggTime",
    Metric.DISPATCHED_ROWS -> "dispatched_rows",
    Metric.DISPATCH_NS -> "dispatch_time",
    Metric.DECODE_NS -> "decode_time",
    Metric.PAGES_PRUNED -> "pages_pruned",
    Metric.SKIPPED_PARTIAL_ROWS -> "skipped_partial_rows",
    Metric.ROW_GROUPS_PRUNED_DYNAMIC_FILTER -> "row_groups_pruned_dynamic_filter",
    Metric.DYNAMIC_FILTER_INPUT_ROWS -> "dynamic_filter_input_rows",
    Metric.DYNAMIC_FILTER_ROWS_PRUNED -> "dynamic_filter_rows_pruned",
    Metric.DYNAMIC_FILTER_EARLY_INPUT_ROWS -> "dynamic_filter_early_input_rows",
    Metric.DYNAMIC_FILTER_EARLY_ROWS_PRUNED -> "dynamic_filter_early_rows_pruned",
    Metric.DATA_SIZE -> "dataSize"
  )

  /** What a node shows of the spilling of its operator. */
  def ofSpills(sc: SparkContext): Map[String, SQLMetric] = Map(
    "spillSize" -> SQLMetrics.createSizeMetric(sc, "spill size"),
    "spill_count" -> SQLMetrics.createMetric(sc, "number of spills")
  )

  def of(planId: Int, node: SparkPlan, isScan: Boolean): MetricSpec = {
    val metrics = node.metrics
    val shown = names.flatMap { case (slot, name) => metrics.get(name).map(slot.getNumber -> _) }
    MetricSpec(planId, shown.toArray, isScan)
  }

  private val nanos = Set(
    Metric.ELAPSED_NS,
    Metric.SCAN_NS,
    Metric.SORT_NS,
    Metric.AGG_NS,
    Metric.DISPATCH_NS,
    Metric.DECODE_NS
  ).map(_.getNumber)

  private def nanosPerUnit(slot: Int, metric: SQLMetric): Long =
    if (nanos(slot) && metric.metricType == "timing") 1000000L else 1L
}
