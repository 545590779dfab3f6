package org.apache.comet.rules

import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan

/**
 * What judging a Spark node found: whether the engine can run it, why not, and which of its expressions Spark's own
 * code would evaluate. It says nothing about the nodes around it, so it stays true when they change.
 */
final case class Verdict(bound: Boolean, reasons: Seq[String], dispatched: Seq[String])

object Verdict {
  private val tag = TreeNodeTag[Verdict]("comet.verdict")
  private val left = TreeNodeTag[String]("comet.leftToSpark")
  private val consumer = TreeNodeTag[Boolean]("comet.nativeConsumer")

  val bound: Verdict = Verdict(bound = true, Nil, Nil)
  def refused(reasons: String*): Verdict = Verdict(bound = false, reasons, Nil)

  def of(p: SparkPlan): Option[Verdict] = p.getTagValue(tag)

  /** Always in the place of an older one: a node that AQE kept carries what was true of an earlier plan. */
  def set(p: SparkPlan, verdict: Verdict): Unit = {
    p.setTagValue(tag, verdict)
    p.unsetTagValue(left)
  }

  /** For a copy of a node over other columns, which brings the old one along. */
  def forget(p: SparkPlan): Unit = {
    p.unsetTagValue(tag)
    p.unsetTagValue(left)
  }

  /** Why a node that the engine can run was left to Spark all the same; in the place of what was true before. */
  def note(p: SparkPlan, reason: String): Unit = p.setTagValue(left, reason)

  /** Everything that speaks against a node. */
  def reasons(p: SparkPlan): Seq[String] =
    of(p).toSeq.flatMap(_.reasons) ++ p.getTagValue(left)

  /** On an exchange: whether the node that reads it can be native. */
  def setNativeConsumer(exchange: SparkPlan, native: Boolean): Unit = exchange.setTagValue(consumer, native)
  def hasNativeConsumer(exchange: SparkPlan): Boolean = exchange.getTagValue(consumer).contains(true)
}
