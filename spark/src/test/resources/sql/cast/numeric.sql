CREATE TABLE v (o BOOLEAN, b TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE) USING parquet;

INSERT INTO v VALUES
  (true, -128, -32768, -2147483648, -9223372036854775808, float('NaN'), double('NaN')),
  (false, 127, 32767, 2147483647, 9223372036854775807, float('Infinity'), double('-Infinity')),
  (true, 0, 0, 0, 0, float('-0.0'), -0.0D), (false, 1, 300, 70000, 5000000000, 300.7, 1e10D), (true, -1, -300, -70000, -5000000000, -128.9, -128.9D),
  (false, 5, 5, 16777217, 9007199254740993, 2147483648, 9223372036854775807D), (NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- name: legacy among numbers
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT cast(i AS TINYINT), cast(l AS TINYINT), cast(s AS TINYINT), cast(i AS SMALLINT), cast(l AS SMALLINT), cast(l AS INT), cast(b AS BIGINT), cast(i AS BIGINT),
       cast(f AS TINYINT), cast(f AS SMALLINT), cast(f AS INT), cast(f AS BIGINT), cast(d AS TINYINT), cast(d AS SMALLINT), cast(d AS INT), cast(d AS BIGINT),
       cast(i AS FLOAT), cast(l AS FLOAT), cast(l AS DOUBLE), cast(d AS FLOAT), cast(f AS DOUBLE) FROM v;

-- name: booleans
-- native: Project
SELECT cast(o AS TINYINT), cast(o AS INT), cast(o AS BIGINT), cast(o AS DOUBLE), cast(o AS DECIMAL(3, 1)), cast(b AS BOOLEAN), cast(l AS BOOLEAN), cast(f AS BOOLEAN), cast(d AS BOOLEAN) FROM v;

-- name: legacy to decimal
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT cast(b AS DECIMAL(3, 0)), cast(b AS DECIMAL(4, 2)), cast(s AS DECIMAL(10, 4)), cast(i AS DECIMAL(10, 0)), cast(i AS DECIMAL(9, 0)), cast(l AS DECIMAL(19, 0)),
       cast(l AS DECIMAL(38, 18)), cast(l AS DECIMAL(20, 5)), cast(o AS DECIMAL(2, 2)) FROM v;

-- name: floats to decimal are Spark's own work
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT cast(f AS DECIMAL(20, 5)), cast(d AS DECIMAL(38, 10)) FROM v;

-- name: ANSI where all fits
-- native: Project, Filter
SELECT cast(s AS TINYINT), cast(i AS SMALLINT), cast(l AS INT), cast(f AS INT), cast(d AS BIGINT), cast(b AS DECIMAL(5, 2)) FROM v WHERE l = 0;

-- name: ANSI int to tinyint
SELECT cast(i AS TINYINT) FROM v;
-- name: ANSI bigint to int
SELECT cast(l AS INT) FROM v WHERE l > 0;
-- name: ANSI float to int
SELECT cast(f AS INT) FROM v WHERE f > 400;
-- name: ANSI NaN to bigint
SELECT cast(d AS BIGINT) FROM v;
-- name: ANSI the greatest bigint as a double
SELECT cast(d AS BIGINT) FROM v WHERE i = 16777217;
-- name: ANSI int to a small decimal
SELECT cast(i AS DECIMAL(5, 0)) FROM v WHERE i > 0;

-- name: try
-- native: Project
SELECT try_cast(i AS TINYINT), try_cast(f AS INT), try_cast(d AS BIGINT), try_cast(l AS DECIMAL(5, 0)) FROM v;
