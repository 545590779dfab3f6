"""`make bench-scan`: the engine alone against DuckDB, one thread each, on the same file: a filter on one column of
TPC-H's lineitem and a sum over another.

Spark plans the query once with Halley on and saves the scanning stage's plan (spark.comet.debug.savePlan.dir);
`halley run` then runs that file without a JVM.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tpch_data
from engine_process import Engine

QUERY = "SELECT sum(l_extendedprice) AS s FROM {lineitem} WHERE l_quantity < 24"
TIME = re.compile(r"rows in ([0-9.]+) ms")


def save_plan(data, jar, folder, conf):
    """(plan file of the stage that scans, the query's answer)."""
    with Engine("halley", data, jar=jar, conf=conf) as halley:
        halley.configure({
            "spark.comet.debug.savePlan.dir": str(folder),
            # One task reads the whole file.
            "spark.sql.files.maxPartitionBytes": "1t",
            "spark.sql.files.minPartitionNum": "1",
        })
        result = halley.query(QUERY.format(lineitem="lineitem"))
    if "error" in result:
        sys.exit(f"Halley: {result['error']}")
    plans = [path for path in sorted(folder.rglob("*")) if path.is_file() and b"lineitem.parquet" in path.read_bytes()]
    if len(plans) != 1:
        sys.exit(f"expected one saved plan that scans lineitem, found {[p.name for p in plans]}; "
                 f"left to Spark: {', '.join(result['spark_operators']) or 'nothing'}")
    return plans[0], result["rows"][0][0]


def run_halley(tool, plan, runs):
    seconds = []
    for _ in range(runs):
        done = subprocess.run([str(tool), "run", str(plan), "--time", "--count"], capture_output=True, text=True)
        found = TIME.search(done.stderr)
        if done.returncode != 0 or not found:
            sys.exit(f"halley run failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        seconds.append(float(found.group(1)) / 1000)
    return seconds, done.stderr


def run_duckdb(data, runs):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    # Each run reads the file, as `halley run` does; both find it in the system's page cache.
    for setting in ("enable_external_file_cache", "parquet_metadata_cache", "enable_object_cache"):
        try:
            connection.execute(f"SET {setting} = false")
        except duckdb.Error:
            pass  # not a setting of this version
    text = QUERY.format(lineitem=f"read_parquet('{data / 'lineitem.parquet'}')")
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        answer = connection.execute(text).fetchone()[0]
        seconds.append(time.perf_counter() - started)
    return seconds, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jar", default="dist/halley-spark4.1_2.13.jar")
    parser.add_argument("--tool", default="build/release/halley")
    parser.add_argument("--conf", action="append", default=[], help="key=value for Spark")
    parser.add_argument("--limit", type=float, help="fail where Halley takes more than this many times DuckDB's time")
    arguments = parser.parse_args()
    tool = Path(arguments.tool).resolve()
    if not os.access(tool, os.X_OK):
        sys.exit(f"{arguments.tool} is not built")
    data = tpch_data.tables(arguments.scale)

    tpch_data.say("planning in Spark")
    with tempfile.TemporaryDirectory(prefix="halley-bench-") as folder:
        plan, spark_answer = save_plan(data, arguments.jar, Path(folder), dict(c.split("=", 1) for c in arguments.conf))
        tpch_data.say(f"{arguments.runs} runs each at scale {arguments.scale:g}")
        halley, details = run_halley(tool, plan, arguments.runs + 1)
    duckdb, duckdb_answer = run_duckdb(data, arguments.runs + 1)
    halley, duckdb = halley[1:], duckdb[1:]  # the first brought the file into memory

    print(details.rstrip())
    print(f"{'':8}{'best s':>9}{'median s':>10}")
    for name, seconds in (("halley", halley), ("duckdb", duckdb)):
        print(f"{name:8}{min(seconds):>9.3f}{statistics.median(seconds):>10.3f}")
    ratio = statistics.median(halley) / statistics.median(duckdb)
    print(f"ratio   {ratio:>9.2f}")
    folder = tpch_data.ROOT / "bench" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"scan-filter-sum-sf{arguments.scale:g}.json").write_text(
        json.dumps({"halley": halley, "duckdb": duckdb, "ratio": ratio}, indent=1))
    if spark_answer != duckdb_answer:
        print(f"DIFFERENT: Halley in Spark {spark_answer}, DuckDB {duckdb_answer}")
        return 1
    return 1 if arguments.limit and ratio > arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
