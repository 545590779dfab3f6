-- Every pair of edge values, in each evaluation mode.
CREATE TABLE v (b TINYINT, s SMALLINT, i INT, l BIGINT) USING parquet;

INSERT INTO v VALUES
  (-128, -32768, -2147483648, -9223372036854775808), (127, 32767, 2147483647, 9223372036854775807),
  (0, 0, 0, 0), (1, 1, 1, 1), (-1, -1, -1, -1), (7, 300, 65536, 4294967296), (-7, -300, -65537, -3000000000), (NULL, NULL, NULL, NULL);

CREATE TABLE p USING parquet AS
  SELECT a.b AS b1, c.b AS b2, a.s AS s1, c.s AS s2, a.i AS i1, c.i AS i2, a.l AS l1, c.l AS l2 FROM v a CROSS JOIN v c;

-- name: legacy arithmetic wraps
-- config: spark.sql.ansi.enabled=false
-- native: Project, NativeScan
SELECT b1 + b2, b1 - b2, b1 * b2, s1 + s2, s1 - s2, s1 * s2, i1 + i2, i1 - i2, i1 * i2, l1 + l2, l1 - l2, l1 * l2 FROM p;

-- name: legacy division and remainder give null for zero
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT b1 % b2, s1 % s2, i1 % i2, l1 % l2, l1 div l2, i1 div i2, pmod(b1, b2), pmod(s1, s2), pmod(i1, i2), pmod(l1, l2),
       i1 / i2, l1 / l2 FROM p;

-- name: try arithmetic gives null
-- native: Project
SELECT try_add(b1, b2), try_subtract(s1, s2), try_multiply(i1, i2), try_add(l1, l2), try_subtract(l1, l2), try_multiply(l1, l2),
       try_divide(l1, l2), try_mod(l1, l2) FROM p;

-- name: legacy signs
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT -b1, -s1, -i1, -l1, abs(b1), abs(s1), abs(i1), abs(l1) FROM p;

-- name: ANSI where nothing overflows
-- native: Project, Filter
SELECT b1 + b2, s1 - s2, i1 * i2, l1 % l2, l1 div l2, pmod(i1, i2), -l1, abs(i1)
FROM p WHERE abs(s1 + 0L) < 400 AND abs(s2 + 0L) < 400 AND abs(b1 + 0L) < 10 AND abs(b2 + 0L) < 10 AND s2 <> 0 AND i1 < 70000 AND abs(i2 + 0L) < 10;

-- name: tinyint sum overflows
SELECT b1 + b2 FROM p;

-- name: smallint product overflows
SELECT s1 * s2 FROM p;

-- name: int difference overflows
SELECT i1 - i2 FROM p;

-- name: bigint product overflows
SELECT l1 * l2 FROM p;

-- name: remainder by zero
SELECT l1 % l2 FROM p WHERE l1 = 1;

-- name: the minimum divided by minus one
SELECT l1 div l2 FROM p WHERE l1 < -5000000000 AND l2 = -1;

-- name: negating the minimum
SELECT -i1 FROM p WHERE i1 < -70000;

-- name: absolute value of the minimum
SELECT abs(l1) FROM p WHERE l1 < -5000000000;

-- name: the right operand of a null left one is not evaluated
SELECT l1 + 1 div l2 FROM p WHERE l1 IS NULL;

-- name: the left operand of a null divisor is not evaluated
SELECT (1 div l1) % l2 FROM p WHERE l1 = 0 AND l2 IS NULL;

-- name: a guarded division
-- native: Project
SELECT CASE WHEN l2 <> 0 AND l1 > -5000000000 THEN l1 div l2 END, IF(i2 = 0, NULL, i1 % i2), coalesce(l1, 1 div l2) FROM p WHERE l2 IS NOT NULL AND (l1 IS NOT NULL OR l2 <> 0);

-- name: rows before the error come out under a limit
SELECT 100 div l1 FROM (SELECT l AS l1 FROM v WHERE l > 0) LIMIT 2;
