-- Joins without equal keys.
CREATE TABLE l (id INT, k INT, b BIGINT, d DOUBLE, s STRING, n DECIMAL(12, 2), t DATE) USING parquet;

INSERT INTO l VALUES
  (1, 1, 1, 1.5, 'a', 1.00, DATE '2020-01-01'), (2, 1, 1, double('NaN'), 'a', 1.00, DATE '2020-01-01'), (3, 2, 2, -0.0D, 'bb', 2.50, DATE '2020-01-02'),
  (4, NULL, NULL, NULL, NULL, NULL, NULL), (5, 3, 9000000000, 0.0D, '', 3.00, DATE '1900-01-01'), (6, 4, 4, 4D, 'a string of more than twelve bytes', 4.00, DATE '2020-01-04'),
  (7, 1, NULL, double('NaN'), 'a', NULL, NULL), (8, 7, 7, 7D, 'g', -7.00, DATE '2020-01-07');

CREATE TABLE r (id INT, k INT, b BIGINT, d DOUBLE, s STRING, n DECIMAL(12, 2), t DATE, x INT) USING parquet;

INSERT INTO r VALUES
  (11, 1, 1, double('NaN'), 'a', 1.00, DATE '2020-01-01', 5), (12, 1, 9000000000, 0.0D, 'a string of more than twelve bytes', 2.50, DATE '1900-01-01', 0), (13, 2, 2, -0.0D, 'bb', 2.50, DATE '2020-01-02', -3),
  (14, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (15, 5, 5, 5D, '', 5.00, NULL, 2), (16, 4, 4, 4D, 'A', 4.01, DATE '2020-01-04', 4), (17, NULL, 1, 1.5, 'a', 1.00, DATE '2020-01-01', 1);

CREATE TABLE none USING parquet AS SELECT * FROM r WHERE id < 0;

-- name: inner
-- native: BroadcastNestedLoopJoin
SELECT /*+ BROADCAST(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.id + r.x > 9 AND l.s <> r.s;

-- name: left outer
-- native: BroadcastNestedLoopJoin
SELECT /*+ BROADCAST(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.id + r.x > 9 AND l.s <> r.s;

-- name: right outer
-- native: BroadcastNestedLoopJoin
SELECT /*+ BROADCAST(l) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.id + r.x > 9 AND l.s <> r.s;

-- name: left semi
-- native: BroadcastNestedLoopJoin
SELECT /*+ BROADCAST(r) */ l.* FROM l LEFT SEMI JOIN r ON l.id + r.x > 9 AND l.s <> r.s;

-- name: left anti
-- native: BroadcastNestedLoopJoin
SELECT /*+ BROADCAST(r) */ l.* FROM l LEFT ANTI JOIN r ON l.id + r.x > 9 AND l.s <> r.s;

-- name: full outer
SELECT /*+ BROADCAST(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.id + r.x > 9 AND l.s <> r.s;

-- name: cross
SELECT /*+ BROADCAST(r) */ l.id, r.id FROM l CROSS JOIN r;

-- name: an error in the condition
SELECT /*+ BROADCAST(r) */ l.id, r.id FROM l JOIN r ON l.id / r.x > 1;
