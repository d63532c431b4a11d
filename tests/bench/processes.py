#!/usr/bin/env python3
"""dq-train by two processes of an MPI job beside two trainings that know nothing of each other, in turns.

usage: processes.py BUILD CIFAR MODEL:PRESET... [--batch N,...] [--pictures N] [--rounds N] [--csv FILE]

CIFAR is the folder with the batches of CIFAR-10. In each round two trainings with one thread each run at the same time,
and then one training by two processes with one thread each; all have the same batch, and the same pictures. Printed are
the pictures in a second of the job over those of both trainings together, without start and validation, and the
pictures for a second of processor time (user and system, that of mpirun as well), less that of runs of a single step.
A job whose model has other bytes than that of a training ends the measurement.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

from multi import HEAD, machine_text, name_of, row_of, write_table


class Bench:
    def __init__(self, build, cifar, folder):
        self.build, self.cifar, self.folder = build, cifar, folder

    def start(self, model, batch, pictures, name, processes):
        network, preset = model.rsplit(":", 1)
        mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(processes)] if processes > 1 else []
        if mpirun and os.getuid() == 0:
            mpirun.append("--allow-run-as-root")
        command = [*mpirun, f"{self.build}/dq-train", network, "--data", f"cifar10:{self.cifar}/data_batch_1.bin", "--limit", str(pictures),
                   "--val", f"cifar10:{self.cifar}/data_batch_5.bin", "--val-limit", "4", "--preset", preset, "--batch", str(batch),
                   "--lr", "0.001", "--epochs", "1", "--keep", "last", "--threads", "1", "-q", "-o", f"{self.folder}/{name}.onnx",
                   "--json", f"{self.folder}/{name}.json"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def end(self, process, name):
        """Pictures in a second, processor time, and the model."""
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: the few pictures of --val became worse
            sys.exit(f"{process.args}: status {status}")
        with open(f"{self.folder}/{name}.json", encoding="utf-8") as file:
            speed = json.load(file)["epochs"][0]["pictures_per_second"]
        with open(f"{self.folder}/{name}.onnx", "rb") as file:
            return speed, usage.ru_utime + usage.ru_stime, file.read()

    def both(self, model, batch, pictures):
        """Speed and processor time of two trainings together, and of a job of two processes."""
        alone = [self.end(process, name) for process, name in [(self.start(model, batch, pictures, n, 1), n) for n in ("one", "other")]]
        job = self.end(self.start(model, batch, pictures, "job", 2), "job")
        if job[2] != alone[0][2]:
            sys.exit(f"{model}: two processes give other bytes than one")
        return (sum(a[0] for a in alone), sum(a[1] for a in alone)), job[:2]

    def ratios(self, model, batch, pictures):
        short, short_job = self.both(model, batch, batch)
        alone, job = self.both(model, batch, pictures)
        # The two trainings made twice as many pictures.
        return job[0] / alone[0], (alone[1] - short[1]) / 2 / (job[1] - short_job[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("cifar")
    parser.add_argument("models", nargs="+", metavar="MODEL:PRESET")
    parser.add_argument("--batch", default="64,128")
    parser.add_argument("--pictures", type=int, default=2560)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    rows = [HEAD]
    facts = [("title", "Two processes of one training beside two trainings"),
             ("command", f"`make bench-processes`; dq-train, {options.pictures} pictures of CIFAR-10, one thread for each process"),
             ("machine", machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/processes.py`")]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.build, options.cifar, folder)
        for model in options.models:
            for batch in map(int, options.batch.split(",")):
                measured = [bench.ratios(model, batch, options.pictures) for _ in range(options.rounds)]
                what = f"{name_of(model.rsplit(':', 1)[0])}, batch {batch}: pictures"
                rows.append(row_of(f"{what} in a second", [m[0] for m in measured], "ratio", least=0.95))
                rows.append(row_of(f"{what} for a second of processor time", [m[1] for m in measured], "ratio"))
                for row in rows[-2:]:
                    print(*row, sep=" | ", flush=True)
    if options.csv:
        write_table(options.csv, facts, rows)


main()
