#!/usr/bin/python3
"""Other programs take what report writes, and count the same."""
import functools
import json
import re

from common import (FIXTURES, GO_ENVIRONMENT, SLOW, WORK, Skip, build_demo, call, fetched, folded,
                    go, gosym, new_place, pprof, pprof_file, record, run, running)


@functools.cache
def recording():
    with running(build_demo("newest", "-ldflags=-s -w"), 600) as pid:
        return record("-p", pid, seconds=1, hertz=1499)


def go_pprof(*options):
    return call("/usr/bin/go", "tool", "pprof", *options, pprof_file(recording()),
                env=GO_ENVIRONMENT).out


def every_view_of_pprof():
    assert "main.fetchData" in go_pprof("-top")
    assert re.search(r"main\.processRequest", go_pprof("-peek", r"main\.fetchData"))
    assert "samples/count cpu/nanoseconds" in go_pprof("-raw")


def period_of(profile):
    return min(sample.nanoseconds / sample.count for sample in profile.samples)


def totals_are_equal():
    """Folded stacks count ticks of the clock: a sample stands for those that were skipped before it."""
    profile = pprof(recording())
    samples = sum(sample.count for sample in profile.samples)
    ticks = round(sum(sample.nanoseconds for sample in profile.samples) / period_of(profile))
    assert samples > 0
    told = re.search(r"([\d,]+) samples", gosym("report", recording()).out)
    assert told and int(told[1].replace(",", "")) == samples, f"{told} in the text, {samples} in pprof"
    assert sum(stack.count for stack in folded(recording())) == ticks >= samples
    of = re.search(r"of (\d+) total", go_pprof("-top", "-sample_index=samples"))
    assert of and int(of[1]) == samples, f"{of} in pprof -top, {samples} in pprof -raw"


def nanoseconds_are_counts():
    profile = pprof(recording())
    period = period_of(profile)
    for sample in profile.samples:
        ticks = sample.nanoseconds / period
        assert abs(ticks - round(ticks)) <= 0.01 and round(ticks) >= sample.count, sample


def go_build_optimises_by_it():
    if SLOW:
        raise Skip("Go's library is built anew")
    program = WORK / "optimised"
    call(go("newest"), "build", "-buildvcs=false", f"-pgo={pprof_file(recording())}", "-o", program,
         cwd=FIXTURES / "demo", env=GO_ENVIRONMENT)
    told = call(go("newest"), "version", "-m", program).out
    assert re.search(r"build\s+-pgo=.*cpu\.pb\.gz", told), told


def without_file(text):
    """What -top says, but for the file's name and what it was made of."""
    return [line for line in text.splitlines() if not line.startswith(("File:", "Build ID:", "event:"))]


def profiles_are_read_again():
    """What was written is read: go tool pprof sees no difference, and report shows the same."""
    file = pprof_file(recording())
    again = file.with_name("again.pb.gz")
    gosym("report", "-q", file, "--pprof", again)
    for options in (["-top"], ["-top", "-cum", "-sample_index=samples"], ["-tags"], ["-traces"]):
        before, after = (call("/usr/bin/go", "tool", "pprof", *options, one, env=GO_ENVIRONMENT).out
                         for one in (file, again))
        assert without_file(before) == without_file(after), (options, before, after)
    # The profile has nanoseconds, the recording samples.
    period = period_of(pprof(recording()))
    stacks = [(stack.comm, stack.frames, stack.count * period) for stack in folded(recording())]
    assert [(stack.comm, stack.frames, stack.count) for stack in folded(file)] == stacks


def heap_profile():
    """Of Go's own: each sample type is an event, and has what go tool pprof says of it."""
    source = new_place("heap.go")
    source.write_text("""package main

import ("os"; "runtime"; "runtime/pprof")

var kept [][]byte

//go:noinline
func keep() { for i := 0; i < 1000; i++ { kept = append(kept, make([]byte, 10000)) } }

func main() {
	runtime.MemProfileRate = 1
	keep()
	file, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(file, 0)
}
""")
    program, file = source.with_suffix(""), source.with_suffix(".pb.gz")
    call(go("newest"), "build", "-o", program, source, env=GO_ENVIRONMENT)
    call(program, file)
    for index in ("inuse_space", "alloc_objects"):
        raw = call("/usr/bin/go", "tool", "pprof", "-raw", f"-sample_index={index}", file, env=GO_ENVIRONMENT).out
        types = re.search(r"Samples:\n(.*)", raw)[1].split()
        column = [name.split("/")[0] for name in types].index(index)
        sum_of_go = sum(int(line.split(":")[0].split()[column])
                        for line in raw.split("Samples:\n")[1].split("Locations")[0].splitlines()[1:]
                        if re.match(r"\s*-?\d+\s+-?\d+", line))
        told = json.loads(gosym("report", "-q", file, "--event", index, "--json").out)
        assert told["totals"]["value"] == sum_of_go, (index, told["totals"], sum_of_go)
        names = [function["name"] for function in told["functions"]]
        assert "main.keep" in names, names


def flame_graph():
    file = recording().with_suffix(".folded")
    gosym("report", recording(), "--folded", "-o", file)
    picture = call("perl", fetched("flamegraph"), file)
    assert not picture.err, picture.err
    assert picture.out.rstrip().endswith("</svg>")
    assert "main.fetchData (" in picture.out


run([("go tool pprof takes the profile", every_view_of_pprof),
     ("the totals of all formats are equal", totals_are_equal),
     ("CPU time is the number of samples times the period", nanoseconds_are_counts),
     ("go build -pgo takes the profile", go_build_optimises_by_it),
     ("a profile that was written is read", profiles_are_read_again),
     ("profiles of Go's heap are read", heap_profile),
     ("flamegraph.pl takes the folded stacks", flame_graph)])
