"""Small faults of one line of C: where they can be planted, and which of them are known to change nothing."""
import collections
import glob
import os
import re

ROOMS = ("lib", "quant", "decomp", "calib", "datasets", "cmd")
# What may change: kind, pattern (the group is replaced), replacement.
OTHER = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
         "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
TOKENS = (("sign", re.compile(r"(?<=[\w)\]] )([+-]=?)(?= [\w(])")),
          ("bound", re.compile(r"(?<=[\w)\]] )([<>]=?)(?= [\w(-])")),
          ("condition", re.compile(r"(?<=[\w)\]] )(==|!=|&&|\|\|)(?= )")),
          ("constant", re.compile(r"(?<![\w.\"])(\d+(?:\.\d+)?)(?![\w.])")))
CALL = re.compile(r"\b[a-z_]\w*\(([^()]*)\)")
# Calls whose arguments may be exchanged: whether texts, files or shapes are equal, the larger and the smaller number, and
# instructions on vectors of whole numbers whose operands are alike.
SYMMETRIC = re.compile(r"!(?:str|mem)cmp\(|dq_same_file\(|dq_tensor_same_shape\(|"
                       r"(?:fmin|fmax|fminf|fmaxf|hypot|dq_min_i64|dq_max_i64)\(|"
                       r"_mm\d*_(?:(?:add|avg|sad|min|max|madd|mul|mullo|mulhi|cmpeq)_ep[iu]|(?:and|or|xor)_si)\d+\(")
ARGUMENT = re.compile(r"^&?[a-z_][\w.>-]*(?:\[\w+\])?$")
# The smaller or the larger of two numbers: of equal ones it is either.
CHOICE = re.compile(r"(?<![\w)\]>.])(?=(([\w>.\[\]-]+) [<>]=? ([\w>.\[\]-]+) \? (?:\2 : \3|\3 : \2))(?![\w\[(>.-]))")
# A number that is stored where it is smaller or larger than what is there: an equal one is stored over itself.
STORED = re.compile(r"(?<![\w)\]>.])(?=(([\w>.\[\]-]+) [<>]=? ([\w>.\[\]-]+))\) (?:\2 = \3|\3 = \2);)")
# Sizes of arrays are left alone, and what makes the size of an allocation larger: a longer buffer is no fault.
LONGER = re.compile(r"\b(?:malloc|calloc|realloc|DQ_NEW_ARRAY|dq_\w+_alloc)\((?:(?:[^()]|\([^()]*\))*[+*] )?$")
DECLARED_ARRAY = re.compile(r"^\s*(?:static |const |unsigned |struct )*\w+ \*?\w+\[")

Site = collections.namedtuple("Site", "file line column kind old new")


def blanked(text):
    """The text with comments and strings replaced by blanks of the same length."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def changed_constant(text):
    return str(int(text) + 1) if text.isdigit() else repr(float(text) * 1.1)


def sites_of_line(file, number, line):
    """All faults that can be planted in one line (without comments and strings)."""
    if line.lstrip().startswith("#"):
        return []
    found = []
    choices = [match.span(1) for pattern in (CHOICE, STORED) for match in pattern.finditer(line)]
    for kind, pattern in TOKENS:
        if kind == "constant" and DECLARED_ARRAY.match(line):
            continue
        for match in pattern.finditer(line):
            if kind == "constant" and LONGER.search(line[:match.start(1)]):
                continue
            if kind == "bound" and any(start < match.start(1) < end for start, end in choices):
                continue
            old = match.group(1)
            new = changed_constant(old) if kind == "constant" else OTHER[old]
            found.append(Site(file, number, match.start(1), kind, old, new))
    for match in CALL.finditer(line):
        if SYMMETRIC.match(line, match.start() - line[:match.start()].endswith("!")):
            continue
        parts = match.group(1).split(", ")
        for first, second in zip(parts, parts[1:]):
            if first != second and ARGUMENT.match(first) and ARGUMENT.match(second):
                old = f"{first}, {second}"
                column = match.start(1) + match.group(1).index(old)
                found.append(Site(file, number, column, "arguments", old, f"{second}, {first}"))
    return found


def planted(text, site):
    """The file's text with the fault of `site` in it."""
    lines = text.split("\n")
    line = lines[site.line - 1]
    assert line[site.column:].startswith(site.old), f"{site} is not in '{line}'"
    lines[site.line - 1] = line[:site.column] + site.new + line[site.column + len(site.old):]
    return "\n".join(lines)


def equivalents():
    """Lines and what they may become without any change: a set of (file name, line, line with the fault)."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mutate.equivalent")
    lines = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8") if not line.startswith("#")]
    assert all(len(fields) == 4 and fields[3] for fields in lines), "file, line, line with the fault, reason"
    return {tuple(fields[:3]) for fields in lines}


def stale_equivalents(tree):
    """Entries of tests/mutate.equivalent whose line is not in the source any more."""
    files = collections.defaultdict(set)
    for room in ROOMS:
        for path in glob.glob(os.path.join(tree, room, "**", "*.[ch]"), recursive=True):
            files[os.path.basename(path)] |= {line.strip() for line in open(path, encoding="utf-8")}
    return sorted(entry[:2] for entry in equivalents() if entry[1] not in files[entry[0]])


def is_equivalent(tree, site, known):
    line = open(os.path.join(tree, site.file), encoding="utf-8").read().split("\n")[site.line - 1]
    return (os.path.basename(site.file), line.strip(), planted(line, site._replace(line=1)).strip()) in known
