"""Runs a command and writes what it took: measured.py SECONDS FILE COMMAND...

FILE receives the exit status (128 + the number of a signal that ended it), the largest resident memory in MB,
and the seconds of processor time. After SECONDS of processor time, or six times as many by the clock, the
command is ended by a signal.
"""
import resource
import subprocess
import sys

seconds = int(sys.argv[1])


def bound():
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


process = subprocess.Popen(sys.argv[3:], preexec_fn=bound, stdin=subprocess.DEVNULL)
try:
    status = process.wait(6 * seconds)
except subprocess.TimeoutExpired:
    process.kill()
    status = process.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[2], "w") as file:
    print(status if status >= 0 else 128 - status, used.ru_maxrss // 1024, f"{used.ru_utime + used.ru_stime:.1f}", file=file)
