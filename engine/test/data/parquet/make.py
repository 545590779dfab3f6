#!/usr/bin/env python3
"""Makes the golden Parquet files of test_parquet_scan.c and what Spark reads from them.

Needs pyspark (the version the engine follows), pyarrow and duckdb. Each case is NAME.parquet and NAME.txt: the first
line of the text is the schema asked for, then one line a row in the form of test_value_text (type_text.h). Cases whose
encoding Spark does not read take their rows from pyarrow.
"""
import datetime
import decimal
import glob
import os
import shutil
import struct
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

HERE = os.path.dirname(os.path.abspath(__file__))
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    .config("spark.sql.parquet.int96RebaseModeInRead", "CORRECTED")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")


def expression(field):
    """SQL that turns a column into what test_value_text prints, as a string or a number."""
    n, t = "`%s`" % field.name, field.dataType.simpleString()
    if t == "string":
        return "concat('x', lower(hex(%s)))" % n
    if t == "binary":
        return "concat('x', lower(hex(%s)))" % n
    if t == "date":
        return "unix_date(%s)" % n
    if t == "timestamp":
        return "unix_micros(%s)" % n
    if t == "timestamp_ntz":
        return "unix_micros(cast(%s as timestamp))" % n
    return n


def text(value, t):
    if value is None:
        return "null"
    if t == "float":
        return "%08x" % struct.unpack("<I", struct.pack("<f", value))
    if t == "double":
        return "%016x" % struct.unpack("<Q", struct.pack("<d", value))
    if t == "boolean":
        return "true" if value else "false"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return str(value)


def expect(name, schema=None, same_as=None):
    """Writes NAME.txt: what Spark reads from NAME.parquet under `schema` (default: its own). With `same_as` only checks
    that it is what another case has."""
    path = os.path.join(HERE, name.split("@")[0] + ".parquet")
    reader = spark.read.schema(schema) if schema else spark.read
    frame = reader.parquet(path)
    fields = frame.schema.fields
    rows = frame.selectExpr(*["%s as `%s`" % (expression(f), f.name) for f in fields]).collect()
    lines = ["struct<%s>" % ",".join("%s:%s" % (f.name, f.dataType.simpleString()) for f in fields)]
    lines += ["\t".join(text(row[i], f.dataType.simpleString()) for i, f in enumerate(fields)) for row in rows]
    content = "\n".join(lines) + "\n"
    if same_as:
        assert content == open(os.path.join(HERE, same_as + ".txt")).read(), name
        return
    with open(os.path.join(HERE, name + ".txt"), "w") as out:
        out.write(content)


def write(name, table, **options):
    pq.write_table(table, os.path.join(HERE, name + ".parquet"), store_schema=False, **options)


def spark_write(name, frame, **options):
    tmp = "/tmp/halley_golden"
    shutil.rmtree(tmp, ignore_errors=True)
    w = frame.coalesce(1).write
    for k, v in options.items():
        w = w.option(k.replace("__", "."), v)
    w.parquet(tmp)
    shutil.copy(glob.glob(tmp + "/part-*.parquet")[0], os.path.join(HERE, name + ".parquet"))


def D(text):
    return decimal.Decimal(text)


def all_types(n, nulls):
    def some(f):
        return [None if nulls and i % 7 in (2, 5) else f(i) for i in range(n)]

    return pa.table(
        {
            "b": pa.array(some(lambda i: i % 3 == 0), pa.bool_()),
            "i8": pa.array(some(lambda i: i % 256 - 128), pa.int8()),
            "i16": pa.array(some(lambda i: i * 37 % 65536 - 32768), pa.int16()),
            "i32": pa.array(some(lambda i: (i * 2654435761) % 2**32 - 2**31), pa.int32()),
            "i64": pa.array(some(lambda i: (i * 11400714819323198485) % 2**64 - 2**63), pa.int64()),
            "f": pa.array(some(lambda i: [0.0, -0.0, float("inf"), float("nan"), i / 3][i % 5]), pa.float32()),
            "d": pa.array(some(lambda i: [0.0, -0.0, float("-inf"), float("nan"), i / 7][i % 5]), pa.float64()),
            "d9": pa.array(some(lambda i: D(i * 997 % 10**7) / 100), pa.decimal128(9, 2)),
            "d18": pa.array(some(lambda i: D(-i) * 10**9 / 10**4), pa.decimal128(18, 4)),
            "d38": pa.array(some(lambda i: D((-1) ** i * i) * 10**20), pa.decimal128(38, 6)),
            "day": pa.array(some(lambda i: i * 101 - 20000), pa.date32()),
            "us": pa.array(some(lambda i: i * 86399999999 - 10**15), pa.timestamp("us", "UTC")),
            "ms": pa.array(some(lambda i: i * 86399999 - 10**12), pa.timestamp("ms", "UTC")),
            "ntz": pa.array(some(lambda i: i * 1234567891), pa.timestamp("us")),
            "s": pa.array(some(lambda i: "value %d" % (i % 11) * (i % 4)), pa.string()),
            "bin": pa.array(some(lambda i: bytes([i % 256]) * (i % 20)), pa.binary()),
        }
    )


def main():
    few, nulls = all_types(100, False), all_types(100, True)
    # Codecs, page versions, page sizes that make batches cross pages.
    write("types", nulls, compression="none", data_page_size=300)
    expect("types")
    for codec in ["snappy", "zstd", "gzip", "lz4"]:
        columns = ["i64", "d38", "s", "b"]
        write("codec_" + codec, few.select(columns), compression=codec, data_page_size=300)
        expect("codec_" + codec, same_as=None if codec == "snappy" else "codec_snappy")
    write("types_v2", nulls, compression="snappy", data_page_version="2.0", data_page_size=700)
    expect("types_v2", same_as="types")
    write("types_v2_plain", nulls, compression="none", data_page_version="2.0", data_page_size=700, use_dictionary=False)
    expect("types_v2_plain", same_as="types")
    write("types_plain", nulls, compression="snappy", use_dictionary=False, data_page_size=900)
    expect("types_plain", same_as="types")
    # A dictionary that grows too large half-way.
    strings = ["a longer string, %d" % (i if i > 200 else i % 5) for i in range(300)]
    write(
        "fallback",
        pa.table({"s": strings, "n": pa.array([i if i > 200 else i % 3 for i in range(300)], pa.int64())}),
        compression="snappy",
        dictionary_pagesize_limit=500,
        data_page_size=400,
        write_batch_size=32,
    )
    expect("fallback")
    # Delta encodings.
    n = 150
    delta = pa.table(
        {
            "i": pa.array([None if i % 9 == 4 else i * i - 7 * i for i in range(n)], pa.int32()),
            "l": pa.array([(i * 2654435761) ** 2 % 2**63 * (-1) ** i for i in range(n)], pa.int64()),
            "len": pa.array([None if i % 10 == 3 else "x" * (i % 17) + str(i) for i in range(n)]),
            "pre": pa.array(["prefix/%04d/and/%d" % (i // 10, i) for i in range(n)]),
        }
    )
    write(
        "delta",
        delta,
        use_dictionary=False,
        compression="zstd",
        data_page_size=300,
        column_encoding={
            "i": "DELTA_BINARY_PACKED",
            "l": "DELTA_BINARY_PACKED",
            "len": "DELTA_LENGTH_BYTE_ARRAY",
            "pre": "DELTA_BYTE_ARRAY",
        },
    )
    expect("delta")
    # Byte stream split: Spark does not read it, the rows are pyarrow's.
    split = pa.table(
        {
            "f": pa.array([None if i % 8 == 1 else i / 3 for i in range(n)], pa.float32()),
            "d": pa.array([i / 7 for i in range(n)], pa.float64()),
            "i": pa.array([i * 3 for i in range(n)], pa.int32()),
            "l": pa.array([i**5 for i in range(n)], pa.int64()),
            "fix": pa.array([None if i % 5 == 0 else b"%05d" % i for i in range(n)], pa.binary(5)),
        }
    )
    write(
        "split",
        split,
        use_dictionary=False,
        compression="snappy",
        column_encoding={c: "BYTE_STREAM_SPLIT" for c in split.column_names},
    )
    with open(os.path.join(HERE, "split.txt"), "w") as out:
        out.write("struct<f:float,d:double,i:int,l:bigint,fix:binary>\n")
        kinds = ["float", "double", "int", "bigint", "binary"]
        for row in zip(*[split[c].to_pylist() for c in split.column_names]):
            cells = [("x" + v.hex()) if isinstance(v, bytes) else text(v, k) for v, k in zip(row, kinds)]
            out.write("\t".join(cells) + "\n")
    # Spark's own files: INT96, legacy decimals, booleans in RLE (v2).
    frame = spark.range(100).selectExpr(
        "id",
        "if(id % 5 = 0, null, timestamp_seconds(id * 86399 - 1000000000)) as t",
        "cast(id * 1.01 as decimal(7,2)) as d7",
        "cast(id * -1.01 as decimal(15,3)) as d15",
        "cast(id * 12345678901234567890.5 as decimal(30,1)) as d30",
        "id % 3 = 0 or id > 75 as b",
        "if(id % 4 = 0, null, concat('name ', id % 6)) as s",
        "cast(id as tinyint) as i8",
    )
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
    spark_write("spark_int96", frame)
    expect("spark_int96")
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", "false")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    spark_write("spark_v2", frame, parquet__writer__version="PARQUET_2_0")
    expect("spark_v2")
    # Unsigned integers, and what Spark allows to be read as something wider.
    unsigned = pa.table(
        {
            "u8": pa.array([0, 200, 255, None], pa.uint8()),
            "u16": pa.array([0, 40000, 65535, None], pa.uint16()),
            "u32": pa.array([0, 3000000000, 2**32 - 1, None], pa.uint32()),
            "u64": pa.array([0, 2**63 + 5, 2**64 - 1, None], pa.uint64()),
        }
    )
    write("unsigned", unsigned)
    expect("unsigned")
    wide = pa.table(
        {
            "i": pa.array([1, -2, None, 2**31 - 1, 300, -2**31], pa.int32()),
            "l": pa.array([1, -2, None, 2**63 - 1, 300, -2**63], pa.int64()),
            "f": pa.array([1.5, -0.0, None, 3.4e38, 0.1, -1.0], pa.float32()),
            "day": pa.array([0, -1, None, 18000, 2932896, -719162], pa.date32()),
            "d92": pa.array([D("1.25"), D("-2.50"), None, D("9999999.99"), D("0"), D("0.01")], pa.decimal128(9, 2)),
            "d184": pa.array([D("1.25"), D("-2.5"), None, D("99999999999999.9999"), D("0"), D("1")], pa.decimal128(18, 4)),
            "d204": pa.array([D("1.25"), D("-2.5"), None, D("9999999999999999.9999"), D("0"), D("1")], pa.decimal128(20, 4)),
        }
    )
    write("wide", wide, store_decimal_as_integer=True)
    expect("wide@1", "i bigint, l decimal(20,0), f double, day timestamp_ntz, d92 decimal(12,4), d184 decimal(20,4), d204 decimal(22,6)")
    expect("wide@2", "i double, l decimal(25,3), f double, day date, d92 decimal(20,2), d184 decimal(38,10), d204 decimal(38,4)")
    expect("wide@3", "i decimal(12,2), l bigint, f float, day int, d92 decimal(9,2), d184 decimal(18,4), missing string")
    expect("wide@4", "i smallint, l bigint, f float, day bigint, d92 decimal(10,3)")
    write("wide_flba", wide, store_decimal_as_integer=False)
    expect("wide_flba@1", "d92 decimal(12,4), d184 decimal(20,4), d204 decimal(22,6)")
    expect("wide_flba@2", "d92 decimal(9,2), d184 decimal(18,4), d204 decimal(20,4)")
    # Ancient dates, written by Spark in the hybrid calendar.
    ancient = spark.sql(
        "select * from values (date'0001-01-01'), (date'1000-02-28'), (date'1582-10-04'), (date'1582-10-15'), "
        "(date'1500-03-01'), (date'2024-02-29'), (null), (date'-0044-03-15') as t(d)"
    ).selectExpr("d", "cast(d as timestamp) + interval '1' second as t")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    spark.conf.set("spark.sql.parquet.int96RebaseModeInWrite", "LEGACY")
    spark_write("legacy", ancient)
    expect("legacy")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    spark_write("legacy_int96", ancient)
    expect("legacy_int96")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    # Nothing but nulls; no rows; one row.
    write("nulls", pa.table({"i": pa.array([None] * 50, pa.int32()), "s": pa.array([None] * 50, pa.string())}))
    expect("nulls")
    write("empty", pa.table({"i": pa.array([], pa.int32())}))
    expect("empty")
    # Several row groups, with statistics that prune.
    groups = pa.table(
        {
            "k": pa.array([None if i % 100 == 99 else i for i in range(400)], pa.int64()),
            "s": ["key %04d" % i for i in range(400)],
            "x": pa.array([float("nan") if i == 150 else i / 2 for i in range(400)], pa.float64()),
            "d": pa.array([D(i) / 100 for i in range(400)], pa.decimal128(10, 2)),
            "late": ["late value number %d" % i for i in range(400)],
        }
    )
    write("groups", groups, row_group_size=40, compression="snappy", data_page_size=300)
    expect("groups")
    # Nested columns beside flat ones: leaves are counted right.
    write("beside", pa.table({"a": [1, 2, 3], "st": [{"x": 1, "y": [1, 2]}] * 3, "z": ["p", "q", "r"]}))
    expect("beside", "z string, a bigint")


main()
total = sum(os.path.getsize(f) for f in glob.glob(HERE + "/*.parquet") + glob.glob(HERE + "/*.txt"))
print("%d bytes" % total, file=sys.stderr)
