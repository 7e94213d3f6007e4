#!/usr/bin/python3
"""C code that Go called, with frame pointers and without, and Go code that C called back: the stacks
go on to the Go code that began it. Those of a Go library go on to the start of the C program.
"""
import collections
import functools
import itertools
import json

from common import (FIXTURES, GO_ENVIRONMENT, WORK, compiled, folded, go, go_versions, gosym,
                    host_of, is_kernel, new_place, record, run, running, told_as_cut)

VERSIONS = go_versions("1.15", "1.19", "1.23", "1.25", "1.27")
CALLERS = ["main.main", "main.work", "main.step"]
GO_PACKAGES = ("main.", "runtime.", "runtime/", "internal/", "sync.", "sync/", "syscall.", "gcWriteBarrier")


@functools.cache
def build(version):
    program = WORK / f"cgo-{version}"
    flags = [] if version == "1.15" else ["-buildvcs=false"]
    return compiled(go(version), "build", *flags, output=program, cwd=FIXTURES / "cgo",
                    env=GO_ENVIRONMENT | {"CGO_ENABLED": "1"})


@functools.cache
def stacks(version, way):
    with running(build(version), way) as pid:
        return folded(record("-p", pid, samples=2000))


def user_part(stack):
    return [frame for frame in stack.frames if not is_kernel(frame)]


def is_in_order(wanted, frames):
    rest = iter(frames)
    return all(frame in rest for frame in wanted)


def reaches_main(version, way):
    """Of the samples in C code, and of all but those of the runtime's own threads. In a signal handler
    on top of Go code that C code called, the way on is not found, and the stack counts as truncated:
    a busy machine has more of these, as the runtime signals what has run for 10 ms of any clock."""
    counts = {"C": [0, 0], "Go": [0, 0], "handlers": [0, 0]}
    runtime, missed = 0, []
    for stack in stacks(version, way):
        frames = user_part(stack)
        if not frames:
            continue
        if all(frame.startswith(("runtime.", "__vdso_")) for frame in frames):
            runtime += stack.count
            continue
        kind = "handlers" if "runtime.sigtramp" in frames else \
            "Go" if frames[-1].startswith(GO_PACKAGES) else "C"
        counts[kind][1] += stack.count
        if is_in_order(CALLERS, frames):
            counts[kind][0] += stack.count
        elif kind != "handlers":
            missed.append((stack.count, ";".join(frames)))
    told = ", ".join(f"{good} of {total} in {kind}" for kind, (good, total) in counts.items())
    print(f"# Go {version}, {way}: {told}; {runtime} of the runtime alone", flush=True)
    good, total = counts["C"]
    assert total > 100, told
    assert good >= 0.99 * total, f"{told}; such as {sorted(missed, reverse=True)[:3]}"
    if way == "callback":
        good, total = counts["Go"]
        assert total > 10 and good >= 0.98 * total, f"{told}; such as {sorted(missed)[-3:]}"


def shows_both_ways(version):
    """Go code that C called, and the C code that this calls in turn."""
    wanted = [*CALLERS, "main.busyInCallback", "spin"]
    with_callback = [stack for stack in stacks(version, "callback") if "spin" in stack.frames]
    good = sum(stack.count for stack in with_callback if is_in_order(wanted, stack.frames))
    total = sum(stack.count for stack in with_callback)
    assert total > 50 and good >= 0.99 * total, f"{good} of {total}"


# Frames from a call of C code to what that calls back.
LEVEL = ["main.callAgain", "runtime.cgocall", "runtime.asmcgocall", "descend", "descend_further", "goLevel",
         "crosscall2", "runtime.cgocallback"]
MAX_CALLBACKS = 16


def is_whole(frames):
    """Whether no frame is missing, as far as the names tell: each callback has its callers."""
    if frames[0] in ("runtime.mstart", "runtime.mcall", "runtime.morestack", "runtime.gogo", "gogo"):
        return "main.work" not in frames
    callbacks = frames.count("runtime.cgocallback")
    if "main.goLevel" not in frames and "descend" not in frames:
        return frames[0] in ("runtime.goexit", "clone", "clone3", "_start")
    callers = CALLERS if frames[0] == "runtime.goexit" else LEVEL[3:] if callbacks else []
    missing = LEVEL * (callbacks - (callers == LEVEL[3:]))
    return frames[0] in ("runtime.goexit", "clone", "clone3") and is_in_order([*callers, *missing], frames)


def is_told(version, way, levels):
    """Stacks through C code and back, so often, are whole; deeper ones are not, and count as incomplete:
    the report says so of exactly those that lack frames."""
    with running(build(version), way, levels) as pid:
        recording = record("-p", pid, samples=1500)
    quality = json.loads(gosym("report", recording, "--json").out)["quality"]
    told = quality["truncated_samples"]
    total, missed = 0, []
    for stack in folded(recording):
        if frames := user_part(stack):
            total += stack.count
            if not is_whole(frames):
                missed.append((stack.count, ";".join(frames)))
    lacking = sum(count for count, _ in missed)
    print(f"# Go {version}, {way} {levels}: {lacking} of {total} lack frames, {told} are told", flush=True)
    assert total > 200, total
    # Folded stacks count a sample once more for each tick before it that came to nothing. And in
    # the middle of a change of stacks one that has all names may be told: that they are all is luck.
    most = max(2, total / 1000) + quality["skipped_ticks"]
    assert -max(2, total / 250) <= lacking - told <= most, (
        f"{lacking} lack frames, {told} are told: {missed[:3]}")
    if levels <= MAX_CALLBACKS:
        # Up to Go 1.21 the runtime takes a thread of C's for its own with each call, and gives it back.
        share = 0.05 if way == "threads" else 0.01
        assert lacking <= share * total, f"{lacking} of {total}; such as {sorted(missed)[-3:]}"
    else:
        assert lacking > 0.3 * total, f"{lacking} of {total}"


def race_detector_is_called(version):
    """Its code has no unwind tables; what calls it is assembly without a frame, which the runtime's own
    profiles lack as well. About one stack of a hundred ends there, and is told as cut."""
    program = compiled(go(version), "build", "-buildvcs=false", "-race", output=new_place("raced"),
                       cwd=FIXTURES / "raced", env=GO_ENVIRONMENT | {"CGO_ENABLED": "1"})
    with running(program) as pid:
        file = record("-p", pid, samples=2000)
    callers = collections.Counter()
    for stack in folded(file):
        frames = user_part(stack)
        if native := [i for i, frame in enumerate(frames) if frame.startswith("__tsan")]:
            callers[tuple(frames[max(native[0] - 2, 0):native[0]])] += stack.count
    good = sum(count for frames, count in callers.items() if len(frames) == 2 and frames[1] == "racecall")
    told = told_as_cut(file)[0]
    lacking = callers.total() - good
    print(f"# Go {version}: {good} of {callers.total()} called by racecall, {told} cut")
    assert callers.total() > 400 and lacking <= 0.03 * callers.total(), callers
    assert lacking <= told + max(2, callers.total() / 250) and told < 40, callers


def library_reaches_start(version):
    """Of the samples in Go code that the program or a thread of it called, nearly all. The runtime
    takes the thread for its own first, and gives it back at last: there up to Go 1.21 some end."""
    folder = new_place(f"library-{version}")
    folder.mkdir()
    flags = [] if version == "1.15" else ["-buildvcs=false"]
    library = compiled(go(version), "build", *flags, "-buildmode=c-shared", output=folder / "work.so",
                       cwd=FIXTURES / "go_shared",
                       env=GO_ENVIRONMENT | {"CGO_ENABLED": "1", "GO111MODULE": "off"})
    program = host_of(library, folder / "main", "-O2",
                      source=FIXTURES / "go_shared" / "program" / "main.c")
    with running(program) as pid:
        called = [stack for stack in folded(record("-p", pid, samples=4000))
                  if "crosscall2" in stack.frames and "runtime.cgocallbackg" in stack.frames]
    good = sum(stack.count for stack in called if stack.frames[0] in ("_start", "clone3", "clone"))
    total = sum(stack.count for stack in called)
    print(f"# Go {version}, library: {good} of {total}", flush=True)
    missed = [";".join(stack.frames[:6]) for stack in called if stack.frames[0] == "crosscall2"]
    assert total > 20 and good >= 0.95 * total, f"{good} of {total}; such as {missed[:3]}"


run([(f"Go {version}, {way}: stacks reach main.main", functools.partial(reaches_main, version, way))
     for version, way in itertools.product(VERSIONS, ["plain", "framed", "sort", "callback"])] +
    [(f"Go {version}: C code under Go code under C code", functools.partial(shows_both_ways, version))
     for version in VERSIONS] +
    [(f"Go {version}, {way} {levels}: what stacks lack is told",
      functools.partial(is_told, version, way, levels))
     for version, (way, levels) in itertools.product(
         VERSIONS, [("nested", 1), ("nested", MAX_CALLBACKS), ("nested", MAX_CALLBACKS + 2), ("threads", 3)])] +
    [(f"Go {version}: the race detector has its callers", functools.partial(race_detector_is_called, version))
     for version in ["1.26", "1.27"]] +
    [(f"Go {version}: a library's stacks reach the C program's start",
      functools.partial(library_reaches_start, version)) for version in VERSIONS])
