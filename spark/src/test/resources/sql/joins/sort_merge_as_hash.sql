-- Sort-merge joins below an operator that does not need their order become hash joins.
-- file-config: spark.sql.autoBroadcastJoinThreshold=-1
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

-- name: inner, int
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.k = r.k GROUP BY l.k, r.k;

-- name: inner, two keys
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.k = r.k AND l.b = r.b GROUP BY l.k, r.k;

-- name: inner, zeros and NaN
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.d = r.d GROUP BY l.k, r.k;

-- name: inner, text
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.s = r.s GROUP BY l.k, r.k;

-- name: inner, decimals
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.n = r.n GROUP BY l.k, r.k;

-- name: inner, dates
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.t = r.t GROUP BY l.k, r.k;

-- name: inner, null-safe
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.k <=> r.k AND l.s <=> r.s GROUP BY l.k, r.k;

-- name: inner, a condition
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.k = r.k AND l.id + r.x > 5 GROUP BY l.k, r.k;

-- name: inner, a condition that is null
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l INNER JOIN r ON l.k = r.k AND r.x / 2 > l.d GROUP BY l.k, r.k;

-- name: left outer, int
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.k = r.k GROUP BY l.k, r.k;

-- name: left outer, two keys
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.k = r.k AND l.b = r.b GROUP BY l.k, r.k;

-- name: left outer, zeros and NaN
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.d = r.d GROUP BY l.k, r.k;

-- name: left outer, text
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.s = r.s GROUP BY l.k, r.k;

-- name: left outer, decimals
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.n = r.n GROUP BY l.k, r.k;

-- name: left outer, dates
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.t = r.t GROUP BY l.k, r.k;

-- name: left outer, null-safe
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.k <=> r.k AND l.s <=> r.s GROUP BY l.k, r.k;

-- name: left outer, a condition
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.k = r.k AND l.id + r.x > 5 GROUP BY l.k, r.k;

-- name: left outer, a condition that is null
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l LEFT OUTER JOIN r ON l.k = r.k AND r.x / 2 > l.d GROUP BY l.k, r.k;

-- name: right outer, int
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.k = r.k GROUP BY l.k, r.k;

-- name: right outer, two keys
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.k = r.k AND l.b = r.b GROUP BY l.k, r.k;

-- name: right outer, zeros and NaN
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.d = r.d GROUP BY l.k, r.k;

-- name: right outer, text
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.s = r.s GROUP BY l.k, r.k;

-- name: right outer, decimals
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.n = r.n GROUP BY l.k, r.k;

-- name: right outer, dates
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.t = r.t GROUP BY l.k, r.k;

-- name: right outer, null-safe
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.k <=> r.k AND l.s <=> r.s GROUP BY l.k, r.k;

-- name: right outer, a condition
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.k = r.k AND l.id + r.x > 5 GROUP BY l.k, r.k;

-- name: right outer, a condition that is null
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l RIGHT OUTER JOIN r ON l.k = r.k AND r.x / 2 > l.d GROUP BY l.k, r.k;

-- name: full outer, int
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.k = r.k GROUP BY l.k, r.k;

-- name: full outer, two keys
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.k = r.k AND l.b = r.b GROUP BY l.k, r.k;

-- name: full outer, zeros and NaN
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.d = r.d GROUP BY l.k, r.k;

-- name: full outer, text
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.s = r.s GROUP BY l.k, r.k;

-- name: full outer, decimals
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.n = r.n GROUP BY l.k, r.k;

-- name: full outer, dates
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.t = r.t GROUP BY l.k, r.k;

-- name: full outer, null-safe
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.k <=> r.k AND l.s <=> r.s GROUP BY l.k, r.k;

-- name: full outer, a condition
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.k = r.k AND l.id + r.x > 5 GROUP BY l.k, r.k;

-- name: full outer, a condition that is null
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, r.k AS rk, count(*) AS c, min(r.s) AS m, max(l.id + r.id) AS x FROM l FULL OUTER JOIN r ON l.k = r.k AND r.x / 2 > l.d GROUP BY l.k, r.k;

-- name: left semi, int
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.k = r.k GROUP BY l.k;

-- name: left semi, two keys
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.k = r.k AND l.b = r.b GROUP BY l.k;

-- name: left semi, zeros and NaN
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.d = r.d GROUP BY l.k;

-- name: left semi, text
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.s = r.s GROUP BY l.k;

-- name: left semi, decimals
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.n = r.n GROUP BY l.k;

-- name: left semi, dates
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.t = r.t GROUP BY l.k;

-- name: left semi, null-safe
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.k <=> r.k AND l.s <=> r.s GROUP BY l.k;

-- name: left semi, a condition
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.k = r.k AND l.id + r.x > 5 GROUP BY l.k;

-- name: left semi, a condition that is null
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT SEMI JOIN r ON l.k = r.k AND r.x / 2 > l.d GROUP BY l.k;

-- name: left anti, int
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.k = r.k GROUP BY l.k;

-- name: left anti, two keys
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.k = r.k AND l.b = r.b GROUP BY l.k;

-- name: left anti, zeros and NaN
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.d = r.d GROUP BY l.k;

-- name: left anti, text
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.s = r.s GROUP BY l.k;

-- name: left anti, decimals
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.n = r.n GROUP BY l.k;

-- name: left anti, dates
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.t = r.t GROUP BY l.k;

-- name: left anti, null-safe
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.k <=> r.k AND l.s <=> r.s GROUP BY l.k;

-- name: left anti, a condition
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.k = r.k AND l.id + r.x > 5 GROUP BY l.k;

-- name: left anti, a condition that is null
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.k, count(*) AS c, min(l.s) AS m FROM l LEFT ANTI JOIN r ON l.k = r.k AND r.x / 2 > l.d GROUP BY l.k;

-- name: joins of joins, sorted at the end
-- native: HashJoin, HashJoin, Sort
SELECT l.id, r.id AS rid, m.id AS mid FROM l JOIN r ON l.k = r.k JOIN l m ON r.b = m.b ORDER BY l.id, r.id, m.id;

-- name: sums of doubles keep the order of their input
SELECT r.s, sum(l.d) AS x, avg(r.d) AS y FROM l JOIN r ON l.k = r.k GROUP BY r.s;
