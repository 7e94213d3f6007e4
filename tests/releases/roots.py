#!/usr/bin/python3
"""The share of samples whose stack does not reach a root, of Go programs of every release and by each
sampler and mode: told by counting frames, as whole_stacks.py does.

    roots.py GOSYM [--seconds N] [--only PROGRAM] [--way WAY] [RELEASE...]

RELEASE as 1.19.13; without one all that can be had. The programs: recursion, a mix of all that makes
frames, an HTTP server, the mix under the race detector, iter.Pull, and a library in a program of C.
"""
import argparse
import collections
import functools

ARGUMENTS = argparse.ArgumentParser()
ARGUMENTS.add_argument("gosym")
ARGUMENTS.add_argument("--seconds", type=float, default=0.8, help="of CPU time of each recording")
ARGUMENTS.add_argument("--only", action="append", help="of the programs: fib, all, server, race, ...")
ARGUMENTS.add_argument("--way", action="append", help="of the samplers and modes: 'bpf auto', ...")
ARGUMENTS.add_argument("releases", nargs="*")
OPTIONS = ARGUMENTS.parse_intermixed_args()

import toolchain  # noqa: E402
import whole_stacks  # noqa: E402
from common import FIXTURES, call, run  # noqa: E402
from toolchain import Way  # noqa: E402

WAYS = {f"{sampler} {mode}": ["--sampler", sampler, "--call-graph", mode]
        for sampler in ("bpf", "perf") for mode in ("auto", "dwarf", "fp")
        if f"{sampler} {mode}" in (OPTIONS.way or [f"{sampler} {mode}"])}
# The others are worth a look, but have what they were asked for: chains of frame pointers, which
# not all code of Go keeps before 1.21, or what of a stack perf_event gives, 127 frames.
JUDGED = ["bpf auto", "bpf dwarf"]

# `first` is the minor release that can build it first.
Program = collections.namedtuple("Program", "folder work way first",
                                 defaults=["", Way(link="-s -w"), 2])
PROGRAMS = {
    "fib": Program("go_stacks", "fib"),
    "all": Program("go_stacks", "all"),
    "server": Program("go_server"),
    "race": Program("go_stacks", "all", Way(cgo=True, flags=("-race",)), 15),
    "pull": Program("go_pull", first=23),
    "shared": Program("go_shared", "", Way(cgo=True, mode="c-shared"), 15),
}
TABLE = {}


def build(release, program):
    built = toolchain.build(release, FIXTURES / program.folder, program.way)
    if program.way.mode != "c-shared":
        return built
    call("gcc", "-O2", FIXTURES / program.folder / "program" / "main.c", "-o", built.parent / "main",
         built, "-pthread", f"-Wl,-rpath,{built.parent}")
    return built.parent / "main"


def works_of(release):
    return [work for work, program in PROGRAMS.items()
            if toolchain.minor(release) >= program.first and work in (OPTIONS.only or PROGRAMS)]


def reach_roots(release, work):
    program = build(release, PROGRAMS[work])
    over = []
    for way, options in WAYS.items():
        score = whole_stacks.of(program, PROGRAMS[work].work, OPTIONS.seconds, options)
        TABLE[release.version, work, way] = score
        bad = score.wrong + score.missing
        print(f"# {way:10} {score.wrong:6,} wrong {score.missing:6,} missing of {score.total:6,}"
              f" {bad / max(score.total, 1):8.3%} {score.example}", flush=True)
        if way in JUDGED and not whole_stacks.allowed(score, toolchain.minor(release), work):
            over.append(way)
    assert not over, f"too many by {', '.join(over)}"


def show_table():
    """In % of the samples: with a wrong caller or without a root."""
    print("#", f"{'':16}", *(f"{way:>10}" for way in WAYS))
    for release in RELEASES:
        for work in works_of(release):
            scores = [TABLE.get((release.version, work, way)) for way in WAYS]
            cells = [f"{100 * (s.wrong + s.missing) / max(s.total, 1):.3f}" if s else "-" for s in scores]
            print("#", f"{release.version:9}{work:7}", *(f"{cell:>10}" for cell in cells))


RELEASES = [release for release in toolchain.releases()[0]
            if not OPTIONS.releases or release.version in OPTIONS.releases]
run([(f"Go {release.version}, {work}", functools.partial(reach_roots, release, work))
     for release in RELEASES for work in works_of(release)] + [("a table", show_table)])
