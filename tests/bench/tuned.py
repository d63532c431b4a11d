"""Times of models after dq-tune against the usual ones, in fresh processes that take turns, as CSV.

usage: tuned.py DQ_FOLDER THREADS TIME_LIMIT MODEL...

For each model dq-tune fills a wisdom file of its own; then rounds of three processes of dq-bench follow: usual, usual
once more (the control), with the wisdom. With one thread the time of a run is the processor time of some runs (about MILLISECONDS) less
that of 1, which other processes do not lengthen; with several it is the median of dq-bench. A ratio is that of two times
of one round; the interval goes from the least to the largest of ROUNDS ratios, which holds the median with
1 - 2 / 2^ROUNDS.
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 7  # 98.4 %
MILLISECONDS = 800


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def bench(folder, model, threads, runs, *way):
    command = [folder + "/dq-bench", model, "--threads", threads, "--warmup", "0", "--runs", str(runs), "--json", "-", "-q", *way]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        text = child.stdout.read()
        usage = os.wait4(child.pid, 0)[2]
        child.returncode = 0
    return json.loads(text)["models"][0]["median_ms"], 1e3 * (usage.ru_utime + usage.ru_stime)


def time_of(folder, model, threads, runs, *way):
    median, time = bench(folder, model, threads, runs + 1, *way)
    return median if threads != "1" else (time - bench(folder, model, threads, 1, *way)[1]) / runs


def tune(folder, model, threads, limit, wisdom, facts):
    done = run(folder + "/dq-tune", model, "--threads", threads, "--time-limit", limit, "--wisdom", wisdom, "--json", facts)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    with open(facts, encoding="utf-8") as file:
        return done.returncode, json.load(file)["network"]


def measure(folder, model, threads, limit):
    with tempfile.TemporaryDirectory() as place:
        wisdom = place + "/wisdom"
        status, network = tune(folder, model, threads, limit, wisdom, place + "/facts")
        name = os.path.basename(model).removesuffix(".onnx")
        row = [name, threads, limit, status, network["control_low"], network["control_high"]]
        row += [network["shapes"], network["measured"], network["chosen"]]
        if not network["chosen"]:
            return row + [""] * 7
        ratios, controls, usual = [], [], []
        runs = max(20, round(MILLISECONDS / network["before_ms"]))
        for _ in range(ROUNDS):
            before = time_of(folder, model, threads, runs, "--no-wisdom")
            again = time_of(folder, model, threads, runs, "--no-wisdom")
            after = time_of(folder, model, threads, runs, "--wisdom", wisdom)
            usual.append(before)
            controls.append(again / before)
            ratios.append(after / before)
        figures = [statistics.median(usual)]
        for values in (ratios, controls):
            figures += [statistics.median(values), min(values), max(values)]
        return row + [round(figure, 4) for figure in figures]


def main():
    folder, threads, limit = sys.argv[1:4]
    writer = csv.writer(sys.stdout)
    writer.writerow("model threads time_limit status noise_low noise_high shapes measured chosen usual_ms ratio ratio_low "
                    "ratio_high control control_low control_high".split())
    for model in sys.argv[4:]:
        writer.writerow(measure(folder, model, threads, limit))
        sys.stdout.flush()


main()
