-- file-config: spark.sql.ansi.enabled=true
CREATE TABLE t USING parquet AS SELECT id, cast(id AS STRING) AS s FROM range(10);

-- name: division by zero names the expression
SELECT 100 / (id - 5) AS q FROM t;

-- name: an error in a branch that is not taken is none
SELECT CASE WHEN id = 5 THEN 0 ELSE 100 / (id - 5) END AS q FROM t;

-- name: an invalid cast carries its input
SELECT cast(concat(s, 'x') AS INT) AS i FROM t WHERE id = 7;

-- name: overflow
SELECT cast(id AS INT) * 1000000000 AS i FROM t WHERE id = 9;

-- name: an analysis error
SELECT nothing FROM t;

-- name: legacy mode gives nulls
-- config: spark.sql.ansi.enabled=false
SELECT 100 / (id - 5) AS q, cast(concat(s, 'x') AS INT) AS i FROM t;
