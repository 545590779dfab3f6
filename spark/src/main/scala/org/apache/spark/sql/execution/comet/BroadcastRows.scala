package org.apache.spark.sql.execution.comet

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{EmptyHashedRelation, HashedRelation, HashedRelationWithAllNullKeys, LongHashedRelation}
import org.apache.spark.sql.types.DataType

/**
 * The rows of a Spark broadcast, for a native operator that reads them whole. In this package because Spark keeps its
 * hashed relations to itself.
 *
 * @param value a `HashedRelation`, or an array of rows (IdentityBroadcastMode)
 */
final class BroadcastRows private (value: Broadcast[Any]) extends Serializable {

  /**
   * Every row of the build side that can match, in no order; rows with null keys are not in a hashed relation. The
   * relation of a null-aware anti join that has a null key is one row of nulls: its one key is null.
   */
  def iterator(types: Array[DataType]): Iterator[InternalRow] = value.value match {
    case rows: Array[_] => rows.iterator.asInstanceOf[Iterator[InternalRow]]
    case EmptyHashedRelation => Iterator.empty
    case HashedRelationWithAllNullKeys =>
      Iterator.single(UnsafeProjection.create(types)(new GenericInternalRow(types.length)))
    case long: LongHashedRelation =>
      val copy = long.asReadOnlyCopy()
      copy.keys().flatMap(key => copy.get(key.getLong(0)))
    case relation: HashedRelation => relation.asReadOnlyCopy().valuesWithKeyIndex().map(_.getValue)
    case other => throw new IllegalStateException(s"a broadcast of ${other.getClass.getName}")
  }
}

object BroadcastRows {

  /** What `plan`, a broadcast exchange however it is wrapped, has broadcast. */
  def of(plan: SparkPlan): BroadcastRows = new BroadcastRows(plan.executeBroadcast[Any]())
}
