CREATE TABLE s (k INT, t STRING, u STRING, b BINARY) USING parquet;

INSERT INTO s VALUES
  (1, 'abc', 'DEF', X'00'), (2, 'more than twelve', ' bytes', X'ff00'), (3, '', '', X''), (4, NULL, 'a', NULL), (5, 'a', NULL, X'01'),
  (6, 'größer Ä ß', 'ΑΣ', X'c3'), (7, '  spaces  ', '\t tab ', X'20'), (8, 'ǅ İ ı', 'ﬁ', X'61');

INSERT INTO s SELECT 9, CAST(X'61ff62c328' AS STRING), CAST(X'20ff20' AS STRING), X'ff';

-- name: concat
-- native: Project, NativeScan
SELECT k, concat(t, u), t || u || t, concat(t), concat('<', t, '>'), concat(b, b), concat(t, NULL) FROM s;

-- name: case
-- native: Project
SELECT k, upper(t), lower(t), upper(u), lower(u), upper(concat(t, u)) FROM s;

-- name: trims
-- native: Project
SELECT k, trim(t), ltrim(t), rtrim(t), trim(u), ltrim(u), rtrim(u), trim(BOTH 'a' FROM t), octet_length(t), octet_length(b) FROM s;

-- name: in a filter
-- native: Filter
SELECT k FROM s WHERE upper(t) = 'ABC' OR trim(t) = 'spaces' OR t || u = 'more than twelve bytes';
