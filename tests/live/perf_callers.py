#!/usr/bin/python3
"""Whether callers agree with those of `perf record --call-graph dwarf`, made of the same run at the same
time: of each pair of a function and its caller, and of what stacks end with, the share of samples. Of
Go code perf finds no callers in this way, with or without compressed debugging information; and
none where a rule reads below the stack pointer, as that of OpenSSL's SHA-512, for it has no such words.
"""
import collections
import functools
import math
import shutil

from call_sites import Programs, gosym_stacks, perf_recording, perf_stacks
from common import FIXTURES, Skip, compiled, new_place, record, run, running

HERTZ, SECONDS = 499, 2  # perf copies 16 KiB of the stack for each sample
LEAST = 0.005  # of the samples: what is rarer is not compared


def pairs(stacks):
    """How many samples have each function with its caller, or as the outermost; and how many there are."""
    counts, total = collections.Counter(), 0
    for frames, count in stacks:
        names = [frame.name() for frame in frames]
        if not names:
            continue
        total += count
        for pair in set(zip(names, [*names[1:], "(outermost)"])):
            counts[pair] += count
    return counts, total


def differing(ours, theirs):
    """Pairs whose shares differ by more than chance: four standard deviations."""
    (our_counts, our_total), (their_counts, their_total) = ours, theirs
    for pair in our_counts.keys() | their_counts.keys():
        p, q = our_counts[pair] / our_total, their_counts[pair] / their_total
        share = (our_counts[pair] + their_counts[pair]) / (our_total + their_total)
        deviation = math.sqrt(share * (1 - share) * (1 / our_total + 1 / their_total))
        if max(p, q) > LEAST and abs(p - q) > 4 * deviation:
            yield f"{pair[0]} < {pair[1]}: {100 * p:.2f} %, by perf {100 * q:.2f} %"


def agree(program, *arguments):
    if not shutil.which("perf"):
        raise Skip("no perf")
    with running(program, *arguments) as pid, \
            perf_recording(pid, HERTZ, "--call-graph", "dwarf,16384") as data:
        recording = record("-p", pid, seconds=SECONDS, hertz=HERTZ)
    programs = Programs()
    ours = pairs(gosym_stacks(recording, programs))
    theirs = pairs(perf_stacks(data, programs))
    print(f"# {ours[1]} samples, by perf {theirs[1]}; {len(ours[0])} pairs, by perf {len(theirs[0])}")
    found = list(differing(ours, theirs))
    for text in sorted(found):
        print(f"# {text}")
    assert min(ours[1], theirs[1]) > 200, "too few samples"
    assert not found, f"{len(found)} pairs differ"


def native(*command):
    agree(compiled(*command, "-w", FIXTURES / "stacks" / "variety.cpp", output=new_place("variety")), 600)


def cipher(name):
    if not shutil.which("openssl"):
        raise Skip("no openssl")
    agree("openssl", "speed", "-seconds", 600, "-bytes", 8192, "-evp", name)


run([(f"{' '.join(command)}: callers are as perf finds them", functools.partial(native, *command))
     for command in (["g++", "-O2"], ["clang++", "-O3"])] +
    [(f"openssl speed {name}: callers are as perf finds them", functools.partial(cipher, name))
     for name in ("aes-256-gcm", "chacha20-poly1305")])
