CREATE TABLE v (d DATE, e DATE, n INT, s SMALLINT, t TINYINT) USING parquet;

INSERT INTO v VALUES
  (DATE '1970-01-01', DATE '1969-12-31', 1, 1, 1), (DATE '2000-02-29', DATE '2024-02-29', -366, 30000, -128), (DATE '1582-10-15', DATE '1582-10-04', 0, 0, 0),
  (DATE '0001-01-01', DATE '9999-12-31', 100000, -1, 127), (DATE '1900-03-01', DATE '2100-02-28', 36524, 365, 7), (NULL, DATE '2020-06-15', NULL, NULL, NULL), (DATE '2020-06-15', NULL, 5, NULL, 1);

-- name: fields
-- native: Project
SELECT year(d), quarter(d), month(d), day(d), dayofyear(d), dayofweek(d), weekday(d), extract(YEAR FROM e), month(e) FROM v;

-- name: shifts and differences
-- native: Project
SELECT date_add(d, n), date_sub(d, n), date_add(e, s), date_sub(e, t), datediff(d, e), d < e, d = e FROM v;

-- name: filters
-- native: Filter
SELECT d FROM v WHERE d >= DATE '1900-01-01' AND d < date_add(e, 1) AND year(d) <> 2020;
