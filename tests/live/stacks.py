#!/usr/bin/python3
"""Whether stacks lead to their roots: without frame pointers, and where they are deep."""
import functools
import pathlib
import re

from common import (FIXTURES, GO_ENVIRONMENT, call, compiled, facts, folded, go, gosym, is_kernel, new_place,
                    record, run, running, told_as_cut)


LEFT_OUT = re.compile(r"… (\d+) frames …$")


@functools.cache
def build_words():
    return compiled("g++", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                    FIXTURES / "words.cpp", output=new_place("words"))


@functools.cache
def build_deep(version):
    return compiled(go(version), "build", "-buildvcs=false", output=new_place("deep"),
                    cwd=FIXTURES / "deep", env=GO_ENVIRONMENT)


def recording(program, *arguments, mode="auto", **length):
    with running(program, *arguments) as pid:
        return record("-p", pid, "--call-graph", mode, **(length or {"samples": 3000}))


def with_user_frames(file):
    """Of a recording: the other samples are of the kernel alone, where nothing can be missing."""
    return [stack for stack in folded(file) if not is_kernel(stack.frames[0])]


def samples_in(stacks):
    return sum(stack.count for stack in stacks)


def share_with_root(stacks, root="_start"):
    """Those whose outermost frame is the root."""
    return samples_in(stack for stack in stacks if stack.frames[0] == root) / samples_in(stacks)


def check_missing_is_told(file, stacks):
    """As many samples are told to lack callers as do."""
    lacking = samples_in(stack for stack in stacks if stack.frames[0] != "_start")
    told, skipped = told_as_cut(file)
    noise = 0.002 * samples_in(stacks)
    assert -noise < lacking - told < noise + skipped, \
        f"{lacking} of {samples_in(stacks)} lack callers, {told} told as cut short, {skipped} skipped"


def leads_to_start(mode):
    file = recording(build_words(), mode=mode)
    stacks = with_user_frames(file)
    share = share_with_root(stacks)
    assert share >= 0.98, f"{share:.1%} of the stacks lead to _start"
    check_missing_is_told(file, stacks)


def chain_is_not_enough():
    file = recording(build_words(), mode="fp")
    stacks = with_user_frames(file)
    share = share_with_root(stacks)
    assert share < 0.9, f"{share:.1%} of the stacks lead to _start: what are the others for?"
    check_missing_is_told(file, stacks)


def first_thread_ends(is_executed=False):
    """A process is all that its threads are: callers are found, and the file that is gone is kept."""
    program = compiled("gcc", "-O2", "-fomit-frame-pointer", "-pthread", FIXTURES / "threads.c",
                       output=new_place("threads"))
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", "499", "--archive=all", "-o", file, "--", program,
          *([program] if is_executed else []))
    program.unlink()
    stacks = [stack for stack in folded(file) if stack.frames[-1] == "spin"]
    count = sum(stack.count for stack in stacks)
    whole = sum(stack.count for stack in stacks if stack.frames[-3:] == ["start_thread", "work", "spin"])
    assert count > 100 and whole >= 0.98 * count, f"{whole} of {count} samples of spin have callers"


def deep_or_told(depth):
    """Of a recursion in C++: 48 bytes a frame here."""
    file = recording(build_words(), depth, mode="auto,32768", seconds=3, hertz=997)
    stacks = with_user_frames(file)
    check_missing_is_told(file, stacks)
    deepest = max(len(stack.frames) for stack in stacks)
    assert deepest > depth, f"no stack is deeper than {deepest}"


# The higher the rate, the fewer frames are walked for a sample: 5,000 at 1 kHz, 4,300 at 3 kHz.
def deep_go(version, depth):
    file = recording(build_deep(version), depth, seconds=1, hertz=99 if depth > 10000 else 997)
    stacks = [stack for stack in folded(file) if stack.frames[-1] == "main.spin"]
    total = sum(stack.count for stack in stacks)
    assert total > (10 if depth > 10000 else 500), f"only {total} samples in main.spin"
    whole = sum(s.count for s in stacks
                if s.frames[0] == "runtime.goexit" and is_near(frames_in(s, "main.down"), depth + 1))
    assert whole >= 0.99 * total, f"{whole} of {total} whole"
    if depth > 1000:
        assert all(set(s.frames[-700:-1]) == {"main.down"} for s in stacks)
        assert all(s.frames[1:3] == ["main.main.func1", "main.down"] for s in stacks
                   if s.frames[0] == "runtime.goexit")


def frames_in(stack, function):
    """How often a function is in a stack, if what is left out is of nothing else."""
    missing = [int(match[1]) for match in map(LEFT_OUT.match, stack.frames) if match]
    return stack.frames.count(function) + sum(missing)


def is_near(number, expected):
    """What is left out is told to two digits."""
    return abs(number - expected) <= (0 if expected < 1000 else 0.05 * expected)


def deep_c(depth):
    """A recursion with frame pointers: both ends are there, and the middle is told. Not where a
    library that has the register for other uses was called."""
    program = compiled("g++", "-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                       FIXTURES / "words.cpp", output=new_place("framed"))
    stacks = [stack for stack in folded(recording(program, depth, hertz=997, seconds=1.5))
              if stack.frames[-1] in ("(anonymous namespace)::insert", "(anonymous namespace)::remove")]
    total = sum(stack.count for stack in stacks)
    both = sum(s.count for s in stacks if s.frames.count("main") == 1
               and is_near(frames_in(s, "(anonymous namespace)::work"), depth + 1))
    assert total > 100 and both >= 0.95 * total, f"{both} of {total} with both ends"


def growing_source(frames=16):
    """A program that copies stacks most of its time: each goroutine grows its own, from 2 KiB on, through frames of
    many sizes. It has cgo: stacks of such programs are those that C code may call back to.
    """
    functions = []
    for number in range(frames):
        values = [f"v{i}" for i in range(number)]  # that the frame has room for, across the call
        called = f"frame{number + 1}(depth)" if number + 1 < frames else "root(depth - 1)"
        functions += ["//go:noinline", f"func frame{number}(depth uintptr) uintptr {{",
                      *(f"{value} := next({before})" for value, before in zip(values, ["depth", *values])),
                      "return " + " + ".join([called, *(values or ["1"])]), "}"]
    return "\n".join(["""package main
        import _ "runtime/cgo"
        func main() {
            results := make(chan uintptr)
            for {
                go begin(results)
                <-results
            }
        }
        func begin(results chan uintptr) { results <- root(20) }
        //go:noinline
        func root(depth uintptr) uintptr {
            if depth == 0 {
                return 0
            }
            return frame0(depth)
        }
        //go:noinline
        func next(value uintptr) uintptr { return value + 1 }""", *functions])


def copied_stacks(version):
    """While a stack is copied to a larger place its frames are in both: a stack has them once."""
    program = new_place("growing")
    (program.parent / "main.go").write_text(growing_source())
    call(go(version), "build", "-o", program, program.parent / "main.go",
         env=GO_ENVIRONMENT | {"CGO_ENABLED": "1"})
    stacks = [stack for stack in folded(recording(program, seconds=3, hertz=1997))
              if "runtime.copystack" in stack.frames and "main.begin" in stack.frames]
    total = samples_in(stacks)
    assert total > 200, f"only {total} samples of stacks that are copied"
    twice = [stack for stack in stacks
             if stack.frames.count("main.begin") > 1 or stack.frames.count("main.root") > 21]
    assert not twice, f"{samples_in(twice)} of {total}: {';'.join(twice[0].frames)}"


def words_of_callers():
    """Of Go code the recorder keeps the words that hold callers: of other words there are four a sample."""
    program = pathlib.Path(go("1.27")).with_name("gofmt")
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", "997", "-o", file, "--", program, "-l", program.parent.parent / "src/net")
    found = facts(file)
    assert found["samples"] > 200 and 0 < found["words"] < 2 * found["samples"], found


run([("C++ without frame pointers, auto: stacks lead to _start", lambda: leads_to_start("auto")),
     ("C++ without frame pointers, dwarf: stacks lead to _start", lambda: leads_to_start("dwarf")),
     ("C++ without frame pointers, fp: what is missing is told", chain_is_not_enough),
     ("others go on where the first thread ends", first_thread_ends),
     ("a thread that is not the first executes a program", lambda: first_thread_ends(True)),
     ("of Go code the words that hold callers are kept", words_of_callers),
     ("Go 1.19: stacks that are being copied", lambda: copied_stacks("1.19")),
     ("Go 1.27: stacks that are being copied", lambda: copied_stacks("1.27")),
     ("400 frames of C++ without frame pointers", lambda: deep_or_told(400)),
     ("5,000 frames of C++ with frame pointers", lambda: deep_c(5000))] +
    [(f"Go {version}, {depth} frames: both ends, and how many lie between",
      functools.partial(deep_go, version, depth))
     for version in ("1.19", "1.27") for depth in (900, 5000, 100000)])
