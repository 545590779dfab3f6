package org.apache.spark.sql.comet

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.types._

import org.apache.comet.CometTestBase

/** A type of a user's, whose values only Spark's own code can look at. */
case class Point(x: Double, y: Double)

class PointType extends UserDefinedType[Point] {
  override def sqlType: DataType = StructType(Seq(StructField("x", DoubleType), StructField("y", DoubleType)))
  override def serialize(p: Point): InternalRow = new GenericInternalRow(Array[Any](p.x, p.y))
  override def deserialize(datum: Any): Point = datum match {
    case row: InternalRow => Point(row.getDouble(0), row.getDouble(1))
  }
  override def userClass: Class[Point] = classOf[Point]
}

class UserTypeSuite extends CometTestBase {
  override def beforeAll(): Unit = {
    super.beforeAll()
    if (!UDTRegistration.exists(classOf[Point].getName)) UDTRegistration.register(classOf[Point].getName, classOf[PointType].getName)
    withSQLConf("spark.comet.enabled" -> "false")(sql("CREATE TABLE points USING parquet AS SELECT id, id % 5 AS k FROM range(50)"))
  }

  override def afterAll(): Unit = {
    sql("DROP TABLE IF EXISTS points")
    super.afterAll()
  }

  test("a value of a user's type keeps what it is through joins, sorts, unions, limits and exchanges") {
    val point = udf((id: Long) => Point(id.toDouble, -id.toDouble))
    def points = spark.table("points").select(col("id"), col("k"), point(col("id")).as("p"))
    def keys = spark.table("points").where("id < 3").select(col("k").as("j"))
    checkSparkAnswer(points.join(org.apache.spark.sql.functions.broadcast(keys), col("k") === col("j")))
    withSQLConf("spark.sql.autoBroadcastJoinThreshold" -> "-1")(checkSparkAnswer(points.join(keys, col("k") === col("j"))))
    checkSparkAnswer(points.sortWithinPartitions("k", "id"))
    checkSparkAnswer(points.orderBy(col("id").desc).limit(7))
    checkSparkAnswer(points.unionAll(points).limit(9))
    checkSparkAnswer(points.repartition(3, col("k")).select("p"))
    checkSparkAnswer(points.groupBy("k").agg(org.apache.spark.sql.functions.first("p")))
    checkSparkAnswer(points.select(org.apache.spark.sql.functions.array(col("p")).as("ps"), col("id")).orderBy("id"))
  }
}
