-- What is particular to hash joins; join types, keys and conditions are in JoinTypesSuite.
CREATE TABLE l (id INT, k INT, b BIGINT, d DOUBLE, s STRING) USING parquet;

INSERT INTO l VALUES
  (1, 1, 1, 1.5, 'a'), (2, 1, 1, double('NaN'), 'a'), (3, 2, 2, -0.0D, 'bb'), (4, NULL, NULL, NULL, NULL), (5, 3, 9000000000, 0.0D, ''),
  (6, 4, 4, 4D, 'a string of more than twelve bytes'), (7, 1, NULL, double('NaN'), 'a'), (8, 7, 7, 7D, 'g');

CREATE TABLE r (id INT, k INT, b BIGINT, d DOUBLE, s STRING) USING parquet;

INSERT INTO r VALUES
  (11, 1, 1, double('NaN'), 'a'), (12, 1, 9000000000, 0.0D, 'a string of more than twelve bytes'), (13, 2, 2, -0.0D, 'bb'),
  (14, NULL, NULL, NULL, NULL), (15, 5, 5, 5D, ''), (16, 4, 4, 4D, 'A'), (17, NULL, 1, 1.5, 'a');

CREATE TABLE none USING parquet AS SELECT * FROM r WHERE id < 0;

-- name: not in, no nulls on the right
-- native: BroadcastHashJoin
SELECT id FROM l WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL);

-- name: not in, a null on the right
SELECT id FROM l WHERE k NOT IN (SELECT k FROM r);

-- name: not in, nothing on the right
SELECT id FROM l WHERE k NOT IN (SELECT k FROM none);

-- name: exists as a value
-- native: BroadcastHashJoin
SELECT id, k IN (SELECT k FROM r WHERE k IS NOT NULL) OR id = 3 AS e FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k) OR l.id > 5;

-- name: an empty side
SELECT l.id, none.id FROM l LEFT JOIN none ON l.k = none.k;

-- name: joins of joins, sorted at the end
-- native: HashJoin, HashJoin, Sort
-- config: spark.sql.autoBroadcastJoinThreshold=-1
SELECT l.id, r.id AS rid, m.id AS mid FROM l JOIN r ON l.k = r.k JOIN l m ON r.b = m.b ORDER BY l.id, r.id, m.id;

-- name: sums of doubles keep the order of their input
-- config: spark.sql.autoBroadcastJoinThreshold=-1
SELECT r.s, sum(l.d) AS x, avg(r.d) AS y FROM l JOIN r ON l.k = r.k GROUP BY r.s;
