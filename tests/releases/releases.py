#!/usr/bin/python3
"""Every release of Go that can be had: what gosym says of programs that it built.

    releases.py GOSYM PRINT_GO_PROGRAM                     the first and the last of each layout of the table
    GOSYM_TEST_ALL=1 releases.py GOSYM PRINT_GO_PROGRAM    the newest patch of each, for all machines

Judges are the program's own runtime, for every seventh address, where it can be run, else `go tool
nm` and `go tool addr2line` of the release. At the end there is a table: of each release, what was
wrong or missing of how many.
"""
import concurrent.futures
import os
import subprocess
import sys

import judges
import layout
import toolchain
import whole_stacks
from common import FIXTURES
from judges import Score
from toolchain import Way, minor

ORACLE = toolchain.ROOT / "tests" / "conformance" / "oracle"
ALL = "GOSYM_TEST_ALL" in os.environ
PIE = Way(mode="pie", cgo=True)
EXTERNAL = Way(cgo=True, link="-linkmode=external")
TRIMPATH = Way(flags=("-trimpath",))
MACHINES = ["386", "arm64", "arm", "ppc64le", "s390x", "riscv64"]

# Columns of the table. Those that a build of its own takes, and no more than the first of them in
# every run.
BUILDS = {"PIE": PIE, "external": EXTERNAL, "trimpath": TRIMPATH,
          **{machine: Way(machine=machine) for machine in MACHINES}}
ROOTS = {"fib roots": "fib", "live roots": "all"}
COLUMNS = ["runtime", "stripped", "no sections", "names", "gofmt names", "gofmt lines", "check",
           "layout", *ROOTS, *BUILDS]


def own_program(release):
    """Built here: its own runtime, whatever was stripped, and its symbol table."""
    program = toolchain.build(release, ORACLE, Way())
    twins = [program, judges.stripped(program, "--strip-all"),
             judges.stripped(program, "--strip-sections")]
    scores = dict(zip(COLUMNS, judges.by_runtime(release, program, "amd64", twins)))
    scores["names"] = judges.by_symbols(release, program, Way())
    return scores


def shipped_programs(release):
    gofmt = toolchain.shipped(release, "gofmt")
    scores = {"check": judges.is_whole(toolchain.shipped(release, "go"))}
    if judges.symbols(release, gofmt, Way()):
        scores["gofmt names"] = judges.by_symbols(release, gofmt, Way())
        scores["gofmt lines"] = judges.by_addr2line(release, gofmt, Way())
    return scores


def other_build(release, column):
    """By its runtime where it runs here, by the tools of the release where not."""
    way = BUILDS[column]
    if not toolchain.can_build(release, way):
        return {}
    program = toolchain.build(release, ORACLE, way)
    twin = judges.stripped(program, "--strip-all")
    if judges.can_run(release, way.machine):
        return {column: judges.by_runtime(release, program, way.machine, [twin])[0]}
    return {column: judges.total(judges.by_symbols(release, program, way, twin),
                                 judges.by_addr2line(release, program, way, twin))}


def runtime_layout(release):
    return {"layout": layout.of(release)} if minor(release) >= layout.FIRST else {}


def live_roots(release):
    program = toolchain.build(release, FIXTURES / "go_stacks", Way(link="-s -w"))
    return {column: whole_stacks.of(program, work, 0.8) for column, work in ROOTS.items()}


def jobs(releases):
    for release in releases:
        yield release, own_program
        yield release, shipped_programs
        yield release, runtime_layout
        # The live tests have those from 1.15 on.
        if ALL or minor(release) < 15:
            yield release, live_roots
        for column in BUILDS if ALL else list(BUILDS)[:1]:
            yield release, other_build, column


def work(release, function, *arguments):
    """The scores, or what went wrong."""
    try:
        return function(release, *arguments)
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as problem:
        column = arguments[0] if arguments else function.__name__
        return {column: Score(1, 0, 1, 0, f"{type(problem).__name__}: {str(problem)[-1500:]}")}


def tell(number, release, column, score):
    may_miss = column in ROOTS and whole_stacks.allowed(score, minor(release), ROOTS[column])
    is_good = score.total and not score.wrong and (may_miss or not score.missing)
    print(f"{'' if is_good else 'not '}ok {number} - Go {release.version}, {column}: "
          f"{score.wrong:,} wrong, {score.missing:,} missing of {score.total:,}", flush=True)
    if not is_good:
        print(*(f"# {line}" for line in score.example.splitlines()), sep="\n", flush=True)
    return is_good


def cell(score):
    if score is None:
        return "-"
    bad = f"{score.wrong}/{score.missing} of " if score.wrong or score.missing else ""
    return f"{bad}{score.total}" + (f" ({score.inlined} inl)" if score.inlined else "")


def show_table(table):
    """A line for each release: the number compared, before it those wrong and missing if any are."""
    columns = [column for column in COLUMNS if any(column in row for row in table.values())]
    rows = [["release", *columns]] + [
        [release.version, *(cell(row.get(column)) for column in columns)]
        for release, row in table.items()]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("# " + "  ".join(text.rjust(width) for text, width in zip(row, widths)))


def main():
    everything, limits = toolchain.releases()
    if limits:
        print(f"# {limits}")
    releases = everything if ALL else toolchain.some(everything)
    table = {release: {} for release in releases}
    number, failed = 0, 0
    with concurrent.futures.ProcessPoolExecutor(min(2, os.cpu_count())) as pool:
        running = [(job[0], pool.submit(work, *job)) for job in jobs(releases)]
        for release, result in running:
            for column, score in result.result().items():
                number += 1
                failed += not tell(number, release, column, score)
                table[release][column] = score
    show_table(table)
    print(f"1..{number}")
    toolchain.call("rm", "-rf", toolchain.WORK)
    sys.exit(failed > 0)


main()
