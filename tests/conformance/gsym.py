#!/usr/bin/python3
"""Indexes against another reader and another writer of GSYM: llvm-gsymutil.

Random code addresses of real programs are looked up in our index by both: function, file and line of the whole
chain of inlined calls must be equal to those of the program. Then both look into an index that the other wrote.
"""
import functools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import (FIXTURES, GOSYM, GO_ENVIRONMENT, WORK, Skip, build_templates, call, compiled,  # noqa: E402
                    new_place, run)

GSYMUTIL = next(filter(shutil.which, ("llvm-gsymutil", "llvm-gsymutil-14", "llvm-gsymutil-19")), None)
ADDRESSES = 2000
FRAME = re.compile(r"(.+?)(?: \+ \d+)?(?: @ (.*):(\d+))?(?: \[inlined\])?$")


def ask(command, lines):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          input="".join(f"{line}\n" for line in lines))
    assert done.returncode == 0, done.stderr
    return done.stdout


def addresses_of(program):
    """Random ones in functions of the symbol table."""
    ranges = [(int(words[0], 16), int(words[1], 16))
              for words in map(str.split, call("nm", "-S", "--defined-only", program).out.splitlines())
              if len(words) >= 4 and words[2] in "tTwW" and int(words[1], 16) > 0]
    chooser = random.Random(1)
    chosen = chooser.choices(sorted(set(ranges)), weights=[size for _, size in sorted(set(ranges))], k=ADDRESSES)
    return [start + chooser.randrange(size) for start, size in chosen]


def plain(frames):
    """What is of no line is of no file, and a path has no detours."""
    return [(name, os.path.normpath(file) if line else "", line) for name, file, line in frames]


def ours(addresses, *words):
    told = ask([GOSYM, "resolve", "--json", "--demangle=none", "--wrappers", *words], addresses)
    return [plain([(f["function"], f.get("file", ""), f.get("line", 0)) for f in json.loads(line)["frames"]])
            for line in told.splitlines()]


def theirs(index, addresses):
    """Each answer is lines, then a blank one; the first begins with the address."""
    told = ask([GSYMUTIL, "--addresses-from-stdin"], [f"{address:#x} {index}" for address in addresses])
    answers = []
    for block in told.strip().split("\n\n"):
        frames = []
        for line in re.sub(r"^0x[0-9a-f]+: ?", "", block).splitlines():
            found = FRAME.match(line.strip())
            name, file, line = found[1], found[2] or "", int(found[3] or 0)
            if not line_is_error(found[0]):
                frames.append((name, "" if file == "??" else file, line))
        answers.append(plain(frames))
    return answers


def line_is_error(text):
    return text.startswith("error: ")


def places(program, addresses):
    """The addresses as offsets of the file, behind its build id."""
    segments = [tuple(int(word, 16) for word in (w[1], w[2], w[4])) for w in
                (line.split() for line in call("readelf", "-lW", program).out.splitlines()) if w[:1] == ["LOAD"]]
    for address in addresses:
        offset, begin, _ = next(s for s in segments if 0 <= address - s[1] < s[2])
        yield address - begin + offset


def same(name, expected, answers, addresses):
    assert len(expected) == len(answers) == len(addresses), (len(expected), len(answers))
    different = [(hex(address), one, other) for address, one, other in zip(addresses, expected, answers)
                 if one != other]
    inlined = sum(len(frames) > 1 for frames in answers)
    print(f"# {name}: {len(answers)} addresses, {inlined} in inlined calls, {len(different)} different")
    for row in different[:3]:
        print(f"# {row}")
    assert not different, f"{len(different)} answers"


def go_programs():
    whole, stripped = new_place("demo"), new_place("demo")
    compiled("go", "build", "-buildvcs=false", output=whole, cwd=FIXTURES / "demo", env=GO_ENVIRONMENT)
    call("strip", "-o", stripped, whole)
    return whole, stripped


def cpp_programs():
    program = build_templates("g++")
    return program, program


def rust_programs():
    program = compiled("rustc", "--edition", "2021", "-O", "-g", FIXTURES / "shapes.rs", output=new_place("rust"))
    return program, program


def read_by_both(build):
    if not GSYMUTIL:
        raise Skip("llvm-gsymutil is not installed")
    whole, program = build()
    index = new_place("index.gsym")
    call(GOSYM, "index", "-o", index, program)
    again = new_place("again.gsym")
    call(GOSYM, "index", "-o", again, program)
    assert index.read_bytes() == again.read_bytes(), "another run gave other bytes"
    addresses = addresses_of(whole)
    expected = ours(map(hex, addresses), program)
    same("llvm-gsymutil of our index", expected, theirs(index, addresses), addresses)
    store = new_place("store")
    store.mkdir()
    call(GOSYM, "index", "-q", "--store", store, program)
    (file,) = store.glob(".build-id/*/*.gsym")
    build_id = file.parent.name + file.stem
    lines = [f"{build_id}+{offset:#x}" for offset in places(program, addresses)]
    same("gosym of our index, by build id", expected, ours(lines, "--store", store), addresses)
    same("gosym of the program, by build id", expected, ours(lines, "--build-ids", program), addresses)


def written_by_them():
    if not GSYMUTIL:
        raise Skip("llvm-gsymutil is not installed")
    program = build_templates("g++")
    index = new_place("theirs.gsym")
    call(GSYMUTIL, f"--convert={program}", f"--out-file={index}")
    addresses = addresses_of(program)
    same("gosym of the index of llvm-gsymutil", theirs(index, addresses), ours(map(hex, addresses), index), addresses)


run([("Go, stripped", functools.partial(read_by_both, go_programs)),
     ("C++ with debugging information", functools.partial(read_by_both, cpp_programs)),
     ("Rust", functools.partial(read_by_both, rust_programs)),
     ("an index that llvm-gsymutil wrote", written_by_them)], root=False)
