package org.apache.comet.vector;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of a native batch, read in place: a view of a {@code hly_export_column} (engine/include/halley/host.h).
 *
 * <p>The memory is the plan's. It is valid until the plan is asked for its next batch, and the same object is
 * then pointed to the next column, as Spark's own vectorised readers do.
 */
public final class CometVector extends ColumnVector {
  // Offsets in hly_export_column.
  private static final int VALIDITY = 8;
  private static final int VALUES = 16;
  private static final int CHILDREN = 24;
  private static final int N_ROWS = 32;
  private static final int COLUMN_BYTES = 40;

  private static final int VIEW_BYTES = 16;
  private static final int INLINE_BYTES = 12;

  private final CometVector[] children;
  private final boolean nullType;
  // Bytes from one value to the next, and of this vector's part in it: more than the value where the vector is a
  // part of an interval or a variant.
  private final int stride;

  private long validity;
  private long values;
  private int nRows;
  private int nNulls = -1; // counted when first asked for

  public CometVector(DataType type) {
    this(type, 0);
  }

  private CometVector(DataType type, int stride) {
    super(type);
    this.stride = stride;
    this.nullType = type.sameType(DataTypes.NullType);
    if (type instanceof ArrayType array) {
      children = new CometVector[] {new CometVector(array.elementType())};
    } else if (type instanceof MapType map) {
      children = new CometVector[] {new CometVector(map.keyType()), new CometVector(map.valueType())};
    } else if (type instanceof StructType struct) {
      children = new CometVector[struct.length()];
      for (int i = 0; i < children.length; i++) {
        children[i] = new CometVector(struct.apply(i).dataType());
      }
    } else if (type.sameType(DataTypes.CalendarIntervalType)) {
      children =
          new CometVector[] {
            new CometVector(DataTypes.IntegerType, 16),
            new CometVector(DataTypes.IntegerType, 16),
            new CometVector(DataTypes.LongType, 16)
          };
    } else if (type instanceof org.apache.spark.sql.types.VariantType) {
      children =
          new CometVector[] {
            new CometVector(DataTypes.BinaryType, 2 * VIEW_BYTES), new CometVector(DataTypes.BinaryType, 2 * VIEW_BYTES)
          };
    } else {
      children = new CometVector[0];
    }
  }

  /** Points the vector to the {@code hly_export_column} at {@code address}. */
  public void pointTo(long address) {
    validity = Platform.getLong(null, address + VALIDITY);
    values = Platform.getLong(null, address + VALUES);
    nRows = (int) Platform.getLong(null, address + N_ROWS);
    nNulls = -1;
    if (children.length == 0) {
      return;
    }
    if (type instanceof ArrayType || type instanceof MapType || type instanceof StructType) {
      long child = Platform.getLong(null, address + CHILDREN);
      for (int i = 0; i < children.length; i++) {
        children[i].pointTo(child + (long) i * COLUMN_BYTES);
      }
    } else if (children.length == 3) {
      children[0].part(this, 0);
      children[1].part(this, 4);
      children[2].part(this, 8);
    } else {
      children[0].part(this, 0);
      children[1].part(this, VIEW_BYTES);
    }
  }

  private void part(CometVector whole, int offset) {
    validity = whole.validity;
    values = whole.values + offset;
    nRows = whole.nRows;
    nNulls = -1;
  }

  /** The size in bytes of a {@code hly_export_column}. */
  public static long columnBytes() {
    return COLUMN_BYTES;
  }

  private long at(int rowId, int size) {
    return values + (long) rowId * (stride == 0 ? size : stride);
  }

  /** Nothing: the plan owns the memory. */
  @Override
  public void close() {}

  @Override
  public boolean hasNull() {
    return numNulls() > 0;
  }

  @Override
  public int numNulls() {
    if (nNulls < 0) {
      int valid = nullType ? 0 : nRows;
      if (!nullType && validity != 0) {
        valid = 0;
        int words = nRows >>> 6;
        for (int i = 0; i < words; i++) {
          valid += Long.bitCount(Platform.getLong(null, validity + 8L * i));
        }
        if ((nRows & 63) != 0) {
          valid += Long.bitCount(Platform.getLong(null, validity + 8L * words) & ((1L << (nRows & 63)) - 1));
        }
      }
      nNulls = nRows - valid;
    }
    return nNulls;
  }

  @Override
  public boolean isNullAt(int rowId) {
    if (validity == 0) {
      return nullType;
    }
    return (Platform.getByte(null, validity + (rowId >>> 3)) >>> (rowId & 7) & 1) == 0;
  }

  @Override
  public boolean getBoolean(int rowId) {
    return Platform.getByte(null, at(rowId, 1)) != 0;
  }

  @Override
  public byte getByte(int rowId) {
    return Platform.getByte(null, at(rowId, 1));
  }

  @Override
  public short getShort(int rowId) {
    return Platform.getShort(null, at(rowId, 2));
  }

  @Override
  public int getInt(int rowId) {
    return Platform.getInt(null, at(rowId, 4));
  }

  @Override
  public long getLong(int rowId) {
    return Platform.getLong(null, at(rowId, 8));
  }

  @Override
  public float getFloat(int rowId) {
    return Platform.getFloat(null, at(rowId, 4));
  }

  @Override
  public double getDouble(int rowId) {
    return Platform.getDouble(null, at(rowId, 8));
  }

  @Override
  public ColumnarArray getArray(int rowId) {
    if (isNullAt(rowId)) {
      return null;
    }
    long span = at(rowId, 8);
    return new ColumnarArray(children[0], Platform.getInt(null, span), Platform.getInt(null, span + 4));
  }

  @Override
  public ColumnarMap getMap(int rowId) {
    if (isNullAt(rowId)) {
      return null;
    }
    long span = at(rowId, 8);
    return new ColumnarMap(
        children[0], children[1], Platform.getInt(null, span), Platform.getInt(null, span + 4));
  }

  @Override
  public Decimal getDecimal(int rowId, int precision, int scale) {
    if (isNullAt(rowId)) {
      return null;
    }
    // The layout follows the column's own precision, whatever the caller reads it as.
    if (((DecimalType) type).precision() <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(Platform.getLong(null, at(rowId, 8)), precision, scale);
    }
    long address = at(rowId, 16);
    byte[] bytes = new byte[16]; // little-endian in memory, big-endian to BigInteger
    long low = Platform.getLong(null, address);
    long high = Platform.getLong(null, address + 8);
    for (int i = 0; i < 8; i++) {
      bytes[7 - i] = (byte) (high >>> 8 * i);
      bytes[15 - i] = (byte) (low >>> 8 * i);
    }
    java.math.BigDecimal value = new java.math.BigDecimal(new java.math.BigInteger(bytes), scale);
    return Decimal.apply(value, precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int rowId) {
    if (isNullAt(rowId)) {
      return null;
    }
    long view = at(rowId, VIEW_BYTES);
    int length = Platform.getInt(null, view);
    return UTF8String.fromAddress(null, length <= INLINE_BYTES ? view + 4 : Platform.getLong(null, view + 8), length);
  }

  @Override
  public byte[] getBinary(int rowId) {
    if (isNullAt(rowId)) {
      return null;
    }
    long view = at(rowId, VIEW_BYTES);
    int length = Platform.getInt(null, view);
    byte[] out = new byte[length];
    Platform.copyMemory(
        null,
        length <= INLINE_BYTES ? view + 4 : Platform.getLong(null, view + 8),
        out,
        Platform.BYTE_ARRAY_OFFSET,
        length);
    return out;
  }

  @Override
  public CometVector getChild(int ordinal) {
    return children[ordinal];
  }
}
