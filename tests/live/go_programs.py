#!/usr/bin/python3
"""Go programs as people build them: every name, line and chain right, whatever was stripped."""
import functools
import itertools
import re
import subprocess

from common import (FIXTURES, GO_ENVIRONMENT, SLOW, build_demo, folded, go, is_kernel, is_unnamed, pprof,
                    record, run, running, user_frames)

LEAVES = {"main.fetchData", "main.computeResult"}
INLINING = {"inlined": [], "not inlined": ["-gcflags=all=-N -l"]}
STRIPPING = {"with symbols": [], "-s -w": ["-ldflags=-s -w"]}


@functools.cache
def recording(which, inlining, stripping):
    demo = build_demo(which, *INLINING[inlining], *STRIPPING[stripping])
    with running(demo, 600) as pid:
        return record("-p", pid, samples=1500)


def source_ranges():
    """The lines of each function of the demo."""
    ranges, name = {}, None
    for number, line in enumerate((FIXTURES / "demo/main.go").read_text().splitlines(), 1):
        if found := re.match(r"func (\w+)", line):
            name, first = "main." + found[1], number
        elif line == "}" and name:
            ranges[name] = range(first, number + 1)
    return ranges


def most_of(share, part, whole, what):
    assert whole > 0, "no samples"
    assert part >= share * whole, f"{part} of {whole} samples: {what}"


def top_functions(variant):
    stacks = folded(recording(*variant))
    user = [stack for stack in stacks if not is_kernel(stack.frames[-1])]
    hot = sum(stack.count for stack in user if stack.frames[-1] in LEAVES)
    # Go's runtime looks around by the clock, which passes fast on a slow machine.
    most_of(0.9 if SLOW else 0.95, hot, sum(stack.count for stack in user), "in the two busy functions")
    for leaf in LEAVES:
        most_of(0.1, sum(s.count for s in user if s.frames[-1] == leaf), hot, leaf)


def chains(variant):
    caller = ["runtime.main", "main.main", "main.processRequest"]
    ours = [s for s in folded(recording(*variant)) if s.frames[-1] in LEAVES]
    complete = sum(s.count for s in ours if s.frames[-4:-1] == caller)
    most_of(0.99, complete, sum(s.count for s in ours), f"called by {' '.join(caller)}")


def no_hex(variant):
    # The vdso of some kernels has functions that its symbol table leaves out.
    unnamed = {frame for frame, _ in user_frames(folded(recording(*variant)))
               if is_unnamed(frame) and not frame.startswith("[vdso+")}
    assert not unnamed, f"unnamed: {' '.join(sorted(unnamed))}"


def lines(variant):
    """Within their function, and where Go's own addr2line sees them in the unstripped twin."""
    which, inlining, _ = variant
    profile = pprof(recording(*variant))
    ours = [location for location in profile.locations.values()
            if location.lines and location.lines[-1].function.startswith("main.")]
    assert ours, "no location in main"
    ranges = source_ranges()
    for line in (line for location in ours for line in location.lines):
        assert line.file == str(FIXTURES / "demo/main.go"), f"{line} in another file"
        assert line.line in ranges[line.function], f"{line}, which is not {ranges[line.function]}"

    twin = build_demo(which, *INLINING[inlining])
    addresses = "\n".join(hex(location.address) for location in ours)
    answer = subprocess.run([go(which), "tool", "addr2line", twin], input=addresses, text=True,
                            capture_output=True, check=True, env=GO_ENVIRONMENT).stdout.splitlines()
    for location, function, where in zip(ours, answer[::2], answer[1::2], strict=True):
        innermost = location.lines[0]
        assert location.lines[-1].function == function, f"{location} is {function}"
        assert f"{innermost.file}:{innermost.line}" == where, f"{location} is {where}"


CHECKS = {"the busy functions are on top": top_functions, "chains reach runtime.main": chains,
          "files and lines are right": lines, "no frame is without a name": no_hex}

run([(f"{', '.join(variant)}: {title}", functools.partial(check, variant))
     for variant in itertools.product(("debian", "newest"), INLINING, STRIPPING)
     for title, check in CHECKS.items()])
