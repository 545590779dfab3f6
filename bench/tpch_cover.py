"""TPC-H's answers under many settings: each of eight combinations must give what vanilla Spark gave once, with every
operator native; then once more on a local cluster, where executors are processes of their own.

The combinations cover each pair of values of two settings at least once, but for batches of one row with 200
partitions (two costs of the same kind, a minute long together).
"""
import argparse
import itertools
import json
import sys
import time

import answers
import tpch_data
from engine_process import Engine

FACTORS = ["partitions", "batch", "broadcast", "merge", "forced", "AQE", "ANSI", "off-heap", "filters"]
# A value of a factor, and the session's settings that it stands for; off-heap memory is given when the engine starts.
SETTINGS = {
    "partitions": lambda value: {"spark.sql.shuffle.partitions": value},
    "batch": lambda value: {"spark.comet.batchSize": value},
    "broadcast": lambda value: {"spark.sql.autoBroadcastJoinThreshold": "10m" if value == "on" else "-1"},
    "merge": lambda value: {"spark.comet.exec.sortMergeJoin.asHashJoin.enabled": "false" if value == "on" else "true"},
    "forced": lambda value: {"spark.comet.exec.forceShuffledHashJoin": "true" if value == "on" else "false"},
    "AQE": lambda value: {"spark.sql.adaptive.enabled": "true" if value == "on" else "false"},
    "ANSI": lambda value: {"spark.sql.ansi.enabled": "true" if value == "on" else "false"},
    "off-heap": lambda value: {},
    "filters": lambda value: {"spark.comet.exec.join.dynamicFilter.enabled": "true" if value == "on" else "false"},
}
COMBINATIONS = [dict(zip(FACTORS, line.split())) for line in """
    1    1    on   on   off  on   off  2g   off
    1    7    on   off  off  off  on   2g   on
    7    8192 on   on   on   on   on   2g   off
    200  7    off  off  on   on   off  2g   off
    1    8192 off  off  on   on   off  32m  on
    7    1    off  off  on   off  on   32m  on
    7    7    off  on   off  off  off  32m  off
    200  8192 on   on   off  off  on   32m  on
""".strip().splitlines()]
LEFT_OUT = {(("partitions", "200"), ("batch", "1"))}

CLUSTER = "local-cluster[2,1,1024]"


def uncovered():
    """Pairs of values that no combination has."""
    values = {factor: sorted({c[factor] for c in COMBINATIONS}) for factor in FACTORS}
    missing = set()
    for f, g in itertools.combinations(FACTORS, 2):
        for a, b in itertools.product(values[f], values[g]):
            if not any(c[f] == a and c[g] == b for c in COMBINATIONS):
                missing.add(((f, a), (g, b)))
    return missing - LEFT_OUT


def run(halley, name, texts, expected):
    """Runs all queries; answers how many were right, and what was wrong with the others."""
    started = time.time()
    native, faults = 0, []
    for number, text in texts.items():
        result = halley.query(text)
        fault = answers.difference(expected[number], result, tpch_data.ORDERED_BY.get(number, ()))
        left = set(result.get("spark_operators", ()))
        native += result.get("native", 0)
        if fault:
            faults.append(f"q{number}, {name}: {fault}")
        elif left:
            faults.append(f"q{number}, {name}: Spark ran {', '.join(sorted(left))}")
    print(f"{name}: {len(texts) - len(faults)} of {len(texts)} equal and native, {native} native operators, "
          f"{time.time() - started:.0f} s", flush=True)
    return len(texts) - len(faults), faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--queries", default="all")
    parser.add_argument("--report", help="where to leave {passed, failed} as JSON")
    arguments = parser.parse_args()
    if uncovered():
        sys.exit(f"the combinations leave out {sorted(uncovered())}")

    numbers = tpch_data.parse_queries(arguments.queries)
    texts = tpch_data.queries(numbers)
    data = tpch_data.tables(arguments.scale)
    expected = {}
    with Engine("spark", data) as spark:
        for number, text in texts.items():
            expected[number] = spark.query(text, plan=False)
            if "error" in expected[number]:
                sys.exit(f"vanilla Spark fails in q{number}: {expected[number]['error']}")
    print("vanilla answers are there", flush=True)

    passed, faults = 0, []
    for memory, group in itertools.groupby(COMBINATIONS, key=lambda c: c["off-heap"]):
        with Engine("halley", data, jar=arguments.jar, off_heap=memory) as halley:
            for combination in group:
                settings = {}
                for factor, value in combination.items():
                    settings.update(SETTINGS[factor](value))
                halley.configure(settings)
                name = ", ".join(f"{factor} {value}" for factor, value in combination.items())
                right, wrong = run(halley, name, texts, expected)
                passed, faults = passed + right, faults + wrong
    with Engine("halley", data, jar=arguments.jar, off_heap="512m", master=CLUSTER) as halley:
        right, wrong = run(halley, CLUSTER, texts, expected)
        passed, faults = passed + right, faults + wrong
    for fault in faults:
        print(f"DIFFERENT: {fault}")
    if arguments.report:
        with open(arguments.report, "w") as file:
            json.dump({"passed": passed, "failed": len(faults)}, file)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
