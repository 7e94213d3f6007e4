#!/usr/bin/python3
"""CPU time, against what a program measures of itself: tests/fixtures/measured.c.

Programs that sleep shortly, and wake each other, are those that one timer of the full rate falls into
step with. Bounds are what is promised (3 %, from 5 kHz on 8 %) and three sigma of chance; they are of
CPU time, however busy the machine is.
"""
import functools
import json
import math
import os
import re

from common import FIXTURES, GOSYM, SLOW, Skip, a_cgroup, call, compiled, gosym, new_place, run

PARTS = ["part_a", "part_b"]


@functools.cache
def measured():
    return compiled("gcc", "-O1", "-g", "-pthread", FIXTURES / "measured.c", output=new_place("measured"))


def record(way, seconds, hertz, *options, before=(), turn_us=100):
    """What the program says of itself, the report in JSON and as text, and what was said while it ran."""
    file = new_place("cpu.raw")
    done = call(*before, GOSYM, "record", "-e", "cpu-clock", "-F", hertz, *options, "-o", file, "--",
                measured(), way, seconds, turn_us)
    report = json.loads(gosym("report", "--format", "json", "--top", 0, file).out)
    return json.loads(done.out), report, gosym("report", file).out, done.err


def is_within(found, truth, samples, promised):
    """Whether the amount is that of the program, but for what is promised and for chance."""
    error = found / truth - 1
    bound = promised + 3 / math.sqrt(samples)
    print(f"# {100 * error:+.1f} %, where {100 * bound:.1f} % may be")
    return abs(error) <= bound


def function_has_its_time(way, hertz, seconds=2, turn_us=100):
    if SLOW:
        raise Skip("an emulated processor has no clock to rely on")
    truth, report, _, _ = record(way, seconds, hertz, turn_us=turn_us)
    found = {function["name"]: function["total"] for function in report["functions"]}
    promised = 0.03 if hertz < 4999 else 0.08
    for names in [PARTS, PARTS[:1]]:
        took = sum(truth[name] for name in names)
        assert is_within(sum(found[name] for name in names), took, took * hertz / 1e9, promised), (truth, found)


def charged_is_what_the_kernel_charged():
    """To threads, and to children, that live for 100 us each: most of it is theirs. Their cgroup has the
    time after they are counted as ended, too, which their process never gets: 1 us each, more where the
    machine is taken away just then."""
    for way in ["threads", "children"]:
        with a_cgroup() as group:
            enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
            file = new_place("cpu.raw")
            call(GOSYM, "record", "-F", 999, "-o", file, "--", "sh", "-c", enter, "sh", measured(), way, 1)
            used = 1000 * int(re.search(r"^usage_usec (\d+)$", (group / "cpu.stat").read_text(), re.MULTILINE)[1])
        quality = json.loads(gosym("report", "--format", "json", file).out)["quality"]
        charged = quality["charged_ns"]
        print(f"# {way}: charged {charged / 1e9:.3f} s, used {used / 1e9:.3f} s")
        # The recorder counts from before the shell's first instruction.
        assert abs(charged - used) < 0.01 * used + 5e6, (way, used, quality)


def start_has_samples():
    """Slow timers that are started together have no tick at first."""
    used = samples = 0
    for _ in range(10):
        truth, report, _, _ = record("spin", 0.02, 499)
        used += truth["used"]
        samples += report["totals"]["value"] * 499 / 1e9
    due = used * 499 / 1e9
    print(f"# {samples:.0f} samples, where {due:.0f} were due")
    assert abs(samples - due) < 3 * math.sqrt(due) + 10, (samples, due)


def perf_says_what_it_cannot_see():
    """Children that end before their first tick: none of them has a sample, the one that makes them may."""
    file = new_place("cpu.raw")
    done = call(GOSYM, "record", "-F", 99, "--sampler", "perf", "-o", file, "--", measured(), "children", 1)
    used = json.loads(done.out)["used"] / 1e9
    shown = gosym("report", file, check=False)
    said = re.search(r" the threads used ([\d.]+) s of CPU time, but each ended before its first tick", done.err) or \
        re.search(r"^unsampled +.* of ([\d.]+) s that the kernel charged has no sample: mostly of\s+threads that "
                  "ended before", shown.out, re.MULTILINE)
    assert said, (done.err, shown)
    # perf_event counts from switch to switch, without the kernel's own part of these.
    assert abs(float(said[1]) - used) < 0.2 * used, (said, used)
    assert "used no CPU" not in done.err + shown.err, (done.err, shown.err)


def few_files_leave_few_timers():
    cpus = len(os.sched_getaffinity(0))
    allowed = max(4 * 9 * cpus, 64)
    _, _, _, said = record("spin", 0.1, 499, before=["prlimit", f"--nofile={allowed}"])
    assert f"8 timers a CPU, not 16, as {allowed} open files are allowed" in said, said
    _, _, _, said = record("spin", 0.1, 499)
    assert "timers a CPU" not in said, said


run([("a program that sleeps for a nanosecond at a time", lambda: function_has_its_time("nap1ns", 1999)),
     ("and for 50 us", lambda: function_has_its_time("nap50us", 1999)),
     # At this rate the first 20 us after a sleep lose about a tenth, a quarter at 10 kHz, as they do with
     # sixteen such events of perf without BPF. This asks for what a program has that works for longer.
     ("and at 5 kHz", lambda: function_has_its_time("nap1ns", 4999, turn_us=400)),
     ("threads that wake each other", lambda: function_has_its_time("pipe", 1999)),
     ("what the kernel charged is told", charged_is_what_the_kernel_charged),
     ("the start of a recording has its samples", start_has_samples),
     ("perf_event's sampler says what it cannot see", perf_says_what_it_cannot_see),
     ("few open files leave fewer timers", few_files_leave_few_timers)])
