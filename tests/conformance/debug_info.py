#!/usr/bin/python3
"""What debugging information says of native code, against another reader: llvm-symbolizer.

Random code addresses of real programs are asked of both; function, file and line of the whole
chain of inlined calls must be equal.
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import FIXTURES, GOSYM, WORK, call, fetched, run  # noqa: E402

ADDRESSES = 20000
SEED = 1


def code_addresses(program):
    """Random addresses in functions of the symbol table."""
    ranges = []
    for line in call("nm", "-S", "--defined-only", program).out.splitlines():
        words = line.split()
        if len(words) >= 4 and words[2] in "tTwWi" and int(words[1], 16) > 0:
            ranges.append((int(words[0], 16), int(words[1], 16)))
    ranges = sorted(set(ranges))
    chooser = random.Random(SEED)
    chosen = chooser.choices(ranges, weights=[size for _, size in ranges], k=ADDRESSES)
    return sorted(start + chooser.randrange(size) for start, size in chosen)


def ask(command, addresses):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          input="".join(f"{address:#x}\n" for address in addresses))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def theirs(program, addresses):
    lines = ask(["llvm-symbolizer", f"--obj={program}", "--inlines", "--no-demangle",
                 "--output-style=JSON"], addresses)
    return [[(f["FunctionName"], f["FileName"], f["Line"]) for f in json.loads(line)["Symbol"]]
            for line in lines]


def ours(program, addresses, *options):
    return [[(f["function"], f.get("file", ""), f.get("line", 0))
             for f in json.loads(line)["frames"]]
            for line in ask([GOSYM, "resolve", "--json", "--demangle=none", *options,
                             program], addresses)]


def aliases(program):
    """All names that the linker has for an address."""
    names = {}
    for line in call("nm", "--defined-only", program).out.splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWiu":
            names.setdefault(int(address, 16), set()).add(name.split("@")[0])
    same = {}
    for group in names.values():
        for name in group:
            same.setdefault(name, set()).update(group)
    return same


def plain(frames):
    """Names without versions, paths without detours; a line of 0 is unknown, and so is its file."""
    return [(name.split("@")[0], str(pathlib.PurePath(os.path.normpath(file))) if line else "", line)
            for name, file, line in frames]


def is_equal(mine, other, same):
    """Equal, but that one place may have more than one name in the symbol table."""
    mine, other = plain(mine), plain(other)
    if not mine or len(mine) != len(other) or mine[:-1] != other[:-1]:
        return mine == other
    mine, other = mine[-1], other[-1]
    return mine[1:] == other[1:] and (mine[0] == other[0] or
                                      mine[0] in same.get(other[0], set()))


def compare(program, debug_file, *options):
    """`debug_file` has what `program` itself may not have, and the other reader reads it."""
    addresses = code_addresses(debug_file)
    same = aliases(debug_file)
    answers = list(zip(addresses, ours(program, addresses, *options),
                       theirs(debug_file, addresses)))
    different = [(hex(address), mine, other) for address, mine, other in answers
                 if not is_equal(mine, other, same)]
    inlined = sum(len(mine) > 1 for _, mine, _ in answers)
    print(f"# {len(answers)} addresses, {inlined} in inlined calls, {len(different)} different")
    assert not different, f"such as {different[:3]}"


def cpp(compiler, *flags):
    program = WORK / f"templates-{compiler}{''.join(flags)}"
    call(compiler, "-std=c++20", "-O2", "-g", *flags, FIXTURES / "templates.cpp", "-o", program)
    compare(program, program)


def libc():
    """Debian's C library, whose debug file is in a package of its own, made smaller by dwz."""
    library = fetched("debian", "libc6", "lib/x86_64-linux-gnu/libc.so.6")
    notes = call("readelf", "-n", library).out
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    folder = "usr/lib/debug/.build-id"
    debug_file = fetched("debian", "libc6-dbg", f"{folder}/{build_id[:2]}/{build_id[2:]}.debug")
    compare(library, debug_file, "--debug-dir", debug_file[:debug_file.index("/.build-id")])


run([(f"C++ by {compiler}, DWARF {version}: as llvm-symbolizer has it",
      lambda compiler=compiler, version=version: cpp(compiler, f"-gdwarf-{version}"))
     for compiler in ("g++", "clang++") for version in (4, 5)] +
    [("libc with its debug file: as llvm-symbolizer has it", libc)], root=False)
