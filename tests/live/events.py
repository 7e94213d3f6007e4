#!/usr/bin/python3
"""Several events in one recording: what samples of each say, and that none is taken for another."""
import functools
import pathlib
import re

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, ROOT, Skip, build_demo, call, compiled, gosym, leaves,
                    new_place, pprof_file, record, run, running, share)

FAULTS = 256 * 400
PERIOD = 64
BOTH = ["-e", "cpu-clock", "-e", f"page-faults/period={PERIOD}/"]


@functools.cache
def build_faults():
    return compiled("gcc", "-O1", "-fno-omit-frame-pointer", FIXTURES / "faults.c",
                    output=new_place("faults"))


@functools.cache
def recorded(sampler):
    file = new_place("cpu.raw")
    gosym("record", "-q", "--sampler", sampler, "-U", "-F", 499, *BOTH, "-o", file, "--",
          build_faults(), FAULTS, 2_000_000_000)
    return file


def number(text):
    return int(text.replace(",", ""))


def all_or_told(file, faults):
    """All faults are counted; or the kernel throttled the samples or they were lost, and the report says so."""
    text = gosym("report", file, "--event", "page-faults").out
    is_told = re.search(r"^(lost|throttled) ", text, re.M)
    return (is_told or 0.9 * FAULTS < faults) and faults < 1.1 * FAULTS


def both_reports(sampler):
    text = gosym("report", recorded(sampler)).out
    clock = re.search(r"^[\d,]+ samples of cpu-clock at 499 Hz: ([\d.]+) s of CPU time in ", text, re.M)
    assert 1 < float(clock[1]) < 3, clock
    faults = re.search(r"^([\d,]+) samples of page-faults, one in 64: ([\d,]+) page-faults in ", text,
                       re.M)
    assert all_or_told(recorded(sampler), number(faults[2])), faults
    assert number(faults[1]) * PERIOD == number(faults[2]), faults
    assert text == "\n".join(gosym("report", "--event", event, recorded(sampler)).out
                             for event in ("cpu-clock", "page-faults"))


def leaves_of_each(sampler):
    spinning = leaves(recorded(sampler), "--event", "cpu-clock")
    assert share(spinning, "spin") > 0.6 and spinning.most_common(1)[0][0] == "spin", spinning
    touching = leaves(recorded(sampler), "--event", "page-faults")
    assert share(touching, "touch") > 0.95 and "spin" not in touching, touching


def sample_types_of_pprof(sampler):
    file = pprof_file(recorded(sampler))

    def top(index):
        text = call("/usr/bin/go", "tool", "pprof", f"-sample_index={index}", "-top", file,
                    env=GO_ENVIRONMENT).out
        functions = re.findall(r"^ *\S+ .*%  (.+)$", text.partition("cum%")[2], re.M)
        return functions, re.search(r"of ([\d.]+)(\w*) total", text)

    functions, total = top("cpu")
    assert functions[0] == "spin" and total[2] in ("s", "ms"), (functions, total)
    functions, total = top("page-faults")
    assert functions[0] == "touch", functions
    assert all_or_told(recorded(sampler), float(total[1])), total


def is_as_specified(file):
    """Recordings of real programs, by protoc: what is compared is all that gosym reads of them."""
    done = call(ROOT / "tests" / "checks" / "specification.py",
                pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures", file)
    assert "\nok 1 " in done.out or "# SKIP" in done.out, done.out
    if "# SKIP" in done.out:
        raise Skip(done.out.strip())


def go_program():
    with running(build_demo("newest"), 600) as pid:
        return record("-p", pid, "-e", "cpu-clock,page-faults/period=10/", seconds=2, hertz=499)


def others_are_told():
    told = gosym("report", "--folded", recorded("auto"))
    assert ("gosym: warning: only cpu-clock is written, of cpu-clock and page-faults; "
            "--event chooses another\n") in told.err, told.err
    assert told.out == gosym("report", "--folded", "--event", "cpu-clock", recorded("auto")).out


def names_that_are_refused():
    unknown = gosym("report", "--event", "cycles", recorded("auto"), check=False)
    assert unknown.status == 5 and "is of cpu-clock and page-faults, not of cycles" in unknown.err
    many = gosym("record", "-e", "cs,faults,r1,r2,r3", "--", "true", check=False)
    assert many.status == 2 and "5 events, where a recording has 4 at most" in many.err, many.err
    own = gosym("record", "-e", "faults/every=9/", "--", "true", check=False)
    assert own.status == 2 and "'every=9' is not period=N or freq=N" in own.err, own.err
    empty = gosym("record", "-e", "cpu-clock/freq=/", "--", "true", check=False)
    assert empty.status == 2 and "'freq=' is not period=N or freq=N" in empty.err, empty.err
    open_end = gosym("record", "-e", "faults/period=9", "--", "true", check=False)
    assert open_end.status == 2 and "is not NAME/period=N/" in open_end.err, open_end.err
    twice = gosym("record", "-e", "faults", "-e", "page-faults", "--", "true", check=False)
    assert twice.status == 2 and "page-faults is given twice" in twice.err, twice.err


def four_events():
    """As many programs as the kernel's verifier has to see."""
    file = new_place("cpu.raw")
    gosym("record", "-q", "-e", "cpu-clock,task-clock,page-faults/period=100/,cs/period=1/", "-F", 499,
          "-o", file, "--", build_faults(), FAULTS, 200_000_000)
    text = gosym("report", file).out
    seconds = [float(value) / (1000 if unit == "ms" else 1)
               for value, unit in re.findall(r": ([\d.]+) (m?s) of CPU time", text)]
    assert len(seconds) == 2 and abs(seconds[0] - seconds[1]) < 0.2 * seconds[0], seconds
    assert re.search(r"^[\d,]+ samples of context-switches", text, re.M), text


run([(f"{title}, by {sampler}", functools.partial(case, sampler))
     for sampler in ("auto", "perf")
     for title, case in [("the report shows each event", both_reports),
                         ("each has its own functions", leaves_of_each),
                         ("go tool pprof has a sample type for each", sample_types_of_pprof)]] +
    [("two events are recorded as raw.proto specifies", lambda: is_as_specified(recorded("auto"))),
     ("call chains are recorded as raw.proto specifies", lambda: is_as_specified(recorded("perf"))),
     ("goroutines are recorded as raw.proto specifies", lambda: is_as_specified(go_program())),
     ("four events at once", four_events),
     ("formats of one event tell of the others", others_are_told),
     ("unknown events, and too many, are refused", names_that_are_refused)])
