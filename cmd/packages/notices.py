"""The terms of the libraries that a static program holds, as their packages bring them.

usage: notices.py COMPILER >FILE
"""
import sys

from libraries import libraries


def notices(compiler):
    line = "=" * 100
    return "".join(f"{line}\n{part.name} {part.upstream()}\n{line}\n\n{part.copyright()}\n" for part in libraries("static", compiler))


if __name__ == "__main__":
    sys.stdout.write(notices(sys.argv[1]))
