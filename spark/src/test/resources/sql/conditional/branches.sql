CREATE TABLE c (k INT, i INT, j INT, s STRING, n DECIMAL(12, 2), d DOUBLE, dt DATE, l BIGINT) USING parquet;

INSERT INTO c VALUES
  (1, 1, 10, 'one', 1.10, 1.5D, DATE '2024-01-01', 1), (2, 2, 0, 'two and a longer text', 2.20, double('NaN'), NULL, 9223372036854775807),
  (3, NULL, 3, NULL, NULL, NULL, DATE '1999-12-31', NULL), (4, 0, NULL, '', -4.40, -0.0D, DATE '1582-10-04', 0),
  (5, -5, 5, 'five', 0.00, 0.0D, DATE '2000-02-29', -5), (6, 7, 0, 'ä', 99999.99, double('-Infinity'), NULL, 7);

-- name: if and case over types
-- native: Project, NativeScan
SELECT k, if(i > 1, s, 'other'), if(i > 1, n, 0), if(d > 0, d, -d), if(i IS NULL, dt, DATE '1970-01-01'),
       CASE WHEN i = 1 THEN 'a' WHEN i = 2 THEN 'b' WHEN i IS NULL THEN NULL ELSE s END,
       CASE WHEN i > 1 THEN i WHEN i < 0 THEN -i END, CASE i WHEN 1 THEN 'x' WHEN 7 THEN 'y' END,
       CASE WHEN CAST(NULL AS BOOLEAN) THEN 1 WHEN i > 0 THEN 2 ELSE 3 END FROM c;

-- name: coalesce and its kin
-- native: Project
SELECT k, coalesce(i, j), coalesce(s, 'none'), coalesce(NULL, dt, DATE '1970-01-01'), nvl(n, 0), ifnull(d, 1.0D), nvl2(i, j, k), nullif(i, j),
       coalesce(i, NULL, j, k), nullif(s, ''), zeroifnull(i), nullifzero(i) FROM c;

-- name: branches not taken do not raise
-- native: Project
SELECT k, CASE WHEN j = 0 THEN -1 WHEN j IS NULL THEN -2 ELSE 100 div j END, if(j <> 0, 100 % j, 0), coalesce(i, 100 div j) FROM c;

-- name: branches not taken do not overflow
-- native: Project
SELECT k, CASE WHEN l < 1000 THEN l + 9223372036854774000 ELSE l END, if(l > 1000, 0, l * 1000) FROM c;

-- name: a branch that is taken raises
SELECT k, CASE WHEN j IS NULL THEN -2 ELSE 100 div j END FROM c;

-- name: a condition that raises
SELECT k, CASE WHEN 10 div j > 1 THEN 1 ELSE 2 END FROM c;

-- name: coalesce reaches what raises
SELECT coalesce(i, 10 div 0) FROM c;

-- name: nested
-- native: Project, Filter
SELECT k, CASE WHEN CASE WHEN i > 0 THEN j > 0 ELSE d < 0 END THEN coalesce(s, if(i > 3, 'big', 'small')) ELSE concat(s, '!') END FROM c
WHERE CASE WHEN i IS NULL THEN true ELSE coalesce(j, i) >= 0 END;
