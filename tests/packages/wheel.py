"""Checks a wheel without installing it: its name and tags, the metadata, hashes and sizes of all files in RECORD, the modes of
the commands. Prints what is wrong. usage: wheel.py FILE VERSION
"""
import base64
import hashlib
import os
import sys
import zipfile


def record_problems(archive, information):
    """Files that RECORD does not have, or has with another hash or size."""
    rows = dict(line.split(",", 1) for line in archive.read(f"{information}/RECORD").decode().splitlines())
    for name in archive.namelist():
        content = archive.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        right = "," if name.endswith("/RECORD") else f"sha256={digest},{len(content)}"
        if rows.pop(name, None) != right:
            yield f"RECORD: not {right} for {name}"
    yield from (f"RECORD: {name} is not in the wheel" for name in rows)


def problems(path, version):
    stem, python, abi, platforms = os.path.basename(path)[:-len(".whl")].rsplit("-", 3)
    information = f"{stem}.dist-info"
    with zipfile.ZipFile(path) as archive:
        metadata = archive.read(f"{information}/METADATA").decode().split("\n\n")[0].splitlines()
        for line in ("Metadata-Version: 2.4", "Name: dq-onnx", f"Version: {version}", "License-Expression: Apache-2.0"):
            if line not in metadata:
                yield f"METADATA has no '{line}'"
        tags = [line[len("Tag: "):] for line in archive.read(f"{information}/WHEEL").decode().splitlines() if line.startswith("Tag: ")]
        if sorted(tags) != [f"{python}-{abi}-{platform}" for platform in sorted(platforms.split("."))]:
            yield f"WHEEL has the tags {tags}"
        if "Root-Is-Purelib: false" not in archive.read(f"{information}/WHEEL").decode():
            yield "WHEEL: a program is no pure library"
        for license in (line[len("License-File: "):] for line in metadata if line.startswith("License-File: ")):
            if f"{information}/licenses/{license}" not in archive.namelist():
                yield f"there is no {license}"
        for entry in archive.infolist():
            command = f"{stem}.data/scripts/" in entry.filename
            if (entry.external_attr >> 16) & 0o777 != (0o755 if command else 0o644):
                yield f"{entry.filename} has the mode {entry.external_attr >> 16:o}"
        yield from record_problems(archive, information)


if __name__ == "__main__":
    print("".join(f"{problem}\n" for problem in problems(*sys.argv[1:3])), end="")
