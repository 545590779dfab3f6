CREATE TABLE t (g INT, i INT, l BIGINT, sh SMALLINT, by TINYINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), w DECIMAL(38, 10),
                s STRING, b BINARY, bo BOOLEAN, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ) USING parquet;

INSERT INTO t VALUES
  (1, 1, 10, 1S, 1Y, float(1.5), 1.5D, 1.25, 1.5, 'a', X'01', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 01:02:03', TIMESTAMP_NTZ '2020-01-01 01:02:03'),
  (1, 2, 20, 2S, 2Y, float('NaN'), double('NaN'), -3.75, -99999999999.5, 'ab', X'0102', false, DATE '1500-03-01', TIMESTAMP '1883-11-18 12:00:00', TIMESTAMP_NTZ '9999-12-31 23:59:59'),
  (1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (2, -5, -7, -3S, -4Y, float('-0.0'), -0.0D, 0.00, 0, '', X'', false, DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59', TIMESTAMP_NTZ '1969-12-31 23:59:59'),
  (2, 7, 9, 3S, 4Y, float(0), 0.0D, 99999999.99, 1234567890123456789012345678.0123456789, 'zzzzzzzzzzzzzzzzzzzzzzzz', X'ff', true, DATE '2020-01-02', TIMESTAMP '2024-03-10 03:30:00', TIMESTAMP_NTZ '2024-03-10 02:30:00'),
  (NULL, 3, 4, 5S, 6Y, float('Infinity'), double('-Infinity'), 7.00, 8, cast(X'ff' AS STRING), X'00', NULL, DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP_NTZ '0001-01-01 00:00:00'),
  (NULL, 3, 4, 5S, 6Y, float('-Infinity'), double('Infinity'), 7.00, 8, 'é', X'00ff', NULL, NULL, NULL, NULL),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- name: sum, count, avg of every number
-- native: HashAggregate
SELECT g, count(*), count(i), sum(i), avg(i), sum(l), avg(l), sum(sh), avg(sh), sum(by), avg(by), sum(n), avg(n), sum(w), avg(cast(n AS DECIMAL(30, 5)))
FROM t GROUP BY g;

-- name: sums of floats
-- native: HashAggregate
SELECT g, sum(f), avg(f), sum(d), avg(d) FROM t GROUP BY g;

-- name: least and greatest of every type
SELECT g, min(i), max(i), min(l), max(l), min(sh), max(sh), min(by), max(by), min(n), max(n), min(w), max(w), min(bo), max(bo),
  min(dt), max(dt), min(ts), max(ts), min(tn), max(tn) FROM t GROUP BY g;

-- name: least and greatest of floats, strings, binaries
SELECT g, min(f), max(f), min(d), max(d), min(s), max(s), min(b), max(b) FROM t GROUP BY g;

-- name: no keys
-- native: HashAggregate
SELECT count(*), count(i), sum(i), avg(n), min(s), max(w), sum(d) FROM t;

-- name: no keys and no rows
-- native: HashAggregate
SELECT count(*), count(i), sum(i), avg(n), min(s), max(w), sum(d) FROM t WHERE i > 1000;

-- name: keys and no rows
SELECT g, count(*), sum(i) FROM t WHERE i > 1000 GROUP BY g;

-- name: keys of every type
SELECT f, count(*) FROM t GROUP BY f;
SELECT d, count(*) FROM t GROUP BY d;
SELECT s, b, count(*) FROM t GROUP BY s, b;
SELECT n, w, count(*) FROM t GROUP BY n, w;
SELECT bo, dt, ts, tn, count(*) FROM t GROUP BY bo, dt, ts, tn;
SELECT sh, by, l, count(*) FROM t GROUP BY sh, by, l;

-- name: keys alone
-- native: HashAggregate
SELECT DISTINCT g, bo FROM t;

-- name: expressions over keys and results
SELECT g + 1, sum(i) * 2 + count(*), upper(max(s)), if(g = 1, avg(d), NULL) FROM t GROUP BY g;

-- name: FILTER, and arguments that are expressions
SELECT g, sum(i) FILTER (WHERE d > 0), count(*) FILTER (WHERE s LIKE 'a%'), sum(i + l), avg(n * 2) FROM t GROUP BY g;

-- name: distinct
SELECT g, count(DISTINCT s), sum(DISTINCT i), avg(DISTINCT n), count(DISTINCT i, l) FROM t GROUP BY g;

-- name: HAVING and ORDER BY
SELECT g, sum(i) AS x FROM t GROUP BY g HAVING count(*) > 1 ORDER BY g NULLS LAST;

-- name: rollup
SELECT g, bo, count(*), sum(l), grouping(g) FROM t GROUP BY ROLLUP (g, bo);

-- name: a sum that overflows is an error
-- config: spark.sql.ansi.enabled=true
SELECT sum(x) FROM VALUES (9223372036854775807L), (1L) AS v(x);

-- name: a sum that overflows wraps
-- config: spark.sql.ansi.enabled=false
SELECT sum(x) FROM VALUES (9223372036854775807L), (1L) AS v(x);

-- name: a sum of decimals that overflows is an error
-- config: spark.sql.ansi.enabled=true
SELECT sum(w * 100000000000000000) FROM t;

-- name: a sum of decimals that overflows is null
-- config: spark.sql.ansi.enabled=false
SELECT g, sum(x), avg(x) FROM (SELECT g, cast(99999999999999999999999999999999999999 AS DECIMAL(38, 0)) AS x FROM t) GROUP BY g;

-- name: overflow in a table's columns is Spark's error with its place in the query
SELECT sum(l + 9223372036854775000) FROM t;
SELECT g, sum(big) FROM (SELECT 1 AS g, l * 0 + 9223372036854775807 AS big FROM t) GROUP BY g;
SELECT sum(big) FROM (SELECT l * 0 + 9223372036854775807 AS big FROM t);
SELECT 1 + avg(w) FROM t;
SELECT g, avg(w * 1) AS a FROM t GROUP BY g;
SELECT sum(x) FROM (SELECT if(i IS NULL, NULL, cast(99999999999999999999999999999999999999 AS DECIMAL(38, 0))) AS x FROM t);
SELECT g, 2 * sum(x) FROM (SELECT g, if(i IS NULL, NULL, cast(99999999999999999999999999999999999999 AS DECIMAL(38, 0))) AS x FROM t) GROUP BY g;
SELECT g, avg(x) FROM (SELECT g, if(i IS NULL, NULL, cast(99999999999999999999999999999999999999 AS DECIMAL(38, 0))) AS x FROM t) GROUP BY g;

-- name: the same without ANSI
-- config: spark.sql.ansi.enabled=false
SELECT g, sum(big), avg(big) FROM (SELECT g, l * 0 + 9223372036854775807 AS big FROM t) GROUP BY g;

-- name: sums of wide decimals without ANSI
-- config: spark.sql.ansi.enabled=false
SELECT g, sum(w), avg(w) FROM t GROUP BY g;

-- name: try_sum and try_avg
SELECT try_sum(x), try_avg(x) FROM VALUES (9223372036854775807L), (1L) AS v(x);

-- name: what has no native form yet
SELECT g, collect_list(i), stddev(d), first(s), approx_count_distinct(i), percentile(i, 0.5) FROM (SELECT * FROM t ORDER BY l, i) GROUP BY g;

-- name: switched off
-- config: spark.comet.exec.aggregate.enabled=false
-- fallback: spark.comet.exec.aggregate.enabled is false
SELECT g, count(*) FROM t GROUP BY g;

-- name: a switched-off function
-- config: spark.comet.expression.Sum.enabled=false
-- fallback: spark.comet.expression.Sum.enabled
SELECT g, sum(i) FROM t GROUP BY g;
