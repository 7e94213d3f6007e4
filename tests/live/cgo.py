#!/usr/bin/python3
"""C code that Go called, with frame pointers and without, and Go code that C called back: the stacks
go on to the Go code that began it. Those of a Go library go on to the start of the C program.
"""
import functools
import itertools

from common import (FIXTURES, GO_ENVIRONMENT, WORK, compiled, folded, go, go_versions,
                    host_of, is_kernel, new_place, record, run, running)

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
    [(f"Go {version}: a library's stacks reach the C program's start",
      functools.partial(library_reaches_start, version)) for version in VERSIONS])
