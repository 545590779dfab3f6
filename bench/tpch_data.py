"""TPC-H: data from tpchgen-cli, query texts from Spark's own test jar. Both are kept (data/, .cache/), neither is
in git."""
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
QUERY_ARTIFACT = "org.apache.spark:spark-sql_2.13:4.1.3:jar:tests"

# Output columns by which each query's ORDER BY sorts (from 0); q6, q14, q17 and q19 give one row.
ORDERED_BY = {
    1: [0, 1], 2: [0, 2, 1, 3], 3: [1, 2], 4: [0], 5: [1], 7: [0, 1, 2], 8: [0], 9: [0, 1], 10: [2], 11: [1],
    12: [0], 13: [1, 0], 15: [0], 16: [3, 0, 1, 2], 18: [4, 3], 20: [0], 21: [1, 0], 22: [0],
}


def say(text):
    print(f"==> {text}", flush=True)


def artifact(coordinates):
    """The jar of `group:artifact:version[:type[:classifier]]` from Maven Central, fetched once."""
    parts = coordinates.split(":")
    classifier = f"-{parts[4]}" if len(parts) > 4 else ""
    path = CACHE / f"{parts[1]}-{parts[2]}{classifier}.jar"
    if not path.exists():
        say(f"fetching {coordinates}")
        CACHE.mkdir(exist_ok=True)
        command = os.environ.get("MVN", "mvn -B -ntp").split()
        subprocess.run(
            command + ["-q", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
                       f"-Dartifact={coordinates}", f"-DoutputDirectory={CACHE}", "-Dmdep.useBaseVersion=true"],
            check=True, cwd=CACHE)
        if not path.exists():
            sys.exit(f"{coordinates} was fetched, but not as {path}")
    return path


def queries(numbers):
    """{number: text} of Spark's own TPC-H queries."""
    with zipfile.ZipFile(artifact(QUERY_ARTIFACT)) as jar:
        return {n: jar.read(f"tpch/q{n}.sql").decode() for n in numbers}


def tables(scale, keys=TABLES):
    """The folder with one Parquet file a table at this scale, generated once."""
    folder = ROOT / "data" / f"tpch-sf{scale:g}"
    if all((folder / f"{name}.parquet").exists() for name in keys):
        return folder
    say(f"generating TPC-H at scale {scale:g}")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    tool = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([str(tool), "parquet", "-s", f"{scale:g}", "--output-dir", str(partial)], check=True)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def parse_queries(text):
    """`all`, or numbers and ranges: 1,6,10-12."""
    if text == "all":
        return list(range(1, 23))
    numbers = []
    for part in text.split(","):
        low, _, high = part.strip().lstrip("q").partition("-")
        numbers += range(int(low), int(high or low) + 1)
    if not all(1 <= n <= 22 for n in numbers):
        sys.exit(f"queries are numbered 1 to 22: {text}")
    return numbers
