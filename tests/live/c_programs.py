#!/usr/bin/python3
"""A C program with a deep recursion, at fixed addresses and as PIE."""
import functools
import re

from common import build_fib, call, folded, pprof, record, run, running

BUILDS = {"no-pie": ["-fno-pie", "-no-pie"], "pie": ["-fpie", "-pie"]}
# A tail call leaves no caller.
CALLS = ["-fno-optimize-sibling-calls"]


@functools.cache
def recording(*flags):
    with running(build_fib(*flags)) as pid:
        return record("-p", pid, samples=1500)


def function_range(program, name):
    """Where `nm` sees the function in the file."""
    for line in call("nm", "-S", program).out.splitlines():
        address, size, _, symbol = (line.split() + [""] * 4)[:4]
        if symbol == name:
            return range(int(address, 16), int(address, 16) + int(size, 16))
    raise AssertionError(f"no {name} in {program}")


def every_pc_is_named(build):
    flags = BUILDS[build]
    program, profile = build_fib(*flags), pprof(recording(*flags))
    function = function_range(program, "fibNaive")
    inside = 0
    for location in profile.locations.values():
        mapping = profile.mappings[location.mapping]
        if mapping.file != str(program):
            continue
        bias = mapping.start - mapping.offset if build == "pie" else 0
        is_inside = location.address - bias in function
        is_named = [line.function for line in location.lines] == ["fibNaive"]
        assert is_inside == is_named, f"{location}, with fibNaive at {function}"
        inside += is_inside
    assert inside > 3, f"only {inside} addresses inside fibNaive"


def main_is_below(build):
    stacks = folded(recording(*BUILDS[build], *CALLS))
    ours = [stack for stack in stacks if "fibNaive" in stack.frames]
    complete = sum(s.count for s in ours if "main" in s.frames[:s.frames.index("fibNaive")])
    total = sum(s.count for s in ours)
    assert total and complete >= 0.95 * total, f"main below fibNaive in {complete} of {total}"


def libc_is_named_or_explained(build):
    stacks = folded(recording(*BUILDS[build], *CALLS))
    below = {frame for s in stacks if "main" in s.frames
             for frame in s.frames[:s.frames.index("main")]}
    assert below, "nothing below main"
    for frame in below:
        assert frame.isidentifier() or re.match(r"\[stripped.libc\.so\.6\]|libc\.so\.6!fun_[0-9a-f]+", frame), frame


CHECKS = {"every PC inside fibNaive has its name, and no other": every_pc_is_named,
          "main is below fibNaive": main_is_below,
          "libc is named or said to be stripped": libc_is_named_or_explained}

run([(f"{build}: {title}", functools.partial(check, build))
     for build in BUILDS for title, check in CHECKS.items()])
