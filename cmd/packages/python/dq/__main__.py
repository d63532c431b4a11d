"""python -m dq VERB ...: the program dq."""
import os
import sys

from dq import program

os.execv(program(), ["dq", *sys.argv[1:]])
