#!/usr/bin/python3
"""The instructions and lines of stripped programs, against those that other disassemblers have of
their twins that were not stripped: `go tool objdump` and `objdump -dl`.
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, WORK, build_templates, call, compiled,  # noqa: E402
                    go, run)

TITLE = re.compile(r"(\S.*)  0x([0-9a-f]+), [0-9,]+ bytes$")
INSTRUCTION = re.compile(r" +([0-9a-f]+):  (.*)$")
PLACE = re.compile(r" *(?:.*? )?([^ ]+):([0-9]+)(?:  |$)")


def ours(program, *options, functions="."):
    """Of each function, by address: address -> (file, line) of each instruction."""
    found, place, instructions = {}, None, None
    for line in call(GOSYM, "annotate", *options, program, functions).out.splitlines():
        if title := TITLE.match(line):
            instructions = found[int(title[2], 16)] = {}
        elif instruction := INSTRUCTION.match(line):
            instructions[int(instruction[1], 16)] = place
        elif line.strip() == "??":
            place = ("?", 0)
        elif match := PLACE.match(line):
            place = (os.path.basename(match[1]), int(match[2]))
    return found


def of_go(tool, program):
    """The same by Go's own tool. It takes each byte of an instruction that it does not know for
    one, and goes on into the padding of a function."""
    found, instructions = {}, None
    for line in call(tool, "tool", "objdump", program, env=GO_ENVIRONMENT).out.splitlines():
        words = line.split()
        if line.startswith("TEXT "):
            instructions = {}
        elif len(words) > 3:
            file, number = words[0].rsplit(":", 1)
            address = int(words[1], 16)
            if not instructions:
                found[address] = instructions
            instructions[address] = (file, int(number)) if file else ("?", 0)
    return found


def of_binutils(program):
    """address -> (file, line) of each instruction."""
    found, place = {}, ("?", 0)
    for line in call("objdump", "-dlw", program).out.splitlines():
        if instruction := re.match(r" +([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$", line):
            found[int(instruction[1], 16)] = place
        elif re.match(r"[0-9a-f]+ <", line):
            place = ("?", 0)
        elif match := re.match(r"(\S.*):(\d+)(?: \(discriminator \d+\))?$", line):
            place = (os.path.basename(match[1]), int(match[2]))
    return found


def stripped(program):
    twin = WORK / (pathlib.Path(program).name + "-stripped")
    call("strip", "-o", twin, program)
    return twin


def tell(what, different):
    for row in different[:10]:
        print(f"# {what}: {row}")
    assert not different, f"{len(different)} differ: {what}"


def go_program(version):
    program = WORK / f"go{version}"
    compiled(go(version), "build", "-buildvcs=false", output=program, cwd=FIXTURES / "demo",
             env=GO_ENVIRONMENT)
    mine, judge = ours(stripped(program)), of_go(go(version), program)
    addresses = of_binutils(program)
    lines = instructions = 0
    wrong_lines, wrong_addresses, whole = [], [], 0
    for start, function in mine.items():
        theirs = judge.get(start)
        if theirs is None:
            continue
        for address, place in function.items():
            if address in theirs and place != theirs[address]:
                wrong_lines.append((hex(address), place, theirs[address]))
            if address not in addresses:
                wrong_addresses.append(hex(address))
            lines += address in theirs
            instructions += 1
        whole += all(address in function or address > max(function) for address in theirs)
    print(f"# {len(mine)} functions, {instructions} instructions, {lines} lines; "
          f"all instructions of {whole} functions also by go tool objdump")
    assert len(mine) > 1000 and lines > 0.99 * instructions and whole > 0.97 * len(mine)
    tell("line, as go tool objdump has it", wrong_lines)
    tell("address of an instruction, as objdump has it", wrong_addresses)


def of_llvm(program):
    """As of_binutils(). It writes a place where it changes."""
    found, place = {}, ("?", 0)
    for line in call("llvm-objdump", "-dl", "--no-show-raw-insn", program).out.splitlines():
        if instruction := re.match(r" +([0-9a-f]+): ", line):
            found[int(instruction[1], 16)] = place
        elif re.match(r"[0-9a-f]+ <", line):
            place = ("?", 0)
        elif match := re.match(r"; (/.*):(\d+)$", line):
            place = (os.path.basename(match[1]), int(match[2]))
    return found


def cpp(version):
    program = build_templates("g++", f"-gdwarf-{version}")
    mine, judge = ours(program), of_binutils(program)
    every = {address: place for function in mine.values() for address, place in function.items()}
    print(f"# {len(mine)} functions, {len(every)} instructions")
    assert len(every) > 1000
    tell("address of an instruction", [hex(a) for a in every if a not in judge])
    if version == 5:
        # Of DWARF 5 objdump takes some files for others: it has line 1092 of one that has 110. The
        # lines are right; LLVM has the files too.
        tell("line, as objdump has it", [(hex(a), place, judge[a]) for a, place in every.items()
                                         if place[1] != judge[a][1]])
        judge = of_llvm(program)
    tell("line", [(hex(a), place, judge[a]) for a, place in every.items()
                  if place != judge[a]])


def go_arm64():
    """Also of a machine that the judge does not run on."""
    program = WORK / "arm64"
    compiled(go("newest"), "build", "-buildvcs=false", output=program, cwd=FIXTURES / "demo",
             env={**GO_ENVIRONMENT, "GOARCH": "arm64"})
    bare = WORK / "arm64-stripped"
    compiled(go("newest"), "build", "-buildvcs=false", "-ldflags=-s -w", output=bare, cwd=FIXTURES / "demo",
             env={**GO_ENVIRONMENT, "GOARCH": "arm64"})
    mine, judge = ours(bare), of_go(go("newest"), program)
    lines, wrong, missing = 0, [], []
    for start, function in mine.items():
        theirs = judge.get(start)
        if theirs is None:
            missing.append(hex(start))
            continue
        for address, place in function.items():
            lines += address in theirs
            if theirs.get(address, place) != place:
                wrong.append((hex(address), place, theirs[address]))
    print(f"# {len(mine)} functions, {lines} instructions, {len(missing)} functions that go tool objdump lacks")
    assert len(mine) > 1000 and lines > 50000 and len(missing) < 0.01 * len(mine), missing[:5]
    tell("line, as go tool objdump has it", wrong)


def no_function():
    done = subprocess.run([GOSYM, "annotate", GOSYM, "no such function"], capture_output=True,
                          text=True)
    assert done.returncode == 5 and "no function matches 'no such function'" in done.stderr, done
    done = subprocess.run([GOSYM, "annotate", GOSYM, "("], capture_output=True, text=True)
    assert done.returncode == 2, done


run([(f"Go {version}, stripped: as go tool objdump has the unstripped twin",
      lambda version=version: go_program(version)) for version in ("1.19", "1.27")] +
    [("C++: as objdump -dl has it", lambda: cpp(4)),
     ("C++ of DWARF 5: as objdump -dl and llvm-objdump -dl have it", lambda: cpp(5)),
     ("Go for arm64, stripped: as go tool objdump has the unstripped twin", go_arm64),
     ("a function that is not there", no_function)], root=False)
