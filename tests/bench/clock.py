#!/usr/bin/env python3
"""What dq-multi keeps on the real clock: deadlines, precedence, fairness, memory.

usage: clock.py BUILD NETWORK CAMERA [--rounds N] [--seconds T] [--csv FILE]

NETWORK takes some milliseconds, CAMERA much less. In each round, for T seconds each:

- edf, fifo: one worker; NETWORK twice, by the clock, for 30 % and 50 % of the worker's time by its median time alone; the
  deadline of the second is 1.6 times that time, which the earliest deadline first keeps for any order of arrival and the
  first come first served does not. Printed are missed deadlines in % of the requests.
- priority: CAMERA 100 times in a second with high priority beside two senders of NETWORK on each worker. Printed is its
  quantile 0.99 over the bound: that of CAMERA alone at the same rate and the longest job of NETWORK, and 10 % of both.
- fairness: one worker, first come first served; three instances of NETWORK by the clock, each for 25 % of the worker's
  time: the largest slowdown over the mean.

Other programs on the machine take processors for longer than a deadline allows. The first figure says how much of the
time in which the worker ran jobs it had a processor: below 1 the other figures are those of the system.
"""
import argparse
import csv
import datetime
import json
import os
import statistics
import subprocess
import sys

from multi import machine_text, name_of, row_of


def run(build, operands, seconds, *more):
    command = [f"{build}/dq-multi", *operands, "--duration", f"{seconds}s", *more, "-q", "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}")
    return json.loads(done.stdout)


def share_of(told):
    """The processor time over the time in which jobs ran."""
    ran = sum(n["running_ms"] * n["requests"] for n in told["networks"] if n["requests"]) / 1e3
    return told["run"]["processor_seconds"] / ran


def missed(told):
    return 100 * told["run"]["missed"] / sum(n["requests"] + n["unfinished"] for n in told["networks"])


def measure_deadlines(figures, build, network, seconds):
    alone = run(build, [network], seconds / 4, "--threads", "1")["networks"][0]["p50_ms"] / 1e3
    operands = [f"{network},name=a,fps={0.3 / alone}", f"{network},name=b,fps={0.5 / alone},deadline={1.6 * alone}s"]
    for policy in "edf", "fifo":
        told = run(build, operands, seconds, "--threads", "1", "--policy", policy, "--job-time", "0.2ms")
        figures.setdefault((f"{policy} at 80 % load: missed deadlines", "%"), []).append(missed(told))
        figures.setdefault((f"{policy} at 80 % load: processor time over the time in which jobs ran", "ratio"), []).append(share_of(told))
    operands = [f"{network},name=n{i},fps={0.25 / alone}" for i in range(3)]
    slowdowns = [n["slowdown"] for n in run(build, operands, seconds, "--threads", "1")["networks"]]
    figures.setdefault(("fifo, three networks alike at 75 % load: largest slowdown over the mean", "ratio"), []).append(
        max(slowdowns) / statistics.mean(slowdowns))


def measure_priority(figures, build, network, camera, seconds):
    operand = f"{camera},name=camera,fps=100,priority=high"
    alone = run(build, [operand], seconds)["networks"][0]["p99_ms"]
    told = run(build, [operand, f"{network},n={2 * len(os.sched_getaffinity(0))}"], seconds, "--policy", "priority")
    mixed, other = told["networks"]
    bound = 1.1 * (alone + other["longest_job_ms"])
    figures.setdefault(("priority: p99 of the high network over its bound", "ratio"), []).append(mixed["p99_ms"] / bound)
    figures.setdefault(("priority: processor time over the time in which jobs ran", "ratio"), []).append(share_of(told))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("network")
    parser.add_argument("camera")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    facts = [("title", "dq-multi on the real clock: deadlines, precedence, fairness"),
             ("command", f"`make bench-clock`; {name_of(options.network)}, {name_of(options.camera)}"), ("machine", machine_text()),
             ("measured", str(datetime.date.today())), ("source", "`tests/bench/clock.py`")]
    figures = {}
    for _ in range(options.rounds):
        measure_deadlines(figures, options.build, options.network, options.seconds)
        measure_priority(figures, options.build, options.network, options.camera, options.seconds)
    rows = [["figure", "median", "least", "largest", "rounds", "unit"]]
    rows += [row_of(what, values, unit) for (what, unit), values in figures.items()]
    for row in rows[1:]:
        print(*row, sep=" | ")
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            file.writelines(f"# {key}: {text}\n" for key, text in facts)
            csv.writer(file, lineterminator="\n").writerows(rows)


main()
