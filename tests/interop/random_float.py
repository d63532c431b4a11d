"""Random float graphs: dq (fused with 1 and 2 threads, and plain) beside ONNX Runtime without optimizations.

usage: random_float.py BUILD [--count N] [--seed S] [--seconds T] [--keep FOLDER]
"""
import sys

from random_common import SETTINGS, Campaign, Dq, Peer, arguments, first_difference
from random_graphs import make_case
from random_judge import Judge
from random_movers import OPERATORS

if __name__ == "__main__":
    options = arguments(__doc__.splitlines()[0])
    judge = Judge(Dq(options.build))
    sys.exit(Campaign("float graphs", lambda rng: make_case(rng, OPERATORS), judge, options).run())
