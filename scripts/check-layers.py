#!/usr/bin/python3
"""Fails if a file below src/ includes a header of a layer that its own may not see, or of a later part of record/."""
import pathlib
import re
import sys

SEES = {  # layer, a directory of src/: those it may include besides itself
    "base": "",
    "confine": "base",
    "pch": "",
    "model": "base",
    "elf": "base model",
    "go": "base model elf",
    "gsym": "base model",
    "dwarf": "base model elf",
    "code": "base model",
    "proc": "base",
    "profile": "base model proc",
    "raw": "base model profile",
    "exchange": "base model profile page",
    "images": "base confine model elf go dwarf profile",
    "unwind": "base model elf go dwarf profile images",
    "symbolize": "base model elf go dwarf gsym proc profile raw images unwind",
    "record": "base confine model elf go dwarf proc raw unwind",
    "perf_data": "base model elf proc raw images record",
    "goroutine": "base model elf go proc record",
    "heap": "base model elf go proc",
    "live": "base model elf proc profile raw images symbolize record",
    "view": "base model profile",
    "page": "base model profile view",
    "output": "base model profile view page",
    "push": "base confine record output",
    "browser": "base model profile view output",
    "commands": "base confine model elf go dwarf gsym code proc profile raw exchange images symbolize record perf_data"
                " goroutine heap live view output browser push",
}

# Parts of record/, lowest first: each may include those before it and itself. A part is a folder, or files of
# one. Sources that make what the headers of their own part declare by means of higher ones are in the last.
RECORD = [
    "record/event_limits record/event_type record/helper_process record/kernel_symbols record/memory_helper"
    " record/rights record/sideband_record record/system_state",
    "record/files",
    "record/sampler",
    "record/perf/perf_ring",
    "record/keeper",
    "record/perf",
    "record/stacks",
    "record/bpf",
    "record",
]
MAKERS = {"record/helper_process.cpp", "record/keeper.cpp", "record/sampler.cpp"}


def part_of(path):
    """Its place in RECORD; none of a file of another layer."""
    file = pathlib.PurePath(path)
    if file.parts[0] != "record":
        return None
    if path in MAKERS:
        return len(RECORD) - 1
    names = [part.split() for part in RECORD]
    wanted = [str(file.with_suffix("")), str(file.parent)]
    return next(place for name in wanted for place, part in enumerate(names) if name in part)


source = pathlib.Path(__file__).resolve().parent.parent / "src"
bad = 0
for file in sorted(source.glob("*/**/*.[hc]*")):
    layer = file.relative_to(source).parts[0]
    if layer not in SEES:
        print(f"src/{layer}: a layer that is not in the table of {pathlib.Path(__file__).name}")
        bad += 1
        continue
    allowed = {layer, *SEES[layer].split()}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        found = re.match(r'#include "(\w+)/', line)
        header = re.match(r'#include "(record/.+)"', line)
        own = part_of(str(file.relative_to(source)))
        if header and own is not None and part_of(header[1]) > own:
            print(f"src/{file.relative_to(source)}:{number}: {RECORD[own].split()[0]} may not include {header[1]}")
            bad += 1
        if found and found[1] in SEES and found[1] not in allowed:
            print(f"src/{file.relative_to(source)}:{number}: {layer} may not include {found[1]}")
            bad += 1
sys.exit(bad > 0)
