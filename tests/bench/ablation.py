#!/usr/bin/env python3
"""What graph passes, algorithms for convolutions, float16 and dq-tune bring, alone and together.

usage: ablation.py BUILD MODEL... [--threads 1] [--time-limit 60s] [--rounds 6] [--runs 25] [--wisdom FOLDER] [--csv FILE]

- none: every node of the file as it stands (dq-bench --plain), direct sums, the usual plan
- graph passes: with folding and fusing
- algorithms: also with the algorithm for each convolution that takes least by the cost model, as in all further rows
- float16: the file that dq-amp makes
- tuned: float32 with what dq-tune chooses
- all: float16 with what dq-tune chooses

dq-tune measures either file for --time-limit; --wisdom keeps its files and the float16 files in FOLDER, and what is there is
not made again. ROUNDS rounds follow, in which each row has a process of its own with RUNS runs; every round begins with
another row. Printed are the median of the processes' medians, the median of the ratios to the first row within a round with
its interval of at least 95 % by order statistics (with fewer than 6 rounds from the least to the largest), and the spread of
the runs of a process: from the least time to the 95 % quantile in percent of the median, the median over the processes. A
tuned row of which dq-tune uses no choice is measured as the usual plan. The exit status is 1 where the spread of a tuned row
is more than 1.1 times that of the row without tuning.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

import multi
import tuned

HEAD = ["network", "row", "time (ms)", "over none", "from", "to", "spread of the runs (%)", "not as usual"]
USUAL = {"tuned": "algorithms", "all": "float16"}
WIDER = 1.1


def halved(options, model, place):
    half = f"{place}/{multi.name_of(model)}.float16.onnx"
    if not os.path.exists(half):
        subprocess.run([f"{options.build}/dq-amp", model, "-o", half, "-q"], stdout=subprocess.DEVNULL, check=True)
    return half


def ways_of(options, model, place):
    """Of each row the model, the options of dq-bench, and the number of shapes that dq-tune changes."""
    half, usual = halved(options, model, place), ["--no-wisdom"]
    direct = ["--conv", "direct", *usual]
    ways = {"none": (model, ["--plain", *direct], ""), "graph passes": (model, direct, ""), "algorithms": (model, usual, "")}
    ways["float16"] = (half, usual, "")
    for row, file in (("tuned", model), ("all", half)):
        wisdom, network = tuned.tune(options, file, options.threads, place)
        ways[row] = (file, ["--wisdom", wisdom] if network["used"] else usual, network["chosen"] if network["used"] else 0)
    return ways


def run(options, model, way):
    """The median of a process and the spread of its runs."""
    command = [f"{options.build}/dq-bench", model, "--threads", options.threads, "--warmup", "2", "--blocks", "1",
               "--json", "-", "-q"]
    told = json.loads(subprocess.run([*command, "--runs", str(options.runs), *way], stdout=subprocess.PIPE, check=True).stdout)
    facts = told["models"][0]
    return facts["median_ms"], 100 * (facts["p95_ms"] - facts["minimum_ms"]) / facts["median_ms"]


def measure(options, model, place):
    """The rows of a model, and the tuned rows that spread wider."""
    ways = ways_of(options, model, place)
    names, times, spreads = list(ways), {row: [] for row in ways}, {row: [] for row in ways}
    for turn in range(options.rounds):
        for row in names[turn % len(names):] + names[: turn % len(names)]:
            time, spread = run(options, *ways[row][:2])
            times[row].append(time)
            spreads[row].append(spread)
    spread_of = {row: statistics.median(spreads[row]) for row in names}
    rows = []
    for row in names:
        ratios = [one / none for one, none in zip(times[row], times["none"])]
        figures = [statistics.median(ratios), *(multi.interval_of(ratios) or (min(ratios), max(ratios)))]
        rows.append([multi.name_of(model), row, f"{statistics.median(times[row]):.3f}", *(f"{figure:.3f}" for figure in figures),
                     f"{spread_of[row]:.1f}", ways[row][2]])
    return rows, [row for row in USUAL if spread_of[row] > WIDER * spread_of[USUAL[row]]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--time-limit", default="60s")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--wisdom", metavar="FOLDER")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    options.busy = 0
    if options.rounds < 1 or options.runs < 1:
        parser.error("--rounds and --runs are 1 at least")
    facts = [("title", f"What graph passes, algorithms, float16 and dq-tune bring, {options.threads} thread(s)"),
             ("command", f"`make bench-ablation`; {options.rounds} rounds of {options.runs} runs, `--time-limit {options.time_limit}`"),
             ("machine", multi.machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/ablation.py`")]
    rows, wider = [], []
    with tempfile.TemporaryDirectory() as place:
        place = options.wisdom or place
        os.makedirs(place, exist_ok=True)
        for model in options.models:
            more, wide = measure(options, model, place)
            for row in more:
                print(*row, sep=" | ", flush=True)
            rows += more
            wider += [f"{multi.name_of(model)}: the runs of '{row}' spread more than {WIDER} times as wide as those of "
                      f"'{USUAL[row]}'" for row in wide]
    if options.csv:
        multi.write_table(options.csv, facts, [HEAD] + rows)
    print(*wider, sep="\n", end="\n" if wider else "")
    return 1 if wider else 0


if __name__ == "__main__":
    sys.exit(main())
