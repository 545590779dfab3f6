"""One engine in a JVM of its own. Run as a program it is the process itself, which takes commands over a socket;
imported, `Engine` is the handle on one."""
import argparse
import gc
import importlib.util
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Client, Listener
from pathlib import Path

import engines
import tpch_data

# What frames a plan, hands over between stages, or converts between rows and columns is no operator.
NO_OPERATOR = re.compile(
    r"^(AdaptiveSparkPlan|\w*QueryStage|AQEShuffleRead|CustomShuffleReader|ReusedExchange|ReusedSubquery|Subquery\w*|"
    r"WholeStageCodegen|InputAdapter|Comet(Native)?ScanWrapper|CometSinkPlaceHolder|"
    r"(Comet)?(Native|Spark)?(ColumnarToRow|RowToColumnar|SparkToColumnar|ToColumnar))")


class Engine:
    """Starts the process at once; `query` runs there. Close it, or use it in a `with`."""

    def __init__(self, name, data, jar=None, cores=2, heap="2g", off_heap="2g", collector="ParallelGC", conf=(),
                 log_folder=None, master=None):
        self.name = name
        self.settings = engines.settings(name, off_heap, jar)
        self.settings.update({
            "spark.master": master or f"local[{cores}]",
            "spark.driver.memory": heap,
            "spark.driver.extraJavaOptions": f"-Xms{heap} -XX:+Use{collector}",
        })
        self.settings.update(conf)
        log_folder = Path(log_folder or tpch_data.ROOT / "build" / "logs")
        log_folder.mkdir(parents=True, exist_ok=True)
        self.log = log_folder / f"{name}.log"
        # Spark looks for these before it looks at ours.
        environment = {k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "SPARK_CONF_DIR", "PYTHONPATH")}
        environment.update(PYSPARK_PYTHON=sys.executable, HALLEY_BENCH_KEY=secrets.token_hex(16))
        self._folder = tempfile.TemporaryDirectory(prefix="halley-bench-")
        if master and master.startswith("local-cluster"):
            environment["SPARK_HOME"] = str(self._installation())
        address = str(Path(self._folder.name) / "socket")
        self._listener = Listener(address, "AF_UNIX", authkey=environment["HALLEY_BENCH_KEY"].encode())
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--address", address, "--data", str(data), "--work", self._folder.name],
            env=environment, stdin=subprocess.DEVNULL, stdout=self.log.open("w"), stderr=subprocess.STDOUT)
        self._connection = None

    def _installation(self):
        """What a local cluster's workers start executors from: Spark's Python package, but not where they write."""
        home = Path(self._folder.name) / "spark"
        home.mkdir()
        for part in ("bin", "jars"):
            (home / part).symlink_to(Path(importlib.util.find_spec("pyspark").origin).parent / part)
        return home

    def _ask(self, *command):
        try:
            if self._connection is None:
                self._listener._listener._socket.settimeout(180)
                self._connection = self._listener.accept()
                self._connection.send(("start", self.settings))
                self._receive()
            self._connection.send(command)
            return self._receive()
        except (EOFError, ConnectionError, TimeoutError):
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])
            raise SystemExit(f"the process of {self.name} ended; the end of {self.log}:\n{tail}")

    def _receive(self):
        kind, value = self._connection.recv()
        if kind == "fault":
            raise SystemExit(f"{self.name}: {value}")
        return value

    def start(self):
        """Waits until Spark is up and has opened the tables; answers the seconds that took."""
        started = time.time()
        self._ask("ping")
        return time.time() - started

    def query(self, text, answers=True, plan=True):
        """{seconds, rows, schema, native, total, spark_operators} or {error}."""
        return self._ask("query", text, answers, plan)

    def configure(self, settings):
        """Sets session settings for the queries that follow."""
        result = self._ask("configure", settings)
        if result:
            raise SystemExit(f"{self.name}: {result['error']}")

    def peak_memory(self):
        """Most bytes of memory that the JVM has had resident."""
        return self._ask("peak_memory")

    def resident_memory(self):
        """Bytes of memory that the JVM has resident after a collection."""
        return self._ask("resident_memory")

    def native_memory(self):
        """Bytes that the engine's allocator has given out, once what only the collector frees had its chance."""
        return self._ask("native_memory")

    def close(self):
        try:
            if self._connection is not None:
                self._connection.send(("stop",))
            self._process.wait(60)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._listener.close()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- the process


def children_of(node):
    name = node.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        below = [node.executedPlan()]
    elif name.endswith("QueryStageExec"):
        below = [node.plan()]
    elif name == "ReusedExchangeExec":
        below = []  # counted where it ran
    else:
        below = items(node.children())
    return below + items(node.subqueries())


def items(sequence):
    return [sequence.apply(i) for i in range(sequence.size())]


def operators(plan):
    """Names of the operators of an executed plan."""
    found, pending = [], [plan]
    while pending:
        node = pending.pop()
        name = node.nodeName()
        if not NO_OPERATOR.match(name):
            found.append(name.split(" ")[0].split("(")[0])
        pending += children_of(node)
    return found


def collect_garbage(spark):
    """Python's first: its frames hold those of the JVM, and these their plans with broadcasts."""
    gc.collect()
    spark._jvm.java.lang.System.gc()


def status_bytes(pid, field):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(field + r":\s+(\d+) kB", status.read()).group(1)) * 1024


def run_query(spark, text, answers, plan):
    spark.catalog.clearCache()
    started = time.perf_counter()
    frame = spark.sql(text)
    rows = frame.collect()
    result = {"seconds": time.perf_counter() - started, "n_rows": len(rows)}
    if answers:
        result["rows"] = [tuple(row) for row in rows]
        result["schema"] = frame.schema.simpleString()
    if plan:
        names = operators(frame._jdf.queryExecution().executedPlan())
        native = [name for name in names if name.startswith("Comet")]
        result.update(native=len(native), total=len(names),
                      spark_operators=sorted(name for name in names if not name.startswith("Comet")))
    return result


def serve(address, data, work):
    connection = Client(address, "AF_UNIX", authkey=os.environ["HALLEY_BENCH_KEY"].encode())
    _, settings = connection.recv()
    try:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("halley-bench")
        base = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN",
                "spark.local.dir": work,
                "spark.sql.warehouse.dir": os.path.join(work, "warehouse")}
        for key, value in dict(base, **settings).items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        for table in tpch_data.TABLES:
            spark.read.parquet(os.path.join(data, f"{table}.parquet")).createOrReplaceTempView(table)
        # Classes that any first query loads, whichever engine.
        spark.range(1000).selectExpr("sum(id)").collect()
        jvm_pid = spark._jvm.java.lang.ProcessHandle.current().pid()
        connection.send(("ok", None))
    except Exception as error:
        connection.send(("fault", str(error)))
        raise
    while True:
        command, *arguments = connection.recv()
        if command == "stop":
            spark.stop()
            return
        try:
            if command == "query":
                value = run_query(spark, *arguments)
            elif command == "configure":
                for key, setting in arguments[0].items():
                    spark.conf.set(key, setting)
                value = None
            elif command == "peak_memory":
                value = status_bytes(jvm_pid, "VmHWM")
            elif command == "resident_memory":
                collect_garbage(spark)
                value = status_bytes(jvm_pid, "VmRSS")
            elif command == "native_memory":
                for _ in range(50):
                    collect_garbage(spark)
                    value = spark._jvm.org.apache.comet.Native.memoryInUse()
                    if value == 0:
                        break
                    time.sleep(0.1)
            else:
                value = None
        except Exception as error:
            value = {"error": f"{type(error).__name__}: {error}"}
        connection.send(("ok", value))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("--address", "--data", "--work"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    serve(arguments.address, arguments.data, arguments.work)
