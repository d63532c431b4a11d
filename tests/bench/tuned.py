#!/usr/bin/env python3
"""Times of models after dq-tune over the usual ones, in fresh processes that take turns.

usage: tuned.py BUILD MODEL... [--threads 1,2] [--time-limit 20s] [--rounds 15] [--milliseconds 100] [--wisdom FOLDER]
                [--usual BUILD] [--busy N] [--csv FILE]

dq-tune fills a wisdom file for each model and number of threads, which --wisdom keeps in FOLDER; what FOLDER has is not
measured again. Three processes of dq-bench follow in each of ROUNDS rounds: as usual, as usual once more (the control) and
with the wisdom; every round begins with another one. The time of a process is the median of as many runs as take
MILLISECONDS, 20 at least. Printed are the medians of the ratios within a round, with the interval of the median of at
least 95 % by order statistics.

A row keeps the bound where its interval ends at 1.02 or below that of the control. Where dq-tune uses no choice, the plan is
the usual one: nothing is timed, and the ratio is 1 in the mean. --usual names a folder with the commands of another
build, such as one without dq-tune: usual times are its times then, and every row is timed. --busy N keeps processors busy
by N other processes while dq-tune measures, and no longer. The last line has the geometric mean over the rows; the exit
status is 1 where a row is beyond the bound.
"""
import argparse
import contextlib
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

import multi

HEAD = ["network", "threads", "equal plans", "shapes with a choice", "measured", "not as usual", "usual (ms)", "after / before", "control",
        "bound"]
BOUND = 1.02


class Bench:
    """dq-bench of one folder on one model."""

    def __init__(self, build, model, threads, milliseconds):
        self.command = [f"{build}/dq-bench", model, "--threads", threads, "--warmup", "3", "--json", "-", "-q"]
        self.milliseconds, self.runs = milliseconds, None
        told = subprocess.run([f"{build}/dq-bench", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.usual = ["--no-wisdom"] if "--no-wisdom" in told else []

    def time(self, *way):
        if self.runs is None:
            self.runs = 5
            self.runs = max(20, round(self.milliseconds / self.time(*self.usual)))
        command = [*self.command, "--runs", str(self.runs), *(way or self.usual)]
        told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        return told["models"][0]["median_ms"]


@contextlib.contextmanager
def busy(count):
    """Keeps processors busy by `count` processes."""
    processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def tune(options, model, threads, place):
    """Whether the machine was quiet enough, and the facts of dq-tune about the network."""
    name = f"{place}/{os.path.abspath(model).replace('/', '_')}.{threads}"
    if not os.path.exists(name) or not os.path.exists(name + ".json"):
        command = [f"{options.build}/dq-tune", model, "--threads", threads, "--time-limit", options.time_limit, "-q"]
        with busy(options.busy):
            status = subprocess.run([*command, "--wisdom", name, "--json", name + ".json"], stdout=subprocess.DEVNULL).returncode
        if status not in (0, 1):
            sys.exit(f"{model}: dq-tune ended with status {status}")
    with open(name + ".json", encoding="utf-8") as file:
        return name, json.load(file)["network"]


def ratios_of(options, model, threads, wisdom):
    own = Bench(options.build, model, threads, options.milliseconds)
    usual = Bench(options.usual, model, threads, options.milliseconds) if options.usual else own
    ways = [usual.time, usual.time, (lambda: own.time("--wisdom", wisdom)) if wisdom else own.time]
    times = [[], [], []]
    for turn in range(options.rounds):
        for way in range(3):
            way = (turn + way) % 3
            times[way].append(ways[way]())
    before, again, after = times
    return statistics.median(before), *([b / a for a, b in zip(before, other)] for other in (after, again))


def text_of(ratios):
    return "{:.3f} ({:.3f} to {:.3f})".format(statistics.median(ratios), *multi.interval_of(ratios))


def control_of(network):
    """What dq-tune said of the machine, where it measured something in its last call."""
    low, high = network.get("control_low"), network.get("control_high")
    if low is None or high is None:
        return ""
    return f"{low:.3f} to {high:.3f}" + ("" if 0.95 <= low and high <= 1.05 else " (too noisy)")


def measure(options, model, threads, place):
    wisdom, network = tune(options, model, threads, place)
    used, measured = network["used"], network["measured"] + network["known"]
    row = [multi.name_of(model) + (" (8 bits)" if "/int8/" in model else ""), threads, control_of(network)]
    row += [network["shapes"], measured, network["chosen"] if used else 0]
    if not used and not options.usual:
        return row + ["", "", "", "usual plan"], 1, True
    usual, ratios, control = ratios_of(options, model, threads, wisdom if used else None)
    end, most = multi.interval_of(ratios)[1], max(BOUND, multi.interval_of(control)[1])
    row += [f"{usual:.3f}", text_of(ratios), text_of(control), f"{'passed' if end <= most else 'failed'}: {most:.3f}"]
    return row, statistics.median(ratios), end <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--time-limit", default="20s")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--milliseconds", type=float, default=100)
    parser.add_argument("--wisdom", metavar="FOLDER")
    parser.add_argument("--usual", metavar="BUILD")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    if options.rounds < 6:
        parser.error(f"--rounds {options.rounds}: an interval of 95 % takes 6 rounds at least")
    facts = [("title", "Time after dq-tune over the usual time, fresh processes"),
             ("command", f"`make bench-tuned`; {options.rounds} rounds of {options.milliseconds:g} ms, `--time-limit {options.time_limit}`"),
             ("machine", multi.machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/tuned.py`")]
    rows, ratios, kept = [], [], []
    with tempfile.TemporaryDirectory() as place:
        place = options.wisdom or place
        os.makedirs(place, exist_ok=True)
        for model, threads in ((m, t) for m in options.models for t in options.threads.split(",")):
            row, ratio, holds = measure(options, model, threads, place)
            rows.append(row)
            ratios.append(ratio)
            kept.append(holds)
            print(*row, sep=" | ", flush=True)
    print(f"{len(rows)} rows: geometric mean {statistics.geometric_mean(ratios):.3f}; {sum(r <= 0.8 for r in ratios)} at most "
          f"0.80; {sum(kept)} of {len(kept)} within the bound")
    if options.csv:
        multi.write_table(options.csv, facts, [HEAD] + rows)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
