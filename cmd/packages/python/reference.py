"""Writes docs/REFERENCE.md: what the Python module has, from its docstrings, the options of each transform and what the
functions of dq.h do, from the comments of the headers.

usage: reference.py FOLDER_OF_HEADERS >docs/REFERENCE.md
"""
import ast
import os
import re
import sys

sys.dont_write_bytecode = True
import bindings

CLASSES = [("_model.py", "load"), ("_model.py", "Model"), ("_data.py", "Dataset"), ("_network.py", "Network"), ("_network.py", "Port"),
           ("_engine.py", "Engine"), ("_library.py", "Error"), ("_library.py", "ConditionError"), ("_library.py", "UsageError"),
           ("_library.py", "InputError"), ("_library.py", "UnsupportedError"), ("_library.py", "SystemFailure"),
           ("_library.py", "CancelledError")]
MOST_WORDS = 100
# Options of methods, and those that are arguments of their own.
OPTIONS = {"int8": ("dq_model_int8_options", ()), "amp": ("dq_model_amp_options", ()), "tucker": ("dq_model_tucker_options", ("data",)),
           "mix": ("dq_model_mix_options", ()), "train": ("dq_model_train_options", ("data", "validation")),
           "accuracy": ("dq_model_accuracy_options", ()), "compare": ("dq_model_compare_options", ()),
           "c_source": ("dq_model_source_options", ())}


def text_of(node):
    return re.sub(r"\s+", " ", ast.get_docstring(node) or "").replace("|", "\\|")


def cell(text):
    """A text for a table: of a long one the first sentences."""
    sentences, kept = re.split(r"(?<=[.;]) ", text.replace("|", "\\|")), []
    for sentence in sentences:
        if len(" ".join(kept + [sentence]).split()) > MOST_WORDS:
            return " ".join(kept) + " ... (the header has the rest)"
        kept.append(sentence)
    return " ".join(kept)


def signature(node):
    """The arguments as they are written, without types."""
    arguments = node.args
    names = [a.arg for a in arguments.args if a.arg != "self"]
    defaults = [None] * (len(names) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    shown = [name if default is None else f"{name}={default}" for name, default in zip(names, defaults)]
    if arguments.kwonlyargs:
        shown.append("*")
        shown += [a.arg if d is None else f"{a.arg}={ast.unparse(d)}" for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return ", ".join(shown + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg else []))


def options_table(struct, left_out, comments, options, enums):
    print("\n| option | type | what it is |\n| --- | --- | --- |")
    types = {"text": "text", "texts": "list of texts", "real": "number", "integer": "integer", "dataset": "data", "model": "Model"}
    for name, kind in options[struct].items():
        if name in left_out or (kind not in types and kind not in enums):
            continue
        shown = ", ".join(f"`{word}`" for word in enums[kind]) if kind in enums else types[kind]
        print(f"| `{name}` | {shown} | {cell(comments[struct].get(name, '')) or 'as of the other transforms'} |")
    print()


def show_class(tree, name, comments, options, enums):
    node = next(n for n in tree.body if getattr(n, "name", None) == name)
    if isinstance(node, ast.FunctionDef):
        print(f"### dq.{name}({signature(node)})\n{text_of(node)}\n")
        return
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    print(f"### dq.{name}" + (f"({signature(made)})" if made else "") + f"\n{text_of(node)}\n")
    for method in (n for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")):
        is_property = any(getattr(d, "id", "") == "property" for d in method.decorator_list)
        print(f"`{name}.{method.name}{'' if is_property else '(' + signature(method) + ')'}`: {text_of(method)}\n")
        if name == "Model" and method.name in OPTIONS:
            options_table(*OPTIONS[method.name], comments, options, enums)


def functions_of(text):
    """(prototype, comment) of each function of a header, in order."""
    for comment, code in re.findall(r"((?:^//[^\n]*\n)*)^((?:const )?\w+ \*?dq_\w+\([^;]*\));", text, re.M):
        yield re.sub(r"\s+", " ", code), " ".join(line[2:].strip() for line in comment.splitlines())


def main(folder):
    text = bindings.read_headers(folder)
    code = bindings.without_comments(text)
    enums, structs = bindings.read_enums(code), bindings.read_structs(code)
    comments = bindings.field_comments(text, structs)
    options = {name: {f[0]: bindings.kind_of(f, enums) for f in fields if f[0] != "size"}
               for name, fields in structs.items() if name.endswith("_options")}
    print("# Reference of the Python module and of dq.h\n\nThis page is what `make reference` writes, from the docstrings of the module and "
          "the comments of the headers. How both are used shows the [guide for Python](guide/python.md) and "
          "[example.c](guide/example.c); rules that hold for all functions stand at the beginning of [dq.h](../lib/dq.h).\n\n## The module\n")
    for source, name in CLASSES:
        with open(os.path.join(bindings.HERE, "dq", source), encoding="utf-8") as file:
            show_class(ast.parse(file.read()), name, comments, options, enums)
    print("## Functions of dq.h\n")
    for name in ["dq_base.h"] + sorted(n for n in os.listdir(folder) if n.startswith("dq_") and n != "dq_base.h"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            header = file.read()
        title = header.splitlines()[0].removeprefix("// dq.h: ").rstrip(".")
        print(f"### [{name}](../lib/{name}): {title}\n\n| function | what it does |\n| --- | --- |")
        for prototype, comment in functions_of(header):
            print(f"| `{prototype.replace('|', '')}` | {cell(comment)} |")
        print()


if __name__ == "__main__":
    main(sys.argv[1])
