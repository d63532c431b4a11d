#!/usr/bin/env python3
"""dq-multi against as many processes of dq-bench, in turns; idle networks; many small networks.

usage: multi.py BUILD [--rounds N] [--seconds T] [--peers] [--csv FILE] [--title TEXT] [--idle MODEL,...] [--many MODEL]
                [--threads MODEL] [MIX...]

MIX is NAME=MODEL,MODEL,...[:MODEL,MODEL,...]: in each round the networks of the mix run at the same time for T seconds
each way: one process of dq-bench for each with one thread; the same with default threads; dq-multi with its defaults;
with --peers a process of Python with a session of ONNX Runtime for each network, with a pool of one thread each, and
with one pool of as many threads as processors for all (set_global_thread_pool_sizes). Behind the colon stand the same
networks decomposed, which run in processes and in dq-multi as well; a run of one counts as a run of the original. The
work done is the sum over the networks of runs in a second times the time of a run alone on one thread, so that mixes in which the
ways run the networks in other shares can be compared. Where other programs run on the machine, four processes get a
larger share of it than one process of two workers; so the work for a second of processor time is compared as well, that
of dq-bench without what it takes to load, which a process with one run and no run before shows. Printed is the work over
that of the processes of one thread in the same round, of dq-multi also over the best of the ways it is to reach, and over
that of the processes with default threads, below it the most that can be reached there by one thread for each network: median,
least and largest over the rounds, and whether the median keeps the bound of the figure where it has one.

--idle: the median time of a request of MODEL on one worker over that of a run of dq-bench on one thread, and that with
100 idle networks (n=0) beside it over that without, in turns; with --peers the median time of a run of a session of
ONNX Runtime with default threads beside a second session that has run once and is idle, over that without.
--threads: requests in a second of dq-multi with one sender of MODEL, with threads=all over those with threads=one, and
with --auto over the better of both; the same with a sender for each processor.
--many: time of loading and memory of dq-multi with 250, 500 and 1000 idle networks of MODEL, and the memory of
one process of dq-bench; the processor time, which does not count waiting for a processor, of whole processes with so many.

The column verdict has the bound of a figure and whether its median keeps it, and an interval that holds the median with
95 %, by order statistics, where there are six rounds or more. For --auto it is enough that the interval reaches the bound.
"""
import argparse
import csv
import datetime
import importlib.metadata
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time

BASE, DEFAULT, MULTI = "processes, 1 thread", "processes, default threads", "dq-multi"
PEERS = "ONNX Runtime, sessions of 1 thread", "ONNX Runtime, pool of the process"
HEAD = ["figure", "median", "least", "largest", "rounds", "unit", "verdict"]


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

    def bench(self, model, runs, *more, warmup=1):
        """Without what dq-tune has chosen, which dq-multi does not use either, and without binding the plan again."""
        return self.start("dq-bench", model, "--runs", str(runs), "--warmup", str(warmup), "--time-limit", f"{self.seconds}s",
                          "--no-wisdom", "--blocks", "1", *more)

    def processes(self, models, *more):
        """Runs of each, in a second and in all, and the processor time of all without that of loading."""
        loading = {model: self.answer(self.bench(model, 1, *more, warmup=0))[1] for model in set(models)}
        running = [self.bench(model, 1000000, *more) for model in models]
        told = [self.answer(process) for process in running]
        runs = [t["run"]["runs"] for t, _ in told]
        return rates_of(runs, self.seconds), runs, sum(processor for _, processor in told) - sum(map(loading.get, models))

    def multi(self, operands, seconds, *more):
        return self.answer(self.start("dq-multi", *operands, "--duration", f"{seconds}s", *more))[0]


def rates_of(runs, seconds):
    """Runs in a second: the last run ends after the time, in the mean by half of it."""
    return [(count - 0.5) / seconds for count in runs]


def sessions(models, seconds, shared):
    """A session of ONNX Runtime for each model, with a pool of one thread or with that of the process, all in this
    process: runs of each, in a second and in all, and the processor time."""
    import bench
    import onnxruntime
    if shared:
        onnxruntime.set_global_thread_pool_sizes(len(os.sched_getaffinity(0)), 1)
    calls = [bench.open_ort(model, None if shared else 1, False)[0] for model in models]
    runs = [0] * len(calls)
    end = time.monotonic() + seconds

    def loop(i):
        while time.monotonic() < end:
            calls[i]()
            runs[i] += 1

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(len(calls))]
    before = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rates_of(runs, seconds), runs, time.process_time() - before


def idle_session(model, seconds, others):
    """The median time of a run of a session with default threads beside `others` sessions that have run once."""
    import bench
    waiting = [bench.open_ort(model, 0, False)[0] for _ in range(others)]
    call = bench.open_ort(model, 0, False)[0]
    for other in waiting:
        other()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def in_process(function, *arguments):
    """The result of a function of this file in a process of its own."""
    command = [sys.executable, "-B", __file__, "--call", json.dumps([function, *arguments]), ""]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def multi_way(machine, models):
    """As in rates_of, but what ends after the time is a request for each worker, whichever networks they belong to."""
    told = machine.multi(models, machine.seconds)
    runs = [network["requests"] for network in told["networks"]]
    after = told["run"]["workers"] / 2 / len(models)
    return [(count - after) / machine.seconds for count in runs], runs, told["run"]["processor_seconds"]


def ways_of(machine, models, decomposed, peers):
    """What each way gives: runs of each network, in a second and in all, and the processor time of all."""
    yield BASE, machine.processes(models, "--threads", "1")
    yield DEFAULT, machine.processes(models)
    yield MULTI, multi_way(machine, models)
    if decomposed:
        yield "decomposed in processes, 1 thread", machine.processes(decomposed, "--threads", "1")
        yield "decomposed in processes, default threads", machine.processes(decomposed)
        yield "decomposed in dq-multi", multi_way(machine, decomposed)
    if peers:
        for number, way in enumerate(PEERS):
            yield way, in_process("sessions", models, machine.seconds, number == 1)


def comparisons(work):
    """Of each way to BASE, and of dq-multi to what it is to reach: (name, ratio, least)."""
    for way in work.keys() - {BASE, DEFAULT}:
        yield f"{way} over {BASE}", work[way] / work[BASE], 1 if way == MULTI else None
    yield f"{MULTI} over {DEFAULT}", work[MULTI] / work[DEFAULT], 1.25
    yield f"{MULTI} over {DEFAULT}, at most: {BASE} over {DEFAULT}", work[BASE] / work[DEFAULT], None
    if PEERS[0] in work:
        best = max(work[way] for way in (BASE, *PEERS))
        yield f"{MULTI} over the best of {BASE}, and ONNX Runtime", work[MULTI] / best, 1


def measure_mix(machine, models, decomposed, rounds, peers):
    """The ratios of each comparison by round: {(name, least): [ratio, ...]}."""
    figures = {}
    for _ in range(rounds):
        alone = {model: machine.answer(machine.bench(model, 50, "--threads", "1"))[0]["models"][0]["minimum_ms"] / 1e3
                 for model in set(models)}
        work = {"in a second": {}, "for a second of processor time": {}}
        for way, (rates, runs, seconds) in ways_of(machine, models, decomposed, peers):
            work["in a second"][way] = sum(rate * alone[model] for rate, model in zip(rates, models))
            work["for a second of processor time"][way] = sum(run * alone[model] for run, model in zip(runs, models)) / seconds
        for what, values in work.items():
            for name, ratio, least in comparisons(values):
                figures.setdefault((f"work {what}, {name}", least), []).append(ratio)
    return figures


def interval_of(values):
    """An interval that holds the median with at least 95 %, by order statistics; None: there are too few values."""
    count, tail, outside = len(values), 0, 0
    while outside + 2 * math.comb(count, tail) / 2**count <= 0.05:
        outside += 2 * math.comb(count, tail) / 2**count
        tail += 1
    return (sorted(values)[tail - 1], sorted(values)[count - tail]) if tail else None


def verdict_of(values, least, most, alike):
    """Whether the median keeps the bound; with `alike` it is enough that the interval reaches it."""
    bound = least if least is not None else most
    if bound is None:
        return ""
    interval = interval_of(values)
    if alike and interval:
        kept = interval[1] >= bound if least is not None else interval[0] <= bound
    else:
        kept = statistics.median(values) >= bound if least is not None else statistics.median(values) <= bound
    text = f"{'passed' if kept else 'missed'}: at {'least' if least is not None else 'most'} {bound:g}"
    return text + (f"; interval {interval[0]:.3f} to {interval[1]:.3f}" if interval else "")


def row_of(what, values, unit, least=None, most=None, alike=False):
    return [what, f"{statistics.median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}", len(values), unit,
            verdict_of(values, least, most, alike)]


def thread_rows(machine, model, rounds):
    processors = len(os.sched_getaffinity(0))
    for senders in 1, processors:
        over_one, rates = [], []
        for _ in range(rounds):
            one, every = (machine.multi([f"{model},n={senders},threads={threads}"], machine.seconds)["run"]["per_second"]
                          for threads in ("one", "all"))
            measured = machine.multi([f"{model},n={senders}"], machine.seconds, "--auto")["run"]["per_second"]
            over_one.append(every / one)
            rates.append((one, every, measured))
        what = f"{name_of(model)}, senders: {senders}: requests in a second"
        yield row_of(f"{what}, threads=all over threads=one", over_one, "ratio")
        # Of the two the one that is better over all rounds: the larger of two measured figures is too good by chance.
        better = 1 if sum(every for _, every, _ in rates) > sum(one for one, _, _ in rates) else 0
        yield row_of(f"{what}, --auto over the better of both", [told[2] / told[better] for told in rates], "ratio",
                     least=1, alike=True)


def idle_session_row(machine, model, rounds):
    ratios = [in_process("idle_session", model, machine.seconds, 1) / in_process("idle_session", model, machine.seconds, 0)
              for _ in range(rounds)]
    return row_of(f"{name_of(model)}: time in ONNX Runtime with a second session that is idle over that without", ratios,
                  "ratio of medians")


def idle_rows(machine, model, rounds):
    idle, overhead = [], []
    for _ in range(rounds):
        bench = machine.answer(machine.bench(model, 1000000, "--threads", "1"))[0]["models"][0]["median_ms"]
        times = [machine.multi(operands, machine.seconds, "--threads", "1")["networks"][0]["p50_ms"]
                 for operands in ([model], [model] + [f"{model},n=0"] * 100)]
        overhead.append(times[0] / bench)
        idle.append(times[1] / times[0])
    yield row_of(f"{name_of(model)}: time in dq-multi on one worker over that in dq-bench on one thread", overhead, "ratio of medians")
    yield row_of(f"{name_of(model)}: time with 100 idle networks over that without", idle, "ratio of medians", most=1.01)


def waiting_row(machine, model, rounds):
    shares = [machine.multi([f"{model},n=0"] * 100, machine.seconds)["run"] for _ in range(rounds)]
    return row_of(f"100 idle networks {name_of(model)}: processor time of the process over time",
                  [run["processor_seconds"] / run["seconds"] for run in shares], "ratio", most=0.001)


def many_rows(machine, model, rounds):
    counts = (250, 500, 1000)
    told, processors = {count: [] for count in counts}, []
    for _ in range(rounds):
        answers = {count: machine.answer(machine.start("dq-multi", *[f"{model},n=0"] * count, "--duration", "0.1s"))
                   for count in (1, *counts)}
        processors.append([answers[count][1] for count in (1, counts[0], counts[-1])])
        for count in counts:
            told[count].append(answers[count][0]["run"])
    for count, runs in told.items():
        what = f"{count} networks of {name_of(model)}"
        yield row_of(f"{what}: time of loading", [run["loading_ms"] / 1e3 for run in runs], "s")
        yield row_of(f"{what}: peak memory", [run["peak_bytes"] / 2**20 for run in runs], "MiB")
    few, most = counts[0], counts[-1]
    yield row_of(f"{name_of(model)}: time of loading a network of {most} over that of {few}",
                 [b["loading_ms"] / most / (a["loading_ms"] / few) for a, b in zip(told[few], told[most])], "ratio", most=1.25)
    yield row_of(f"{name_of(model)}: processor time of the process for a network of {most} over that of {few}, both without that of one",
                 [(b - one) / (most - 1) / ((a - one) / (few - 1)) for one, a, b in processors], "ratio", most=1.25)
    ones = [machine.answer(machine.bench(model, 1, "--threads", "1"))[0]["run"]["peak_bytes"] for _ in range(rounds)]
    yield row_of(f"one process of dq-bench with {name_of(model)}: peak memory", [one / 2**20 for one in ones], "MiB")
    yield row_of(f"{most} networks of {name_of(model)}: peak memory over that of as many processes",
                 [run["peak_bytes"] / (most * one) for run, one in zip(told[most], ones)], "ratio", most=0.5)


def name_of(model):
    return os.path.basename(model).removesuffix(".onnx")


def text_of(mix):
    name, _, models = mix.partition("=")
    originals, _, decomposed = models.partition(":")
    text = f"{name}: {', '.join(map(name_of, originals.split(',')))}"
    return f"{text}; decomposed: {', '.join(map(name_of, decomposed.split(',')))}" if decomposed else text


def rows_of(machine, options):
    for mix in options.mixes:
        name, _, models = mix.partition("=")
        originals, _, decomposed = models.partition(":")
        figures = measure_mix(machine, originals.split(","), list(filter(None, decomposed.split(","))), options.rounds,
                              options.peers)
        for (what, least), values in sorted(figures.items(), key=str):
            yield row_of(f"{name}: {what}", values, "ratio", least=least)
    for model in filter(None, options.idle.split(",")):
        yield from idle_rows(machine, model, options.rounds)
        if options.peers:
            yield idle_session_row(machine, model, options.rounds)
    if options.threads:
        yield from thread_rows(machine, options.threads, options.rounds)
    if options.many:
        yield from many_rows(machine, options.many, options.rounds)


def machine_text():
    with open("/proc/cpuinfo") as lines:
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{name}, {len(os.sched_getaffinity(0))} processors; load average at the start {os.getloadavg()[0]:.1f}"


def write_table(path, facts, rows):
    """The CSV file that `make benchmarks` takes over: facts as comments, then the rows, the first of which is the head."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {key}: {text}\n" for key, text in facts)
        csv.writer(file, lineterminator="\n").writerows(rows)


def peer_text(peers):
    return f"; ONNX Runtime {importlib.metadata.version('onnxruntime')}" if peers else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("mixes", nargs="*", metavar="NAME=MODEL,MODEL,...")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--idle", metavar="MODEL,...", default="")
    parser.add_argument("--many", metavar="MODEL")
    parser.add_argument("--threads", metavar="MODEL")
    parser.add_argument("--title", default="dq-multi beside processes of dq-bench; idle networks; many networks")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--target", default="bench-multi", help="the target of make that the table names")
    parser.add_argument("--peers", action="store_true", help="ONNX Runtime as well")
    parser.add_argument("--call", help=argparse.SUPPRESS)  # what in_process starts: a function and its arguments
    options = parser.parse_args()
    if options.call:
        function, *arguments = json.loads(options.call)
        print(json.dumps({"sessions": sessions, "idle_session": idle_session}[function](*arguments)))
        return
    facts = [("title", options.title),
             ("command", f"`make {options.target}`; " + "; ".join(text_of(mix) for mix in options.mixes)), ("machine", machine_text()),
             ("measured", str(datetime.date.today())), ("source", "`tests/bench/multi.py`" + peer_text(options.peers))]
    rows = [HEAD]
    for row in rows_of(Machine(options.build, options.seconds), options):
        rows.append(row)
        print(*row, sep=" | ", flush=True)
    if options.csv:
        write_table(options.csv, facts, rows)


if __name__ == "__main__":
    main()
