"""TPC-H's answers under many settings: each of eight combinations must give what vanilla Spark gave once.

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

# (partitions, adaptive, ANSI, rows a batch, off-heap memory)
COMBINATIONS = [
    ("4", "true", "true", "8192", "2g"),
    ("1", "false", "false", "8192", "2g"),
    ("200", "true", "false", "7", "2g"),
    ("4", "true", "false", "1", "2g"),
    ("1", "true", "true", "7", "32m"),
    ("200", "false", "true", "8192", "32m"),
    ("4", "false", "false", "7", "32m"),
    ("1", "false", "true", "1", "32m"),
]
KEYS = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled", "spark.sql.ansi.enabled", "spark.comet.batchSize")
LEFT_OUT = {((0, "200"), (3, "1"))}


def uncovered():
    """Pairs of values that no combination has."""
    values = [sorted({c[i] for c in COMBINATIONS}) for i in range(5)]
    missing = set()
    for i, j in itertools.combinations(range(5), 2):
        for a, b in itertools.product(values[i], values[j]):
            if not any(c[i] == a and c[j] == b for c in COMBINATIONS):
                missing.add(((i, a), (j, b)))
    return missing - LEFT_OUT


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
    for memory, group in itertools.groupby(COMBINATIONS, key=lambda c: c[4]):
        with Engine("halley", data, jar=arguments.jar, off_heap=memory) as halley:
            for combination in group:
                started = time.time()
                name = "partitions {}, AQE {}, ANSI {}, batch {}, off-heap {}".format(*combination)
                halley.configure(dict(zip(KEYS, combination)))
                native, wrong = 0, 0
                for number, text in texts.items():
                    result = halley.query(text)
                    fault = answers.difference(expected[number], result, tpch_data.ORDERED_BY.get(number, ()))
                    native += result.get("native", 0)
                    if fault:
                        wrong += 1
                        faults.append(f"q{number}, {name}: {fault}")
                    else:
                        passed += 1
                if native == 0:
                    faults.append(f"{name}: no operator ran natively")
                print(f"{name}: {len(texts) - wrong} of {len(texts)} equal, {native} native operators, "
                      f"{time.time() - started:.0f} s", flush=True)
    for fault in faults:
        print(f"DIFFERENT: {fault}")
    if arguments.report:
        with open(arguments.report, "w") as file:
            json.dump({"passed": passed, "failed": len(faults)}, file)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
