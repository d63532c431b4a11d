#!/usr/bin/env python3
"""dq-multi against as many processes of dq-bench, in turns; idle networks; many small networks.

usage: multi.py BUILD [--rounds N] [--seconds T] [--csv FILE] [--idle MODEL] [--many MODEL] [MIX...]

MIX is NAME=MODEL,MODEL,...: in each round the networks of the mix run at the same time for T seconds each way: one
process of dq-bench for each with one thread; the same with default threads; dq-multi with its defaults. The work done is
the sum over the networks of runs in a second times the time of a run alone on one thread, so that mixes in which the
ways run the networks in other shares can be compared. Where other programs run on the machine, four processes get a
larger share of it than one process of two workers; so the work for a second of processor time is compared as well, that
of dq-bench without what it takes to load. Printed is the work over that of the processes of one thread in the same
round: median, least and largest over the rounds.

--idle: the median time of a request of MODEL on one worker over that of a run of dq-bench on one thread, and that with
100 idle networks (n=0) beside it over that without, in turns.
--many: time of loading, memory and threads of dq-multi with 250, 500 and 1000 idle networks of MODEL, and the memory of
one process of dq-bench.
"""
import argparse
import csv
import datetime
import json
import os
import statistics
import subprocess
import sys

WAYS = ["processes, 1 thread", "processes, default threads", "dq-multi"]


class Machine:
    def __init__(self, build, seconds):
        self.build, self.seconds = build, seconds

    def start(self, command, *arguments):
        return subprocess.Popen([f"{self.build}/{command}", *arguments, "-q", "--json", "-"], stdout=subprocess.PIPE)

    def answer(self, process):
        """What a process says, and its processor time in seconds."""
        told = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{process.args}: status {status}")
        return json.loads(told), usage.ru_utime + usage.ru_stime

    def bench(self, model, runs, *more):
        return self.start("dq-bench", model, "--runs", str(runs), "--warmup", "1", "--time-limit", f"{self.seconds}s", *more)

    def processes(self, models, *more):
        """Runs in a second of each, and the processor time of all without that of loading."""
        loading = sum(self.answer(self.bench(model, 1, *more))[1] for model in models)
        running = [self.bench(model, 1000000, *more) for model in models]
        told = [self.answer(process) for process in running]
        return [t["run"]["runs"] / self.seconds for t, _ in told], sum(processor for _, processor in told) - loading

    def multi(self, operands, seconds, *more):
        return self.answer(self.start("dq-multi", *operands, "--duration", f"{seconds}s", *more))[0]


def measure_mix(machine, models, rounds):
    """For each way the work over that of the first way by round, and the same for a second of processor time."""
    ratios, efficiencies = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for _ in range(rounds):
        alone = {model: machine.answer(machine.bench(model, 50, "--threads", "1"))[0]["models"][0]["minimum_ms"] / 1e3
                 for model in set(models)}
        rates = {WAYS[0]: machine.processes(models, "--threads", "1"), WAYS[1]: machine.processes(models)}
        told = machine.multi(models, machine.seconds)
        rates[WAYS[2]] = [n["per_second"] for n in told["networks"]], told["run"]["processor_seconds"]
        work = {way: sum(r * alone[m] for r, m in zip(rates[way][0], models)) for way in WAYS}
        for way in WAYS:
            ratios[way].append(work[way] / work[WAYS[0]])
            efficiencies[way].append(work[way] / work[WAYS[0]] * rates[WAYS[0]][1] / rates[way][1])
    return ratios, efficiencies


def row_of(what, values, unit):
    return [what, f"{statistics.median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}", len(values), unit]


def idle_rows(machine, model, rounds):
    idle, overhead = [], []
    for _ in range(rounds):
        bench = machine.answer(machine.bench(model, 1000000, "--threads", "1"))[0]["models"][0]["median_ms"]
        times = [machine.multi(operands, machine.seconds, "--threads", "1")["networks"][0]["p50_ms"]
                 for operands in ([model], [model] + [f"{model},n=0"] * 100)]
        overhead.append(times[0] / bench)
        idle.append(times[1] / times[0])
    yield row_of(f"{name_of(model)}: time in dq-multi on one worker over that in dq-bench on one thread", overhead, "ratio of medians")
    yield row_of(f"{name_of(model)}: time with 100 idle networks over that without", idle, "ratio of medians")


def many_rows(machine, model):
    for count in (250, 500, 1000):
        run = machine.multi([f"{model},n=0"] * count, 0.1)["run"]
        yield row_of(f"{count} networks of {name_of(model)}: time of loading", [run["loading_ms"] / 1e3], "s")
        yield row_of(f"{count} networks of {name_of(model)}: peak memory", [run["peak_bytes"] / 2**20], "MiB")
    one = machine.answer(machine.bench(model, 1, "--threads", "1"))[0]["run"]["peak_bytes"]
    yield row_of(f"one process of dq-bench with {name_of(model)}: peak memory", [one / 2**20], "MiB")


def name_of(model):
    return os.path.basename(model).removesuffix(".onnx")


def text_of(mix):
    name, _, models = mix.partition("=")
    return f"{name}: {', '.join(map(name_of, models.split(',')))}"


def rows_of(machine, options):
    for mix in options.mixes:
        name, _, models = mix.partition("=")
        ratios, efficiencies = measure_mix(machine, models.split(","), options.rounds)
        for way in WAYS[1:]:
            yield row_of(f"{name}: work in a second, {way} over {WAYS[0]}", ratios[way], "ratio")
            yield row_of(f"{name}: work for a second of processor time, {way} over {WAYS[0]}", efficiencies[way], "ratio")
    if options.idle:
        yield from idle_rows(machine, options.idle, options.rounds)
    if options.many:
        yield from many_rows(machine, options.many)


def machine_text():
    with open("/proc/cpuinfo") as lines:
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{name}, {len(os.sched_getaffinity(0))} processors; load average at the start {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("mixes", nargs="*", metavar="NAME=MODEL,MODEL,...")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--idle", metavar="MODEL")
    parser.add_argument("--many", metavar="MODEL")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    facts = [("title", "dq-multi beside processes of dq-bench; idle networks; many networks"),
             ("command", "`make bench-multi`; " + "; ".join(text_of(mix) for mix in options.mixes)), ("machine", machine_text()),
             ("measured", str(datetime.date.today())), ("source", "`tests/bench/multi.py`")]
    rows = [["figure", "median", "least", "largest", "rounds", "unit"]]
    for row in rows_of(Machine(options.build, options.seconds), options):
        rows.append(row)
        print(*row, sep=" | ", flush=True)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            file.writelines(f"# {key}: {text}\n" for key, text in facts)
            csv.writer(file, lineterminator="\n").writerows(rows)


main()
