"""Stages the static program as a wheel, unpacked, for `wheel pack`: commands in the folder of scripts, the package `dq`,
licences and the bill of materials (PEP 770).

usage: wheel.py STATIC_PROGRAM BILL NOTICES VERSION COMPILER FOLDER
"""
import os
import shutil
import sys

from libraries import HERE, output

NAME = "dq_onnx"
# The program calls no library of the system, so it needs a kernel alone; the tags are those that installers know.
TAGS = ["manylinux_2_17_{}", "manylinux2014_{}", "musllinux_1_1_{}"]


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def metadata(version):
    with open(os.path.join(HERE, "about.md"), encoding="utf-8") as file:
        about = file.read()
    return f"""Metadata-Version: 2.4
Name: dq-onnx
Version: {version}
Summary: Makes ONNX networks for pictures and signals smaller and faster, and says what each step costs
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICES
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/markdown

{about}"""


def stage(program, bill, notices, version, compiler, folder):
    machine = output(compiler, "-dumpmachine").split("-")[0]
    information, scripts = (os.path.join(folder, f"{NAME}-{version}.{end}") for end in ("dist-info", "data/scripts"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(scripts)
    shutil.copy(program, os.path.join(scripts, "dq"))
    os.chmod(os.path.join(scripts, "dq"), 0o755)
    for source in sorted(os.listdir(os.path.join(HERE, ".."))):
        if source.startswith("dq-") and source.endswith(".c"):
            verb = source[len("dq-"):-len(".c")]
            write(os.path.join(scripts, f"dq-{verb}"), f'#!/bin/sh\nexec "${{0%/*}}/dq" {verb} "$@"\n', 0o755)
    for source in ("__init__.py", "__main__.py"):
        with open(os.path.join(HERE, "python", "dq", source)) as file:
            write(os.path.join(folder, "dq", source), file.read())
    write(os.path.join(information, "METADATA"), metadata(version))
    tags = "".join(f"Tag: py3-none-{tag.format(machine)}\n" for tag in TAGS)
    write(os.path.join(information, "WHEEL"), f"Wheel-Version: 1.0\nGenerator: dq\nRoot-Is-Purelib: false\n{tags}")
    for source, name in ((os.path.join(HERE, "..", "..", "LICENSE"), "licenses/LICENSE"), (notices, "licenses/NOTICES"),
                         (bill, "sboms/dq.cdx.json")):
        with open(source, encoding="utf-8") as file:
            write(os.path.join(information, name), file.read())


if __name__ == "__main__":
    stage(*sys.argv[1:7])
