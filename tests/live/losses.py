#!/usr/bin/python3
"""What is lost is counted to the sample, and on a busy machine nothing is.

    losses.py GOSYM [SECONDS [hotplug]]    records so long at 10 kHz (5), and stops the recorder so
                                           long less one second: rings are full after 2 or 3;
                                           hotplug: takes CPU 1 away for some seconds
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from common import (FIXTURES, WORK, build_spin, busy_cpus, call, chunk_count, compiled, cpu_ticks, facts,
                    folded, gosym, is_kernel, new_place, record, recording, run, running, told_as_cut,
                    wait_for)

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
PERF_EVENT = "7"  # BPF_PROG_TYPE_PERF_EVENT
CPU = pathlib.Path("/sys/devices/system/cpu/cpu1/online")


@contextlib.contextmanager
def sysctl(name, value):
    file = pathlib.Path("/proc/sys/kernel", name)
    before = file.read_text()
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(before)


def program_id(pid):
    """The BPF program that each tick of the sampling timer runs."""
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(re.findall(r"^(\w+):\t(.*)$", entry.read_text(), re.MULTILINE))
        if fields.get("prog_type") == PERF_EVENT:
            return fields["prog_id"]
    raise AssertionError("no BPF program")


@contextlib.contextmanager
def counted_ticks(pid):
    """A function that tells how often the program ran, also when the recorder has gone."""
    pin = pathlib.Path(f"/sys/fs/bpf/gosym-test-{os.getpid()}")
    call("bpftool", "prog", "pin", "id", program_id(pid), pin)
    try:
        show = ["bpftool", "-j", "prog", "show", "pinned", pin]
        yield lambda: json.loads(call(*show).out)["run_cnt"]
    finally:
        pin.unlink()


def nothing_is_lost():
    """Whatever else runs. The CPU time includes some from before the recording."""
    with busy_cpus() as pids:
        before = sum(map(cpu_ticks, pids))
        file = record("-p", ",".join(map(str, pids)), seconds=SECONDS, hertz=10000)
        used = (sum(map(cpu_ticks, pids)) - before) / os.sysconf("SC_CLK_TCK")
    found = facts(file)
    print(f"# {found['samples']} samples in {used:.1f} s of CPU time, {found['lost']} lost")
    assert found["lost"] == 0, gosym("report", "-v", file).err
    assert found["samples"] > 0.5 * 10000 * used, found


def losses_told(file):
    """The sum of those of all seconds and CPUs, and the total."""
    done = gosym("report", "-v", file)
    parts = re.findall(r"^lost .* s, CPU \d+: ([\d,]+) samples", done.err, re.MULTILINE)
    total = re.search(r"^lost +([\d,]+) of", done.out, re.MULTILINE)
    number = lambda text: int(text.replace(",", ""))
    return sum(map(number, parts)), number(total[1])


def every_loss_is_counted():
    with sysctl("bpf_stats_enabled", "1"), busy_cpus(), \
            recording("-q", "-a", "-F", "9999", "--max-loss", "1") as (recorder, file), \
            counted_ticks(recorder.pid) as ticks:
        wait_for_chunks(file, 4)
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(SECONDS - 1)
        recorder.send_signal(signal.SIGCONT)
        wait_for_chunks(file, 4)
        recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=60)
        found, counted = facts(file), ticks()
    told = found["samples"] + found["lost"]
    print(f"# {found['samples']} samples + {found['lost']} lost = {told}; {counted} ticks")
    assert found["lost"] > 0
    # Until the slow timers of a clock have taken over, the program also runs for ticks that do not count.
    assert 0.98 * counted <= told <= counted
    parts, total = losses_told(file)
    assert parts == total == found["lost"], (parts, total, found)
    assert recorder.returncode == 3, recorder.returncode
    for limit, status in [("1", 3), ("100", 0)]:
        assert gosym("report", "--max-loss", limit, file, check=False).status == status


def told(text, pattern):
    """The sum of the numbers that a pattern finds in a report."""
    return sum(float(number.replace(",", "")) for number in re.findall(pattern, text, re.MULTILINE))


def ticks_that_do_not_come(*options):
    """Where each would come before the last is done with: the CPU time is there for all that."""
    with running(build_spin()) as pid:
        before = cpu_ticks(pid)
        with recording("-F", "max", *options, "-p", pid) as (recorder, file):
            begun = cpu_ticks(pid)
            wait_for(lambda: cpu_ticks(pid) > begun + 200, "work")
            ended = cpu_ticks(pid)
            recorder.send_signal(signal.SIGINT)
            said = recorder.communicate(timeout=60)[1]
            least, most = ((end - begin) / os.sysconf("SC_CLK_TCK")
                           for begin, end in ((begun, ended), (before, cpu_ticks(pid))))
    report = gosym("report", file).out
    stored = told(report, r"^[\d,]+ samples of cpu-clock at \d+ Hz: ([\d.]+) s of CPU time") + \
        told(report, r"^[\d,]+ samples of cpu-clock at \d+ Hz: ([\d.]+) ms of CPU time") / 1000
    missing = told(report, r"^(?:lost|skipped) .*\), ([\d.]+) s of CPU time") + \
        told(report, r"^throttled +([\d.]+) s of CPU time")
    skipped = told(report, r"^skipped +([\d,]+) of")
    print(f"# {least:.2f} to {most:.2f} s used, {stored:.2f} stored, {missing:.2f} missing, "
          f"{skipped:.0f} ticks skipped")
    assert 0.75 * least < stored + missing < 1.1 * most, report
    every = facts(file)["samples"] + facts(file)["lost"] + skipped
    if skipped > 0.01 * every:
        assert re.search(r"ticks \(\d+\.\d %\) gave no sample: ", said), said
        assert re.search(r"^recorded .* lost, [\d,]+ skipped, ", said, re.MULTILINE), said


def programs_have_time_to_run():
    """At any rate that is asked for."""
    for rate, said in [(["-F", 50_000], "sampling at 10,000 Hz, not 50,000: more leaves"),
                       (["-e", "cpu-clock", "-c", 20_000], "sampling each 100,000 ns, not 20,000: less")]:
        assert said in gosym("record", *rate, "-o", WORK / "fast.raw", "--", "true").err, rate


def ends_are_sampled():
    """Processes that give back their memory have no user stack any more, and nothing of one is cut."""
    program = compiled("gcc", "-O1", FIXTURES / "exits.c", output=new_place("exits"))
    for options in [["--call-graph", "auto"], ["--call-graph", "fp"], ["--call-graph", "dwarf"]]:
        file = new_place("cpu.raw")
        gosym("record", "-q", "-F", 999, *options, "-o", file, "--", program, 30)
        stacks = folded(file)
        ending = [stack for stack in stacks if any("exit_mm" in frame for frame in stack.frames)]
        count = sum(stack.count for stack in ending)
        every = sum(stack.count for stack in stacks)
        cut = told_as_cut(file)[0]
        print(f"# {options[1]}: {count} of {every} samples in exit_mm, {cut} cut")
        assert count > 0.02 * every, count
        assert all(is_kernel(frame) for stack in ending for frame in stack.frames), ending
        expected = 0.002 * every  # some thirteen hundred: chance alone is as large
        assert cut <= expected + 3 * expected ** 0.5, cut


def throttling_is_told():
    with busy_cpus(), recording("-q", "-a", "-F", "9999") as (_, file):
        with sysctl("perf_event_max_sample_rate", "1000"):
            wait_for(lambda: facts(file)["throttled"] > 100_000_000, "throttling")
    done = gosym("report", "-v", file)
    parts = sum(map(float, re.findall(r"throttled (\d+\.\d+) s", done.err)))
    total = float(re.search(r"^throttled +(\d+\.\d+) s", done.out, re.MULTILINE)[1])
    print(f"# throttled {parts:.3f} s")
    assert abs(parts - total) < 0.05, (parts, total)


@contextlib.contextmanager
def cpu_offline():
    """The CPU comes back whatever happens to us: then the end of its input wakes the shell."""
    guard = subprocess.Popen(["sh", "-c", f"read line; echo 1 > {CPU}"], stdin=subprocess.PIPE,
                             start_new_session=True)
    try:
        CPU.write_text("0")
        yield
    finally:
        guard.communicate()


def cpus_come_and_go():
    """Programs that may run on one CPU only, before and after that was away."""
    with recording("-q", "-a", "-F", "999") as (_, file):
        work_on_it("before", file)
        with cpu_offline():
            wait_for_chunks(file, 8)
        wait_for_chunks(file, 8)  # it looks for CPUs as often as it writes
        work_on_it("after", file)
    for name in ["before", "after"]:
        count = sum(stack.count for stack in folded(file, "--comm", name))
        print(f"# {count} samples {name}")
        assert count > 10


def work_on_it(name, file):
    shutil.copy(build_spin(), WORK / name)
    with running("taskset", "-c", 1, WORK / name):
        wait_for_chunks(file, 8)


def wait_for_chunks(file, count):
    """Some two a second come if nothing else does."""
    before = chunk_count(file)
    wait_for(lambda: chunk_count(file) >= before + count, "more recorded")


# Whatever else is pinned to that CPU, or measures it, would suffer from the last one.
run([("at 10 kHz on all CPUs nothing is lost", nothing_is_lost),
     ("what a stopped recorder loses is counted", every_loss_is_counted),
     ("ticks that do not come are told", ticks_that_do_not_come),
     ("and those of perf_event", lambda: ticks_that_do_not_come("--sampler", "perf")),
     ("programs have time to run at any rate", programs_have_time_to_run),
     ("ends of processes are sampled", ends_are_sampled),
     ("throttling is told", throttling_is_told)] +
    [("CPUs come and go", cpus_come_and_go)] * ("hotplug" in sys.argv))
