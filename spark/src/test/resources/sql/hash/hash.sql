CREATE TABLE t (i INT, l BIGINT, sh SMALLINT, by TINYINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), w DECIMAL(38, 10),
                s STRING, b BINARY, bo BOOLEAN, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ) USING parquet;

INSERT INTO t VALUES
  (1, 10, 1S, 1Y, float(1.5), 1.5D, 1.25, 1.5, 'a', X'01', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 01:02:03', TIMESTAMP_NTZ '2020-01-01 01:02:03'),
  (-2, -20, -2S, -2Y, float('NaN'), double('NaN'), -3.75, -99999999999.5, 'abcdefg', X'0102ff', false, DATE '1500-03-01', TIMESTAMP '1883-11-18 12:00:00', TIMESTAMP_NTZ '9999-12-31 23:59:59'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (2147483647, 9223372036854775807, -3S, -4Y, float('-0.0'), -0.0D, 0.00, 0, '', X'', false, DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59', NULL),
  (-2147483648, -9223372036854775808, 3S, 4Y, float(0), 0.0D, 99999999.99, 1234567890123456789012345678.0123456789, 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz', X'ff', true, NULL, TIMESTAMP '2024-03-10 03:30:00', TIMESTAMP_NTZ '2024-03-10 02:30:00'),
  (3, 4, 5S, 6Y, float('Infinity'), double('-Infinity'), 7.00, -8, cast(X'ff80' AS STRING), X'00', NULL, DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP_NTZ '0001-01-01 00:00:00'),
  (3, 4, 5S, 6Y, float('-Infinity'), double('Infinity'), 7.00, 128, 'é', X'00ff80', NULL, NULL, NULL, NULL);

-- name: each type by itself, and the hash of nothing
-- native: Project
SELECT hash(i), hash(l), hash(sh), hash(by), hash(f), hash(d), hash(n), hash(w), hash(s), hash(b), hash(bo), hash(dt), hash(ts), hash(tn),
  xxhash64(i), xxhash64(l), xxhash64(sh), xxhash64(by), xxhash64(f), xxhash64(d), xxhash64(n), xxhash64(w), xxhash64(s), xxhash64(b), xxhash64(bo),
  xxhash64(dt), xxhash64(ts), xxhash64(tn) FROM t;

-- name: several values, each seeded by the one before; constants
-- native: Project
SELECT hash(i, s, d, w, bo), xxhash64(i, s, d, w, bo), hash(s, NULL, i), xxhash64(5, s, 'x', l), hash(1, i) FROM t;

-- name: in a filter, over computed values
-- native: Filter, Project
SELECT i, s, hash(upper(s), i + 1) FROM t WHERE xxhash64(concat(s, 'x'), l) % 2 = 0 AND hash(n + 1) <> 7;

-- name: nested values and collations are Spark's
SELECT hash(array(i, 1)), xxhash64(struct(i, s)), hash(s COLLATE UTF8_LCASE) FROM t;
