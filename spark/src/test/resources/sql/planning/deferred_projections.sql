-- file-config: spark.sql.ansi.enabled=true
CREATE TABLE t USING parquet AS SELECT id, id % 10 AS k, cast(id AS STRING) AS s, IF(id = 7, 'seven', cast(id AS STRING)) AS n FROM range(40);
CREATE TABLE d USING parquet AS SELECT id AS k, id * 2 AS v FROM range(6);

-- name: a column that raises for rows without a match only
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(d) */ q.k, q.x, d.v FROM (SELECT k, 100 DIV (k - 8) AS x FROM t) q JOIN d ON q.k = d.k;

-- name: the same where a row with a match raises
SELECT /*+ BROADCAST(d) */ q.k, q.x, d.v FROM (SELECT k, 100 DIV (k - 3) AS x FROM t) q JOIN d ON q.k = d.k;

-- name: a cast, and what it reads is not given on
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(d) */ q.x, d.v FROM (SELECT k, cast(n AS INT) AS x FROM t) q JOIN d ON q.k = d.k;

-- name: semi and anti
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(d) */ q.k, q.x FROM (SELECT k, 100 DIV (k - 8) AS x FROM t) q LEFT SEMI JOIN d ON q.k = d.k;

-- name: anti joins look at those without a match
SELECT /*+ BROADCAST(d) */ q.k, q.x FROM (SELECT k, 100 DIV (k - 3) AS x FROM t) q LEFT ANTI JOIN d ON q.k = d.k;

-- name: anti, which raises
SELECT /*+ BROADCAST(d) */ q.k, q.x FROM (SELECT k, 100 DIV (k - 8) AS x FROM t) q LEFT ANTI JOIN d ON q.k = d.k;

-- name: left outer joins give all
SELECT /*+ BROADCAST(d) */ q.k, q.x, d.v FROM (SELECT k, 100 DIV (k - 8) AS x FROM t) q LEFT JOIN d ON q.k = d.k;

-- name: through two joins
-- native: BroadcastHashJoin, BroadcastHashJoin, *
SELECT /*+ BROADCAST(d, e) */ q.k, q.x, d.v, e.v AS w FROM (SELECT k, id % 7 AS m, 100 DIV (k - 8) + 1 DIV (id - 6) AS x FROM t) q
JOIN d ON q.k = d.k JOIN (SELECT k, v FROM d WHERE k < 5) e ON q.m = e.k;

-- name: a shuffled hash join, whose sides are exchanged as they are
SELECT /*+ SHUFFLE_HASH(d) */ q.k, q.x, d.v FROM (SELECT k, 100 DIV (k - 30) AS x FROM t) q JOIN d ON q.k = d.k;

-- name: the join reads it
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(d) */ q.k, q.x, d.v FROM (SELECT k, 100 DIV (k - 30) AS x, 7 DIV (k - 8) AS y FROM t) q JOIN d ON q.k = d.k AND q.x < d.v;

-- name: a table and itself
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(b) */ a.x, b.id FROM (SELECT k, 100 DIV (id - 39) AS x FROM t) a JOIN (SELECT id, k FROM t WHERE id < 6) b ON a.k = b.id WHERE a.k < 9;

-- name: names and order of columns
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(d) */ * FROM (SELECT 100 DIV (k - 8) AS x, k AS key, id + 1 AS y, s FROM t) q JOIN d ON q.key = d.k;

-- name: through a join that keeps all rows, to one that does not
-- native: BroadcastHashJoin, BroadcastHashJoin, *
SELECT /*+ BROADCAST(d, e) */ q.k, q.x, d.v, e.v AS w FROM (SELECT k, id % 7 AS m, 1 DIV (id - 6) AS x FROM t) q
LEFT JOIN d ON q.k = d.k JOIN (SELECT k, v FROM d WHERE k < 6) e ON q.m = e.k;

-- name: through a left join and a filter of what has no match
-- native: BroadcastHashJoin, *
SELECT /*+ BROADCAST(d) */ q.k, q.x FROM (SELECT k, 100 DIV (k - 3) AS x FROM t) q LEFT JOIN d ON q.k = d.k WHERE d.k IS NULL;

-- name: through an existence join and a filter
SELECT q.k, q.x FROM (SELECT k, id, 100 DIV (k - 8) AS x FROM t) q WHERE EXISTS (SELECT 1 FROM d WHERE d.k = q.k) OR q.id < 5;

-- name: a right join that keeps its streamed side
SELECT /*+ BROADCAST(d) */ d.k, q.x FROM d RIGHT JOIN (SELECT k, 100 DIV (k - 20) AS x FROM t) q ON q.k = d.k;
