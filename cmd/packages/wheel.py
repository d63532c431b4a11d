"""Makes a wheel of the static program and the Python module: commands in the folder of scripts, the package `dq` with
the shared library, licences and the bill of materials (PEP 770). The same files give the same bytes.

usage: wheel.py STATIC_PROGRAM SHARED_LIBRARY MODULE BILL NOTICES VERSION COMPILER FOLDER
writes FOLDER/dq_onnx-VERSION-py3-none-TAGS.whl and its files in FOLDER/wheel     SOURCE_DATE_EPOCH: the moment of all files
"""
import base64
import hashlib
import os
import shutil
import sys
import time
import zipfile

from libraries import HERE, output

NAME = "dq_onnx"
# The program calls no library of the system, so it needs a kernel alone, and the library of the module needs glibc 2.17;
# the tags are those that installers know. With musl the commands run, and the module says why it does not.
TAGS = ["manylinux2014_{}", "manylinux_2_17_{}", "musllinux_1_1_{}"]


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
Requires-Python: >=3.9
Provides-Extra: arrays
Requires-Dist: numpy; extra == "arrays"
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/markdown

{about}"""


def stage(program, library, module, bill, notices, version, compiler, folder):
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
    for source in sorted(name for name in os.listdir(module) if not name.startswith("__pycache__")):
        with open(os.path.join(module, source), encoding="utf-8") as file:
            write(os.path.join(folder, "dq", source), file.read())
    shutil.copy(library, os.path.join(folder, "dq", "libdq.so"))
    os.chmod(os.path.join(folder, "dq", "libdq.so"), 0o644)
    write(os.path.join(information, "METADATA"), metadata(version))
    tags = "".join(f"Tag: py3-none-{tag.format(machine)}\n" for tag in TAGS)
    write(os.path.join(information, "WHEEL"), f"Wheel-Version: 1.0\nGenerator: dq\nRoot-Is-Purelib: false\n{tags}")
    for source, name in ((os.path.join(HERE, "..", "..", "LICENSE"), "licenses/LICENSE"), (notices, "licenses/NOTICES"),
                         (bill, "sboms/dq.cdx.json")):
        with open(source, encoding="utf-8") as file:
            write(os.path.join(information, name), file.read())


def files_of(folder):
    """Paths below the folder, those of dist-info last, as PEP 427 recommends."""
    found = [os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names]
    return sorted(found, key=lambda path: (".dist-info" in path, path))


def record(folder, paths, name):
    """The list of all files with their hashes and sizes; that of the list itself is empty."""
    lines = []
    for path in paths:
        with open(os.path.join(folder, path), "rb") as file:
            content = file.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{name},,\n"


def pack(folder, version, compiler, archive_folder):
    machine = output(compiler, "-dumpmachine").split("-")[0]
    information = f"{NAME}-{version}.dist-info"
    paths = files_of(folder)
    write(os.path.join(folder, information, "RECORD"), record(folder, paths, f"{information}/RECORD"))
    tags = ".".join(tag.format(machine) for tag in TAGS)
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(os.path.join(archive_folder, f"{NAME}-{version}-py3-none-{tags}.whl"), "w") as archive:
        for path in paths + [f"{information}/RECORD"]:
            entry = zipfile.ZipInfo(path, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = os.stat(os.path.join(folder, path)).st_mode << 16
            with open(os.path.join(folder, path), "rb") as file:
                archive.writestr(entry, file.read())


if __name__ == "__main__":
    packages = sys.argv[8]
    stage(*sys.argv[1:8], os.path.join(packages, "wheel"))
    pack(os.path.join(packages, "wheel"), sys.argv[6], sys.argv[7], packages)
