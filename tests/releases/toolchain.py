"""The releases of Go that the module proxy has, and what they build.

Each is called in an environment that is written down here in full: nothing of the user's changes
what it builds or says.
"""
import collections
import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "live"), str(HERE.parent / "conformance")]
import environment  # noqa: E402
from common import ROOT, WORK, call, fetched  # noqa: E402

CACHE = environment.USER_CACHE / "gosym"

# Debian's, where there is no module proxy.
DEBIAN = ["1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]

# The first and the last release of each layout of the table, and 7: it keeps frame pointers while its
# collector replaces return addresses. The newest is taken too.
EVERY_RUN = [2, 7, 15, 16, 17, 18, 19, 20]

Release = collections.namedtuple("Release", "version is_debian")
# How a program is built: see build().
Way = collections.namedtuple("Way", "machine mode cgo flags link",
                             defaults=["amd64", "exe", False, (), ""])


def minor(release):
    return int(release.version.split(".")[1])


def releases():
    """All that can be had, oldest first, and a word where those are not all there are."""
    done = subprocess.run([ROOT / "scripts" / "fetch", "toolchains"], capture_output=True, text=True)
    if done.returncode == 0:
        return [Release(version, False) for version in done.stdout.split()], ""
    reason = (done.stderr.strip().splitlines() or ["no list of releases"])[-1]
    return [Release(version, True) for version in DEBIAN], f"only Debian's releases: {reason}"


def some(everything):
    return [release for release in everything
            if minor(release) in EVERY_RUN or release == everything[-1]]


@functools.cache
def root(release):
    return pathlib.Path(fetched("go" if release.is_debian else "toolchain", release.version))


def environment(release, way=Way()):
    """The cache is kept between runs: to compile a standard library takes half a minute."""
    return {
        "PATH": f"{gcc_folder()}:/usr/bin:/bin" if minor(release) <= 5 else "/usr/bin:/bin",
        "HOME": str(WORK), "TMPDIR": str(WORK), "LC_ALL": "C",
        "GOROOT": str(root(release)), "GOPATH": str(WORK / "gopath"),
        "GOCACHE": str(CACHE / "go-build"), "GOENV": "off", "GOFLAGS": "", "GOEXPERIMENT": "",
        "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOSUMDB": "off", "GOTELEMETRY": "off",
        "GOWORK": "off", "GO111MODULE": "on" if has_modules(release) else "off", "GOOS": "linux",
        "GOARCH": way.machine, "GOARM": "7" if way.machine == "arm" else "",
        "GOMAXPROCS": "2", "CGO_ENABLED": "1" if way.cgo else "0", "CC": "gcc",
    }


@functools.cache
def gcc_folder():
    """With a gcc that links as Go up to 1.5 expects: that does not ask for what is the default now."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    (folder / "gcc").write_text('#!/bin/sh\nexec /usr/bin/gcc -no-pie "$@"\n')
    (folder / "gcc").chmod(0o755)
    return folder


def has_modules(release):
    return minor(release) >= 16


def go(release, *words, way=Way(), **options):
    return call(root(release) / "bin" / "go", *words, env=environment(release, way), **options)


def can_build(release, way):
    """Before 1.5 each machine took a compiler of its own, which the modules do not have."""
    first = {"amd64": 2, "386": 5, "arm": 5, "arm64": 5, "ppc64le": 5, "s390x": 7, "riscv64": 14}
    modes = {"exe": 2, "pie": 6, "c-shared": 5}
    return minor(release) >= max(first[way.machine], modes[way.mode],
                                 13 if "-trimpath" in way.flags else 0)


def build(release, source, way):
    """A program of a folder of sources, in a new folder."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    shutil.copytree(source, folder / "source",
                    ignore=None if way.cgo else shutil.ignore_patterns("native.*"))
    if has_modules(release):
        (folder / "source" / "go.mod").write_text(f"module program\n\ngo 1.{minor(release)}\n")
    # Go 1.23 and later keep the runtime's own functions to themselves, unless told not to.
    link = f"{way.link} -checklinkname=0" if minor(release) >= 23 else way.link
    mode = [f"-buildmode={way.mode}"] if way.mode != "exe" else []
    go(release, "build", *mode, *way.flags, f"-ldflags={link.strip()}", "-o", folder / "program",
       way=way, cwd=folder / "source")
    return folder / "program"


def shipped(release, name):
    """A program that comes with the release; Debian's are stripped."""
    return root(release) / "bin" / name
