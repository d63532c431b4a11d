"""Writes what the Python module knows of libdq from its headers: structs, enums and functions for ctypes, the options of
each transform with their comments, and the stub for type checkers.

usage: bindings.py FOLDER_OF_HEADERS PACKAGE_FOLDER NAME_OF_LIBRARY
copies the package `dq` beside this file to PACKAGE_FOLDER, and writes _interface.py there, and __init__.pyi from
__init__.pyi.in beside this file
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCALARS = {"int": "c_int", "int64_t": "c_int64", "uint64_t": "c_uint64", "size_t": "c_size_t", "double": "c_double",
           "char": "c_char", "void": "None"}
HINTS = {"text": "Optional[str]", "texts": "Optional[Sequence[str]]", "real": "float", "integer": "int",
         "dataset": "Optional[DataLike]", "model": "Optional[Model]"}


def read_headers(folder):
    """All headers as text, those that dq.h includes."""
    names = ["dq_base.h"] + sorted(n for n in os.listdir(folder) if n.startswith("dq_") and n != "dq_base.h")
    texts = []
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def without_comments(text):
    return re.sub(r"//[^\n]*|^#[^\n]*", "", text, flags=re.M)


# ---- Declarations ----

def declarators(text):
    """The declarators of a field or argument, [(type, stars, name, length)]: `const char *name, *op_type`."""
    base = re.match(r"(?:const\s+)?(\w+)", text)
    found = []
    for part in text[base.end():].split(","):
        match = re.fullmatch(r"\s*((?:\*|\bconst\b|\s)*)(\w+)(?:\[(\w*)\])?\s*", part)
        found.append((base.group(1), match.group(1).count("*"), match.group(2), match.group(3)))
    return found


def read_enums(code):
    enums = {}
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", code, re.S):
        values, number = {}, 0
        for entry in body.split(","):
            word, _, value = (part.strip() for part in entry.partition("="))
            if word:
                number = int(value) if value else number
                values[word] = number
                number += 1
        prefix = os.path.commonprefix(list(values))
        prefix = prefix[:prefix.rindex("_") + 1]
        enums[name] = {word[len(prefix):].lower(): (value, word) for word, value in values.items()}
    return enums


def read_structs(code):
    """{name: [(field, type, stars, length)]}, with callbacks as fields of type "callback"."""
    structs = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", code, re.S):
        fields = []
        for line in (part.strip() for part in body.split(";")):
            callback = re.match(r"void \(\*(\w+)\)\((.*)\)", line, re.S)
            if callback:
                fields.append((callback.group(1), "callback", callback.group(2), None))
            elif line:
                fields += [(field, kind, stars, length) for kind, stars, field, length in declarators(line)]
        structs[name] = fields
    return structs


def read_functions(code):
    """{name: (type, stars, [(type, stars)])}"""
    functions = {}
    for kind, stars, name, arguments in re.findall(r"^(?:const )?(\w+) (\*?)(dq_\w+)\((.*?)\);", code, re.S | re.M):
        listed = [] if arguments.strip() == "void" else arguments.split(",")
        functions[name] = (kind, len(stars), [declarators(a.strip())[0][:2] for a in listed])
    return functions


# ---- ctypes ----

def type_of(kind, stars, enums, structs):
    if stars == 0:
        return "ctypes.c_int" if kind in enums else kind if kind in structs else \
            "None" if kind == "void" else f"ctypes.{SCALARS[kind]}"
    if kind == "char":
        return "ctypes.c_char_p" if stars == 1 else "ctypes.POINTER(ctypes.c_char_p)"
    if kind in structs and stars == 1:
        return f"ctypes.POINTER({kind})"
    return "ctypes.c_void_p" if stars == 1 else "ctypes.POINTER(ctypes.c_void_p)"


def field_type(field, enums, structs):
    name, kind, stars, length = field
    if kind == "callback":
        arguments = [declarators(a.strip())[0][:2] for a in stars.split(",")]
        return f"ctypes.CFUNCTYPE(None, {', '.join(type_of(*a, enums, structs) for a in arguments)})"
    made = "ctypes.c_void_p" if stars and kind in structs else type_of(kind, stars, enums, structs)
    return f"{made} * {length}" if length else made


def kind_of(field, enums):
    """How a value of Python becomes the field."""
    _, kind, stars, length = field
    if kind == "callback" or length:
        return "callback"
    if kind == "char":
        return "text" if stars == 1 else "texts"
    if stars:
        return {"dq_dataset": "dataset", "dq_model": "model"}.get(kind, kind)
    return kind if kind in enums else "real" if kind == "double" else "integer"


# ---- Comments ----

def field_comments(text, structs):
    """{struct: {field: comment}}: what stands behind a field, or in front of it."""
    comments = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S):
        known = {field[0] for field in structs[name]}
        ahead, fields, last = [], {}, []
        for line in body.split("\n"):
            code, _, comment = line.partition("//")
            words = [w for w in re.findall(r"\w+", code) if w in known]
            if words:
                last = words
                for word in words:
                    fields[word] = ahead + ([comment.strip()] if comment else [])
                ahead = []
            elif comment and re.match(r"^  //", line):
                ahead, last = ahead + [comment.strip()], []
            elif comment:
                for word in last:
                    fields[word].append(comment.strip())
        comments[name] = {field: " ".join(lines) for field, lines in fields.items()}
    return comments


# ---- Output ----

def write_interface(path, code, text, soname):
    enums, structs, functions = read_enums(code), read_structs(code), read_functions(code)
    options = {name: {f[0]: kind_of(f, enums) for f in fields if f[0] != "size"}
               for name, fields in structs.items() if name.endswith("_options")}
    comments = field_comments(text, structs)
    lines = ['"""libdq for ctypes. Written from its headers by bindings.py."""', "import ctypes", "", f"SONAME = {soname!r}"]
    for name, fields in structs.items():
        lines += ["", f"class {name}(ctypes.Structure):", "    _fields_ = ["]
        lines += [f'        ("{field[0]}", {field_type(field, enums, structs)}),' for field in fields] + ["    ]", ""]
    lines += ["", f"ENUMS = { {n: {w: v for w, (v, _) in e.items()} for n, e in enums.items()}!r}", "",
              "# The same by their names in C.",
              f"CONSTANTS = { {word: v for e in enums.values() for v, word in e.values()}!r}", "", "# How the value of an option is given.", f"OPTIONS = {options!r}", "",
              "# What the headers say of them.", f"COMMENTS = { {n: comments.get(n, {}) for n in options}!r}", "",
              "FUNCTIONS = {"]
    for name, (kind, stars, arguments) in functions.items():
        listed = ", ".join(type_of(*a, enums, structs) for a in arguments)
        lines.append(f'    "{name}": ({type_of(kind, stars, enums, structs)}, [{listed}]),')
    lines += ["}", ""]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return enums, options


def hint_of(kind, enums):
    if kind in enums:
        return "Literal[" + ", ".join(f'"{word}"' for word in enums[kind]) + "]"
    return HINTS[kind]


def write_stub(path, template, enums, options):
    with open(template, encoding="utf-8") as file:
        text = file.read()

    def keywords(match):
        kinds, arguments = options[match.group(1)], match.group(2).split(":")
        return ", ".join(f"{name}: {hint_of(kind, enums)} = ..." for name, kind in kinds.items()
                         if (kind in HINTS or kind in enums) and name not in arguments)
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"<(dq_\w+)([:\w]*)>", keywords, text))


def copy_package(package):
    source = os.path.join(HERE, "dq")
    os.makedirs(package, exist_ok=True)
    for name in sorted(os.listdir(source)):
        if name.endswith(".py"):
            shutil.copyfile(os.path.join(source, name), os.path.join(package, name))
    open(os.path.join(package, "py.typed"), "w").close()


def main(headers, package, soname):
    text = read_headers(headers)
    copy_package(package)
    enums, options = write_interface(os.path.join(package, "_interface.py"), without_comments(text), text, soname)
    write_stub(os.path.join(package, "__init__.pyi"), os.path.join(HERE, "__init__.pyi.in"),
               enums, options)


if __name__ == "__main__":
    main(*sys.argv[1:])
