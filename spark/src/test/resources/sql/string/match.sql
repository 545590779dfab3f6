CREATE TABLE s (k INT, t STRING, p STRING) USING parquet;

INSERT INTO s VALUES
  (1, 'PROMO BRUSHED COPPER', 'PROMO'), (2, 'special packages and requests', 'req'), (3, '', ''), (4, NULL, 'a'), (5, 'a', NULL),
  (6, 'größer als ein ä', 'ä'), (7, '😀 smile', '😀'), (8, 'a%b_c\\d', '%'), (9, 'line\nbreak', '\n'), (10, 'aaab', 'aab'), (11, 'ab', 'abc');

INSERT INTO s SELECT 12, CAST(X'61ff62c328' AS STRING), CAST(X'ff' AS STRING);

-- name: starts, ends, contains
-- native: Project, NativeScan
SELECT k, startswith(t, 'PROMO'), startswith(t, p), endswith(t, 'PER'), endswith(t, p), contains(t, 'al'), contains(t, p), startswith(t, ''),
       contains(t, 'special packages and'), startswith(t, 'special p'), endswith(t, 'ages and requests'), contains(t, 'a') FROM s;

-- name: like
-- native: Project
SELECT k, t LIKE 'PROMO%', t LIKE '%special%requests%', t LIKE '%ä', t LIKE 'a', t LIKE '', t LIKE '%', t LIKE '%%b%', t NOT LIKE '%a%' FROM s;

-- name: like with underscores
-- native: Project
SELECT k, t LIKE '_', t LIKE '__%', t LIKE '%_e_%', t LIKE '_ smile', t LIKE 'a_b%', t LIKE 'gr__er%', t LIKE '%b____', t LIKE 'line_break' FROM s;

-- name: like with escapes
-- native: Project
SELECT k, t LIKE 'a\\%b\\_c%', t LIKE 'a|%b|_c%' ESCAPE '|', t LIKE '%\\\\%', t LIKE '%/_%' ESCAPE '/' FROM s;

-- name: like with a pattern that varies
-- native: Project
SELECT k, t LIKE p FROM s;

-- name: an escape of nothing raises
SELECT t LIKE 'a\\b' FROM s;

-- name: like in a filter
-- native: Filter
SELECT k FROM s WHERE t LIKE '%a%' AND t NOT LIKE '%requests';

-- name: like any and all
SELECT k, t LIKE ANY ('%a', 'P%'), t LIKE ALL ('%a%', '%b%'), t NOT LIKE ANY ('%a', 'P%') FROM s;
