#!/usr/bin/python3
"""Processes that live for 3 ms, and compilers: each sample lies in the file that its process ran at
that moment, and is named when the processes are long gone.
"""
import collections
import functools
import pathlib
import tempfile

from common import FIXTURES, SLOW, WORK, call, facts, is_unnamed, pprof, recording, run

ROUNDS = 20 if SLOW else 200
COMPILES = 1 if SLOW else 5
RATE = 499 if SLOW else 4999  # an emulated processor takes a hundred times as long for each program
PROGRAMS = {"brief_one": 6000000, "brief_two": 6000001}  # turns of their loops
COMPILER = ["gcc", "cc1", "as", "collect2", "ld"]
LIBC = {"ld-linux-x86-64.so.2", "libc.so.6", "[vdso]"}

# What a process of this name may run; `loop` is the shell, and its children before they execute.
IMAGES = {"loop": {"dash", *LIBC}, **{name: {name, *LIBC} for name in PROGRAMS}}

Leaf = collections.namedtuple("Leaf", "comm image function count pid")


@functools.cache
def recorded():
    """A recording of what a shell called `loop` starts, beside all else."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    for name, turns in PROGRAMS.items():
        call("gcc", "-O1", f"-DNAME={name}", f"-DTURNS={turns}", FIXTURES / "brief.c",
             "-o", folder / name)
    shell = folder / "loop"
    shell.symlink_to("/bin/dash")
    script = f"i=0; while [ $i -lt {ROUNDS} ]; do ./brief_one; ./brief_two; i=$((i + 1)); done; " \
             f"for i in $(seq {COMPILES}); do gcc -O2 -c {FIXTURES}/fib.c -o fib.o; done"
    with recording("-q", "-a", "-F", RATE) as (_, file):
        call(shell, "-c", script, cwd=folder)
    return file


@functools.cache
def sampled():
    """The innermost user code of each sample of what the shell started."""
    names = ",".join([*IMAGES, *COMPILER])
    profile = pprof(recorded(), "--comm", names)
    leaves = (leaf(sample, profile) for sample in profile.samples)
    return [found for found in leaves if found]


def leaf(sample, profile):
    """None for the kernel's own."""
    for number in sample.locations:
        location = profile.locations[number]
        image = profile.mappings[location.mapping].file if location.mapping else ""
        if image != "[kernel.kallsyms]":
            return Leaf(sample.labels["thread"], pathlib.Path(image).name,
                        location.lines[0].function if location.lines else "??", sample.count,
                        sample.labels["pid"])
    return None


def share(leaves, is_good):
    good = sum(leaf.count for leaf in leaves if is_good(leaf))
    every = sum(leaf.count for leaf in leaves)
    bad = collections.Counter()
    for leaf in leaves:
        bad[leaf[:3]] += 0 if is_good(leaf) else leaf.count
    text = f"{good} of {every}, {good / every:.2%}"
    return good / every, text + "".join(f"\n#   {n} {leaf}" for leaf, n in bad.most_common(5) if n)


def is_right(leaf):
    return leaf.image in IMAGES[leaf.comm] if leaf.comm in IMAGES else leaf.image != ""


def attributed():
    leaves = sampled()
    for names in [IMAGES, COMPILER]:
        of_these = [leaf for leaf in leaves if leaf.comm in names]
        part, text = share(of_these, is_right)
        print(f"# {' '.join(names)}: in the right image: {text}")
        assert part >= 0.995, text


def named():
    of_these = [leaf for leaf in sampled() if leaf.comm in IMAGES]
    part, text = share(of_these, lambda leaf: not is_unnamed(leaf.function))
    print(f"# named: {text}")
    assert part >= 0.95, text


def each_process_is_there():
    """But for those whose samples may all be among the lost, where others take the recorder's time."""
    counts = collections.Counter()
    for leaf in sampled():
        counts[leaf.pid] += leaf.count if leaf.comm in PROGRAMS else 0
    found, every = len(+counts), len(PROGRAMS) * ROUNDS
    lost = facts(recorded())["lost"] / (counts.total() / found)
    print(f"# {found} of {every} processes; lost samples as of {lost:.0f}")
    assert every - found <= 0.01 * every + lost, f"{every - found} are missing"


def each_has_its_own_function():
    for name in PROGRAMS:
        own = [leaf for leaf in sampled() if leaf.comm == name]
        part, text = share(own, lambda leaf: leaf.function == name)
        print(f"# in {name}: {text}")
        assert part > 0.5 and sum(leaf.count for leaf in own) > ROUNDS, text


run([("99.5 % of the samples lie in the right image", attributed),
     ("95 % have a name", named),
     ("99 % of the processes are there", each_process_is_there),
     ("each program has its own function", each_has_its_own_function)])
