CREATE TABLE t (k INT, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), w DECIMAL(38, 10), s STRING, b BINARY, bo BOOLEAN,
                dt DATE, ts TIMESTAMP) USING parquet;

INSERT INTO t
SELECT id AS k, if(id % 7 = 0, NULL, cast(id * 37 % 11 - 5 AS INT)), if(id % 5 = 0, NULL, id * 1000003 % 17),
  element_at(array(float('NaN'), float(0), float('-0.0'), float('-Infinity'), float(1.5), NULL), cast(id % 6 AS INT) + 1),
  element_at(array(double('NaN'), 0.0D, -0.0D, double('Infinity'), -1.5D, NULL), cast(id % 6 AS INT) + 1),
  cast(id % 13 - 6 AS DECIMAL(10, 2)) / 4, cast(id % 9 - 4 AS DECIMAL(38, 10)) * 1234567890123456789.0123456789,
  element_at(array('', 'a', 'ab', 'abcdefghijklmnop', 'abcdefghijklmnoq', 'é', cast(X'ff' AS STRING), NULL), cast(id % 8 AS INT) + 1),
  element_at(array(X'', X'00', X'0000', X'ff', X'7f', NULL), cast(id % 6 AS INT) + 1), id % 3 = 0,
  date_add(DATE '1969-12-30', cast(id % 10 AS INT)), timestamp_micros(id * 7919 % 23 - 11)
FROM range(0, 200, 1, 4);

-- name: ascending, descending, nulls first and last
-- native: Sort
SELECT i, k FROM t ORDER BY i, k;
SELECT i, k FROM t ORDER BY i DESC, k DESC;
SELECT i, k FROM t ORDER BY i NULLS LAST, k;
SELECT i, k FROM t ORDER BY i DESC NULLS FIRST, k;

-- name: every type
SELECT l, k FROM t ORDER BY l, k;
SELECT f, k FROM t ORDER BY f, k;
SELECT d, k FROM t ORDER BY d DESC, k;
SELECT n, k FROM t ORDER BY n, k;
SELECT w, k FROM t ORDER BY w DESC, k;
SELECT s, k FROM t ORDER BY s, k;
SELECT s, k FROM t ORDER BY s DESC NULLS LAST, k;
SELECT b, k FROM t ORDER BY b, k;
SELECT bo, dt, k FROM t ORDER BY bo, dt DESC, k;
SELECT ts, k FROM t ORDER BY ts, k;

-- name: keys that are expressions
SELECT k, i + 1 AS x, length(s) FROM t ORDER BY i % 3, length(s) DESC, k;

-- name: within partitions
SELECT count(*) FROM (SELECT * FROM t SORT BY s, k);

-- name: the first few
-- native: TakeOrderedAndProject
SELECT k, s FROM t ORDER BY s DESC, k LIMIT 10;
SELECT k, d FROM t ORDER BY d, k LIMIT 5 OFFSET 3;
SELECT k FROM t ORDER BY k LIMIT 0;
SELECT upper(s), k + 1 FROM t ORDER BY f DESC NULLS LAST, k LIMIT 300;

-- name: switched off
-- config: spark.comet.exec.sort.enabled=false
-- fallback: spark.comet.exec.sort.enabled is false
SELECT k FROM t ORDER BY k;
