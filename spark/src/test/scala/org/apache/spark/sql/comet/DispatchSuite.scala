package org.apache.spark.sql.comet

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.apache.spark.{SparkArithmeticException, TaskContext}
import org.apache.spark.memory.MemoryConsumer
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{InternalRow}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.apache.comet.{CometTestBase, Native}

/** Its child's value; nothing that the engine knows, so Spark's own code evaluates it. */
case class Opaque(child: Expression, hook: Any => Unit = Opaque.nothing) extends UnaryExpression with CodegenFallback {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    hook(value)
    value
  }
  override protected def withNewChildInternal(newChild: Expression): Opaque = copy(child = newChild)
}

object Opaque {
  val nothing: Any => Unit = new (Any => Unit) with Serializable { override def apply(v: Any): Unit = () }

  /** What tests of one JVM share with their tasks. */
  val entered = new AtomicInteger
  @volatile var latch = new CountDownLatch(0)
}

/** Spark's own expressions in the middle of native operators, and what may happen while one runs. */
class DispatchSuite extends CometTestBase {
  override protected def sessionConf: Map[String, String] = Map("spark.sql.timeType.enabled" -> "true")

  private def project(child: SparkPlan, exprs: Expression*): CometProjectExec = {
    val list = exprs.zipWithIndex.map {
      case (n: NamedExpression, _) => n
      case (e, i) => Alias(e, s"e$i")()
    }
    CometProjectExec(ProjectExec(list, child), list, child)
  }

  private def filter(child: SparkPlan, condition: Expression): CometFilterExec =
    CometFilterExec(FilterExec(condition, child), condition, child)

  private def rows(rdd: RDD[InternalRow], schema: StructType): Seq[String] =
    RowText.text(RowText.collect(rdd, schema))

  /** Spark's own answer to the same operators. */
  private def same(native: SparkPlan, spark: SparkPlan): Unit =
    assert(rows(NativeStage.rowRDD(native), native.schema) == rows(spark.execute(), spark.schema))

  test("every type goes to Spark's code and back") {
    for (n <- Seq(1, 7, 8192)) withSQLConf("spark.comet.batchSize" -> n.toString) {
      val input = RowsExec.of(AllTypes.schema, AllTypes.rows(60), slices = 2)
      val exprs = input.output.map(a => Opaque(a))
      // In an order of its own, so that each column must find its place.
      val shuffled = exprs.reverse ++ exprs.take(5)
      same(project(input, shuffled: _*), ProjectExec(shuffled.map(e => Alias(e, "x")()), input))
    }
  }

  test("each type by itself") {
    for ((dataType, values) <- AllTypes.all) {
      val schema = StructType(Seq(StructField("c", dataType)))
      val input = RowsExec.of(schema, (values :+ null).map(Row(_)))
      val e = Alias(Opaque(input.output.head), "x")()
      same(project(input, e), ProjectExec(Seq(e), input))
    }
  }

  test("expressions of Spark over all types") {
    val input = RowsExec.of(AllTypes.schema, AllTypes.rows(40))
    val exprs = input.output.flatMap(a => Seq(IsNull(a), Alias(CreateArray(Seq(a, a)), "array")(), Alias(CreateNamedStruct(Seq(Literal("f"), a)), "struct")()))
    val list = exprs.zipWithIndex.map { case (n: NamedExpression, _) => n; case (e, i) => Alias(e, s"e$i")() }
    same(project(input, list: _*), ProjectExec(list, input))
  }

  test("a filter that only Spark evaluates") {
    val input = RowsExec.of(StructType.fromDDL("i INT, s STRING"), (0 until 1000).map(i => Row(i, s"text $i")))
    val condition = EqualTo(Opaque(Remainder(input.output.head, Literal(7), EvalMode.LEGACY)), Literal(3))
    same(filter(input, condition), FilterExec(condition, input))
  }

  test("nondeterministic expressions begin with the partition") {
    val input = RowsExec.of(StructType.fromDDL("i INT"), (0 until 100).map(Row(_)), slices = 3)
    val list = Seq(
      input.output.head,
      Alias(MonotonicallyIncreasingID(), "id")(),
      Alias(SparkPartitionID(), "p")(),
      Alias(Rand(Literal(42L)), "r")()
    )
    for (n <- Seq(1, 8192)) withSQLConf("spark.comet.batchSize" -> n.toString) {
      same(project(input, list: _*), ProjectExec(list, input))
    }
  }

  test("a row that raises: the rows before it come first, and the throwable is Spark's own") {
    val input = RowsExec.of(StructType.fromDDL("i INT"), (0 until 100).map(Row(_)))
    val divide = Divide(Cast(Literal(1), DoubleType), Cast(Subtract(input.output.head, Literal(5)), DoubleType), EvalMode.ANSI)
    val node = project(input, input.output.head, Opaque(divide))
    assert(NativeStage.rowRDD(node).map(_.getInt(0)).take(5).toSeq == (0 until 5))
    val e = intercept[SparkArithmeticException](NativeStage.rowRDD(node).count())
    assert(e.getCondition == "DIVIDE_BY_ZERO")
  }

  test("strings of 10 MB, and more output than one call gives") {
    val big = RowsExec.of(StructType.fromDDL("s STRING, i INT"), (0 until 4).map(i => Row("ab" * (5 << 20), i)))
    same(
      project(big, Opaque(big.output.head), big.output(1)),
      ProjectExec(Seq(Alias(Opaque(big.output.head), "s")(), big.output(1)), big)
    )
    val many = RowsExec.of(StructType.fromDDL("s STRING, i INT"), (0 until 100).map(i => Row(s"$i " * 20000, i)))
    same(
      project(many, Opaque(many.output.head), many.output(1)),
      ProjectExec(Seq(Alias(Opaque(many.output.head), "s")(), many.output(1)), many)
    )
  }

  // ---- what happens in the middle of an upcall


  private def sorted(child: SparkPlan): CometSortExec = {
    val order = Seq(SortOrder(child.output.head, Descending))
    CometSortExec(org.apache.spark.sql.execution.SortExec(order, global = false, child), order, child)
  }

  test("Spark asks for the sort's memory while an upcall of its plan runs") {
    val n = 200000
    val input = RowsExec(
      RowsExec.attributes(StructType.fromDDL("i INT, s STRING")),
      1,
      _ =>
        Iterator.tabulate(n) { i =>
          if (i == n / 2) DispatchSuite.takeEverything()
          InternalRow(i * 7 % n, UTF8String.fromString("some text that is not inline"))
        }
    )
    DispatchSuite.spilledFor.set(0)
    val node = sorted(input)
    val answer = NativeStage.rowRDD(node).map(_.getInt(0)).collect()
    assert(answer.toSeq == (0 until n).reverse)
    assert(DispatchSuite.spilledFor.get > 0)
    assert(node.metrics("spillSize").value > 0)
  }

  // ---- killed tasks

  private def killed(name: String)(node: => SparkPlan): Unit = test(s"a task killed $name leaves nothing") {
    val sc = spark.sparkContext
    Opaque.entered.set(0)
    Opaque.latch = new CountDownLatch(1)
    val group = s"kill-$name"
    @volatile var failure: Throwable = null
    val thread = new Thread(() =>
      try {
        sc.setJobGroup(group, group, interruptOnCancel = true)
        NativeStage.rowRDD(node).count()
      } catch { case e: Throwable => failure = e }
    )
    thread.start()
    val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
    while (Opaque.entered.get == 0 && thread.isAlive && System.nanoTime() < end) Thread.sleep(5)
    assert(Opaque.entered.get > 0)
    sc.cancelJobGroup(group)
    Opaque.latch.countDown()
    thread.join(60000)
    assert(!thread.isAlive)
    assert(failure != null && failure.getMessage.contains("cancelled"))
    while (Native.memoryInUse() != 0 && System.nanoTime() < end) Thread.sleep(20)
    assert(Native.memoryInUse() == 0)
    assert(CometTaskMemory.bufferBytes.get == 0)
    assert(CometTaskMemory.leakedBytes.get == 0)
  }

  private def endless(hook: Int => Unit): RowsExec = RowsExec(
    RowsExec.attributes(StructType.fromDDL("i INT")),
    2,
    _ => Iterator.from(0).map { i => hook(i); InternalRow(i) }
  )

  killed("while it waits for its input")(project(endless(i => if (i == 20000) DispatchSuite.pause()), Literal(1)))

  killed("while a row is dispatched") {
    val input = endless(_ => ())
    project(input, Opaque(input.output.head, v => if (v == 20000) DispatchSuite.pause()))
  }

  killed("while it runs by itself") {
    val input = endless(i => if (i == 20000) Opaque.entered.incrementAndGet())
    filter(input, LessThan(input.output.head, Literal(-1)))
  }

  killed("while it sorts")(sorted(endless(i => if (i == 100000) Opaque.entered.incrementAndGet())))
}

object DispatchSuite {
  val spilledFor = new AtomicLong

  def pause(): Unit = {
    Opaque.entered.incrementAndGet()
    Opaque.latch.await(30, TimeUnit.SECONDS)
    Thread.sleep(100)
  }

  /** Acquires all of the task's memory, as another operator of the same task may. */
  def takeEverything(): Unit = {
    val manager = TaskContext.get().taskMemoryManager()
    val consumer = new MemoryConsumer(manager, manager.getTungstenMemoryMode) {
      override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
    }
    val native = CometTaskMemory.of(TaskContext.get())
    val before = native.getUsed
    val got = consumer.acquireMemory(2L << 30)
    spilledFor.set(before - native.getUsed)
    consumer.freeMemory(got)
  }
}
