CREATE TABLE v (a DECIMAL(5, 2), b DECIMAL(18, 6), c DECIMAL(19, 4), d DECIMAL(38, 10), e DECIMAL(38, 0)) USING parquet;

INSERT INTO v VALUES
  (999.99, 999999999999.999999, 999999999999999.9999, 9999999999999999999999999999.9999999999, 99999999999999999999999999999999999999),
  (-999.99, -999999999999.999999, -999999999999999.9999, -9999999999999999999999999999.9999999999, -99999999999999999999999999999999999999),
  (0, 0, 0, 0, 0), (0.05, 0.000005, 0.0005, 0.0000000005, 5), (1.25, 127.5, 128.5, 2147483647.9999999999, 9223372036854775807), (-1.25, -128.999999, -129, -2147483648.5, -9223372036854775809),
  (0.1, 123456.789012, 12345678901.2345, 1234567890123456789.0123456789, 16777217), (NULL, NULL, NULL, NULL, NULL);

-- name: legacy among decimals
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT cast(a AS DECIMAL(3, 1)), cast(a AS DECIMAL(5, 1)), cast(a AS DECIMAL(38, 20)), cast(b AS DECIMAL(18, 5)), cast(b AS DECIMAL(10, 0)), cast(c AS DECIMAL(18, 2)),
       cast(d AS DECIMAL(20, 2)), cast(d AS DECIMAL(38, 9)), cast(e AS DECIMAL(38, 1)), cast(e AS DECIMAL(19, 0)) FROM v;

-- name: legacy to integers
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT cast(a AS TINYINT), cast(a AS INT), cast(b AS TINYINT), cast(b AS BIGINT), cast(c AS INT), cast(d AS INT), cast(d AS BIGINT), cast(e AS BIGINT), cast(e AS SMALLINT) FROM v;

-- name: to floats and booleans
-- native: Project
SELECT cast(a AS DOUBLE), cast(b AS DOUBLE), cast(c AS DOUBLE), cast(d AS DOUBLE), cast(e AS DOUBLE), cast(a AS FLOAT), cast(b AS FLOAT), cast(c AS FLOAT), cast(d AS FLOAT), cast(e AS FLOAT),
       cast(a AS BOOLEAN), cast(e AS BOOLEAN) FROM v;

-- name: ANSI to a smaller decimal
SELECT cast(b AS DECIMAL(10, 0)) FROM v WHERE b > 1000000;
-- name: ANSI to tinyint
SELECT cast(b AS TINYINT) FROM v WHERE b > 100;
-- name: ANSI wide to bigint
SELECT cast(e AS BIGINT) FROM v;
-- name: ANSI wide to int near the bound
SELECT cast(d AS INT) FROM v WHERE e = 9223372036854775807;
