#!/usr/bin/python3
"""Goroutines of core files that the kernel wrote of crashed Go programs, and QEMU's user mode of those for
arm64, against the traceback that the crash itself printed.

    core.py GOSYM
"""
import functools
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess

from common import FIXTURES, GO_ENVIRONMENT, Skip, compiled, go, go_versions, gosym, host_of, new_place, run

VERSIONS = go_versions("1.15", "1.19", "1.27")
WAYS = {"static": [], "PIE": ["-buildmode=pie"], "cgo": [], "cgo PIE": ["-buildmode=pie"],
        "library": ["-buildmode=c-shared", "-tags=library"]}
ARM64_WAYS = {"arm64": [], "arm64 PIE": ["-buildmode=pie"]}
EMULATED = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
WITH_CGO = {"cgo", "cgo PIE", "library"}


@functools.cache
def build(version, way="static"):
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    place = new_place("crash")
    place.mkdir()
    program = place / ("libcrash.so" if way == "library" else "crash")
    machine = {"GOARCH": "arm64"} if way in ARM64_WAYS else {}
    compiled(go(version), "build", *vcs, *(WAYS | ARM64_WAYS)[way], "-ldflags=-s -w", output=program,
             cwd=FIXTURES / "crash",
             env=GO_ENVIRONMENT | machine | {"CGO_ENABLED": "1" if way in WITH_CGO else "0"})
    if way != "library":
        return program
    return host_of(program, place / "host")


@functools.cache
def crash(version, way="static", *how):
    """A core file, the program, and what it printed."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    emulated = EMULATED if way in ARM64_WAYS else []
    if not emulated and (pattern.startswith("|") or "/" in pattern):
        raise Skip(f"cores go to {pattern}")
    if emulated and not shutil.which(emulated[0]):
        raise Skip(f"needs {emulated[0]}")
    program = build(version, way)
    place = new_place("place")
    place.mkdir()
    done = subprocess.run([*emulated, program, *how], cwd=place, capture_output=True, text=True, timeout=60,
                          env=os.environ | {"GOTRACEBACK": "crash"}, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
    assert done.returncode == -6, done
    cores = list(place.glob("qemu_*.core" if emulated else "*"))  # the kernel may write one of QEMU
    if not cores:
        raise Skip("no core file was written")
    return cores[0], program, done.stderr


def parse(text):
    """State, calls and creator of each goroutine; of a goroutine that is told twice, the first."""
    found = {}
    for block in text.split("\n\n"):
        header = re.match(r"goroutine (\d+)[^[\n]* \[([^]]+)\].*:\n", block)
        if not header or header[1] == "0" or header[1] in found:
            continue
        lines = block[header.end():].splitlines()
        calls = []
        for name, place in zip(lines[::2], lines[1::2]):
            if not place.startswith("\t"):
                break
            if not name.startswith("created by"):
                name = re.sub(r"\([^()]*(\([^()]*\))*[^()]*\)$", "", name)
            if calls and calls[-1][0] == "runtime.asyncPreempt":
                place = ""  # Go 1.15 tells the line of the instruction before the interrupted one
            calls.append((name, re.sub(r" (\+0x|fp=).*", "", place.strip())))
        found[header[1]] = (header[2], calls)
    return found


def equals_traceback(version, way, *how):
    core, program, told = crash(version, way, *how)
    own = parse(told)
    ours = parse(gosym("goroutines", "--all", "--system", core, *([program] if way in ARM64_WAYS else [])).out)
    assert own.keys() <= ours.keys() and len(own) > 10, (own.keys(), ours.keys())
    assert all(state == "running" for number, (state, _) in ours.items() if number not in own)
    for number, (state, calls) in own.items():
        our_state, our_calls = ours[number]
        if state.startswith("running"):  # the traceback leaves out how it came to be printed
            our_calls = our_calls[len(our_calls) - len(calls):]
        assert (our_state, our_calls) == (state, calls), (number, state, calls, ours[number])
    crashed = next(number for number, (state, _) in own.items() if state.startswith("running"))
    assert ("main.fail" in [name for name, _ in own[crashed][1]]), own[crashed]


def first_screen():
    core, *_ = crash("1.27")
    _, first, *_ = gosym("goroutines", core).out.split("\n\n")
    assert re.match(r"goroutine \d+ \[running\]", first) and "main.fail(" in first, first
    none = gosym("goroutines", "--state", "nonesuch", core)
    assert none.out.startswith("0 goroutines") and "there are some in these states: " in none.err and \
        "chan receive" in none.err, none
    labelled = gosym("goroutines", "--by", "label:kind", core).out
    assert re.search(r" 2 +[\d.]+%  waiter$", labelled, re.M), labelled


def other_place():
    """The program has moved, or another lies at its path."""
    core, program, _ = crash("1.27")
    moved = new_place("moved")
    expected = gosym("goroutines", core).out
    program = pathlib.Path(program)
    kept = program.with_name("kept")
    shutil.copy(program, kept)
    try:
        program.rename(moved)
        done = gosym("goroutines", core, check=False)
        assert done.status == 4 and "cannot be found" in done.err, done
        assert gosym("goroutines", core, moved).out == expected
        shutil.copy(build("1.15"), program)
        done = gosym("goroutines", core, check=False)
        assert done.status == 4 and "build id is another" in done.err, done
    finally:
        program.unlink(missing_ok=True)
        kept.rename(program)


def untold_files():
    """Of a core that does not tell what was mapped the program has to be named, and be the one."""
    core, program, _ = crash("1.27", "arm64")
    done = gosym("goroutines", core, check=False)
    assert done.status == 4 and "does not tell which files the process had mapped" in done.err, done
    assert "name the program behind the core file" in done.err, done
    done = gosym("goroutines", core, build("1.15", "arm64"), check=False)
    assert done.status == 4 and "not the file that the process ran" in done.err, done
    done = gosym("goroutines", core, build("1.27"), check=False)
    assert done.status == 4 and "it is of another machine" in done.err, done
    done = gosym("goroutines", core, program)
    assert "main.fail(" in done.out and not done.err, done


def like_gcore(core):
    """The same core with its notes behind all else, as gdb's gcore writes it, and where they begin."""
    begin, size = struct.unpack_from("<Q", core, 32)[0], 56
    for at in range(begin, begin + size * struct.unpack_from("<H", core, 56)[0], size):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", core, at)
        if kind == 4:  # PT_NOTE
            moved = bytearray(core + core[offset:offset + length])
            struct.pack_into("<Q", moved, at + 8, len(core))
            return moved, len(core)
    raise AssertionError("no notes")


def cut_short():
    """What is missing of a core that is cut short is told, wherever its notes lie."""
    core, *_ = crash("1.27")
    expected = gosym("goroutines", core).out
    moved, notes = like_gcore(core.read_bytes())
    file = new_place("gcore")
    file.write_bytes(moved)
    assert gosym("goroutines", file).out == expected
    for size in (notes // 2, notes):
        file.write_bytes(moved[:size])
        done = gosym("goroutines", file, check=False)
        assert done.status == 4 and "notes are missing, which tell its threads" in done.err and \
            "where there is room for all of it" in done.err, done
    file.write_bytes(core.read_bytes()[:notes * 4 // 5])
    done = gosym("goroutines", file, check=False)
    assert re.search(r"cut short: [\d.]+ [KM]iB of memory are missing, between 0x\w+ and 0x\w+$", done.err, re.M) and \
        "notes" not in done.err, done


def damaged():
    core, program, _ = crash("1.27")
    whole = core.read_bytes()
    cut = new_place("cut")
    for size in (10, 64, 5000, 100000, len(whole) // 2):
        cut.write_bytes(whole[:size])
        done = gosym("goroutines", cut, check=False)
        assert done.status in (0, 1, 4, 5), done
        assert size < 10000 and done.status != 0 or "is cut short" in done.err, done
    done = gosym("goroutines", program, check=False)
    assert done.status == 1 and "not a core file" in done.err, done
    done = gosym("goroutines", "--watch", "1s", core, check=False)
    assert done.status == 2 and "a core file does not change" in done.err, done
    done = gosym("goroutines", "1", program, check=False)
    assert done.status == 2 and "only with a core file" in done.err, done


run([(f"Go {version}, {way}: equal to the traceback of the crash",
      functools.partial(equals_traceback, version, way)) for version in VERSIONS
     for way in [*WAYS, *ARM64_WAYS]] +
    [(f"Go {version}, {way}: equal to the traceback of a{what}",
      functools.partial(equals_traceback, version, way, how)) for version in VERSIONS
     for way in ("static", "arm64") for how, what in (("fault", " wrong address"), ("abort", "n abort"))] +
    [("the one that crashed comes first, and labels are told", first_screen),
     ("the program at another place", other_place),
     ("a core that does not tell what was mapped", untold_files), ("cores that are cut short", cut_short), ("damaged cores", damaged)], root=False)
