-- Sort-merge joins as such.
-- file-config: spark.sql.autoBroadcastJoinThreshold=-1
-- file-config: spark.comet.exec.sortMergeJoin.asHashJoin.enabled=false
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
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.k = r.k;

-- name: inner, two keys
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.k = r.k AND l.b = r.b;

-- name: inner, zeros and NaN
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.d = r.d;

-- name: inner, text
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.s = r.s;

-- name: inner, decimals
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.n = r.n;

-- name: inner, dates
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.t = r.t;

-- name: inner, null-safe
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.k <=> r.k AND l.s <=> r.s;

-- name: inner, a condition
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.k = r.k AND l.id + r.x > 5;

-- name: inner, a condition that is null
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l INNER JOIN r ON l.k = r.k AND r.x / 2 > l.d;

-- name: left outer, int
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.k = r.k;

-- name: left outer, two keys
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.k = r.k AND l.b = r.b;

-- name: left outer, zeros and NaN
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.d = r.d;

-- name: left outer, text
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.s = r.s;

-- name: left outer, decimals
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.n = r.n;

-- name: left outer, dates
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.t = r.t;

-- name: left outer, null-safe
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.k <=> r.k AND l.s <=> r.s;

-- name: left outer, a condition
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.k = r.k AND l.id + r.x > 5;

-- name: left outer, a condition that is null
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l LEFT OUTER JOIN r ON l.k = r.k AND r.x / 2 > l.d;

-- name: right outer, int
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.k = r.k;

-- name: right outer, two keys
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.k = r.k AND l.b = r.b;

-- name: right outer, zeros and NaN
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.d = r.d;

-- name: right outer, text
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.s = r.s;

-- name: right outer, decimals
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.n = r.n;

-- name: right outer, dates
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.t = r.t;

-- name: right outer, null-safe
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.k <=> r.k AND l.s <=> r.s;

-- name: right outer, a condition
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.k = r.k AND l.id + r.x > 5;

-- name: right outer, a condition that is null
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l RIGHT OUTER JOIN r ON l.k = r.k AND r.x / 2 > l.d;

-- name: full outer, int
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.k = r.k;

-- name: full outer, two keys
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.k = r.k AND l.b = r.b;

-- name: full outer, zeros and NaN
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.d = r.d;

-- name: full outer, text
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.s = r.s;

-- name: full outer, decimals
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.n = r.n;

-- name: full outer, dates
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.t = r.t;

-- name: full outer, null-safe
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.k <=> r.k AND l.s <=> r.s;

-- name: full outer, a condition
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.k = r.k AND l.id + r.x > 5;

-- name: full outer, a condition that is null
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.id, l.k, l.d, l.s, r.id AS rid, r.k AS rk, r.d AS rd, r.s AS rs, r.x FROM l FULL OUTER JOIN r ON l.k = r.k AND r.x / 2 > l.d;

-- name: left semi, int
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.k = r.k;

-- name: left semi, two keys
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.k = r.k AND l.b = r.b;

-- name: left semi, zeros and NaN
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.d = r.d;

-- name: left semi, text
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.s = r.s;

-- name: left semi, decimals
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.n = r.n;

-- name: left semi, dates
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.t = r.t;

-- name: left semi, null-safe
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.k <=> r.k AND l.s <=> r.s;

-- name: left semi, a condition
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.k = r.k AND l.id + r.x > 5;

-- name: left semi, a condition that is null
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT SEMI JOIN r ON l.k = r.k AND r.x / 2 > l.d;

-- name: left anti, int
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.k = r.k;

-- name: left anti, two keys
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.k = r.k AND l.b = r.b;

-- name: left anti, zeros and NaN
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.d = r.d;

-- name: left anti, text
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.s = r.s;

-- name: left anti, decimals
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.n = r.n;

-- name: left anti, dates
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.t = r.t;

-- name: left anti, null-safe
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.k <=> r.k AND l.s <=> r.s;

-- name: left anti, a condition
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.k = r.k AND l.id + r.x > 5;

-- name: left anti, a condition that is null
-- native: SortMergeJoin
SELECT /*+ MERGE(r) */ l.* FROM l LEFT ANTI JOIN r ON l.k = r.k AND r.x / 2 > l.d;

