CREATE TABLE s (k INT, t STRING, p INT, n INT) USING parquet;

INSERT INTO s VALUES
  (1, 'abcdef', 1, 2), (2, 'abcdef', 0, 3), (3, 'abcdef', -2, 5), (4, 'größer', 3, 2), (5, 'größer', -3, 2), (6, '😀a😀b', 2, 2), (7, '', 1, 1),
  (8, NULL, 1, 1), (9, 'abc', NULL, 1), (10, 'abc', 10, 1), (11, 'abc', -10, 9), (12, 'abc', 2, -1), (13, 'abc', 2147483647, 2147483647),
  (14, 'abc', -2147483648, 2147483647), (15, 'a rather long text that is not inline', 3, 30);

INSERT INTO s SELECT 16, CAST(X'61ff62c3286180' AS STRING), 2, 3;

-- name: substring and length
-- native: Project, NativeScan
SELECT k, substring(t, p, n), substr(t, p), substring(t, 2), substring(t, 1, 2), substring(t, -3), length(t), char_length(substring(t, p, n)) FROM s;

-- name: of bytes
-- native: Project
SELECT k, length(CAST(t AS BINARY)), octet_length(t) FROM s;

-- name: compared
-- native: Filter
SELECT k FROM s WHERE substring(t, 1, 2) IN ('ab', 'gr') AND length(t) > 3;
