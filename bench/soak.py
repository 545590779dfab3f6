"""`make soak`: TPC-H's queries in turn in one session of Halley's; the memory that the JVM has resident must stay flat.

After each query the collector runs and resident memory is read. The heap is resident from the start, so what grows is
native memory or the JVM's own. The first rounds do not count: code is compiled, and Spark's pools for shuffle exchanges
and result stages come to hundreds of threads, each kept for a minute, before as many end as start. Over the rest the
growth is the median of the slopes between all pairs of samples (Theil and Sen's), which single high samples do not
move, times the number of runs. At the end no native memory may be in use.
"""
import argparse
import statistics
import sys
import time

import tpch_data
from engine_process import Engine

MIB = 1 << 20
WARM_ROUNDS = 12


def slope(samples):
    """Bytes a run, of samples taken one a run."""
    return statistics.median((b - a) / (j - i) for i, a in enumerate(samples)
                             for j, b in list(enumerate(samples))[i + 1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--queries", default="all")
    parser.add_argument("--runs", type=int, default=200, help="that count, after those that warm up")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--growth", type=float, default=32, help="MiB over the runs that count which are still flat")
    parser.add_argument("--conf", action="append", default=[], help="key=value")
    arguments = parser.parse_args()
    texts = list(tpch_data.queries(tpch_data.parse_queries(arguments.queries)).items())
    warm = WARM_ROUNDS * len(texts)
    if arguments.runs < 10:
        sys.exit(f"{arguments.runs} runs are too few")

    conf = {"spark.driver.extraJavaOptions": "-Xms2g -XX:+UseParallelGC -XX:+AlwaysPreTouch"}
    conf.update(pair.split("=", 1) for pair in arguments.conf)
    data = tpch_data.tables(arguments.scale)
    started, samples = time.time(), []
    with Engine("halley", data, jar=arguments.jar, cores=arguments.cores, conf=conf) as halley:
        for run in range(warm + arguments.runs):
            number, text = texts[run % len(texts)]
            result = halley.query(text, plan=False)
            if "error" in result:
                sys.exit(f"run {run + 1}, q{number}: {result['error']}")
            samples.append(halley.resident_memory())
            if (run + 1) % len(texts) == 0:
                print(f"{run + 1} runs, {time.time() - started:.0f} s: {samples[-1] / MIB:.0f} MiB resident", flush=True)
        in_use = halley.native_memory()
    counted = samples[warm:]
    growth = slope(counted) * len(counted) / MIB
    print(f"{len(counted)} runs after {warm} to warm up: median {statistics.median(counted) / MIB:.0f} MiB, "
          f"most {max(counted) / MIB:.0f} MiB, growth {growth:+.1f} MiB; {in_use} bytes of native memory in use at the end")
    if growth > arguments.growth:
        print(f"FAILED: more than {arguments.growth:g} MiB of growth")
        return 1
    if in_use:
        print("FAILED: native memory was left behind")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
