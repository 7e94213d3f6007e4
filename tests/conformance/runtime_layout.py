#!/usr/bin/python3
"""Where Go's runtime keeps its goroutines and its heap profile, as gosym believes it for a version, and as the debugging
information of a program of that version says.

    runtime_layout.py PRINT_GO_PROGRAM PRINT_ALLGS PRINT_HEAP_PROFILE
"""
import functools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
from common import FIXTURES, GO_ENVIRONMENT, WORK, call, compiled, go, run

PRINT, PRINT_ALLGS, PRINT_HEAP_PROFILE = sys.argv[1:]
VERSIONS = ["1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]
STATIC, CGO = {"CGO_ENABLED": "0"}, {"CGO_ENABLED": "1"}
WAYS = {"static": (STATIC, []), "PIE": (STATIC, ["-buildmode=pie"]), "cgo": (CGO, []),
        "cgo PIE": (CGO, ["-buildmode=pie"]), "library": (CGO, ["-buildmode=c-shared",
                                                                "-tags=library"])}
MACHINES = {"arm64": ({"CGO_ENABLED": "0", "GOARCH": "arm64"}, [])}


@functools.cache
def build(version, way, *flags):
    environment, mode = (WAYS | MACHINES)[way]
    program = WORK / f"{version}-{way.replace(' ', '-')}{len(flags)}"
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    return compiled(go(version), "build", *vcs, *mode, *flags, output=program,
                    cwd=FIXTURES / "goroutines", env=GO_ENVIRONMENT | environment)


def members(program, name):
    """The offsets of the members of a structure, and their types."""
    text = call("llvm-dwarfdump", f"--name={name}", "--show-children", program).out
    found = re.findall(r'DW_TAG_member\n\s+DW_AT_name\s+\("(\w+)"\)\n\s+DW_AT_data_member_location'
                       r'\s+\((\w+)\)', text)
    return {member: int(offset, 0) for member, offset in reversed(found)}


def told(program):
    line = call(PRINT, program).out.strip()
    return line if line == "none" else dict(item.split("=") for item in line.split())


def is_right(version):
    program = build(version, "static")
    g, m, buffer = (members(program, f"runtime.{name}") for name in ("g", "m", "gobuf"))
    assert buffer["pc"] == buffer["sp"] + 8 and m["g0"] == 0 and g["stack"] == 0
    expected = {"g.m": g["m"], "g.sched.sp": g["sched"] + buffer["sp"],
                "g.sched.bp": g["sched"] + buffer["bp"], "g.goid": g["goid"],
                "g.labels": g["labels"], "m.gsignal": m["gsignal"], "m.curg": m["curg"],
                "g.parentGoid": g.get("parentGoid", 0), "m.procid": m["procid"]}
    expected |= {f"g.{name}": g[name] for name in ("atomicstatus", "waitsince", "waitreason",
                                                   "syscallsp", "lockedm", "gopc", "startpc")}
    assert g["syscallpc"] == g["syscallsp"] + 8
    here = told(program)
    assert {key: int(here[key]) for key in expected} == expected, f"{here}, but {expected}"


def has_reasons(version):
    """What goroutines wait for, as the source of the runtime numbers and words it."""
    source = (pathlib.Path(call(go(version), "env", "GOROOT").out.strip()) /
              "src/runtime/runtime2.go").read_text()
    numbered = source[source.index("\twaitReasonZero "):].split("\n)")[0]
    names = re.findall(r"^\t(waitReason\w+)", numbered, re.M)
    words = dict(re.findall(r'^\t(waitReason\w+):\s+"(.*)",', source, re.M))
    here = told(build(version, "static"))["reasons"].split("|")[:-1]
    assert here == [words[name].replace(" ", "_") for name in names], here


def is_found(version, way):
    """Whatever is stripped. The live tests show that what is found there is the goroutine."""
    whole, stripped = told(build(version, way)), told(build(version, way, "-ldflags=-s -w"))
    assert whole != "none" and whole == stripped, f"{whole}, stripped {stripped}"
    assert whole["offset"] == {"library": "loaded", "arm64": "16"}.get(way, "-8"), whole


def lists_goroutines(version, way):
    """The variable is among the few places that the code gives, which no symbol tells it."""
    program = build(version, way)
    listed = re.findall(r"^([0-9a-f]+) [bBdD] runtime\.allgs$", call("llvm-nm", program).out, re.MULTILINE)
    found = call(PRINT_ALLGS, program).out.split()
    assert len(found) <= 3 and len(listed) == 1 and int(listed[0], 16) in [int(at, 16) for at in found], \
        (listed, found)


def has_heap_profile(version, way):
    """Each variable is among the places that the code gives; of rate and cycle there is one alone."""
    program = build(version, way)
    listed = {name: int(at, 16) for at, name in re.findall(
        r"^([0-9a-f]+) [bBdD] runtime\.(mbuckets|bbuckets|xbuckets|MemProfileRate|mProfCycle|mProf)$",
        call("llvm-nm", program).out, re.MULTILINE)}
    lists, memory, rate, cycle = ([int(at, 16) for at in line.split()]
                                  for line in call(PRINT_HEAP_PROFILE, program).out.splitlines()[:4])
    assert {listed[name] for name in ("mbuckets", "bbuckets", "xbuckets")} <= set(lists), (listed, lists)
    assert listed["mbuckets"] in memory and rate == [listed["MemProfileRate"]], (listed, memory, rate)
    assert cycle == [listed.get("mProfCycle", listed.get("mProf"))], (listed, cycle)


def counts_memory(version, way):
    """Where the runtime counts its memory, and how, as the symbols and the debugging information have it."""
    program = build(version, way)
    places, layout = call(PRINT_HEAP_PROFILE, program).out.splitlines()[4:]
    listed = {name: at for at, name in re.findall(r"^([0-9a-f]+) [bBdD] runtime\.(memstats|gcController|mheap_)$",
                                                  call("llvm-nm", program).out, re.MULTILINE)}
    names = ("memstats", "gcController", "mheap_")
    assert [int(at, 16) for at in places.split()] == [int(listed[name], 16) for name in names], (places, listed)
    stats, span, collector, sets, heap, counts = (members(program, f"runtime.{name}") for name in (
        "mstats", "mspan", "gcControllerState", "consistentHeapStats", "mheap", "heapStatsDelta"))
    assert [int(value) for value in layout.split()] == [
        sets["gen"] // 3, stats["stacks_sys"], collector["heapLive"], collector["heapMarked"],
        collector["gcPercentHeapGoal"], heap["allspans"], heap["sweepgen"], span["allocCount"],
        stats["pause_ns"], stats["numgc"]], layout
    assert stats["heapStats"] == sets["stats"] == collector["gcPercent"] == counts["committed"] == 0
    assert [counts[name] for name in ("inHeap", "inStacks", "inWorkBufs")] == [16, 24, 32], counts
    assert counts.get("inPtrScalarBits", 40) == counts["tinyAllocCount"] - 8 * ("inPtrScalarBits" in counts) == 40
    first = stats["stacks_sys"]
    assert [stats[name] - first for name in ("mspan_sys", "mcache_sys", "buckhash_sys", "gcMiscSys", "other_sys",
                                             "last_gc_unix", "pause_total_ns")] == [8, 16, 24, 32, 40, 48, 56], stats
    assert [stats[name] - stats["numgc"] for name in ("numforcedgc", "gc_cpu_fraction")] == [4, 8], stats
    assert [span[name] for name in ("startAddr", "npages")] == [24, 32], span
    assert [span[name] - span["allocCount"] for name in ("state", "elemsize")] == [3, 8], span


def others():
    for program in ("/bin/sh", "/usr/bin/gcc", "/dev/null", "/nowhere"):
        assert told(program) == "none", program


run([(f"Go {version}: the layout is that of its debugging information",
      functools.partial(is_right, version)) for version in VERSIONS] +
    [(f"Go {version}: goroutines wait for what its runtime says",
      functools.partial(has_reasons, version)) for version in VERSIONS] +
    [(f"Go {version}, {way}: the pointer is found", functools.partial(is_found, version, way))
     for version in VERSIONS for way in WAYS | MACHINES] +
    [(f"Go {version}, {way}: the list of goroutines is found",
      functools.partial(lists_goroutines, version, way))
     for version in VERSIONS for way in WAYS | MACHINES] +
    [(f"Go {version}, {way}: the heap profile is found", functools.partial(has_heap_profile, version, way))
     for version in VERSIONS for way in WAYS | MACHINES] +
    [(f"Go {version}, {way}: what counts memory is found", functools.partial(counts_memory, version, way))
     for version in VERSIONS if version != "1.15" for way in WAYS | MACHINES if way != "library"] +
    [("what is no Go program has none", others)], root=False)
