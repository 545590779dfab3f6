-- Cartesian products: each partition of one side with each of the other.
-- file-config: spark.sql.autoBroadcastJoinThreshold=-1
CREATE TABLE l USING parquet AS SELECT /*+ REPARTITION(3) */ cast(id AS INT) AS id, if(id % 4 = 0, NULL, cast(id AS STRING)) AS s, array(id, NULL) AS a FROM range(12);

CREATE TABLE r USING parquet AS SELECT /*+ REPARTITION(2) */ cast(id * 3 AS INT) AS id, if(id % 3 = 0, NULL, repeat('x', cast(id * 5 AS INT))) AS s FROM range(7);

CREATE TABLE none USING parquet AS SELECT * FROM r WHERE id < 0;

-- name: all pairs
-- native: CartesianProduct
SELECT l.id, l.s, r.id AS rid, r.s AS rs FROM l CROSS JOIN r;

-- name: a condition
-- native: CartesianProduct
SELECT l.id, r.id AS rid, concat(l.s, r.s) AS t FROM l JOIN r ON l.id > r.id;

-- name: a condition that is null
-- native: CartesianProduct
SELECT l.id, r.id AS rid FROM l JOIN r ON l.s > r.s OR l.id * 2 = r.id + 1;

-- name: no columns
-- native: CartesianProduct, HashAggregate
SELECT count(*) AS c FROM l CROSS JOIN r;

-- name: an empty side
-- config: spark.sql.adaptive.enabled=false
-- native: CartesianProduct
SELECT l.id, x.id AS xid FROM l CROSS JOIN none x;

-- name: three sides, over an exchange
-- native: CartesianProduct, CartesianProduct
SELECT a.id, r.id AS rid, b.n FROM l a CROSS JOIN r CROSS JOIN (SELECT id % 2 AS k, count(*) AS n FROM l GROUP BY id % 2) b WHERE a.id + r.id > b.n;

-- name: numbers of partitions are those of the sides
-- native: CartesianProduct
SELECT l.p, l.m, r.p AS rp, r.x, l.id, r.id AS rid FROM (SELECT id, spark_partition_id() AS p, monotonically_increasing_id() AS m FROM l) l CROSS JOIN (SELECT id, spark_partition_id() AS p, rand(5) AS x FROM r) r;

-- name: a limit
-- native: CartesianProduct
SELECT l.id, r.id AS rid FROM l CROSS JOIN r LIMIT 5;

-- name: an order below
-- native: CartesianProduct
SELECT l.id, r.id AS rid FROM (SELECT * FROM l SORT BY id DESC) l CROSS JOIN (SELECT * FROM r SORT BY id) r LIMIT 40;

-- name: a condition that raises
-- native: CartesianProduct
-- config: spark.sql.ansi.enabled=true
SELECT l.id, r.id AS rid FROM l JOIN r ON 10 / (l.id - r.id) > 1;

-- name: a limit before the row that raises
-- native: CartesianProduct
-- config: spark.sql.ansi.enabled=true
SELECT l.id, r.id AS rid FROM (SELECT /*+ COALESCE(1) */ * FROM l) l JOIN (SELECT /*+ COALESCE(1) */ * FROM r) r ON 100 / (l.id - 6) < r.id LIMIT 3;
