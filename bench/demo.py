"""`make demo`: the 22 TPC-H queries in real Spark, by Spark alone and with Halley, answers compared."""
import argparse
import sys
import time

import answers
import tpch_data
from engine_process import Engine


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--queries", default="all")
    parser.add_argument("--runs", type=int, default=2, help="each query this often; the best counts")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--conf", action="append", default=[], help="key=value for both")
    arguments = parser.parse_args()
    conf = dict(pair.split("=", 1) for pair in arguments.conf)

    numbers = tpch_data.parse_queries(arguments.queries)
    texts = tpch_data.queries(numbers)
    data = tpch_data.tables(arguments.scale)
    tpch_data.say("starting Spark twice: alone and with Halley")
    options = dict(data=data, cores=arguments.cores, conf=conf)
    with Engine("spark", **options) as spark, Engine("halley", jar=arguments.jar, **options) as halley:
        spark.start()
        halley.start()
        faults = table(spark, halley, texts, arguments)
    return 1 if faults else 0


def table(spark, halley, texts, arguments):
    tpch_data.say(f"TPC-H at scale {arguments.scale:g}, local[{arguments.cores}], best of {arguments.runs}")
    heading = f"{'query':<6} {'Spark s':>9} {'Halley s':>9} {'ratio':>6}  {'native/total':>12}  answers equal"
    print(heading + "\n" + "-" * len(heading), flush=True)
    totals = [0.0, 0.0, 0, 0]
    faults = []
    started = time.time()
    for number, text in texts.items():
        results = {}
        for run in range(arguments.runs):
            # Alternating, so that neither always runs on the machine that the other warmed.
            for engine in (spark, halley) if run % 2 == 0 else (halley, spark):
                results.setdefault(engine.name, []).append(engine.query(text))
        fault = None
        for one in results["spark"] + results["halley"]:
            fault = fault or answers.difference(results["spark"][0], one, tpch_data.ORDERED_BY.get(number, ()))
        if fault:
            faults.append((number, fault))
        best = [min((r["seconds"] for r in results[name] if "seconds" in r), default=float("nan"))
                for name in ("spark", "halley")]
        last = results["halley"][-1]
        native, total = last.get("native", 0), last.get("total", 0)
        totals = [a + b for a, b in zip(totals, (*best, native, total))]
        print(line(f"q{number}", *best, native, total, "NO" if fault else "yes"), flush=True)
    print("-" * len(heading))
    equal = len(texts) - len(faults)
    print(line("total", *totals, f"{equal} of {len(texts)}"), flush=True)
    for number, fault in faults:
        print(f"q{number}: {fault}")
    tpch_data.say(f"{time.time() - started:.0f} s; ratio is Halley's time in Spark's; logs in build/logs")
    return faults


def line(name, spark_s, halley_s, native, total, equal):
    ratio = halley_s / spark_s if spark_s else float("nan")
    return f"{name:<6} {spark_s:>9.2f} {halley_s:>9.2f} {ratio:>6.2f}  {f'{native}/{total}':>12}  {equal}"


if __name__ == "__main__":
    sys.exit(main())
