#!/usr/bin/python3
"""What the recorder asks of the kernel, one thing a case: a short table of what works."""
import collections
import functools
import re

from common import (build_demo, build_fib, folded, gosym, is_kernel, is_unnamed, new_place, pprof,
                    record, run, running)


def programs_load(*options):
    """As these options make them: each set is other code to the kernel's verifier."""
    gosym("record", "-q", "-o", new_place("cpu.raw"), *options)


def samples_of_a_command():
    file = new_place("cpu.raw")
    gosym("record", "-q", "-o", file, "-F", 997, "--", "dd", "if=/dev/zero", "of=/dev/null",
          "bs=64k", "count=20000")
    assert any(is_kernel(stack.frames[-1]) for stack in folded(file)), folded(file)


def child_is_sampled():
    file = new_place("cpu.raw")
    gosym("record", "-q", "-o", file, "-F", 997, "--", "sh", "-c",
          "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done & wait")
    assert sum(stack.count for stack in folded(file)) > 5


@functools.cache
def recording():
    with running(build_demo("newest"), 600) as pid:
        return record("-p", pid, samples=1500)


def goroutines_are_told():
    assert any("goid" in sample.labels for sample in pprof(recording(), "--goid").samples)


def short_processes_are_attributed():
    """By the side-band: they are gone when the samples are read."""
    program, file = build_fib(), new_place("cpu.raw")
    gosym("record", "-q", "-o", file, "-F", 4999, "--", "sh", "-c",
          f"for i in 1 2 3 4 5; do timeout 0.3 {program}; done; true")
    leaves = collections.Counter()
    for stack in folded(file, "--comm", "fib"):
        if not is_kernel(stack.frames[-1]):
            leaves[stack.frames[-1]] += stack.count
    unnamed = sum(count for frame, count in leaves.items() if is_unnamed(frame))
    assert leaves["fibNaive"] > 10 and unnamed <= 0.01 * leaves.total(), leaves


def nothing_is_lost():
    told = gosym("report", recording())
    assert not re.search(r"^lost", told.out, re.M), told.out


COMMAND = ["--", "true"]
MODES = {"a command": COMMAND, "a command without children": ["--no-inherit", *COMMAND],
         "the whole system": ["-a", "-d", "0.1s"],
         "--call-graph fp": ["--call-graph", "fp", *COMMAND],
         "--call-graph dwarf": ["--call-graph", "dwarf,32768", *COMMAND],
         "user code only": ["-U", *COMMAND], "the kernel only": ["-K", *COMMAND]}

run([(f"BPF programs load for {mode}", functools.partial(programs_load, *options))
     for mode, options in MODES.items()] +
    [("a command's work in the kernel is seen and named", samples_of_a_command),
     ("children are followed", child_is_sampled),
     ("goroutines have numbers", goroutines_are_told),
     ("short processes are attributed", short_processes_are_attributed),
     ("no sample is lost", nothing_is_lost)])
