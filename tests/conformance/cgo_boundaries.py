#!/usr/bin/python3
"""Where Go code ends and C code begins in a stripped program: judged, at every address, by the
DWARF and the symbols of its twin that is not stripped. C code must not get a name of the Go table,
and Go code no other than the one in it.
"""
import collections
import functools
import itertools
import json
import re

import oracle
from common import call

VERSIONS = ["1.15", "1.27"]
MODES = ["cgo", "cgo PIE", "cgo static PIE by lld", "cgo internal", "cgo internal PIE", "c-shared"]

# What is known of an address, the padding behind a function included. The few functions that the Go
# linker makes are in no compile unit and pass for C.
Truth = collections.namedtuple("Truth", "is_go names")


def go_ranges(program):
    """The code of Go's compile units."""
    units = call("llvm-dwarfdump", "--debug-info", "--recurse-depth=0", program).out
    ranges = [found for unit in units.split("DW_TAG_compile_unit") if "DW_LANG_Go" in unit
              for found in re.findall(r"\[(0x\w+), (0x\w+)\)", unit) or
              re.findall(r"low_pc\s+\((0x\w+)\)\s+DW_AT_high_pc\s+\((0x\w+)\)", unit)]
    return [(int(start, 16), int(end, 16)) for start, end in ranges]


def functions(program):
    """Address and size of each function, with its names: first those of unknown size, then those of
    known size, the inner ones of nested ones last."""
    found = collections.defaultdict(set)
    for line in call("readelf", "--syms", "--wide", program).out.splitlines():
        words = re.match(r" *\d+: (\w+) +(\d+) FUNC +\w+ +\w+ +\d+ (.+)", line)
        if words and not re.search(r"\(\.text[.\w]*\)$", words[3]):  # that is a whole section
            found[int(words[1], 16), int(words[2])].add(words[3])
    return sorted(found.items(), key=lambda item: (item[0][1] > 0, -item[0][1]))


def truth_of(program, segment):
    """Runs of addresses with the same truth: the last address, then the truth."""
    is_go, names = [False] * segment.size, [frozenset()] * segment.size
    changes = {0, segment.size}  # at other places both are as they are before
    for start, end in go_ranges(program):
        first, limit = start - segment.address, end - segment.address
        is_go[first:limit] = [True] * (end - start)
        changes |= {first, limit}
    for (address, size), names_here in functions(program):
        first = address - segment.address
        if 0 <= first < segment.size:
            limit = first + max(size, 1)
            names[first:limit] = [frozenset(names_here)] * (limit - first)
            changes |= {first, limit}
    known = frozenset()
    for here, limit in itertools.pairwise(sorted(changes)):
        known = names[here] or known
        yield segment.address + limit - 1, Truth(is_go[here], known)


def without_types(name):
    """The table has no types of instances before Go 1.21, and an assembly function no ABI."""
    return re.sub(r"\[.*\]", "[...]", name.removesuffix(".abi0")).replace("·", ".")


@functools.lru_cache(maxsize=10000)
def is_right(answer, truth):
    frames = json.loads(b"{" + answer[1:])["frames"]
    # A stub that the linker made to reach another library is of C and has no symbol of its own; a
    # guess says that it is one.
    if not truth.is_go and [frame["source"] for frame in frames] in (["plt"], ["label, guess"]):
        return True
    is_right_name = [without_types(frame["function"]) for frame in frames] in \
        [[without_types(name)] for name in truth.names]
    if truth.is_go:
        return is_right_name and [frame["source"] for frame in frames] == ["pclntab"]
    # Go's own linker lists C functions in the table as well, by their names.
    return is_right_name or not frames


def keeps_apart(version, mode):
    built = oracle.build(version, mode)
    counts, wrong = collections.Counter(), []
    for address, count, answer, truth in oracle.in_step(
            oracle.addresses_of(built, 1), oracle.ask_gosym(built, 1, "--no-inlines"),
            truth_of(built.program, built.segment)):
        counts["Go" if truth.is_go else "C"] += count
        if not is_right(answer, truth):
            wrong.append(f"{address:#x}: {truth}, gosym says {answer.decode()}")
    assert not wrong, "\n".join([f"{len(wrong)} wrong, such as", *wrong[:3]])
    assert counts["Go"] > 500_000 and counts["C"] > 2_000, f"too few: {counts}"
    return f"{counts['Go']:,} addresses of Go, {counts['C']:,} of C, none wrong"


oracle.run_pairs([(f"Go {version}, {mode}: Go and C code keep their names",
                   keeps_apart, version, mode) for version in VERSIONS for mode in MODES])
