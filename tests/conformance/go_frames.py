#!/usr/bin/python3
"""The frames of Go code against the judge that counts: the runtime of the program itself.

    go_frames.py GOSYM          what scripts/test runs, in some minutes
    go_frames.py GOSYM --all    all versions and ways of linking, large programs, every address

A program is asked what its runtime says of each address of its code segment, and so is `gosym
resolve` of its stripped twin: function, file and line of each inlined call must be equal, and
there must be no Go name for code that is none.
"""
import collections
import sys

import oracle

# Every address, or each seventh: an odd number, so that each place in an instruction comes up.
Row = collections.namedtuple("Row", "version mode step size", defaults=[7, "small"])

VERSIONS = ["1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]
MODES = ["static", "PIE", "cgo", "cgo PIE"]
RARE_MODES = ["cgo by lld", "cgo PIE by lld", "cgo static PIE by lld", "cgo internal",
              "cgo internal PIE", "c-shared", "plugin", "386", "arm64", "arm64 PIE", "s390x"]
ALL = [(version, mode) for version in VERSIONS for mode in MODES] + \
    [(version, mode) for version in ["1.15", "1.19", "1.27"] for mode in RARE_MODES] + \
    [("1.27", "s390x PIE")]

# The formats that differ most; and what else there is time for: compiling the standard library
# again for each version and mode takes most of it.
WHOLE = ["1.15", "1.19", "1.27"]
SOME = {
    "1.15": ["PIE", "cgo", "cgo PIE by lld", "s390x"],
    "1.19": ["PIE", "cgo", "cgo PIE by lld"],
    "1.21": ["PIE"],
    "1.22": ["cgo"],
    "1.23": ["PIE", "cgo"],
    "1.24": ["static"],
    "1.25": ["cgo PIE"],
    "1.26": ["PIE", "cgo"],
    "1.27": ["PIE", "cgo", *RARE_MODES, "s390x PIE"],
}


def rows():
    if "--all" in sys.argv:
        return [Row(version, mode, 1, "large") for version, mode in ALL]
    return [Row(version, "cgo PIE", size="large") for version in WHOLE] + \
        [Row(version, "static", 1) for version in WHOLE] + \
        [Row(version, mode) for version, modes in SOME.items() for mode in modes]


def title(row):
    which = "every address" if row.step == 1 else "each 7th address"
    return f"Go {row.version}, {row.mode}, {row.size}: {which} as the runtime says"


def equals_runtime(row):
    built = oracle.build(row.version, row.mode, row.size)
    figures, examples = oracle.compare(built, row.step)
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


oracle.run_pairs(
    [(title(row), equals_runtime, row) for row in rows()] +
    [(f"Go {version}: --wrappers only adds", only_adds_wrappers, version)
     for version in ["1.15", "1.19", "1.27"]] +
    [("a shift by one byte is noticed", differs_if_shifted, "1.27")])
