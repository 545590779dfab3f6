package org.apache.spark.sql.comet

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.execution.vectorized.{OffHeapColumnVector, OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.UTF8String

import org.apache.comet.CometTestBase

/** Rows and foreign batches into a native plan, and out of it as rows and as vectors. */
class NativeStageSuite extends CometTestBase {
  import RowText._

  override protected def sessionConf: Map[String, String] = Map("spark.sql.timeType.enabled" -> "true")

  private def columnsAsRows(rdd: RDD[ColumnarBatch]): RDD[InternalRow] =
    rdd.mapPartitions(RowHostInput.ofBatches)

  private def check(schema: StructType, rows: Seq[Row]): Unit = {
    // Through Spark's own conversions and nothing else.
    val toCatalyst = CatalystTypeConverters.createToCatalystConverter(schema)
    val toScala = CatalystTypeConverters.createToScalaConverter(schema)
    val expected = text(rows.map(r => toScala(toCatalyst(r)).asInstanceOf[Row]))
    val node = RowsExec.of(schema, rows)
    assert(text(collect(NativeStage.rowRDD(node), schema)) == expected)
    assert(text(collect(columnsAsRows(NativeStage.columnarRDD(node)), schema)) == expected)
  }

  for ((dataType, values) <- AllTypes.all) {
    test(s"${dataType.simpleString} comes through as row and as vector") {
      val schema = StructType(Seq(StructField("c", dataType)))
      check(schema, (values :+ null).map(Row(_)))
      check(schema, values.map(Row(_)))
      check(schema, Seq(Row(null)))
    }
  }

  test("all types at once, in batches of 1, 7 and 8192 rows") {
    for (n <- Seq(1, 7, 8192)) withSQLConf("spark.comet.batchSize" -> n.toString) {
      check(AllTypes.schema, AllTypes.rows(100))
    }
  }

  test("variants") {
    val df = sql("SELECT parse_json(s) AS v FROM VALUES ('{\"a\": [1, \"two\", null]}'), ('12.5'), (null) AS t(s)")
    val rows = df.queryExecution.executedPlan.execute().map(_.copy()).collect()
    val schema = df.schema
    val node = RowsExec(RowsExec.attributes(schema), 1, _ => rows.iterator)
    val expected = rows.toSeq.map(r => if (r.isNullAt(0)) "null" else r.getVariant(0).toString)
    def shown(rdd: RDD[InternalRow]) =
      rdd.map(r => if (r.isNullAt(0)) "null" else r.getVariant(0).toString).collect().toSeq
    assert(shown(NativeStage.rowRDD(node)) == expected)
    assert(shown(columnsAsRows(NativeStage.columnarRDD(node))) == expected)
  }

  test("no rows, no columns") {
    check(AllTypes.schema, Nil)
    val none = RowsExec(Nil, 2, _ => Iterator.fill(1000)(InternalRow.empty))
    assert(NativeStage.rowRDD(none).count() == 2000)
    assert(NativeStage.columnarRDD(none).map(_.numRows().toLong).collect().sum == 2000)
  }

  test("a string of 10 MB") {
    val big = "x" * (10 << 20)
    check(StructType.fromDDL("a STRING, b INT"), Seq(Row(big, 1), Row("y", 2), Row(big, 3)))
  }

  // ---- vectors that are not ours

  private def checkBatches(schema: StructType, rows: Seq[Row])(make: () => Iterator[ColumnarBatch]): Unit = {
    val node = BatchesExec(RowsExec.attributes(schema), make)
    assert(text(collect(NativeStage.rowRDD(node), schema)) == text(rows))
  }

  test("on-heap and off-heap vectors") {
    import SmallRows.{rows, schema}
    checkBatches(schema, rows ++ rows) { () =>
      Iterator.fill(2) {
        val vectors = OnHeapColumnVector.allocateColumns(SmallRows.rows.length, SmallRows.schema)
        SmallRows.fill(vectors)
        new ColumnarBatch(vectors.toArray[ColumnVector], SmallRows.rows.length)
      }
    }
    checkBatches(schema, rows) { () =>
      val vectors = OffHeapColumnVector.allocateColumns(SmallRows.rows.length, SmallRows.schema)
      SmallRows.fill(vectors)
      org.apache.spark.TaskContext.get().addTaskCompletionListener[Unit](_ => vectors.foreach(_.close()))
      Iterator(new ColumnarBatch(vectors.toArray[ColumnVector], SmallRows.rows.length))
    }
  }

  test("constant vectors") {
    checkBatches(StructType.fromDDL("i INT, s STRING, n INT"), Seq.fill(3)(Row(7, "partition value", null))) { () =>
      val i = new ConstantColumnVector(3, IntegerType)
      i.setInt(7)
      val s = new ConstantColumnVector(3, StringType)
      s.setUtf8String(UTF8String.fromString("partition value"))
      val n = new ConstantColumnVector(3, IntegerType)
      n.setNull()
      Iterator(new ColumnarBatch(Array[ColumnVector](i, s, n), 3))
    }
  }

  test("Arrow vectors") {
    checkBatches(StructType.fromDDL("i INT, s STRING"), Seq(Row(5, "arrow"), Row(null, null))) { () =>
      import org.apache.arrow.vector.{IntVector, VarCharVector}
      val allocator = ArrowUtils.rootAllocator.newChildAllocator("test", 0, Long.MaxValue)
      val i = new IntVector("i", allocator)
      i.allocateNew(2)
      i.set(0, 5)
      i.setNull(1)
      i.setValueCount(2)
      val s = new VarCharVector("s", allocator)
      s.allocateNew(2)
      s.setSafe(0, "arrow".getBytes("UTF-8"))
      s.setNull(1)
      s.setValueCount(2)
      val batch = new ColumnarBatch(Array[ColumnVector](new ArrowColumnVector(i), new ArrowColumnVector(s)), 2)
      org.apache.spark.TaskContext.get().addTaskCompletionListener[Unit] { _ =>
        batch.close()
        allocator.close()
      }
      Iterator(batch)
    }
  }

  // ---- errors and the end of tasks

  test("rows before one that raises come first, and what it raised comes as it is") {
    class Own extends RuntimeException("mine")
    val node = RowsExec(
      RowsExec.attributes(StructType.fromDDL("i INT")),
      1,
      _ => Iterator.tabulate(10)(i => if (i == 5) throw new Own else InternalRow(i))
    )
    assert(NativeStage.rowRDD(node).map(_.getInt(0)).take(5).toSeq == (0 until 5))
    val e = intercept[org.apache.spark.SparkException](NativeStage.rowRDD(node).count())
    assert(e.getCause.isInstanceOf[Own])
  }

  test("nothing is left of a plan that was not pulled to its end") {
    val node = RowsExec.of(AllTypes.schema, AllTypes.rows(5000), slices = 2)
    assert(NativeStage.rowRDD(node).map(_ => 1).take(3).length == 3)
    assert(NativeStage.columnarRDD(node).mapPartitions(_.take(1).map(_.numRows())).collect().length == 2)
    assert(org.apache.comet.Native.memoryInUse() == 0)
    assert(CometTaskMemory.bufferBytes.get == 0)
    assert(CometTaskMemory.leakedBytes.get == 0)
  }

  test("two plans nested in one task share its memory") {
    val node = RowsExec.of(AllTypes.schema, AllTypes.rows(300), slices = 2)
    val inner = NativeStage.columnarRDD(node)
    val outer = NativeStage.rowRDD(new ColumnarRDDExec(node.output, inner))
    assert(outer.count() == 300)
  }
}

private object SmallRows {
  val schema: StructType = StructType.fromDDL("i INT, s STRING, d DECIMAL(20, 2), a ARRAY<INT>")
  val rows: Seq[Row] = Seq(
    Row(1, "a longer string than twelve", new java.math.BigDecimal("12.34"), Seq(1, 2)),
    Row(null, null, null, null),
    Row(3, "", new java.math.BigDecimal("-999999999999999999.99"), Seq.empty)
  )

  def fill(vectors: Array[_ <: WritableColumnVector]): Unit =
    rows.zipWithIndex.foreach { case (row, r) =>
      if (row.isNullAt(0)) vectors.foreach(_.putNull(r))
      else {
        vectors(0).putInt(r, row.getInt(0))
        val bytes = row.getString(1).getBytes("UTF-8")
        vectors(1).putByteArray(r, bytes, 0, bytes.length)
        vectors(2).putDecimal(r, Decimal(row.getDecimal(2), 20, 2), 20)
        val elements = row.getSeq[Int](3)
        val child = vectors(3).getChild(0)
        vectors(3).putArray(r, child.getElementsAppended, elements.length)
        elements.foreach(child.appendInt)
      }
    }
}

/** Batches of an RDD that is there already. */
class ColumnarRDDExec(override val output: Seq[org.apache.spark.sql.catalyst.expressions.Attribute], rdd: RDD[ColumnarBatch])
    extends org.apache.spark.sql.execution.LeafExecNode {
  override def supportsColumnar: Boolean = true
  override protected def doExecute(): RDD[InternalRow] = throw new UnsupportedOperationException
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = rdd
  override def productArity: Int = 0
  override def productElement(n: Int): Any = throw new IndexOutOfBoundsException
  override def canEqual(that: Any): Boolean = this eq that.asInstanceOf[AnyRef]
}
