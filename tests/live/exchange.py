#!/usr/bin/python3
"""Other programs take what report writes, and count the same."""
import functools
import re

from common import (FIXTURES, GO_ENVIRONMENT, SLOW, WORK, Skip, build_demo, call, fetched, folded,
                    go, gosym, pprof, pprof_file, record, run, running)


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
     ("flamegraph.pl takes the folded stacks", flame_graph)])
