-- Keys that are structs and arrays.
-- file-config: spark.sql.autoBroadcastJoinThreshold=-1
CREATE TABLE l0 (id INT, i INT, d DOUBLE, s STRING, n DECIMAL(25, 2)) USING parquet;

INSERT INTO l0 VALUES
  (1, 1, 1.5, 'a', 1.00), (2, 1, double('NaN'), 'a', 1.00), (3, 2, -0.0D, 'bb', 2.50), (4, NULL, NULL, NULL, NULL),
  (5, 3, 0.0D, '', 3.00), (6, 4, 4D, 'a string of more than twelve bytes', 12345678901234567890123.45),
  (7, 1, double('NaN'), NULL, NULL), (8, 7, NULL, 'g', -7.00), (9, 7, NULL, NULL, -7.00);

CREATE TABLE r0 (id INT, i INT, d DOUBLE, s STRING, n DECIMAL(25, 2)) USING parquet;

INSERT INTO r0 VALUES
  (11, 1, double('NaN'), 'a', 1.00), (12, 1, 0.0D, 'bb', 2.50), (13, 2, -0.0D, '', 2.50), (14, NULL, NULL, NULL, NULL),
  (15, 5, NULL, 'g', 12345678901234567890123.45), (16, 4, 4D, 'a string of more than twelve bytes', 12345678901234567890123.45),
  (17, NULL, 1.5, 'a', 1.00), (18, NULL, NULL, NULL, NULL), (19, 7, 0.0D, NULL, NULL);

-- Structs that are null, and structs of nulls.
CREATE VIEW l AS SELECT *, IF(id = 4, NULL, named_struct('d', d, 's', s)) AS t FROM l0;

CREATE VIEW r AS SELECT *, IF(id = 14, NULL, named_struct('d', d, 's', s)) AS t FROM r0;

-- name: a column, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, left outer, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l LEFT OUTER JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, full outer, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l FULL OUTER JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, left outer, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l LEFT OUTER JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, full outer, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l FULL OUTER JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, null-safe, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON l.t <=> r.t GROUP BY l.i;

-- name: a column, null-safe, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON l.t <=> r.t GROUP BY l.i;

-- name: made of columns, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON struct(l.i, l.s) = struct(r.i, r.s) GROUP BY l.i;

-- name: made of columns, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON struct(l.i, l.s) = struct(r.i, r.s) GROUP BY l.i;

-- name: zeros and NaN, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON struct(l.d) = struct(r.d) GROUP BY l.i;

-- name: zeros and NaN, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON struct(l.d) = struct(r.d) GROUP BY l.i;

-- name: deep, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON struct(struct(l.d, l.n), l.s) = struct(struct(r.d, r.n), r.s) GROUP BY l.i;

-- name: deep, left outer, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l LEFT OUTER JOIN r ON struct(struct(l.d, l.n), l.s) = struct(struct(r.d, r.n), r.s) GROUP BY l.i;

-- name: deep, full outer, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l FULL OUTER JOIN r ON struct(struct(l.d, l.n), l.s) = struct(struct(r.d, r.n), r.s) GROUP BY l.i;

-- name: deep, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON struct(struct(l.d, l.n), l.s) = struct(struct(r.d, r.n), r.s) GROUP BY l.i;

-- name: deep, left outer, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l LEFT OUTER JOIN r ON struct(struct(l.d, l.n), l.s) = struct(struct(r.d, r.n), r.s) GROUP BY l.i;

-- name: deep, full outer, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l FULL OUTER JOIN r ON struct(struct(l.d, l.n), l.s) = struct(struct(r.d, r.n), r.s) GROUP BY l.i;

-- name: arrays, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON array(l.s, 'x') = array(r.s, 'x') GROUP BY l.i;

-- name: arrays, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON array(l.s, 'x') = array(r.s, 'x') GROUP BY l.i;

-- name: arrays of doubles, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON array(l.d, 0.0D) = array(r.d, -0.0D) GROUP BY l.i;

-- name: arrays of doubles, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON array(l.d, 0.0D) = array(r.d, -0.0D) GROUP BY l.i;

-- name: arrays of structs, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON array(l.t) = array(r.t) GROUP BY l.i;

-- name: arrays of structs, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON array(l.t) = array(r.t) GROUP BY l.i;

-- name: two keys and a condition, inner, sort-merge
-- native: HashJoin
SELECT /*+ MERGE(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON l.t = r.t AND l.s = r.s AND l.id + r.id > 14 GROUP BY l.i;

-- name: two keys and a condition, inner, shuffled hash
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(r) */ l.i, count(*) AS c, sum(l.id) AS a, sum(r.id) AS b, max(l.t.s) AS m, min(r.n) AS n FROM l INNER JOIN r ON l.t = r.t AND l.s = r.s AND l.id + r.id > 14 GROUP BY l.i;

-- name: a column, semi
-- native: HashJoin
SELECT l.i, count(*) AS c FROM l LEFT SEMI JOIN r ON l.t = r.t GROUP BY l.i;

-- name: a column, anti
-- native: HashJoin
SELECT l.i, count(*) AS c FROM l LEFT ANTI JOIN r ON l.t = r.t GROUP BY l.i;

-- name: broadcast
-- native: BroadcastHashJoin
SELECT /*+ BROADCAST(r) */ l.id, r.id AS rid, r.t FROM l JOIN r ON l.t = r.t;

-- name: order by nested keys is Spark's
-- config: spark.comet.exec.sortMergeJoin.asHashJoin.enabled=false
-- fallback: joining by
SELECT /*+ MERGE(r) */ l.id, r.id AS rid FROM l JOIN r ON l.t = r.t;

-- name: order that is made use of
-- fallback: a sort-merge join by nested keys whose order of rows is made use of
SELECT /*+ MERGE(r) */ l.id, r.id AS rid FROM l JOIN r ON l.t = r.t;

-- A condition over nested columns of the other side, for batches in which some rows have no pair.
CREATE TABLE few0 USING parquet AS SELECT cast(id AS INT) AS k, if(id = 1, NULL, 's') AS s FROM range(4);

CREATE VIEW few AS SELECT k, if(k = 2, NULL, array(k, 9)) AS a, if(k = 3, NULL, named_struct('s', s)) AS st FROM few0;

CREATE TABLE many USING parquet AS SELECT cast(id AS INT) AS id, cast(id % 7 AS INT) AS k, cast(id % 3 AS STRING) AS s FROM range(60);

-- name: a condition over nested columns, broadcast
-- native: BroadcastHashJoin
SELECT /*+ BROADCAST(f) */ m.id, f.k, f.a FROM many m LEFT JOIN few f ON m.k = f.k AND (m.s > '1' OR f.a IS NOT NULL);

-- name: a condition over nested columns, a shuffled hash join
-- native: HashJoin
SELECT /*+ SHUFFLE_HASH(f) */ m.id, f.k, f.st FROM many m LEFT JOIN few f ON m.k = f.k AND (m.s > '1' OR f.st.s IS NULL);

-- name: a condition over nested columns, merged
-- native: SortMergeJoin
SELECT /*+ MERGE(f) */ m.id, f.k, f.a FROM many m FULL JOIN few f ON m.k = f.k AND (m.s > '1' OR f.a IS NOT NULL);

-- name: a condition over nested columns, a nested loop
-- native: BroadcastNestedLoopJoin
SELECT /*+ BROADCAST(f) */ m.id, f.k, f.a FROM many m LEFT JOIN few f ON m.k < f.k AND (m.s > '1' OR f.a IS NOT NULL);
