"""Reads `halley registry --json` and writes docs/functions.md: a table for each list in it, a column for each key."""
import json
import sys


def cell(value):
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {cell(item)}" for key, item in value.items())
    return "" if value is None else str(value).replace("|", "\\|")


def table(rows):
    rows = [row if isinstance(row, dict) else {"name": row} for row in rows]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in sorted(rows, key=lambda row: str(row.get(columns[0]))):
        yield "| " + " | ".join(cell(row.get(column)) for column in columns) + " |"


def main():
    registry = json.load(sys.stdin)
    print("# What the engine evaluates itself\n")
    print("Written by `make docs` from the registry in the library. An expression that is not here is evaluated over the")
    print("batch by Spark's own code, inside the native operator; an operator that is not here is left to Spark.")
    for name, rows in registry.items():
        if isinstance(rows, list) and rows:
            print(f"\n## {name.replace('_', ' ').capitalize()}\n")
            print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
