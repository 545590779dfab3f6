"""The three engines as Spark settings, exactly as a user of each would give them."""
import argparse
import json

COMET_ARTIFACT = "org.apache.datafusion:comet-spark-spark4.1_2.13:1.2.0"

# Halley takes the settings of a Comet user as they are.
ACCELERATED = {
    "spark.plugins": "org.apache.spark.CometPlugin",
    "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
    "spark.memory.offHeap.enabled": "true",
}


def settings(engine, off_heap="2g", jar=None):
    """Settings by which `engine` differs from plain Spark."""
    if engine == "spark":
        return {}
    conf = dict(ACCELERATED, **{"spark.memory.offHeap.size": off_heap})
    if jar:
        conf.update({"spark.jars": jar, "spark.driver.extraClassPath": jar})
    return conf


def differences(settings_by_engine):
    """(key, [value for each engine]) of every key that is not the same for all."""
    keys = sorted({key for conf in settings_by_engine.values() for key in conf})
    rows = [(key, [conf.get(key, "") for conf in settings_by_engine.values()]) for key in keys]
    return [row for row in rows if len(set(row[1])) > 1]


def main():
    parser = argparse.ArgumentParser(description="Prints an engine's settings.")
    parser.add_argument("engine", choices=["spark", "comet", "halley"])
    parser.add_argument("--submit", action="store_true", help="as arguments of spark-submit")
    arguments = parser.parse_args()
    conf = settings(arguments.engine)
    if arguments.submit:
        print(" ".join(f"--conf {key}={value}" for key, value in conf.items()))
    else:
        print(json.dumps(conf, indent=2))


if __name__ == "__main__":
    main()
