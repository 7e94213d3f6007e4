#!/usr/bin/python3
"""Fails if a file below src/ includes a header of a layer that its own may not see."""
import pathlib
import re
import sys

SEES = {  # layer, a directory of src/: those it may include besides itself
    "base": "",
    "pch": "",
    "elf": "base",
    "go": "base elf",
    "dwarf": "base elf",
    "code": "base",
    "proc": "base",
    "profile": "base",
    "raw": "base profile",
    "exchange": "base profile page",
    "symbolize": "base elf go dwarf proc profile raw",
    "record": "base elf go dwarf proc profile raw",
    "goroutine": "base elf go proc profile record",
    "live": "base proc profile raw symbolize record",
    "view": "base profile",
    "page": "base profile view",
    "output": "base profile view page",
    "browser": "base profile view output",
    "commands": "base elf go dwarf code proc profile raw exchange symbolize record goroutine live view output browser",
}

source = pathlib.Path(__file__).resolve().parent.parent / "src"
bad = 0
for file in sorted(source.glob("*/*.[hc]*")):
    layer = file.parent.name
    if layer not in SEES:
        print(f"src/{layer}: a layer that is not in the table of {pathlib.Path(__file__).name}")
        bad += 1
        continue
    allowed = {layer, *SEES[layer].split()}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        found = re.match(r'#include "(\w+)/', line)
        if found and found[1] in SEES and found[1] not in allowed:
            print(f"src/{layer}/{file.name}:{number}: {layer} may not include {found[1]}")
            bad += 1
sys.exit(bad > 0)
