CREATE TABLE o (k INT, a BOOLEAN, b BOOLEAN, i INT, d DOUBLE) USING parquet;

INSERT INTO o VALUES
  (1, true, true, 1, 1.0D), (2, true, false, 0, double('NaN')), (3, true, NULL, NULL, NULL), (4, false, true, 2, -0.0D), (5, false, false, 0, 0.0D),
  (6, false, NULL, 5, double('Infinity')), (7, NULL, true, 0, double('NaN')), (8, NULL, false, NULL, 7.5D), (9, NULL, NULL, 0, NULL);

-- name: and, or, not
-- native: Project, NativeScan
SELECT k, a AND b, a OR b, NOT a, NOT (a AND b) OR a, (a OR NULL) AND b, a AND NULL, a <> b FROM o;

-- name: tests for null and NaN
-- native: Project
SELECT k, a IS NULL, a IS NOT NULL, (a AND b) IS NULL, isnan(d), nanvl(d, 3.5D), a IS TRUE, a IS NOT TRUE, a IS FALSE, a IS UNKNOWN FROM o;

-- name: a filter drops null and false
-- native: Filter
SELECT k FROM o WHERE a OR b;

-- name: not in a filter
-- native: Filter
SELECT k FROM o WHERE NOT a;

-- name: AND guards what would raise
-- native: Filter
SELECT k FROM o WHERE i <> 0 AND 10 / i > 3;

-- name: OR guards what would raise
-- native: Filter
SELECT k FROM o WHERE i = 0 OR i IS NULL OR 10 / i > 3;

-- name: the guard on the other side does not guard
SELECT k FROM o WHERE 10 / i > 3 AND i <> 0;

-- name: a null operand keeps the other from raising
-- native: Project
SELECT k, CAST(NULL AS INT) + i, (CASE WHEN i = 0 THEN NULL ELSE i END) + 10 div (CASE WHEN i = 0 THEN 1 ELSE i END) FROM o;

-- Spark computes a subexpression that two columns share before either is evaluated, and raises although neither reaches it.
-- name: in a value, AND guards too
-- config: spark.sql.subexpressionElimination.enabled=false
-- native: Project
SELECT k, i <> 0 AND 10 % i = 0, i = 0 OR 10 % i = 0 FROM o;

-- name: rows after a limit do not raise
SELECT 10 div i FROM o LIMIT 1;
