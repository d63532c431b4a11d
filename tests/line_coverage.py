"""Which tests run which lines of the product, by a build with the counters of gcc."""
import array
import collections
import glob
import hashlib
import json
import os
import shutil
import subprocess

from faults import ROOMS

COUNTERS = 0x01A10000  # what stands in front of the counters of a function in the files of gcc


def contents(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def clear_counters(counters, objects):
    """Empty counters in the folder, one for each object, that every user may write: some tests run commands as nobody,
    and look at all that these say."""
    shutil.rmtree(counters, ignore_errors=True)
    for notes in glob.glob(f"{objects}/**/*.gcno", recursive=True):
        file = counters + os.path.abspath(notes)[:-5] + ".gcda"
        folder = os.path.dirname(file)
        if not os.path.isdir(folder):
            os.makedirs(folder)
            os.chmod(folder, 0o777)
        open(file, "wb").close()
        os.chmod(file, 0o666)


def was_run(file):
    """Whether a file of counters has one above 0: gcc writes a length below 0 for counters that are all 0."""
    with open(file, "rb") as source:
        words = array.array("i", source.read())
    return any(tag == COUNTERS and length > 0 for tag, length in zip(words, words[1:]))


def lines_of_each(notes, tree):
    """{notes of an object: {file: {line: whether it was run}}}, by the counters beside the notes if there are any."""
    objects = {}
    for start in range(0, len(notes), 200):
        text = subprocess.run(["gcov", "--json-format", "--stdout", *notes[start:start + 200]], cwd=tree, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        for document in map(json.loads, filter(None, text.split("\n"))):
            files = objects[os.path.splitext(document["data_file"])[0] + ".gcno"] = {}
            for file in (file for file in document["files"] if file["file"].startswith(ROOMS)):
                known = files.setdefault(file["file"], {})
                for line in file["lines"]:
                    known[line["line_number"]] = known.get(line["line_number"], False) or line["count"] > 0
    return objects


def known_lines(notes, tree):
    """{file: lines that were compiled}"""
    lines = collections.defaultdict(set)
    for files in lines_of_each(notes, tree).values():
        for file, known in files.items():
            lines[file] |= set(known)
    return {file: sorted(known) for file, known in lines.items()}


def lines_run(tree, counters, seen):
    """Pairs of (file, line) that ran since the counters were cleared. `seen` has what gcov said of the same counters of
    an object before: most objects are run by many tests alike, and gcov takes longer than the tests."""
    waiting, pairs = {}, set()
    for file in filter(was_run, glob.glob(f"{counters}/**/*.gcda", recursive=True)):
        with open(file, "rb") as source:
            key = file[len(counters):], hashlib.md5(source.read()[12:]).digest()  # behind the stamp of the notes
        if key in seen:
            pairs |= seen[key]
        else:
            notes = file[:-5] + ".gcno"  # gcov looks for the notes beside the counters
            shutil.copy(file[len(counters):-5] + ".gcno", notes)
            waiting[notes] = key
    for notes, files in lines_of_each(list(waiting), tree).items():
        run_here = {(file, line) for file, lines in files.items() for line, run in lines.items() if run}
        seen[waiting[notes]] = run_here
        pairs |= run_here
    return pairs


def fingerprint(tree, rooms=("",)):
    """A hash of all files, or those of some folders: what was measured on other files does not count."""
    digest = hashlib.md5()
    for file in subprocess.check_output(["git", "ls-files"], cwd=tree, text=True).split("\n"):
        if file and file.startswith(rooms):
            digest.update(file.encode() + b"\0" + open(os.path.join(tree, file), "rb").read())
    return digest.hexdigest()[:8]


class Coverage:
    """Which tests run which line of the product as it is. It is kept in a file, test by test: a test whose text has
    changed, or that is new, runs again, and the others do not."""

    def __init__(self, tree, folder, tests):
        self.path = os.path.join(folder, f"coverage-{fingerprint(tree, ROOMS + ('Makefile',))}.json")
        self.tests, self.known, self.seconds = tests, None, {}
        self.lines_of_test, self.totals = [], []
        self.runs = collections.defaultdict(int)  # {(file, line): bit i is test i}
        if not os.path.exists(self.path):
            return
        kept = json.loads(contents(self.path))
        self.known = kept["known"]
        place = {test.key: number for number, test in enumerate(tests)}
        moved = [(bit, place[key]) for bit, key in enumerate(kept["tests"]) if key in place]
        self.seconds = {tests[number].key: kept["seconds"][bit] for bit, number in moved}
        for file, line, mask in kept["runs"]:
            mask = int(mask, 16)
            self.runs[file, line] = sum(1 << number for bit, number in moved if mask >> bit & 1)
        for test in tests:
            test.seconds = self.seconds.get(test.key)

    def count_lines(self):
        """To be called once all tests have run, before chosen()."""
        self.lines_of_test = [collections.Counter() for _ in self.tests]
        for (path, _), mask in self.runs.items():
            while mask:
                self.lines_of_test[mask.bit_length() - 1][path] += 1
                mask ^= 1 << (mask.bit_length() - 1)
        self.totals = [sum(lines.values()) for lines in self.lines_of_test]

    def chosen(self, file, line):
        """The tests that run a line. Those come first that run most of the file, as a share of all the lines that they
        run, for the time that they take."""
        mask = self.runs.get((file, line), 0)
        chosen = [number for number in range(len(self.tests)) if mask >> number & 1]

        def worth(number):
            return self.lines_of_test[number][file] / self.totals[number] / (1 + self.tests[number].seconds)
        return [self.tests[number] for number in sorted(chosen, key=worth, reverse=True)]

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as out:
            json.dump({"tests": [test.key for test in self.tests], "known": self.known,
                       "seconds": [self.seconds.get(test.key) for test in self.tests],
                       "runs": [[file, line, hex(mask)] for (file, line), mask in self.runs.items()]}, out)
        os.replace(self.path + ".new", self.path)
