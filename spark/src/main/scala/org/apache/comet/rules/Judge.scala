package org.apache.comet.rules

import java.security.MessageDigest
import java.util.{Collections, LinkedHashMap, Map => JMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import com.google.protobuf.ByteString

import org.apache.spark.internal.Logging
import org.apache.spark.sql.comet.{CometNativeExec, CometPlan}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec}
import org.apache.spark.sql.internal.SQLConf

import org.apache.comet.{Native, NativeLibrary, plan}
import org.apache.comet.export.{ExportContext, SessionConf, TypeExport}

/**
 * Says of each node of a plan whether the engine can run it, by asking the engine: one call for the whole plan, each
 * node over inputs of which only the schema is known. The code that answers is the code that opens the plan later.
 *
 * @param bind a serialized `BindRequest` to a serialized `BindResponse`
 */
final class Judge(bind: Array[Byte] => Array[Byte]) extends Logging {

  // By a digest of the message, which can be long: AQE plans the same nodes again and again. Access order, so that
  // the oldest goes first.
  private val known: JMap[ByteString, Verdict] = Collections.synchronizedMap(
    new LinkedHashMap[ByteString, Verdict](256, 0.75f, true) {
      override def removeEldestEntry(eldest: JMap.Entry[ByteString, Verdict]): Boolean = size() > Judge.MaxKnown
    }
  )

  /** Leaves a verdict on every node. */
  def judge(root: SparkPlan, conf: SQLConf): Unit = judge(Judge.nodes(root), root, conf)

  /** Leaves a verdict on every node that has none: what was added to the plan after it was judged. */
  def judgeRest(root: SparkPlan, conf: SQLConf): Unit = {
    val rest = Judge.nodes(root).filter(Verdict.of(_).isEmpty)
    if (rest.nonEmpty) judge(rest, root, conf)
  }

  private def judge(nodes: Seq[SparkPlan], root: SparkPlan, conf: SQLConf): Unit = {
    val settings = SessionConf.entries(conf).asJava
    val settingsBytes = plan.BindRequest.newBuilder().addAllConf(settings).build().toByteString
    val open = mutable.ArrayBuffer.empty[(SparkPlan, ByteString, plan.Plan)]
    nodes.foreach { p =>
      NativeOperators.of(p) match {
        case None => Verdict.set(p, Verdict.refused(s"${Judge.nameOf(p)} has no native counterpart"))
        case Some(op) =>
          val reasons = op.reasons(conf)
          if (reasons.nonEmpty) Verdict.set(p, Verdict.refused(reasons: _*))
          else
            Try(op.message().map(Judge.message)) match {
              case Failure(e) =>
                logWarning(s"${Judge.nameOf(p)} could not be exported", e)
                Verdict.set(p, Verdict.refused(s"${Judge.nameOf(p)} could not be exported: $e"))
              case Success(None) => Verdict.set(p, Verdict.bound)
              case Success(Some(message)) =>
                val key = Judge.digest(message, settingsBytes)
                Option(known.get(key)) match {
                  case Some(verdict) => Verdict.set(p, verdict)
                  case None => open += ((p, key, message))
                }
            }
      }
    }
    if (open.nonEmpty) ask(open.toSeq, settings)
    Judge.markConsumers(root)
  }

  private def ask(open: Seq[(SparkPlan, ByteString, plan.Plan)], settings: java.util.List[plan.Config]): Unit = {
    val request = plan.BindRequest.newBuilder().setVersion(NativeLibrary.jarVersion()).addAllConf(settings)
    open.foreach { case (_, _, message) => request.addNodes(message) }
    val response = plan.BindResponse.parseFrom(bind(request.build().toByteArray))
    require(response.getVerdictsCount == open.size, "the engine judged another number of nodes than it was asked about")
    open.zip(response.getVerdictsList.asScala).foreach { case ((p, key, _), v) =>
      val verdict = Verdict(v.getBound, v.getReasonsList.asScala.toSeq, v.getDispatchedList.asScala.toSeq)
      known.put(key, verdict)
      Verdict.set(p, verdict)
    }
  }
}

object Judge {
  private val MaxKnown = 4096

  /** The judge that asks the engine; its answers are good for the whole process. */
  lazy val native: Judge = new Judge(request => Native.bind(request))

  /** The nodes that a verdict can be on: not those that only frame others, and nothing behind them. */
  def nodes(root: SparkPlan): Seq[SparkPlan] = root match {
    case _: AdaptiveSparkPlanExec | _: QueryStageExec | _: ReusedExchangeExec => Nil
    case p: CometPlan => p.children.flatMap(nodes)
    case p: AQEShuffleReadExec => p.children.flatMap(nodes)
    case p => p +: p.children.flatMap(nodes)
  }

  def nameOf(p: SparkPlan): String = p.nodeName.trim

  private def digest(message: plan.Plan, settings: ByteString): ByteString = {
    val sha = MessageDigest.getInstance("SHA-256")
    sha.update(settings.toByteArray)
    ByteString.copyFrom(sha.digest(message.toByteArray))
  }

  /** A node alone: its inputs are rows that come from somewhere. */
  def message(node: CometNativeExec): plan.Plan = {
    val ctx = new ExportContext
    val out = node.exportNode(ctx).setId(0)
    node.children.zipWithIndex.foreach { case (child, i) =>
      val input = plan.Plan.newBuilder().setId(i + 1).setJvmInput(plan.JvmInput.getDefaultInstance)
      child.output.foreach(a => input.addOutput(TypeExport.attribute(a)))
      out.addInputs(input)
    }
    node.output.foreach(a => out.addOutput(TypeExport.attribute(a)))
    out.build()
  }

  /** Tells each exchange whether what reads it can be native: once it is a stage of its own it cannot see that. */
  private def markConsumers(p: SparkPlan): Unit = p.children.foreach { c =>
    c match {
      case e @ (_: ShuffleExchangeExec | _: BroadcastExchangeExec) =>
        val native = p match {
          case _: CometPlan => true
          case _ => Verdict.of(p).exists(_.bound)
        }
        Verdict.setNativeConsumer(e, native)
      case _ =>
    }
    markConsumers(c)
  }
}
