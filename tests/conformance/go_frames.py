#!/usr/bin/python3
"""The frames of Go code against the judge that counts: the runtime of the program itself.

    go_frames.py GOSYM          what scripts/test runs
    go_frames.py GOSYM --all    all versions and ways of linking, at every address

A program is asked what its runtime says of each address of its code segment, and so is `gosym
resolve` of its stripped twin: function, file and line of each inlined call must be equal, and
there must be no Go name for code that is none.
"""
import collections
import concurrent.futures
import sys

import oracle
from common import run

# All of the code, in a program with much of the standard library in it; or each seventh address of
# a small program: an odd number, so that each place in an instruction comes up.
Row = collections.namedtuple("Row", "version mode is_whole", defaults=[False])

VERSIONS = ["1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]
MODES = ["static", "PIE", "cgo", "cgo PIE"]
RARE_MODES = ["cgo by lld", "cgo PIE by lld", "cgo static PIE by lld", "c-shared", "plugin", "386",
              "arm64", "arm64 PIE", "s390x"]
ALL = [Row(version, mode, True) for version in VERSIONS for mode in MODES] + \
    [Row(version, mode, True) for version in ["1.15", "1.19", "1.27"] for mode in RARE_MODES] + \
    [Row("1.27", "s390x PIE", True)]

# The formats that differ most, in the two modes that do.
WHOLE = [Row(version, mode, True) for version in ["1.15", "1.23", "1.27"]
         for mode in ["static", "cgo PIE"]]
USUAL = WHOLE + [Row(version, mode) for version, mode, _ in ALL
                 if Row(version, mode, True) not in WHOLE]


def equals_runtime(row):
    flags, step = (["-tags=large"], 1) if row.is_whole else ([], 7)
    figures, examples = oracle.compare(oracle.build(row.version, row.mode, *flags), step)
    assert not examples, f"{figures.different:,} of {figures.compared:,} differ, such as\n" + \
        "\n".join(examples)
    assert figures.inlined > figures.compared / 20, f"only {figures.inlined} in inlined calls"
    assert figures.excluded < figures.compared / 100, f"{figures.excluded} not askable"
    return f"{figures.compared:,} equal, {figures.inlined:,} of them in inlined calls and " \
        f"{figures.not_go:,} not Go; {figures.excluded:,} not askable"


def differs_if_shifted(version):
    """Answers for the next address are wrong at each end of a line."""
    figures, _ = oracle.compare(oracle.build(version, "static"), 7, shift=1)
    assert figures.different > figures.compared / 20, f"only {figures.different} differ"
    return f"{figures.different:,} of {figures.compared:,} differ"


def only_adds_wrappers(version):
    """What --wrappers shows is what the runtime shows, with more functions around it."""
    built, added = oracle.build(version, "static"), 0
    for address, count, answer, answer_with in oracle.in_step(
            oracle.addresses_of(built, 7), oracle.ask_gosym(built, 7),
            oracle.ask_gosym(built, 7, "--wrappers")):
        frames, frames_with = (oracle.our_frames(text, version) for text in (answer, answer_with))
        rest = iter(frames_with)
        assert all(frame in rest for frame in frames), f"{address:#x}: {frames}, {frames_with}"
        added += count * (len(frames_with) > len(frames))
    assert added > 50, f"only {added} with a wrapper"
    return f"wrappers at {added:,} addresses"


def main():
    rows = ALL if "--all" in sys.argv else USUAL
    cases = [(f"Go {row.version}, {row.mode}: {'every' if row.is_whole else 'each 7th'} address"
              " as the runtime says", equals_runtime, row) for row in rows]
    cases += [(f"Go {version}: --wrappers only adds", only_adds_wrappers, version)
              for version in ["1.15", "1.19", "1.27"]]
    cases.append(("a shift by one byte is noticed", differs_if_shifted, "1.27"))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        results = [(title, pool.submit(case, what)) for title, case, what in cases]
        run([(title, lambda result=result: print("#", result.result()))
             for title, result in results], root=False)


main()
