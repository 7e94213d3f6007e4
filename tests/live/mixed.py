#!/usr/bin/python3
"""Programs of five languages at once, in one recording of the whole system."""
import collections
import contextlib
import functools
import re

from common import (FIXTURES, GO_ENVIRONMENT, WORK, compiled, folded, go, gosym, is_kernel,
                    is_unnamed, perf_map, record, run, running)

MIXED = FIXTURES / "mixed"


def build(name, *command, **options):
    return compiled(*command, output=WORK / name, **options)


def commands():
    """Each program's name, how it is run, and its hot function."""
    cgo = {**GO_ENVIRONMENT, "CGO_ENABLED": "1"}
    yield "C++", "heat::Grid<...>::relax", [build("grid", "g++", "-O2", MIXED / "grid.cpp")]
    yield "Rust", "<waves::string::Rope as waves::string::Medium>::settle", \
        [build("waves", "rustc", "-O", MIXED / "waves.rs")]
    yield "cgo", "blur", [build("blur", go("debian"), "build", "-buildvcs=false",
                                cwd=MIXED / "cgo", env=cgo)]
    yield "python", "_PyEval_EvalFrameDefault", \
        ["/usr/bin/python3", "-c", "while True: sum(i * i for i in range(1000))"]
    yield "node", "fibonacci", ["node", "--perf-basic-prof", FIXTURES / "hot.js"]


Program = collections.namedtuple("Program", "pid hot")


@functools.cache
def recording():
    """Of all of them, and of one that mostly asks the kernel."""
    with contextlib.ExitStack() as stack:
        programs = {name: Program(stack.enter_context(running(*command, cwd=WORK)), hot)
                    for name, hot, command in commands()}
        stack.enter_context(running("dd", "if=/dev/zero", "of=/dev/null", "bs=64k"))
        pids = [program.pid for program in programs.values()]
        file = record("-a", until=pids, seconds=1, hertz=499)
    perf_map(programs["node"].pid).unlink()
    return file, programs


def leaves(name):
    """Samples of the functions of user code on top of the program's stacks."""
    file, programs = recording()
    counts = collections.Counter()
    for stack in folded(file, "--pid", programs[name].pid):
        if frames := [frame for frame in stack.frames if not is_kernel(frame)]:
            counts[frames[-1]] += stack.count
    return counts


def hot_function_is_on_top(name):
    counts, hot = leaves(name), recording()[1][name].hot
    top, samples = counts.most_common(1)[0]
    is_hot = hot in top and "hot.js" in top if name == "node" else hot == top
    assert is_hot, f"{top} is on top, not {hot}"
    assert samples > 20, f"only {samples} samples of it"


def kernel_is_named():
    frames = {frame for stack in folded(recording()[0]) for frame in stack.frames
              if is_kernel(frame)}
    assert len(frames) > 10, frames
    assert not any(is_unnamed(frame) for frame in frames), frames


def sources_are_summed_up():
    line = re.search(r"^names      from (.*)$", gosym("report", "-v", recording()[0]).out, re.M)[1]
    shares = {source: float(share) for source, share in
              (item.removesuffix(" %").rsplit(" ", 1) for item in line.split(", "))}
    wanted = {"kallsyms", "symtab", "perf map", "pclntab"}
    assert wanted <= shares.keys(), shares
    assert abs(sum(shares.values()) - 100) < 1, shares


run([(f"{name}: its hot function is on top", functools.partial(hot_function_is_on_top, name))
     for name in ["C++", "Rust", "cgo", "python", "node"]] +
    [("kernel frames have names", kernel_is_named),
     ("the report sums up the sources", sources_are_summed_up)])
