#!/usr/bin/env python3
"""The mean rows of a table of quality.py, from its other rows.

The advantage over a quantizer is dq's SQNR less its SQNR, that of a network the mean of its parts, that of a group the mean
of the networks of which dq and the quantizer have files. A second row has the networks that dq keeps in 8 bits as a whole:
a file with layers in float has less noise, which is no advantage over a file without them.

usage: quality_means.py FILE.csv...: gives the rows of these tables the groups of quality.csv, and makes their mean rows anew.
"""
import csv
import math
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("choices", "second set", "kept out")
BETTER = {"ONNX Runtime's files": "ORT ", "NNCF's files": "NNCF "}  # quantizers with several files, by the titles of columns
MEAN = "mean advantage of "
WHOLE = " without products in float"


def rows_of_networks():
    """The rows of quality.csv."""
    with open(os.path.join(HERE, "quality.csv"), newline="") as table:
        return list(csv.DictReader(line for line in table if not line.startswith("#")))


def sqnr_of(cell):
    return float(cell.split(",")[0]) if cell else math.nan


def has_float(row):
    """Whether the remarks of a row say that dq left products in float."""
    return any(text.startswith("dq: ") and " in float" in text for text in row["remarks"].split("; "))


def best_of(numbers):
    return max((n for n in numbers if math.isfinite(n)), default=math.nan)


def mean_of(numbers):
    """The mean of the numbers that are finite, as text."""
    finite = [n for n in numbers if math.isfinite(n)]
    return signed(statistics.mean(finite)) if finite else ""


def signed(number):
    return f"{number:+.2f}" if math.isfinite(number) else ""


def advantages(rows, peers):
    """Advantages of one network, by the titles of peers, by those of BETTER, and over the best (`advantage`); rows: its
    parts, as dictionaries."""
    sets = {**{peer: [peer] for peer in peers}, "advantage": peers,
            **{title: [p for p in peers if p.startswith(begin)] for title, begin in BETTER.items()}}
    return {title: statistics.mean(sqnr_of(row["dq"]) - best_of(sqnr_of(row[p]) for p in some) for row in rows)
            for title, some in sets.items()}


def mean_row(what, gains, header, group, asked):
    """One row of means; gains: networks to their advantages."""
    of = {name: gain["advantage"] for name, gain in gains.items() if math.isfinite(gain["advantage"])}
    if not of:
        return []
    least = min(of, key=of.get)
    better = [f"over the better of {title} {mean_of(gain[title] for gain in gains.values())}" for title, begin in BETTER.items()
              if sum(column.startswith(begin) for column in header) > 1]
    cells = {"network": f"{MEAN}{len(of)} network{'s' * (len(of) > 1)}{what}", "group": group, "calibration": asked,
             "remarks": "; ".join([*better, f"median {signed(statistics.median(of.values()))}, least {signed(of[least])} ({least})"])}
    return [[cells.get(column) or mean_of(gain.get(column, math.nan) for gain in gains.values()) for column in header]]


def mean_rows(header, rows, asked):
    """The mean rows of the rows of all networks with one number of calibration pictures."""
    peers = [column for column in header if column.startswith(tuple(BETTER.values()))]
    parts = {}
    for row in (dict(zip(header, row)) for row in rows):
        parts.setdefault((row["group"], row["network"]), []).append(row)
    made = []
    for group in GROUPS:
        gains = {name: advantages(some, peers) for (of, name), some in parts.items() if of == group}
        whole = {name: gain for name, gain in gains.items() if not any(has_float(row) for row in parts[group, name])}
        made += mean_row("", gains, header, group, asked)
        if len(whole) < len(gains):
            made += mean_row(WHOLE, whole, header, group, asked)
    return made


def renew(path):
    groups = {row["name"]: row["group"] for row in rows_of_networks()}
    with open(path, newline="") as file:
        lines = file.readlines()
    facts = [line for line in lines if line.startswith("# ")]
    header, *rows = csv.reader(lines[len(facts):])
    column, made, block = header.index("group"), [], []
    for row in rows:
        if not row[0].startswith(MEAN):
            row[column] = groups[row[0]]
            block.append(row)
        elif block:
            made += block + mean_rows(header, block, row[header.index("calibration")])
            block = []
    with open(path + ".new", "w", newline="") as file:
        file.writelines(facts)
        csv.writer(file, lineterminator="\n").writerows([header, *made, *block])
    os.replace(path + ".new", path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(name)
