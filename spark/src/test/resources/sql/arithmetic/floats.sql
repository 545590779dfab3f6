CREATE TABLE v (f FLOAT, d DOUBLE) USING parquet;

INSERT INTO v VALUES
  (float('NaN'), double('NaN')), (float('Infinity'), double('Infinity')), (float('-Infinity'), double('-Infinity')),
  (float('0.0'), 0.0D), (float('-0.0'), -0.0D), (1.5, 1.5D), (-2.25, -2.25D), (float('1.4E-45'), 4.9E-324D), (float('3.4028235E38'), 1.7976931348623157E308D),
  (float('0.1'), 0.1D), (NULL, NULL);

CREATE TABLE p USING parquet AS SELECT a.f AS f1, b.f AS f2, a.d AS d1, b.d AS d2 FROM v a CROSS JOIN v b;

-- name: sums, differences, products
-- native: Project
SELECT f1 + f2, f1 - f2, f1 * f2, d1 + d2, d1 - d2, d1 * d2, -f1, -d1, abs(f1), abs(d1) FROM p;

-- name: legacy division
-- config: spark.sql.ansi.enabled=false
-- native: Project
SELECT f1 / f2, d1 / d2, f1 % f2, d1 % d2, pmod(f1, f2), pmod(d1, d2) FROM p;

-- name: ANSI division by minus zero
SELECT d1 / d2 FROM p WHERE d1 = 1.5D;

-- name: ANSI division without zeros
-- native: Project, Filter
SELECT d1 / d2, d1 % d2, pmod(f1, f2) FROM p WHERE d2 <> 0 AND f2 <> 0;

-- name: comparisons treat NaN as the greatest and zeros as equal
-- native: Project
SELECT f1 = f2, f1 <=> f2, f1 < f2, f1 <= f2, f1 > f2, f1 >= f2, d1 = d2, d1 <=> d2, d1 < d2, d1 <= d2, d1 > d2, d1 >= d2, isnan(d1), nanvl(d1, d2) FROM p;

-- name: filters on NaN and zeros
-- native: Filter
SELECT * FROM p WHERE d1 >= d2 AND f1 = f2;

-- name: a literal NaN
-- native: Filter
SELECT * FROM p WHERE d1 = double('NaN') OR f1 = float('-0.0');

-- name: IN over zeros and NaN
-- native: Filter
SELECT d1, d2 FROM p WHERE d1 IN (0.0D, double('NaN')) AND f2 NOT IN (float('-0.0'), float('1.5'));
