#!/usr/bin/python3
"""Samples at each instruction and line, against `go tool pprof` on the profile of the recording."""
import bisect
import collections
import functools
import os
import re
import subprocess

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, build_with_source, call, go, gosym, new_place, pprof,
                    pprof_file, record, run, running)

FUNCTION = re.compile(r"(\S.*)  0x[0-9a-f]+, [0-9,]+ bytes, ")
COLUMNS = re.compile(r" +self (m?s) +% +total m?s +%  ")
AMOUNTS = re.compile(r"(.{16})(.{16})  ")
INSTRUCTION = re.compile(r" +([0-9a-f]+):  ")
LINE = re.compile(r" *([0-9]+)  ")


@functools.cache
def recording(version):
    program = new_place("go_stacks")
    call(go(version), "build", "-ldflags=-s -w", "-o", program, FIXTURES / "go_stacks" / "main.go",
         env=GO_ENVIRONMENT)
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", 499, "-o", file, "--", program, "all", 2000)
    return file, program


def shown(file, functions):
    """function -> (address, self or total) -> seconds, and function -> (line, self or total) -> seconds."""
    instructions = collections.defaultdict(collections.Counter)
    lines = collections.defaultdict(collections.Counter)
    starts = []

    def count(counter, key, amounts):
        for kind, column in zip(("self", "total"), amounts.groups()):
            if column.strip():
                counter[key, kind] += float(column.split()[0]) / unit

    name, unit = None, None
    for line in gosym("annotate", "--demangle", "none", file, functions).out.splitlines():
        if match := FUNCTION.match(line):
            name = match[1]
        elif match := COLUMNS.match(line):
            unit = {"s": 1, "ms": 1000}[match[1]]
        elif amounts := AMOUNTS.match(line):
            if match := INSTRUCTION.match(line, amounts.end()):
                starts.append(int(match[1], 16))
                count(instructions[name], starts[-1], amounts)
            elif match := LINE.match(line, amounts.end()):
                count(lines[name], int(match[1]), amounts)
    return instructions, lines, sorted(starts)


def judged(file, starts):
    """The same as the samples of the pprof file have it. Its callers are told by the last byte of the call."""
    instructions = collections.defaultdict(collections.Counter)
    lines = collections.defaultdict(collections.Counter)
    profile = pprof(file, "--wrappers")
    for sample in profile.samples:
        found = set()
        for depth, number in enumerate(sample.locations):
            location = profile.locations[number]
            kinds = {"self", "total"} if depth == 0 else {"total"}
            for kind in kinds if location.lines else ():
                found.add((False, location.lines[-1].function,
                           starts[bisect.bisect(starts, location.address) - 1], kind))
            for i, line in enumerate(location.lines):
                found |= {(True, line.function, line.line, kind) for kind in kinds if kind == "total" or i == 0}
        for is_line, function, key, kind in found:
            (lines if is_line else instructions)[function][key, kind] += sample.nanoseconds / 1e9
    return instructions, lines


def listed(file, program, function):
    """line -> self and total in seconds, as `go tool pprof -list` prints them."""
    text = call(go("newest"), "tool", "pprof", "-unit=ns", "-list", f"^{re.escape(function)}$", program,
                pprof_file(file, "--wrappers"), env=GO_ENVIRONMENT).out
    row = re.compile(r"^ *(\.|\d+ns) +(\.|\d+ns) +(\d+):", re.MULTILINE)
    lines = collections.Counter()
    for own, total, line in row.findall(text):
        for kind, amount in (("self", own), ("total", total)):
            if amount != ".":
                lines[int(line), kind] += int(amount[:-2]) / 1e9
    return lines


def is_close(mine, theirs):
    return all(abs(mine[key] - theirs[key]) < 0.0001 for key in {*mine, *theirs})


def go_program(version):
    file, _ = recording(version)
    *mine, starts = shown(file, r"^main\.")
    judge = judged(file, starts)
    hot = [name for name in judge[0] if name.startswith("main.")]
    print(f"# {len(hot)} functions, {sum(map(len, mine[0].values()))} instructions")
    assert len(hot) >= 3
    for name in hot:
        assert is_close(mine[0][name], judge[0][name]), (name, mine[0][name], judge[0][name])
        assert is_close(mine[1][name], judge[1][name]), (name, mine[1][name], judge[1][name])


def lists(version):
    """Each line of the functions as `go tool pprof -list` prints it."""
    file, program = recording(version)
    lines = shown(file, r"^main\.")[1]
    for name, of_name in lines.items():
        theirs = listed(file, program, name)
        print(f"# {name}: {len(of_name)} amounts")
        assert is_close(of_name, theirs), (name, of_name, theirs)
    assert sum(map(len, lines.values())) > 20, lines


def nothing():
    done = subprocess.run([GOSYM, "annotate", recording("newest")[0], "no such function"],
                          capture_output=True, text=True)
    assert done.returncode == 5 and "matches 'no such function'" in done.stderr, done


NOBODY = 65534
SECRET = "the secret's line "


def secret_file(owner):
    file = new_place("secret.c")
    file.write_text("".join(f"{SECRET}{number}\n" for number in range(1, 100)))
    file.chmod(0o600)
    os.chown(file, owner, owner)
    return file


def strangers_names():
    """Whoever wrote a program chooses the names of its source files. What only root may read is
    shown for root's own programs, or by --source; of what nobody wrote nobody's files are shown."""
    def lines(*words):
        told = gosym("annotate", *words, "busy")
        assert ("not everybody may read it" in told.err) == (SECRET not in told.out), told
        return SECRET in told.out

    roots, nobodys = secret_file(0), secret_file(NOBODY)
    stranger = build_with_source(roots, NOBODY)
    assert not lines(stranger), "root's secret, by nobody's program"
    assert lines("--source", roots.parent, stranger), "below --source"
    assert lines(build_with_source(roots, 0)), "root's, by root's program"
    mine = build_with_source(nobodys, NOBODY)
    assert lines(mine), "nobody's, by nobody's program"

    with running(stranger) as one, running(mine) as other:
        assert not lines(record("-p", one, samples=200)), "root's secret, by a recording"
        assert lines(record("-p", other, samples=200)), "nobody's, by a recording"
        kept = record("-p", other, "--archive=all", samples=200)
    assert not lines(kept), "nobody's secret, by the copy in a recording"

    debug = stranger.with_suffix(".debug")
    call("objcopy", "--only-keep-debug", stranger, debug)
    call("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", stranger)
    os.chown(stranger, 0, 0)
    assert lines(stranger), "both root's"
    os.chown(debug, NOBODY, NOBODY)
    assert not lines(stranger), "lines by nobody's debug file"


run([(f"Go {version}: samples as go tool pprof has them",
      lambda version=version: go_program(version)) for version in ("1.19", "newest")] +
    [("lines as go tool pprof -list has them", lambda: lists("newest")),
     ("a function without samples", nothing),
     ("names of source files that a stranger chose", strangers_names)])
