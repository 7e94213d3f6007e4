#!/usr/bin/python3
"""What debugging information says of native code, against another reader: llvm-symbolizer.

Random code addresses of real programs are asked of both; function, file and line of the whole
chain of inlined calls must be equal.
"""
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import FIXTURES, GOSYM, WORK, call, run  # noqa: E402

ADDRESSES = 20000
SEED = 1


def code_addresses(program, count=ADDRESSES):
    """Random addresses in functions of the symbol table."""
    ranges = []
    for line in call("nm", "-S", "--defined-only", program).out.splitlines():
        words = line.split()
        if len(words) >= 4 and words[2] in "tTwWi" and int(words[1], 16) > 0:
            ranges.append((int(words[0], 16), int(words[1], 16)))
    ranges = sorted(set(ranges))
    chooser = random.Random(SEED)
    chosen = chooser.choices(ranges, weights=[size for _, size in ranges], k=count)
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


def ours(program, addresses):
    return [[(f["function"], f.get("file", ""), f.get("line", 0))
             for f in json.loads(line)["frames"]]
            for line in ask([GOSYM, "resolve", "--json", "--demangle=none", program], addresses)]
