"""Whether two engines gave the same answer. Exact, with no allowance: all columns of TPC-H that are summed are
decimals, so no answer depends on the order of additions."""
import math
import struct


def exact(value):
    """A value whose equality is that of SQL types: 1.0 is not 1.00, -0.0 not 0.0, NaN is NaN."""
    if isinstance(value, float):
        return ("double", "NaN" if math.isnan(value) else struct.pack(">d", value))
    if isinstance(value, (list, tuple)):
        return tuple(map(exact, value))
    if isinstance(value, dict):
        return tuple((exact(k), exact(v)) for k, v in value.items())
    return (type(value).__name__, str(value))


def difference(expected, actual, ordered_by=()):
    """None, or what differs. Rows are compared as a multiset, and the columns that ORDER BY names in order."""
    for side, result in (("Spark", expected), ("the other", actual)):
        if "error" in result:
            return f"{side} failed: {result['error'].splitlines()[0]}"
    if expected["schema"] != actual["schema"]:
        return f"schema {actual['schema']} instead of {expected['schema']}"
    left, right = ([exact(row) for row in result["rows"]] for result in (expected, actual))
    if len(left) != len(right):
        return f"{len(right)} rows instead of {len(left)}"
    for number, (a, b) in enumerate(zip(sorted(left), sorted(right))):
        if a != b:
            return f"row {number} (sorted): {readable(b)} instead of {readable(a)}"
    for number, (a, b) in enumerate(zip(left, right)):
        if [a[i] for i in ordered_by] != [b[i] for i in ordered_by]:
            return f"order: row {number} is {readable(b)} instead of {readable(a)}"
    return None


def readable(row):
    return "(" + ", ".join(str(value[1]) for value in row) + ")"
