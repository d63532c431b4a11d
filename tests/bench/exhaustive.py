#!/usr/bin/env python3
"""Times after `dq-tune --time-limit 60s` over those after `--exhaustive`, in fresh processes that take turns.

usage: exhaustive.py BUILD MODEL... [--time-limit 60s] [--most 10m] [--rounds 9] [--milliseconds 100] [--csv FILE]

Both searches begin without wisdom, on one thread. In each of ROUNDS rounds a process of dq-bench runs the model with the
choices of one search, and another one with those of the other; every round begins with the other one. The time of a process
is the median of as many runs as take MILLISECONDS, 20 at least; printed are the median of the ratios within a round and its
interval of at least 95 %. Where both searches choose the same, or where neither is used, the plan is the same: nothing is
timed and the ratio is 1. The exit status is 1 where the mean ratio is beyond 1.01 or one of them beyond 1.03.
"""
import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile

import multi
import tuned

HEAD = ["network", "shapes", "candidates", "of them in the limit", "its search (s)", "exhaustive search (s)", "not as usual",
        "exhaustively", "ms after the limit", "over exhaustive"]
MEAN, EACH = 1.01, 1.03


def tune(options, model, name, *more):
    """The facts of a search with a wisdom file of its own, and its seconds; nothing where the machine is too noisy."""
    start = datetime.datetime.now()
    command = [f"{options.build}/dq-tune", model, "--threads", "1", "--wisdom", name, "--json", name + ".json", "-q", *more]
    status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if status == 1:
        return None
    if status:
        sys.exit(f"{model}: dq-tune ended with status {status}")
    with open(name + ".json", encoding="utf-8") as file:
        return json.load(file), (datetime.datetime.now() - start).total_seconds()


def choices(facts):
    """The choices that are used, by shape."""
    made = {shape["run"]: shape.get("choice", "usual") for shape in facts["shapes"]}
    return {run: choice for run, choice in made.items() if choice != "usual"} if facts["network"]["used"] else {}


def ratios(options, model, limited, full):
    bench = tuned.Bench(options.build, model, "1", options.milliseconds)
    times = ([], [])
    for turn in range(options.rounds):
        for way in (turn % 2, 1 - turn % 2):
            times[way].append(bench.time("--wisdom", (limited, full)[way]))
    return statistics.median(times[0]), [a / b for a, b in zip(*times)]


def measure(options, model, place):
    name = multi.name_of(model) + (" (8 bits)" if "/int8/" in model else "")
    searches = (tune(options, model, place + "/limit", "--time-limit", options.time_limit),
                tune(options, model, place + "/full", "--time-limit", options.most, "--exhaustive"))
    if None in searches:
        return [name] + [""] * 8 + ["too noisy"], None
    (limit, seconds), (full, more) = searches
    row = [name, limit["network"]["shapes"], full["network"]["candidates"], limit["network"]["candidates_measured"],
           f"{seconds:.1f}", f"{more:.1f}", len(choices(limit)), len(choices(full))]
    if choices(limit) == choices(full):
        return row + ["", "same plan"], 1
    usual, found = ratios(options, model, place + "/limit", place + "/full")
    return row + [f"{usual:.3f}", tuned.text_of(found)], statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--time-limit", default="60s")
    parser.add_argument("--most", default="10m")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--milliseconds", type=float, default=100)
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    facts = [("title", "Time after a search of 60 s over that after --exhaustive, one thread"),
             ("command", f"`tests/bench/exhaustive.py BUILD MODEL... --time-limit {options.time_limit}`; {options.rounds} rounds of "
              f"{options.milliseconds:g} ms"),
             ("machine", multi.machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/exhaustive.py`")]
    rows, found = [], []
    for model in options.models:
        with tempfile.TemporaryDirectory() as place:
            row, ratio = measure(options, model, place)
        rows.append(row)
        found += [ratio] if ratio else []
        print(*row, sep=" | ", flush=True)
    mean, most = (statistics.geometric_mean(found), max(found)) if found else (1, 1)
    print(f"{len(found)} networks: geometric mean {mean:.3f}, largest {most:.3f}")
    if options.csv:
        multi.write_table(options.csv, facts, [HEAD] + rows)
    return 0 if mean <= MEAN and most <= EACH else 1


if __name__ == "__main__":
    sys.exit(main())
