"""The libraries that a program of dq holds or needs, with the versions that are installed here (Debian's dpkg-query)."""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"static": ("source", "linked", "static"), "shared": ("source", "linked", "loaded", "built")}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def installed(name):
    """Version and source of a package of Debian; None: it is not installed."""
    query = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${source:Version}\t${source:Package}", name],
                           capture_output=True, text=True)
    state, version, source = (query.stdout.split("\t") + ["", "", ""])[:3]
    return (version, source) if state.startswith("ii") else None


class Library:
    def __init__(self, name, package, licence, compiler):
        self.name, self.licence = name, licence
        machine = output(compiler, "-dumpmachine").split("-")[0]
        self.architecture = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
        package = package.replace("{gcc}", output(compiler, "-dumpversion").split(".")[0])
        own = output("dpkg", "--print-architecture")
        # The compiler's own libraries for another machine are packages of this one.
        names = [f"{package}:{self.architecture}"] + ([f"{package}-{self.architecture}-cross"] if self.architecture != own else [])
        self.package, self.version, source = self.first(names + [package])
        self.purl = f"pkg:deb/debian/{source}@{self.version.replace('+', '%2B')}?arch=source&distro={self.release()}"

    @staticmethod
    def first(names):
        for name in names:
            found = installed(name)
            if found:
                return name, *found
        raise SystemExit(f"{names[-1]} is not installed, so its version is unknown: make deps")

    @staticmethod
    def release():
        with open("/etc/os-release") as file:
            release = dict(line.strip().split("=", 1) for line in file if "=" in line)
        return f"{release['ID'].strip(chr(34))}-{release['VERSION_ID'].strip(chr(34))}"

    def upstream(self):
        """The version without Debian's epoch and revision."""
        return re.sub(r"-[^-]*$", "", self.version.split(":")[-1])

    def copyright(self):
        """The text that the package brings."""
        with open(f"/usr/share/doc/{self.package.split(':')[0]}/copyright", encoding="utf-8") as file:
            return file.read()


def libraries(kind, compiler="gcc"):
    """Those of a `static` or a `shared` program, in the order of the file `libraries`."""
    with open(os.path.join(HERE, "libraries")) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return [Library(*row[:3], compiler) for row in rows if row[3] in KINDS[kind] and (row[3] != "built" or installed(row[1]))]
