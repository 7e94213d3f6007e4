#!/usr/bin/python3
"""Goroutines tell who they are, by name, number and labels: each sample of theirs must say the same,
for every Go whose runtime is known, and in every way to build a program.
"""
import collections
import functools
import subprocess

from common import (FIXTURES, GO_ENVIRONMENT, WORK, compiled, folded, go, go_versions, gosym,
                    host_of, is_kernel, pprof, record, run)

VERSIONS = go_versions("1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27")
WAYS = {"static": [], "PIE": ["-buildmode=pie"], "stripped": ["-ldflags=-s -w"], "cgo": [],
        "cgo PIE": ["-buildmode=pie"], "static libc": ["-ldflags=-extldflags=-static"],
        "library": ["-buildmode=c-shared", "-tags=library"]}
WITH_CGO = {"cgo", "cgo PIE", "static libc", "library"}
ALL_WAYS = {"1.15", "1.27"}  # the oldest and the newest are tried in all ways

LONG = "long" * 64
LABELS = {  # by function; what a label has no room for is cut
    "plain": {},
    "named": {"name": "named"},  # and an empty one, which pprof files cannot tell
    "many": {"name": "many", **{f"key{i}": f"value {i}" for i in range(9)}},
    "first": {"name": "first"},
    "second": {"name": "second"},
    "long": {"name": LONG[:88], LONG[:32]: "x"},
}
GOROUTINES = {"first": "changing", "second": "changing"}  # of the others the name is the same


def build(version, way):
    directory = WORK / f"goroutines-{version}-{way.replace(' ', '-')}"
    program = directory / ("libgoroutines.so" if way == "library" else "goroutines")
    flags = [] if version == "1.15" else ["-buildvcs=false"]
    compiled(go(version), "build", *flags, *WAYS[way], output=program, cwd=FIXTURES / "goroutines",
             env=GO_ENVIRONMENT | {"CGO_ENABLED": str(int(way in WITH_CGO))})
    if way == "library":
        return host_of(program, directory / "host")
    return program


@functools.cache
def recording(version, way):
    """With the numbers that the goroutines told, by name."""
    process = subprocess.Popen([build(version, way)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    try:
        told = dict(process.stdout.readline().split() for _ in range(5))
        return record("-p", process.pid, seconds=0.5, hertz=2999), told
    finally:
        process.communicate()


def function_of(sample, profile):
    """Which of the busy functions a sample is in. Not one if the scheduler runs, to which up to Go
    1.24 the chain of frame pointers leads: the goroutine has been put down."""
    functions = [line.function for location in sample.locations
                 for line in profile.locations[location].lines]
    if "runtime.mcall" in functions:
        return None
    return next((name for name in LABELS if f"main.{name}" in functions), None)


def tells_who(version, way):
    file, told = recording(version, way)
    profile = pprof(file, "--goid")
    counts, wrong = collections.Counter(), collections.Counter()
    for sample in profile.samples:
        if not (function := function_of(sample, profile)):
            continue
        counts[function] += sample.count
        labels = {key: value for key, value in sample.labels.items()
                  if key not in ("process", "thread", "pid", "tid", "goid")}
        expected = {key: value for key, value in LABELS[function].items()}
        goid = told[GOROUTINES.get(function, function)]
        if labels != expected or sample.labels.get("goid") != goid:
            wrong[function, str(sample.labels)] += sample.count
    assert not wrong, f"{sum(wrong.values())} of {sum(counts.values())} wrong, such as " \
        f"{wrong.most_common(2)}, numbers are {told}"
    assert counts.keys() == LABELS.keys(), f"samples are of {counts}"
    assert sum(counts.values()) > 50, f"too few: {counts}"


def filters():
    file, told = recording("1.25", "static")
    only = folded(file, "--label", "name=first")
    functions = {frame for stack in only for frame in stack.frames}
    assert "main.first" in functions, functions
    assert not functions & {"main.second", "main.named", "main.plain"}, functions
    both = folded(file, "--label", "name=first", "--label", "name=named", "--label", "empty=")
    functions = {frame for stack in both for frame in stack.frames}
    assert "main.named" in functions and "main.first" not in functions, functions
    text = gosym("report", file, "--label", "name=first").out
    assert "--label name=first" in text, text


def without_goids():
    file, _ = recording("1.25", "static")
    assert not any("goid" in sample.labels for sample in pprof(file).samples)


run([(f"Go {version}, {way}: each sample has its goroutine's number and labels",
      functools.partial(tells_who, version, way))
     for version in VERSIONS for way in (WAYS if version in ALL_WAYS else ["static", "cgo"])] +
    [("samples can be chosen by label", filters),
     ("numbers are told only when asked for", without_goids)])
