CREATE TABLE t (id BIGINT, k INT, s STRING) USING parquet;
CREATE TABLE u (k INT, name STRING) USING parquet;
INSERT INTO t SELECT id, cast(id % 10 AS INT), concat('s', id % 4) FROM range(0, 300, 1, 3);
INSERT INTO u SELECT cast(id AS INT), concat('name', id) FROM range(8);

-- name: a whole query
-- native: NativeScan, Filter, HashAggregate, Exchange, Sort, *
SELECT s, count(*) AS n, sum(id) FROM t WHERE k > 2 GROUP BY s ORDER BY s;

-- name: limits
-- native: TakeOrderedAndProject, LocalTopK
SELECT count(*) FROM (SELECT id FROM t ORDER BY id LIMIT 20 OFFSET 5);
SELECT count(*) FROM (SELECT id FROM t LIMIT 20);
SELECT id FROM (SELECT id FROM t WHERE k = 3 ORDER BY id LIMIT 7) ORDER BY id LIMIT 3;

-- name: unions
-- native: Union
SELECT k, id FROM t UNION ALL SELECT k, k FROM u;
SELECT k, count(*) FROM (SELECT k FROM t UNION ALL SELECT k FROM u) GROUP BY k;
SELECT k FROM t UNION SELECT k FROM u;
SELECT s FROM t INTERSECT SELECT 's1';
SELECT k FROM t EXCEPT SELECT k FROM u;

-- name: subqueries
SELECT id FROM t WHERE id = (SELECT max(id) FROM t WHERE k = (SELECT min(k) FROM u));
SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE name > 'name5') AND id < 50;
SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AND id < 50;
SELECT id, k NOT IN (SELECT k FROM u) FROM t WHERE id < 20;
SELECT id, (SELECT count(*) FROM u WHERE u.k < t.k) FROM t WHERE id < 20;

-- name: joins of every kind over native inputs
SELECT t.id, u.name FROM t JOIN u ON t.k = u.k WHERE t.id < 40;
SELECT t.id, u.name FROM t LEFT JOIN u ON t.k = u.k WHERE t.id < 40;
SELECT t.id, u.name FROM t FULL JOIN u ON t.k = u.k AND t.id < 40;
SELECT /*+ MERGE(u) */ t.id, u.name FROM t JOIN u ON t.k = u.k WHERE t.id < 40;
SELECT /*+ SHUFFLE_HASH(u) */ t.k, count(*) FROM t JOIN u ON t.k = u.k GROUP BY t.k;
SELECT count(*) FROM t CROSS JOIN u WHERE t.id < 9 AND u.k + t.k < 7;

-- name: windows, expansions, generators
SELECT id, sum(id) OVER (PARTITION BY k ORDER BY id) FROM t WHERE id < 60;
SELECT k, s, count(*) FROM t GROUP BY GROUPING SETS ((k), (s), ());
SELECT k, x FROM t LATERAL VIEW explode(array(k, id)) AS x WHERE id < 12;

-- name: an expression that is off leaves its operator to Spark
-- config: spark.comet.expression.Upper.enabled=false
-- fallback: spark.comet.expression.Upper.enabled
SELECT upper(s) FROM t WHERE k = 1;

-- name: everything off
-- config: spark.comet.exec.enabled=false
SELECT k, count(*) FROM t GROUP BY k;

-- name: shuffle off
-- config: spark.comet.shuffle.enabled=false
-- fallback: spark.comet.shuffle.enabled is false
SELECT k, count(*) FROM t GROUP BY k ORDER BY k;
