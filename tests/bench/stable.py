"""How alike the choices of dq-tune are when it starts from nothing again and again, as CSV.

usage: stable.py DQ_FOLDER THREADS TIME_LIMIT RUNS BUSY MODEL...

Each run has a wisdom file of its own. BUSY is the number of processes that keep a processor busy meanwhile. A run that calls
the machine too noisy counts as refused, and must write nothing. `same` is the percentage of shapes, over the other runs,
with the choice that most runs have for the shape; `apart` is the largest distance, in percent, of the time ratio of another
choice to the mean ratio of that one.
"""
import collections
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile


def tune(folder, model, threads, limit, place):
    wisdom, facts = place + "/wisdom", place + "/facts"
    command = [folder + "/dq-tune", model, "--threads", threads, "--time-limit", limit, "--wisdom", wisdom, "--json", facts, "-q"]
    status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if status == 1:
        if os.path.exists(wisdom):
            sys.exit(model + ": too noisy, and yet something was written")
        return None
    if status:
        sys.exit(f"{model}: status {status}")
    with open(facts, encoding="utf-8") as file:
        return json.load(file)["shapes"]


def measure(folder, threads, limit, runs, model):
    choices, refused = collections.defaultdict(list), 0
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as place:
            shapes = tune(folder, model, threads, limit, place)
        refused += shapes is None
        for shape in shapes or []:
            if "choice" in shape:
                choices[shape["run"]].append((shape["choice"].removeprefix("not used: "), shape["ratio"]))
    same = total = apart = 0
    for found in choices.values():
        common = collections.Counter(choice for choice, _ in found).most_common(1)[0]
        mean = statistics.mean(ratio for choice, ratio in found if choice == common[0])
        same, total = same + common[1], total + len(found)
        apart = max([apart] + [abs(ratio / mean - 1) for choice, ratio in found if choice != common[0]])
    shown = [round(100 * same / total, 1), round(100 * apart, 1)] if total else ["", ""]
    return [os.path.basename(model).removesuffix(".onnx"), threads, limit, runs, refused, len(choices)] + shown


def main():
    folder, threads, limit, runs, busy = sys.argv[1:6]
    writer = csv.writer(sys.stdout)
    writer.writerow("model threads time_limit runs refused shapes same apart".split())
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(int(busy))]
    try:
        for model in sys.argv[6:]:
            writer.writerow([*measure(folder, threads, limit, int(runs), model)])
            sys.stdout.flush()
    finally:
        for other in others:
            other.kill()


main()
