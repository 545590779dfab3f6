CREATE TABLE t (id INT, f FLOAT, d DOUBLE, s STRING, b BINARY, n DECIMAL(20, 4), ts TIMESTAMP, a ARRAY<INT>,
                m MAP<STRING, DOUBLE>, st STRUCT<x: INT, y: STRING>) USING parquet;

INSERT INTO t VALUES
  (1, float('NaN'), 0.0D, 'a;b', X'00ff', 1.5, TIMESTAMP '2024-03-10 03:30:00', array(1, NULL), map('k', -0.0D),
   named_struct('x', 1, 'y', 'z')),
  (2, float('-0.0'), -0.0D, '', X'', -1.5, TIMESTAMP '1883-11-18 12:00:00', array(), map(), NULL),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- name: every type comes back as it went in
SELECT * FROM t;

-- name: ordered
SELECT id, s FROM t ORDER BY id DESC NULLS FIRST;

-- name: a group-by over zeros and nulls
SELECT d, count(*) AS n, min(f) AS lo, max(f) AS hi FROM t GROUP BY d;

-- name: invalid UTF-8 stays as it is
SELECT cast(b AS STRING) AS s FROM t;

-- name: no rows
SELECT id FROM t WHERE id > 5;
