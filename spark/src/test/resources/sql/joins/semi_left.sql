-- Semi, anti and existence joins whose left side is the smaller one: the table is built of it.
-- file-config: spark.sql.autoBroadcastJoinThreshold=-1
-- file-config: spark.sql.ansi.enabled=true
CREATE TABLE few (id INT, k INT, d DOUBLE, s STRING) USING parquet;

INSERT INTO few VALUES
  (1, 1, 1.5, 'a'), (2, 1, double('NaN'), 'a'), (3, 2, -0.0D, 'bb'), (4, NULL, NULL, NULL), (5, 3, 0.0D, ''),
  (6, 40, 4D, 'a string of more than twelve bytes'), (7, 1, double('NaN'), NULL), (8, 700, 7D, 'g');

CREATE TABLE many USING parquet AS
SELECT
  cast(id AS INT) AS id,
  cast(if(id % 11 = 0, NULL, id % 50) AS INT) AS k,
  CASE WHEN id % 7 = 0 THEN NULL WHEN id % 3 = 0 THEN double('NaN') WHEN id % 3 = 1 THEN 0.0D ELSE -0.0D END AS d,
  CASE WHEN id % 5 = 0 THEN NULL WHEN id % 2 = 0 THEN 'a' ELSE 'a string of more than twelve bytes' END AS s,
  cast(id % 20 AS INT) AS x
FROM range(5000);

CREATE TABLE none USING parquet AS SELECT * FROM many WHERE id < 0;

-- name: semi, int
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.k = many.k GROUP BY few.k;

-- name: semi, doubles
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.d = many.d GROUP BY few.k;

-- name: semi, text
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.s = many.s GROUP BY few.k;

-- name: semi, two keys
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.k = many.k AND few.s = many.s GROUP BY few.k;

-- name: semi, null-safe
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.k <=> many.k GROUP BY few.k;

-- name: semi, a condition
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.k = many.k AND few.id + many.x > 20 GROUP BY few.k;

-- name: semi, a condition that few pass
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.k = many.k AND many.id % 1000 = 551 + few.id - 1 GROUP BY few.k;

-- name: semi, a condition that is null
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT SEMI JOIN many ON few.k = many.k AND few.d > many.d GROUP BY few.k;

-- name: semi, no rows on the right
-- native: HashJoin
-- config: spark.sql.adaptive.enabled=false
SELECT count(*) AS c, min(few.s) AS m FROM few LEFT SEMI JOIN none ON few.k = none.k;

-- name: anti, int
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.k = many.k GROUP BY few.k;

-- name: anti, doubles
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.d = many.d GROUP BY few.k;

-- name: anti, text
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.s = many.s GROUP BY few.k;

-- name: anti, two keys
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.k = many.k AND few.s = many.s GROUP BY few.k;

-- name: anti, null-safe
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.k <=> many.k GROUP BY few.k;

-- name: anti, a condition
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.k = many.k AND few.id + many.x > 20 GROUP BY few.k;

-- name: anti, a condition that few pass
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.k = many.k AND many.id % 1000 = 551 + few.id - 1 GROUP BY few.k;

-- name: anti, a condition that is null
-- native: HashJoin
SELECT few.k, count(*) AS c, min(few.s) AS m, max(few.id) AS x FROM few LEFT ANTI JOIN many ON few.k = many.k AND few.d > many.d GROUP BY few.k;

-- name: anti, no rows on the right
-- native: HashJoin
-- config: spark.sql.adaptive.enabled=false
SELECT count(*) AS c, min(few.s) AS m FROM few LEFT ANTI JOIN none ON few.k = none.k;

-- name: existence, int
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.k = many.k) GROUP BY few.k;

-- name: existence, doubles
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.d = many.d) GROUP BY few.k;

-- name: existence, text
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.s = many.s) GROUP BY few.k;

-- name: existence, two keys
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.k = many.k AND few.s = many.s) GROUP BY few.k;

-- name: existence, null-safe
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.k <=> many.k) GROUP BY few.k;

-- name: existence, a condition
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.k = many.k AND few.id + many.x > 20) GROUP BY few.k;

-- name: existence, a condition that few pass
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.k = many.k AND many.id % 1000 = 551 + few.id - 1) GROUP BY few.k;

-- name: existence, a condition that is null
-- native: HashJoin
SELECT few.k, count(*) AS c, max(few.id) AS x FROM few WHERE few.id = 4 OR EXISTS (SELECT 1 FROM many WHERE few.k = many.k AND few.d > many.d) GROUP BY few.k;

-- name: semi, a condition that raises
-- native: HashJoin
SELECT count(*) AS c, min(few.s) AS m FROM few LEFT SEMI JOIN many ON few.k = many.k AND 100 / (few.id - 8) > many.id + 1000 / (many.x - 19);

-- name: semi, a condition that raises behind a match
-- native: HashJoin
SELECT count(*) AS c, min(few.s) AS m FROM few LEFT SEMI JOIN (SELECT /*+ COALESCE(1) */ * FROM many WHERE k = 1 AND id < 600 UNION ALL SELECT 0, NULL, NULL, NULL, 10) many ON few.k = many.k AND 100 / (few.id - 8) < many.id + 1;

-- name: anti, a condition that raises
-- native: HashJoin
SELECT count(*) AS c, min(few.s) AS m FROM few LEFT ANTI JOIN many ON few.k = many.k AND 100 / (few.id - 8) > many.id + 1000 / (many.x - 19);

-- name: anti, a condition that raises behind a match
-- native: HashJoin
SELECT count(*) AS c, min(few.s) AS m FROM few LEFT ANTI JOIN (SELECT /*+ COALESCE(1) */ * FROM many WHERE k = 1 AND id < 600 UNION ALL SELECT 0, NULL, NULL, NULL, 10) many ON few.k = many.k AND 100 / (few.id - 8) < many.id + 1;

-- name: a subquery that must not give two rows
-- fallback: LEFT SINGLE JOIN has no native form
SELECT few.id, (SELECT many.x FROM many WHERE many.id = few.id) AS x FROM few;
