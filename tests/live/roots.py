#!/usr/bin/python3
"""Whether stacks of native code reach their roots, by counting their outermost frames; and whether
the report counts as many that do not.
"""
import functools
import math
import re
import shutil

from common import (FIXTURES, SLOW, Skip, call, compiled, gosym, is_kernel, new_place, parse_folded, record,
                    run, running, told_as_cut)

STACKS = FIXTURES / "stacks"
# Of CPU time.
SECONDS, HERTZ = (1, 1999) if SLOW else (0.4, 4999)
TARGET = 0.003  # of the samples with user frames: without a root
BELIEVED = 0.001  # difference of what is counted here and what the report says

START = {"_start", "clone3", "__clone3", "clone", "__clone"}
CIPHERS = ["-evp aes-256-gcm", "-evp chacha20-poly1305", "-evp aes-256-cbc", "rsa2048",
           "-evp sha256", "ecdhp256"]


def recorded(*command, options=()):
    """Of a command, from its first instruction on."""
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", HERTZ, *options, "-o", file, "--", *command)
    return file


def user_stacks(file):
    for stack in parse_folded(gosym("report", "-q", file, "--folded").out):
        if frames := [frame for frame in stack.frames if not is_kernel(frame)]:
            yield frames, stack.count


def has_root(frames):
    """Stripped programs have no name for _start, but what it calls has one."""
    return frames[0] in START or frames[1:2] == ["__libc_start_main"]


def allowed(share, total):
    """So many of them, three standard deviations of noise included."""
    return share * total + 3 * math.sqrt(max(share * total, 1))


def reach(file, is_whole, target=TARGET):
    """Fails unless nearly all stacks are whole, and the report says the same of them."""
    stacks = list(user_stacks(file))
    total = sum(count for _, count in stacks)
    lacking = [(frames, count) for frames, count in stacks if not is_whole(frames)]
    counted = sum(count for _, count in lacking)
    claimed, skipped = told_as_cut(file)
    print(f"# {total} samples, {counted} without a root, {claimed} told")
    examples = [";".join(frames[:4]) for frames, _ in lacking[:3]]
    # Of what lacked the callers of its ciphers a third and more of the stacks were cut.
    assert total > 60, f"only {total} samples"
    assert counted <= allowed(target, total), f"{counted} of {total} lack a root: {examples}"
    noise = allowed(BELIEVED, total)
    assert -noise <= counted - claimed <= noise + skipped, f"{claimed} told, not {counted}"


def build(source, compiler, *flags):
    return compiled(compiler, "-w", *flags, STACKS / source, output=new_place(source[:-2]))


def chain(compiler, *flags):
    """The leaf is at the end of all its callers, or has tail calls in their place."""
    program = build("chain.c", compiler, "-fno-optimize-sibling-calls", "-fno-inline", *flags)
    names = ["main", "deep", "first", "second", "third"]

    def is_whole(frames):
        plain = {frame.partition(".")[0] for frame in frames}  # of clones as well
        shown = [name for name in names if name in plain]
        return has_root(frames) and ("leaf" not in frames or shown == names)

    reach(recorded(program, SECONDS), is_whole)


def musl(source, root, *flags):
    """The C library of Alpine has no unwind tables, and no names for its start once stripped. Then
    main has no name either."""
    if not shutil.which("musl-gcc"):
        raise Skip("no musl-gcc")
    program = build(source, "musl-gcc", "-O2", "-fno-optimize-sibling-calls", "-fno-inline", "-pthread",
                    *flags)
    # Its start and its end have no such root, and take long on a busy machine.
    with running(program, 60) as pid:
        file = record("-p", pid, samples=2000)
    reach(file, lambda frames: len(frames) > 1 and re.match(root, frames[1]))


def assembly():
    """Its instructions tell where the caller is."""
    program = build("assembly.c", "gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    reach(recorded(program, SECONDS),
          lambda frames: has_root(frames) and ("mix" not in frames or frames[-3:-1] == ["main", "caller"]))


def pascal():
    """Its compiler writes no unwind tables. Stripped, as it leaves them, programs have no names."""
    if not shutil.which("fpc"):
        raise Skip("no fpc")
    program = new_place("pascal")
    call("fpc", "-O2", "-Xs", f"-FU{program.parent}", f"-o{program}", STACKS / "chain.pas")
    reach(recorded(program), lambda frames: len(frames) > 3)


def gccgo():
    """Goroutines begin in a function that returns to nothing."""
    if not shutil.which("gccgo"):
        raise Skip("no gccgo")
    program = compiled("gccgo", "-O1", FIXTURES / "go_stacks" / "main.go", output=new_place("gccgo"))
    with running(program, "fib", 600000) as pid:
        file = record("-p", pid, samples=1000)
    reach(file, lambda frames: has_root(frames) or frames[0] == "runtime.kickoff")


def handler(stack):
    """What a handler interrupted is its caller, whichever stack it runs on."""
    program = build("handler.c", "gcc", "-O2")

    def is_whole(frames):
        is_handler = "on_signal" in frames
        return has_root(frames) and (not is_handler or "interrupted" in frames)

    file = recorded(program, SECONDS, stack)
    assert sum(count for frames, count in user_stacks(file) if "on_signal" in frames) > 100
    reach(file, is_whole)


def fiber():
    """makecontext leads to the function that begins a stack."""
    program = build("fiber.c", "gcc", "-O2")
    reach(recorded(program, SECONDS), lambda frames: has_root(frames) or frames[1:2] == ["fiber_main"])


def own_fiber():
    """Makers of fibers leave 0 for the first function to return to. From main to it nothing leads."""
    program = build("own_fiber.c", "gcc", "-O2")
    reach(recorded(program, SECONDS), lambda frames: has_root(frames) or frames[0] == "fiber_main")


def stub(linker, *flags):
    """A stub of the procedure linkage table has its callers, where a tenth of the samples are."""
    program = build("stub.c", "gcc", "-O2", "-fno-builtin", f"-fuse-ld={linker}", *flags)
    file = recorded(program, SECONDS)
    stubs = sum(count for frames, count in user_stacks(file) if frames[-1] == "imaxabs@plt")
    assert stubs > 10, f"only {stubs} samples in the stub"
    reach(file, lambda frames: has_root(frames) and ("imaxabs@plt" not in frames or
                                                     {"main", "calls", "call"} <= set(frames)))


def large_frame():
    """As code has it that reads from the network."""
    program = build("large_frame.c", "gcc", "-O2")
    reach(recorded(program, SECONDS), has_root)


def larger_frame():
    """Its callers lie beyond what is looked at of other stacks."""
    program = build("large_frame.c", "gcc", "-O2", "-DSIZE=200000")
    reach(recorded(program, SECONDS, options=["--call-graph", "dwarf"]), has_root)


def openssl_speed(seconds, arguments):
    if not shutil.which("openssl"):
        raise Skip("no openssl")
    return ["openssl", "speed", "-seconds", seconds, "-bytes", 8192, *arguments.split()]


def cipher(arguments):
    with running(*openssl_speed(60, arguments)) as pid:
        file = record("-p", pid, samples=2000)
    reach(file, has_root)


def large_library():
    """Until the recorder has read its tables, which takes longer on a busy machine, callers are missing;
    the report says so.
    """
    reach(recorded(*openssl_speed(1, CIPHERS[0])), has_root, target=0.2)


BUILDS = [("gcc", "-O0"), ("gcc", "-O1"), ("gcc", "-O3"), ("gcc", "-O2", "-static-pie"),
          ("gcc", "-O2", "-flto"), ("g++", "-O2", "-xc++"), ("clang", "-O0"), ("clang", "-O2")]

run([(f"{' '.join(flags)}: stacks reach the root", functools.partial(chain, *flags))
     for flags in BUILDS] +
    [(f"musl, {' '.join(flags)}: stacks reach the root",
      functools.partial(musl, "chain.c", root, *flags))
     for root, *flags in [("main$", "-O2"), ("main$", "-static"), ("main$", "-static-pie"),
                          ("chain!fun_", "-static", "-s")]] +
    [(f"musl, {flag}: threads begin where it calls their function",
      functools.partial(musl, "thread.c", "work$", flag)) for flag in ("-O2", "-static")] +
    [("assembly without unwind tables: stacks reach the root", assembly),
     ("Free Pascal: stacks reach the root", pascal),
     ("gccgo: stacks reach the first function of goroutines", gccgo)] +
    [(f"handlers on {stack} stack lead to what they interrupted",
      functools.partial(handler, word))
     for stack, word in [("the same", "same"), ("another", "alternate")]] +
    [(f"stubs by {linker}, {flag}: they have their callers",
      functools.partial(stub, linker, flag))
     for linker in ("bfd", "lld")
     for flag in ("-fomit-frame-pointer", "-fno-omit-frame-pointer")] +
    [("a frame of 20 KB: stacks reach the root", large_frame),
     ("a frame of 200 KB: with dwarf stacks reach the root", larger_frame),
     ("a coroutine's stack begins with its function", fiber),
     ("and so does that of a fiber without a C library's help", own_fiber)] +
    [(f"openssl speed {arguments}: stacks reach the root", functools.partial(cipher, arguments))
     for arguments in CIPHERS] +
    [("a large library, from the first instruction on: what is missing is told", large_library)])
