#!/usr/bin/env python3
"""What dq-multi keeps on the real clock: deadlines, precedence, fairness, idle networks, --auto, loading.

usage: clock.py BUILD NETWORK CAMERA [--rounds N] [--seconds T] [--idle MODEL] [--threads MODEL,...] [--many MODEL] [--csv FILE]

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

--idle, --threads, --many: as for multi.py, with four times the rounds of a tenth of the time for --idle, and the rounds and
half the time for --threads. The last line counts the figures that keep their bounds; what needs ONNX Runtime is in multi.py.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys

import multi


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


class Figures:
    def __init__(self):
        self.values, self.bounds = {}, {}

    def add(self, what, value, unit="ratio", **bound):
        self.values.setdefault((what, unit), []).append(value)
        self.bounds[what] = bound

    def rows(self):
        for (what, unit), values in self.values.items():
            yield multi.row_of(what, values, unit, **self.bounds[what])


def measure_deadlines(figures, build, network, seconds):
    alone = run(build, [network], seconds / 4, "--threads", "1")["networks"][0]["p50_ms"] / 1e3
    operands = [f"{network},name=a,fps={0.3 / alone}", f"{network},name=b,fps={0.5 / alone},deadline={1.6 * alone}s"]
    for policy, bound in ("edf", {"most": 0.1}), ("fifo", {}):
        told = run(build, operands, seconds, "--threads", "1", "--policy", policy, "--job-time", "0.2ms")
        figures.add(f"{policy} at 80 % load: processor time over the time in which jobs ran", share_of(told))
        figures.add(f"{policy} at 80 % load: missed deadlines", missed(told), "%", **bound)
    operands = [f"{network},name=n{i},fps={0.25 / alone}" for i in range(3)]
    slowdowns = [n["slowdown"] for n in run(build, operands, seconds, "--threads", "1")["networks"]]
    figures.add("fifo, three networks alike at 75 % load: largest slowdown over the mean",
                max(slowdowns) / statistics.mean(slowdowns), most=1.3)


def measure_priority(figures, build, network, camera, seconds):
    operand = f"{camera},name=camera,fps=100,priority=high"
    alone = run(build, [operand], seconds)["networks"][0]["p99_ms"]
    told = run(build, [operand, f"{network},n={2 * len(os.sched_getaffinity(0))}"], seconds, "--policy", "priority")
    mixed, other = told["networks"]
    bound = 1.1 * (alone + other["longest_job_ms"])
    figures.add("priority: processor time over the time in which jobs ran", share_of(told))
    figures.add("priority: p99 of the high network over its bound", mixed["p99_ms"] / bound, most=1)


def rows_of(options):
    figures = Figures()
    for _ in range(options.rounds):
        measure_deadlines(figures, options.build, options.network, options.seconds)
        measure_priority(figures, options.build, options.network, options.camera, options.seconds)
    yield from figures.rows()
    short = multi.Machine(options.build, options.seconds / 10)
    if options.idle:
        yield from multi.idle_rows(short, options.idle, 4 * options.rounds)
        yield multi.waiting_row(multi.Machine(options.build, options.seconds / 2), options.idle, options.rounds)
    for model in filter(None, options.threads.split(",")):
        yield from multi.thread_rows(multi.Machine(options.build, options.seconds / 2), model, options.rounds)
    if options.many:
        yield from multi.many_rows(short, options.many, options.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("network")
    parser.add_argument("camera")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--idle", metavar="MODEL")
    parser.add_argument("--threads", metavar="MODEL,...", default="")
    parser.add_argument("--many", metavar="MODEL")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    facts = [("title", "dq-multi on the real clock: deadlines, precedence, fairness, idle networks, threads, loading"),
             ("command", f"`make bench-clock`; {multi.name_of(options.network)}, {multi.name_of(options.camera)}"),
             ("machine", multi.machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/clock.py`")]
    rows = []
    for row in rows_of(options):
        rows.append(row)
        print(*row, sep=" | ", flush=True)
    bounds = [row[-1] for row in rows if row[-1]]
    print(f"{sum(bound.startswith('passed') for bound in bounds)} of {len(bounds)} bounds are kept")
    if options.csv:
        multi.write_table(options.csv, facts, [multi.HEAD] + rows)


main()
