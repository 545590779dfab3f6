"""`make bench`: TPC-H side by side by vanilla Spark, Comet's released jar and Halley.

Each engine has a JVM of its own with the same heap (-Xms = -Xmx), collector and cores, and runs alone on the
machine. A round starts each engine's JVM once and runs all queries in it; the order of engines turns from
round to round. Reported are the best and the median of the rounds, ratios, answers, operators, and the most
memory that each JVM had resident.
"""
import argparse
import json
import os
import platform
import statistics
import sys
from datetime import datetime

import answers
import engines
import tpch_data
from engine_process import Engine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jar", required=True, help="Halley's")
    parser.add_argument("--engines", default="spark,comet,halley")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--queries", default="all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--heap", help="default: 4g, from scale 5 on 6g")
    parser.add_argument("--off-heap", help="for Comet and Halley, default: as --heap")
    parser.add_argument("--collector", default="ParallelGC")
    parser.add_argument("--conf", action="append", default=[], help="key=value for all engines")
    arguments = parser.parse_args()
    names = arguments.engines.split(",")
    for name in names:
        if name not in ("spark", "comet", "halley"):
            parser.error(f"no engine {name}")
    arguments.heap = arguments.heap or ("6g" if arguments.scale >= 5 else "4g")
    arguments.off_heap = arguments.off_heap or arguments.heap

    numbers = tpch_data.parse_queries(arguments.queries)
    texts = tpch_data.queries(numbers)
    data = tpch_data.tables(arguments.scale)
    jars = {"spark": None, "halley": arguments.jar}
    if "comet" in names:
        jars["comet"] = str(tpch_data.artifact(engines.COMET_ARTIFACT))
    options = dict(data=data, cores=arguments.cores, heap=arguments.heap, off_heap=arguments.off_heap,
                   collector=arguments.collector, conf=dict(pair.split("=", 1) for pair in arguments.conf))

    # seconds[query][engine], and what the first round answered
    seconds = {n: {name: [] for name in names} for n in numbers}
    first = {n: {} for n in numbers}
    peaks = {name: [] for name in names}
    settings = {}
    for round_number in range(arguments.runs):
        turn = round_number % len(names)
        for name in names[turn:] + names[:turn]:
            with Engine(name, jar=jars[name], **options) as engine:
                settings[name] = engine.settings
                up = engine.start()
                print(f"round {round_number + 1} of {arguments.runs}, {name} (up in {up:.1f} s):", end=" ", flush=True)
                for number, text in texts.items():
                    result = engine.query(text, answers=round_number == 0, plan=round_number == 0)
                    if round_number == 0:
                        first[number][name] = result
                    if "error" in result:
                        print(f"q{number} FAILED", end=" ", flush=True)
                    else:
                        seconds[number][name].append(result["seconds"])
                        print(f"q{number} {result['seconds']:.2f}", end=" ", flush=True)
                peaks[name].append(engine.peak_memory())
                print(flush=True)

    report = {
        "when": datetime.now().isoformat(timespec="seconds"),
        "machine": {"cpu": cpu(), "cores_used": arguments.cores, "system": platform.platform()},
        "scale": arguments.scale, "runs": arguments.runs, "collector": arguments.collector,
        "heap": arguments.heap, "settings": settings, "peak_memory_bytes": peaks, "queries": {},
    }
    faults = []
    for number in numbers:
        entry = report["queries"][number] = {"seconds": seconds[number], "operators": {}, "different": {}}
        for name in names:
            result = first[number][name]
            entry["operators"][name] = [result.get("native", 0), result.get("total", 0)]
            fault = answers.difference(first[number][names[0]], result, tpch_data.ORDERED_BY.get(number, ()))
            if fault:
                entry["different"][name] = fault
                faults.append(f"q{number}, {name}: {fault}")

    text = markdown(report, names)
    print("\n" + text)
    folder = tpch_data.ROOT / "bench" / "results"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"tpch-sf{arguments.scale:g}-{datetime.now():%Y%m%d-%H%M%S}"
    (folder / f"{stem}.md").write_text(text + "\n")
    (folder / f"{stem}.json").write_text(json.dumps(report, indent=1))
    chart(report, names, folder / f"{stem}.png")
    tpch_data.say(f"bench/results/{stem}.md, .json, .png")
    for fault in faults:
        print(f"DIFFERENT: {fault}")
    return 1 if faults else 0


def cpu():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


def best(times):
    return min(times) if times else float("nan")


def median(times):
    return statistics.median(times) if times else float("nan")


def markdown(report, names):
    base = names[0]
    lines = [f"TPC-H at scale {report['scale']:g}, {report['runs']} rounds, {report['machine']['cores_used']} cores of "
             f"{report['machine']['cpu']}, heap {report['heap']}, {report['collector']}.", ""]
    head = ["query"]
    for name in names:
        head += [f"{name} best", "median"]
    head += [f"{name}/{other}" for name, other in pairs(names)]
    head += [f"{name} native" for name in names if name != "spark"] + ["equal"]
    lines += ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"]

    totals = {name: [0.0, 0.0] for name in names}
    for number, entry in report["queries"].items():
        cells = [f"q{number}"]
        for name in names:
            low, mid = best(entry["seconds"][name]), median(entry["seconds"][name])
            totals[name] = [totals[name][0] + low, totals[name][1] + mid]
            cells += [f"{low:.2f}", f"{mid:.2f}"]
        cells += [ratio(median(entry["seconds"][a]), median(entry["seconds"][b])) for a, b in pairs(names)]
        cells += ["{}/{}".format(*entry["operators"][name]) for name in names if name != "spark"]
        cells.append("NO: " + ", ".join(entry["different"]) if entry["different"] else "yes")
        lines.append("| " + " | ".join(cells) + " |")
    cells = ["total"]
    for name in names:
        cells += [f"{totals[name][0]:.2f}", f"{totals[name][1]:.2f}"]
    cells += [ratio(totals[a][1], totals[b][1]) for a, b in pairs(names)]
    cells += [""] * (len(head) - len(cells))
    lines += ["| " + " | ".join(cells) + " |", "", "Seconds; ratios are of medians; `native` is operators native/total; "
              f"`equal` compares answers with {base}'s.", ""]

    lines += ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    lines.append("| peak resident memory, GiB | " + " | ".join(
        f"{max(report['peak_memory_bytes'][name]) / 2**30:.2f}" for name in names) + " |")
    for key, values in engines.differences(report["settings"]):
        shown = [value.replace(str(tpch_data.ROOT) + "/", "") for value in values]
        lines.append(f"| `{key}` | " + " | ".join(shown) + " |")
    if {"comet", "halley"} <= set(names):
        lines += ["", *bars(report)]
    return "\n".join(lines)


def bars(report):
    """Halley's time as a part of Comet's, as a chart that Markdown readers draw."""
    parts = {number: median(entry["seconds"]["halley"]) / median(entry["seconds"]["comet"])
             for number, entry in report["queries"].items()}
    parts = {number: part for number, part in parts.items() if part == part}
    return ["```mermaid", "xychart-beta", f'  title "TPC-H at scale {report["scale"]:g}: Halley\'s time, where Comet\'s is 1"',
            "  x-axis [" + ", ".join(f"q{number}" for number in parts) + "]",
            f"  y-axis 0 --> {max(1.0, *parts.values()) * 1.1:.1f}",
            "  bar [" + ", ".join(f"{part:.2f}" for part in parts.values()) + "]",
            "  line [" + ", ".join("1" for _ in parts) + "]", "```"]


def pairs(names):
    """(engine, what it is compared with): Halley with all others, each with Spark."""
    found = [(name, "spark") for name in names if name != "spark" and "spark" in names]
    return found + [("halley", name) for name in names if name == "comet" and "halley" in names]


def ratio(time_a, time_b):
    return f"{time_a / time_b:.2f}" if time_b else "nan"


def chart(report, names, path):
    os.environ.setdefault("MPLCONFIGDIR", str(tpch_data.CACHE / "matplotlib"))
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    colours = {"spark": "#8a8f98", "comet": "#e08a3c", "halley": "#2f6fde"}
    numbers = list(report["queries"])
    figure, axes = pyplot.subplots(figsize=(max(6, 0.55 * len(numbers) + 2), 4.2), constrained_layout=True)
    width = 0.8 / len(names)
    for place, name in enumerate(names):
        heights = [median(report["queries"][n]["seconds"][name]) for n in numbers]
        total = sum(h for h in heights if h == h)
        axes.bar([i + (place - (len(names) - 1) / 2) * width for i in range(len(numbers))], heights, width,
                 color=colours[name], label=f"{name} ({total:.1f} s)")
    axes.set_xticks(range(len(numbers)), [f"q{n}" for n in numbers])
    axes.set_ylabel("seconds (median)")
    axes.set_title(f"TPC-H at scale {report['scale']:g}, {report['machine']['cores_used']} cores")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
