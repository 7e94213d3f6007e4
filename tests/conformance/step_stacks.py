#!/usr/bin/python3
"""Whether the stack that gosym finds is the true one at every instruction: programs run step by step,
and what their calls and returns have put on the stack is the judge.

    step_stacks.py STEP_STACKS [COUNT [VERSION...]]
"""
import bisect
import functools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "live"))
from common import FIXTURES, GO_ENVIRONMENT, WORK, call, compiled, go, new_place, run

STEP = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 40000
VERSIONS = sys.argv[3:] or ["1.19"]


def address_of(program, function):
    return re.search(rf"^([0-9a-f]+) [tT] {function}$", call("nm", program).out, re.MULTILINE)[1]


def names_of(program):
    """What the functions of its addresses are called, by nm."""
    lines = [line.split(" ", 2) for line in call("nm", "-n", "--defined-only", program).out.splitlines()]
    functions = [(int(address, 16), name) for address, kind, name in lines if kind in "tT"]
    starts = [address for address, _ in functions]

    def name(found):
        address = int(found[0], 16)
        at = bisect.bisect_right(starts, address) - 1
        inside = 0 <= at and address < starts[-1] + 4096
        return functions[at][1] if inside else found[0]
    return name


def scores(program, function):
    told = call(STEP, address_of(program, function), COUNT, program).out
    name = names_of(program)
    for line in told.splitlines():
        print("#", re.sub(r"(?<= )[0-9a-f]{6,}", name, line))
    found = re.search(r"^steps (\d+) wrong (\d+) missing (\d+) rootless (\d+) unsure (\d+)$", told,
                      re.MULTILINE)
    return [int(number) for number in found.groups()]


def holds(program, function, limit):
    steps, wrong, missing, rootless, unsure = scores(program, function)
    assert steps + unsure == COUNT and unsure < 0.01 * COUNT, f"{unsure} of {steps} are not sure"
    assert wrong == 0, f"{wrong} of {steps} wrong"
    assert missing + rootless <= limit * steps, f"{missing} missing, {rootless} rootless of {steps}"


def go_program(version):
    program = WORK / f"stepped-{version}"
    call(go(version), "build", "-buildvcs=false", "-o", program, cwd=FIXTURES / "stepped",
         env=GO_ENVIRONMENT | {"CGO_ENABLED": "0"})
    # Stepped so slowly, a goroutine is preempted again and again: what the scheduler does while it
    # comes and goes is a hundred times as frequent as elsewhere.
    holds(program, "main.work", 0.02)


def native_program():
    holds(compiled("g++", "-O2", "-no-pie", FIXTURES / "words.cpp", output=new_place("words")), "main",
          0.001)


run([(f"Go {version}", functools.partial(go_program, version)) for version in VERSIONS] +
    [("C++", native_program)], root=False)
