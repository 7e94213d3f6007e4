"""What the tools are asked: programs, addresses of their code, recordings. Made or fetched once."""
import collections
import functools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import pprof

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gosym"
GO = "1.27"
GIMLI = "0.27.1"  # of the crate addr2line
SEED = 1
SCRATCH = tempfile.TemporaryDirectory(prefix="gosym-benchmark-")  # gone at the end

# A program with all that its compiler writes, and what is left of it for production.
Program = collections.namedtuple("Program", "twin stripped")


def call(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, **{"check": True, **options}).stdout


def fetched(*words):
    return call(ROOT / "scripts/fetch", *words).strip()


@functools.cache
def go():
    return fetched("go", GO) + "/bin/go"


@functools.cache
def go_tool(name):
    """The tool itself, without the time that `go tool` needs to find or build it."""
    environment = {**os.environ, "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    return call(go(), "tool", "-n", name, env=environment).strip()


def kept(name, make):
    """A file of the cache, made when it is not there."""
    file = CACHE / "benchmark" / name
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.{os.getpid()}")
        make(part)
        part.rename(file)
    return file


@functools.cache
def compiler():
    """The Go compiler, built from the sources of its release: Debian has but the stripped one."""
    def build(file):
        environment = {**os.environ, "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
        call(go(), "build", "-o", file, "cmd/compile", env=environment, cwd="/")
    twin = kept(f"go-{GO}/compile", build)
    return Program(twin, kept(f"go-{GO}/compile-stripped", lambda f: call("strip", "-o", f, twin)))


@functools.cache
def gimli_addr2line():
    """The addr2line of gimli, built once; none without a Rust that can."""
    folder = CACHE / "benchmark" / f"gimli-{GIMLI}"
    tool = folder / "bin/addr2line"
    if not tool.exists() and shutil.which("cargo"):
        done = subprocess.run(["cargo", "install", "--quiet", "--root", folder, "--version", GIMLI, "--features", "bin",
                               "addr2line"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(f"without gimli's addr2line:\n{done.stderr}", file=sys.stderr)
    return tool if tool.exists() else None


def services():
    """Stripped services as Debian ships them, by size and release of Go."""
    return {"prometheus, Go 1.19": fetched("debian", "prometheus", "usr/bin/prometheus"),
            "dockerd, Go 1.19, PIE": fetched("debian", "docker.io", "usr/sbin/dockerd"),
            "dockerd, Go 1.27, PIE": fetched("debian", "docker.io", "usr/sbin/dockerd", "sid")}


@functools.cache
def ceph_debug_file(program="ceph-mon"):
    """Debugging information of a large C++ program: 100 MB which unpack to 295."""
    notes = subprocess.run(["readelf", "-n", fetched("debian", program, f"usr/bin/{program}")],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    return fetched("debian", f"{program}-dbg",
                   f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")


def functions_of(gosym, file):
    """(start, size) of the functions of a Go program."""
    rows = map(str.split, call(gosym, "inspect", "--functions", file).splitlines())
    return [(int(row[0], 16), int(row[1], 16)) for row in rows]


def symbols_of(file):
    listing = call("nm", "-S", "--defined-only", file)
    found = re.findall(r"^(\w+) (\w+) [tTwWi] ", listing, re.MULTILINE)
    return sorted({(int(start, 16), int(size, 16)) for start, size in found})


def random_addresses(ranges, count):
    """In these ranges, in the large ones more often."""
    chooser = random.Random(SEED)
    ranges = [(start, size) for start, size in ranges if size > 0]
    chosen = chooser.choices(ranges, weights=[size for _, size in ranges], k=count)
    return [start + chooser.randrange(size) for start, size in chosen]


def as_lines(addresses):
    return "".join(f"{address:#x}\n" for address in addresses).encode()


@functools.cache
def recordings(gosym, seconds=20):
    """What gosym and perf recorded of a busy prometheus, at the same time."""
    sys.path.insert(0, str(ROOT / "tests/live"))
    import prometheus  # needs root
    folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name))
    with prometheus.busy() as pid:
        perf = subprocess.Popen(["perf", "record", "-q", "-F4999", "-g", "-e", "cpu-clock", "-p",
                                 str(pid), "-o", folder / "perf.data", "--", "sleep", str(seconds)])
        call(gosym, "record", "-q", "-F", "4999", "-p", pid, "-d",
             f"{seconds}s", "-o", folder / "cpu.raw")
        perf.wait()
    shutil.rmtree(prometheus.WORK)
    return folder / "cpu.raw", folder / "perf.data"


def million(gosym):
    """A recording of a million samples, of a program with all that makes frames, and of what else runs."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name))
    call(go(), "build", "-o", folder / "stacks", "main.go", cwd=ROOT / "tests/fixtures/go_stacks")
    seconds = 1_000_000 // 9_999 // os.cpu_count() + 10
    programs = [subprocess.Popen([folder / "stacks", "all", str(1000 * seconds)], stdout=subprocess.DEVNULL)
                for _ in range(os.cpu_count() + 1)]
    call(gosym, "record", "-q", "-F", "9999", "-a", "-d", f"{seconds}s", "-o", folder / "cpu.raw")
    for program in programs:
        program.wait()
    return folder / "cpu.raw"


@functools.cache
def service():
    """A service with all that the compiler writes into it, which peers need for its names."""
    environment = {**os.environ, "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    file = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name)) / "service"
    call(go(), "build", "-buildvcs=false", "-o", file, ".", env=environment,
         cwd=ROOT / "bench/service")
    return file


@functools.cache
def service_recording(gosym, seconds):
    """A recording of that service under load, and a profile of the same without names."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH.name))
    raw, named, bare = (folder / name for name in ("cpu.raw", "named.pb.gz", "bare.pb.gz"))
    running = subprocess.Popen([service()], stdin=subprocess.PIPE)
    call(gosym, "record", "-q", "-F", "4999", "-p", running.pid, "-d", f"{seconds}s", "-o", raw)
    running.stdin.close()
    running.wait()
    call(gosym, "report", "--quiet", "--pprof", named, raw)
    bare.write_bytes(pprof.without_names(named.read_bytes()))
    return raw, bare
