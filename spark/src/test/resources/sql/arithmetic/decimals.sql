CREATE TABLE v USING parquet AS
  SELECT cast(a AS DECIMAL(5, 2)) AS a, cast(b AS DECIMAL(15, 2)) AS b, cast(c AS DECIMAL(18, 6)) AS c, cast(d AS DECIMAL(20, 4)) AS d,
         cast(e AS DECIMAL(38, 10)) AS e, cast(g AS DECIMAL(38, 38)) AS g, cast(z AS DECIMAL(38, 0)) AS z
  FROM VALUES
  ('999.99', '9999999999999.99', '999999999999.999999', '9999999999999999.9999', '9999999999999999999999999999.9999999999', '0.99999999999999999999999999999999999999', '99999999999999999999999999999999999999'),
  ('-999.99', '-9999999999999.99', '-999999999999.999999', '-9999999999999999.9999', '-9999999999999999999999999999.9999999999', '-0.99999999999999999999999999999999999999', '-99999999999999999999999999999999999999'),
  ('0', '0', '0', '0', '0', '0', '0'),
  ('0.01', '0.01', '0.000001', '0.0001', '0.0000000001', '0.00000000000000000000000000000000000001', '1'),
  ('1.25', '1.25', '1.255555', '1.2555', '1.5555555555', '0.5', '2'),
  ('-3.45', '-7.77', '3.000005', '-1.0005', '7.0000000005', '-0.25', '-7'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL)
  AS t(a, b, c, d, e, g, z);

CREATE TABLE p USING parquet AS
  SELECT x.a AS a1, y.a AS a2, x.b AS b1, y.b AS b2, x.c AS c1, y.c AS c2, x.d AS d1, y.d AS d2, x.e AS e1, y.e AS e2, x.g AS g1, y.g AS g2, x.z AS z1, y.z AS z2
  FROM v x CROSS JOIN v y;

-- name: sums and differences that always fit
-- native: Project
SELECT a1 + a2, a1 - b2, b1 + b2, c1 - b2, a1 + c2, d1 + b2, d1 - d2, c1 + d2, 1 - b1, 1 + a1 FROM p;

-- name: legacy sums that may overflow give null
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT e1 + e2, e1 - a2, e1 + c2, z1 + z2, z1 - a2, g1 + g2, g1 - z2, g1 + b2 FROM p;

-- name: products that always fit
-- native: Project
SELECT a1 * a2, a1 * b2, b1 * b2, c1 * a2, b1 * (1 - b2), d1 * a2 FROM p;

-- name: legacy products that may overflow give null
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT b1 * (1 - b2) * (1 + b1), c1 * c2 * a1, d1 * d2, e1 * a2, e1 * e2, z1 * z2, g1 * g2, g1 * z2, d1 * e2, e1 * c2 FROM p;

-- name: legacy products without precision loss
-- config: spark.sql.ansi.enabled=false
-- config: spark.sql.decimalOperations.allowPrecisionLoss=false
-- native: Project
SELECT b1 * b2, d1 * d2, e1 * e2, e1 + e2, g1 * z2, g1 + z2, b1 / b2, d1 / a2, e1 / e2 FROM p;

-- name: legacy quotients
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT a1 / a2, b1 / b2, c1 / a2, d1 / b2, e1 / e2, z1 / z2, g1 / g2, z1 / g2, a1 / z2, b1 / c2 FROM p;

-- name: legacy remainders
-- config: spark.sql.ansi.enabled=false
SELECT a1 % a2, b1 % c2, d1 % b2, e1 % d2, z1 % a2, pmod(a1, b2), pmod(d1, c2), a1 div a2, b1 div c2, d1 div a2 FROM p;

-- name: comparisons across scales
-- native: Project
SELECT a1 = b2, a1 < c2, b1 <= d2, c1 > e2, e1 >= z2, g1 < e2, d1 <=> a2, z1 = g2, g1 > z2 FROM p;

-- name: signs
-- native: Project
SELECT -a1, -b1, -e1, -z1, abs(a1), abs(d1), abs(g1) FROM p;

-- name: try gives null
-- native: Project
SELECT try_add(z1, z2), try_multiply(e1, e2), try_subtract(e1, e2), try_divide(b1, b2), try_divide(z1, g2) FROM p;

-- name: an overflowing sum under ANSI
SELECT z1 + z2 FROM p WHERE z1 > 2 AND z2 > 2;

-- name: an overflowing product under ANSI
SELECT e1 * e2 FROM p WHERE e1 > 100 AND e2 < -100;

-- name: division by zero under ANSI
SELECT b1 / b2 FROM p WHERE b1 = 1.25;

-- name: a literal of another scale in a filter
-- native: Filter
SELECT b1, d1 FROM p WHERE b1 BETWEEN -7.775 AND 1.2500001 AND d1 IN (1.2555, 0, -1.0005);
