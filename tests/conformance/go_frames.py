#!/usr/bin/python3
"""The frames of Go code against the judge that counts: the runtime of the program itself.

A program that is built with file names and without symbols is asked about random addresses of its
own code, and so is `gosym resolve`: function, file and line of each inlined call must be equal.
"""
import json
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import GO_ENVIRONMENT, GOSYM, WORK, call, go, gosym, run  # noqa: E402

ADDRESSES = 30000
SEED = 1

# The runtime leaves out functions that only call another, as the compiler makes them for methods
# and deferred calls; gosym shows them. Here about one address in 150 lies below such a one.
WRAPPED = ADDRESSES // 100

# The runtime takes offset 0 of the name table for no name; it is that of the first function.
NAMELESS = []


def build(which, *flags):
    program = WORK / f"runtime_frames-{which}{''.join(flags)}".replace("/", "-")
    # Go 1.23 and later keep the runtime's own functions to itself, unless told not to.
    link = "-s -w" if which == "debian" else "-s -w -checklinkname=0"
    call(go(which), "build", "-buildvcs=false", "-trimpath", f"-ldflags={link}", *flags, "-o",
         program, cwd=HERE / "runtime_frames", env=GO_ENVIRONMENT)
    return program


def pick_addresses(program):
    """Random addresses of the code, not of the padding behind it."""
    ranges = []
    for line in gosym("inspect", "--functions", program).out.splitlines():
        start, size = (int(word, 16) for word in line.split()[:2])
        # A return address is one behind its call: the runtime is asked about address + 1, and a
        # function's last byte would be the next function's first.
        ranges.append((start, size - 1))
    ranges = [(start, size) for start, size in ranges if size > 0]
    chooser = random.Random(SEED)
    chosen = chooser.choices(ranges, weights=[size for _, size in ranges], k=ADDRESSES)
    return [start + chooser.randrange(size) for start, size in chosen]


def ask(command, addresses):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          input="".join(f"{address:x}\n" for address in addresses))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(addresses)
    return lines


def runtime_frames(line):
    words = line.split("\t")[1:]
    return [(words[i], words[i + 1], int(words[i + 2])) for i in range(0, len(words), 3)]


def our_frames(line):
    """The runtime shortens the types of an instance to [...]; the table has them in full."""
    return [(re.sub(r"\[.*\]", "[...]", frame["function"]), frame.get("file", "?"),
             frame.get("line", 0)) for frame in json.loads(line)["frames"]]


def has_more_callers(answer, expected):
    """Whether the answer is the expected one, with callers added."""
    rest = iter(answer)
    return answer[:1] == expected[:1] and all(frame in rest for frame in expected)


def agrees_with_runtime(which, *flags):
    program = build(which, *flags)
    addresses = pick_addresses(program)
    theirs = [runtime_frames(line) for line in ask([program], addresses)]
    ours = [our_frames(line) for line in ask([GOSYM, "resolve", "--json", program], addresses)]
    different = [(hex(address), expected, answer)
                 for address, expected, answer in zip(addresses, theirs, ours)
                 if answer != expected and expected != NAMELESS]
    wrong = [case for case in different if not has_more_callers(case[2], case[1])]
    assert not wrong, f"{len(wrong)} of {ADDRESSES} are wrong, such as {wrong[:3]}"
    assert len(different) < WRAPPED, f"{len(different)} have callers that the runtime hides"
    inlined = sum(len(frames) > 1 for frames in theirs)
    assert inlined > ADDRESSES / 20, f"only {inlined} of {ADDRESSES} lie in inlined calls"
    print(f"# {ADDRESSES - len(different)} of {ADDRESSES} equal, {inlined} in inlined calls")


run([
    ("Debian's Go: 30,000 addresses as its runtime names them",
     lambda: agrees_with_runtime("debian")),
    ("the newest Go: 30,000 addresses as its runtime names them",
     lambda: agrees_with_runtime("newest")),
], root=False)
