"""Random graphs as C: dq-cc's C of many graphs in one program, by several compilers and flags in turns, beside dq-run.

usage: random_c.py BUILD [--count N] [--seed S] [--seconds T] [--keep FOLDER]
Graphs with an even seed are those of random_float.py, the others those of random_qdq.py. Every fifth has its constants
in a file of their own. Bits have to be equal; a NaN equals any other.
"""
import collections, os, re, shutil, subprocess, sys, tempfile, time

import numpy as np, onnx

from random_common import Died, Dq, arguments
from random_graphs import make_case
from random_operators import OPERATORS
from random_qdq_graphs import make_case as make_quantized

TOGETHER = 40  # graphs in one program
STRICT = "-Wall -Wextra -Werror -pedantic"
WAYS = [way for way in [
    "gcc -std=c99 -O2",
    "gcc -std=c99 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all",
    f"gcc -std=c99 -O1 {STRICT}",
    "gcc -std=c99 -Os",
    "gcc -std=gnu17 -O3 -march=native",
    f"clang -std=c99 -O2 {STRICT}",
    "clang -std=gnu17 -O3 -march=native",
] if shutil.which(way.split()[0])]

Emitted = collections.namedtuple("Emitted", "seed name case outputs")

HEAD = """#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *from, *to;
static void *memory(size_t size) { /* exactly so large that a sanitizer sees what lies beyond */
  void *p = aligned_alloc(16, (size + 15) / 16 * 16);
  if (!p) exit(2);
  return p;
}
static void *get(size_t size) {
  void *p = malloc(size + !size);
  if (!p || fread(p, 1, size, from) != size) exit(2);
  return p;
}
static void put(void *p, size_t size) {
  if (fwrite(p, 1, size, to) != size) exit(2);
  free(p);
}
"""


def function_of(graph, inputs, outputs):
    """C that reads the inputs of a graph, runs it, and writes its outputs, whose sizes in bytes are given."""
    lines = [f'#include "{graph}.h"', f"static int run_{graph}(void) {{"]
    lines += [f"  void *i{k} = get({size});" for k, size in enumerate(inputs)]
    lines += [f"  void *o{k} = malloc({size or 1});" for k, size in enumerate(outputs)]
    words = [f"i{k}" for k in range(len(inputs))] + [f"o{k}" for k in range(len(outputs))] + ["arena"]
    lines += [f"  void *arena = memory({graph.upper()}_ARENA_BYTES);"]
    lines += [f"  int status = {graph}_run({', '.join(words)});"]
    lines += [f"  put(o{k}, {size});" for k, size in enumerate(outputs)]
    lines += [f"  free(i{k});" for k in range(len(inputs))]
    return "\n".join(lines + ["  free(arena);", "  return status;", "}", ""])


def program_of(graphs):
    rows = ", ".join(f"run_{g.name}" for g in graphs)
    text = HEAD + "".join(
        function_of(g.name, [a.nbytes for a in g.case.feeds.values()], [o.nbytes for o in g.outputs]) for g in graphs)
    return text + f"""static int (*const runs[])(void) = {{{rows}}};
int main(int count, char **words) {{
  (void)get;
  size_t first = count > 3 ? (size_t)atoi(words[3]) : 0, last = count > 3 ? first + 1 : sizeof runs / sizeof *runs;
  from = fopen(words[1], "rb"), to = fopen(words[2], "wb");
  if (!from || !to) return 2;
  for (size_t i = first; i < last; i++)
    if (runs[i]()) return 3;
  return fclose(from) || fclose(to) ? 2 : 0;
}}
"""


def same(got, expected):
    """Whether bytes are those of an array, but for the bits of NaN."""
    if got == expected.tobytes():
        return True
    array = np.frombuffer(got, expected.dtype)
    unsigned = f"u{expected.dtype.itemsize}"
    other = array.view(unsigned) != expected.reshape(-1).view(unsigned)
    return expected.dtype.kind == "f" and bool(np.isnan(array[other]).all() and np.isnan(expected.reshape(-1)[other]).all())


class Emission:
    """Emits, compiles and runs graphs by the program of a build, and counts what comes of them."""

    def __init__(self, options):
        self.options, self.dq = options, Dq(options.build)
        self.command = os.path.join(os.path.abspath(options.build), "dq-cc")
        self.counts, self.refusals, self.ways = collections.Counter(), collections.Counter(), collections.Counter()

    def differs(self, graph, text):
        self.counts["differ"] += 1
        print(f"seed {graph.seed}: {text}", flush=True)
        if self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            onnx.save(graph.case.model, os.path.join(self.options.keep, f"{graph.seed}.onnx"))
            np.savez(os.path.join(self.options.keep, f"{graph.seed}.npz"), **graph.case.feeds)

    def emit(self, seed):
        """The graph of a seed, with its C in the folder; None where dq-run or dq-cc refuses it."""
        rng = np.random.default_rng(seed)
        case = make_quantized(rng) if seed % 2 else make_case(rng, OPERATORS)
        graph = Emitted(seed, f"g{seed}", case, [])
        self.counts["graphs"] += 1
        try:
            answer = self.dq.run(case, ["1"])["1"]
        except Died as error:
            return self.differs(graph, str(error))
        path = os.path.join(self.folder, graph.name)
        with open(path + ".onnx", "wb") as to:
            to.write(case.bytes)
        words = ["--weights-file", path + ".bin"] if seed % 5 == 0 else []
        for value in case.model.graph.input:
            if value.name in case.feeds and any(not d.HasField("dim_value") for d in value.type.tensor_type.shape.dim):
                words += ["--shape", f"{value.name}={','.join(map(str, case.feeds[value.name].shape))}"]
        done = subprocess.run([self.command, path + ".onnx", "-o", path + ".c", "--name", graph.name, "-q"] + words,
                              capture_output=True, text=True)
        if done.returncode == 0 and answer.status == 0:
            return graph._replace(outputs=answer.outputs)
        if done.returncode == 4 or (done.returncode == answer.status and done.returncode > 0):
            text = re.sub(r"'[^']*'|\d+", "_", done.stderr.splitlines()[0].split(": ", 2)[-1])
            self.refusals[text] += 1
            return None
        if done.returncode or not self.unlike(answer):
            return self.differs(graph, f"dq-cc ends with {done.returncode}, dq-run with {answer.status}: {done.stderr.strip()}")
        self.refusals["dq-run refuses elements"] += 1
        return None

    def unlike(self, answer):
        """Whether dq-run refuses elements, such as indices, which C cannot refuse."""
        return answer.status == 3

    def compile(self, way, graphs, program):
        with open(os.path.join(self.folder, program + ".c"), "w") as to:
            to.write(program_of(graphs))
        files = [program + ".c"] + [g.name + ".c" for g in graphs]
        return subprocess.run(way.split() + ["-o", program] + files + ["-lm"], cwd=self.folder, capture_output=True, text=True)

    def check(self, way, graphs, program):
        """Whether a program of some graphs compiles and gives the bits of dq-run; the text says what else."""
        done = self.compile(way, graphs, program)
        if done.returncode:
            return f"{way}: does not compile: {done.stderr[:600]}"
        with open(os.path.join(self.folder, "inputs"), "wb") as to:
            for graph in graphs:
                for array in graph.case.feeds.values():
                    to.write(np.ascontiguousarray(array).tobytes())
        done = subprocess.run(["./" + program, "inputs", "outputs"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            return f"{way}: ends with {done.returncode}: {done.stderr[:600]}"
        with open(os.path.join(self.folder, "outputs"), "rb") as outputs:
            for graph in graphs:
                for k, expected in enumerate(graph.outputs):
                    if not same(outputs.read(expected.nbytes), expected):
                        return f"{way}: output {k} differs"
        return None

    def judge(self, way, graphs):
        self.ways[way] += len(graphs)
        self.counts["compared"] += len(graphs)
        if graphs and self.check(way, graphs, "program"):
            for graph in graphs:
                text = self.check(way, [graph], "alone")
                if text:
                    self.differs(graph, text)

    def run(self):
        begin, seed, number = time.monotonic(), self.options.seed, 0
        last = seed + self.options.count if self.options.count else None
        late = lambda: self.options.seconds and time.monotonic() - begin > self.options.seconds
        while seed != last and not late():
            with tempfile.TemporaryDirectory() as self.folder:
                end = min(seed + TOGETHER, last or seed + TOGETHER)
                self.judge(WAYS[number % len(WAYS)], [g for g in map(self.emit, range(seed, end)) if g])
                seed, number = end, number + 1
        for counter in (self.refusals, self.ways):
            for text, count in counter.most_common():
                print(f"# {count} {text}")
        print(f"emitted C: {self.counts['graphs']} graphs, {self.counts['compared']} compared, {self.counts['differ']} differ",
              flush=True)
        return 1 if self.counts["differ"] or not self.counts["compared"] else 0


if __name__ == "__main__":
    sys.exit(Emission(arguments(__doc__.splitlines()[0])).run())
