#!/usr/bin/python3
"""Where threads wait and why, against what they say of themselves and the kernel's own account.

    off_cpu.py GOSYM
"""
import collections
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import time

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, Skip, call, compiled, folded, go, gosym, new_place,
                    pprof, pprof_file, recording, run, wait_for)

# It fills what is allocated, which takes a helper that is started for the last waits a tenth of a second.
os.environ.pop("MALLOC_PERTURB_", None)

SECONDS = 4
CALLERS = ["--call-graph", "auto,4096"]  # so that the rings have room for all
ALL = ["-e", "off-cpu", "--off-cpu=0", *CALLERS]  # each wait is a sample
DUMP = pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures" / "dump_recording"

Thread = collections.namedtuple("Thread", "role tid begin end cpu delay")
Wait = collections.namedtuple("Wait", "tid state waker begin end weight")


@functools.cache
def build_waits():
    return compiled("gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", FIXTURES / "waits.c",
                    output=new_place("waits"))


def threads_of(text):
    return [Thread(role, *map(int, numbers)) for role, *numbers in map(str.split, text.splitlines())]


@functools.cache
def recorded(*options):
    """A recording of all roles, and what the threads said at their end. Sums are judged where nothing
    is lost: what a machine that is busy with other things loses is told, and losses.py judges that."""
    file = new_place("cpu.raw")
    # The recorder has a turn when it needs one: its rings are full after a quarter of a second.
    program = ["nice", "-n", "19", build_waits()]
    for _ in range(3):
        told = gosym("record", *options, "-o", file, "--", *program, SECONDS, new_place("disk"))
        if ", 0 lost" in told.err:
            return file, threads_of(told.out)
    raise AssertionError(told.err)


@functools.cache
def waits_of(file, event=0):
    waits = []
    for line in call(DUMP, file).out.splitlines():
        sample = json.loads(line)
        if sample["kind"] == "sample" and sample["event"] == event:
            texts = [bytes.fromhex(sample[name]).decode() for name in ("state", "waker")]
            waits.append(Wait(sample["tid"], *texts, sample["time"] - sample["weight"], sample["time"],
                              sample["weight"]))
    return waits


def within(wait, thread):
    """How much of a wait lies in the time that a thread tells of."""
    return max(0, min(wait.end, thread.end) - max(wait.begin, thread.begin))


def sums_by_state(waits, thread):
    sums = collections.Counter()
    for wait in waits:
        if wait.tid == thread.tid:
            sums[wait.state] += within(wait, thread)
    return sums


# Some microseconds of each switch, and of each interrupt that may be the reason of one, are the thread's
# to one clock and not to the other: 2 to 4 on a slow virtual machine.
SWITCH = 5_000


def close(told, truth, what, share=0.02, least=5_000_000, switches=0):
    assert abs(told - truth) <= max(share * truth, least) + SWITCH * switches, \
        f"{what}, {switches} switches: {told / 1e6:.1f} ms, not {truth / 1e6:.1f}"


def switches_of(thread, waits):
    return sum(wait.tid == thread.tid for wait in waits)


def time_on_and_off_cpu_is_elapsed_time():
    file, threads = recorded(*ALL)
    waits = waits_of(file)
    assert len(threads) == 16, threads
    for thread in threads:
        sums = sums_by_state(waits, thread)
        close(sums.total(), thread.end - thread.begin - thread.cpu, thread,
              switches=switches_of(thread, waits))


def waiting_for_a_cpu_is_what_the_kernel_counts():
    file, threads = recorded(*ALL)
    waits = waits_of(file)
    told = [sums_by_state(waits, thread) for thread in threads]
    for thread, sums in zip(threads, told):
        if thread.role == "spin":
            close(sums["waiting for a CPU"] + sums["throttled"], thread.delay, thread,
                  switches=switches_of(thread, waits))
            assert not sums["sleeping"], (thread, sums)
    # What the kernel counts begins a little later, when a thread that was woken is in the queue.
    close(sum(sums["waiting for a CPU"] + sums["throttled"] for sums in told),
          sum(thread.delay for thread in threads), "all", 0.03)


def states_are_those_of_what_threads_do():
    file, threads = recorded(*ALL)
    waits = waits_of(file)
    asleep = collections.defaultdict(collections.Counter)
    for thread in threads:
        for state, amount in sums_by_state(waits, thread).items():
            if state not in ("waiting for a CPU", "throttled"):
                asleep[thread.role][state] += amount
    for role in ("sleep-long", "sleep-short", "sleep-once", "lock", "ask", "answer"):
        assert asleep[role]["sleeping"] > 0.95 * asleep[role].total() > 0, (role, asleep[role])
    assert asleep["disk"]["disk sleep"] > 0.5 * asleep["disk"].total() > 0, asleep["disk"]


def wakers_are_named():
    file, threads = recorded(*ALL)
    waits = waits_of(file)
    tids = {thread.role: thread.tid for thread in threads}

    def wakers(role):
        amounts = collections.Counter()
        for wait in waits:
            if wait.tid == tids[role] and wait.state == "sleeping":
                amounts[re.sub(r" \(\d+\)$", "", wait.waker)] += wait.weight
        return amounts

    for role, known in (("ask", ["answer"]), ("sleep-long", ["[interrupt]"]),
                        ("answer", ["ask", "[interrupt]"])):
        amounts = wakers(role)
        assert sum(amounts[waker] for waker in known) > 0.9 * amounts.total() > 0, (role, amounts)
    assert re.search(r"  answer \(\d+\)$", gosym("report", file, "--by", "waker").out, re.M)
    # Who woke a thread is why it waits for a CPU then; of one that was preempted nobody is.
    woken = {(wait.tid, wait.end): wait.waker for wait in waits if wait.state == "sleeping"}
    known = [wait for wait in waits if wait.state == "waiting for a CPU" and (wait.tid, wait.begin) in woken]
    assert len(known) > 100 and all(wait.waker == woken[wait.tid, wait.begin] for wait in known), known[:10]
    assert any(not wait.waker for wait in waits if wait.tid == tids["spin"]), waits


def stacks_end_where_a_thread_waits():
    file, threads = recorded(*ALL)
    found = collections.defaultdict(collections.Counter)
    for stack in folded(file):
        for function in ("sleep_long", "sleep_once", "hold_lock", "ask", "use_disk", "spin"):
            if function in stack.frames:
                found[function][stack.comm] += stack.count
        assert not any(frame.startswith(("__schedule", "schedule_[k", "bpf_")) for frame in stack.frames), stack
    totals = {thread.role: thread.end - thread.begin - thread.cpu for thread in threads}
    for function, role in (("sleep_long", "sleep-long"), ("ask", "ask"), ("use_disk", "disk")):
        assert found[function].keys() == {role}, found
        assert found[function][role] > 0.9 * totals[role], (found, totals)
    # It slept when the recording began to look at it, and until the end.
    assert found["sleep_once"]["sleep-once"] > 0.9 * totals["sleep-once"], (found, totals)


def a_threshold_keeps_the_sums():
    """Of intervals that are shorter some are samples; the bounds are those of six standard deviations."""
    threshold = 1_000_000
    file, threads = recorded("-e", "off-cpu", "--off-cpu=1ms", *CALLERS)
    waits = waits_of(file)
    assert min(wait.weight for wait in waits) >= threshold
    # All of them are one process, which has more waits than are sampled by that threshold.
    told = json.loads(gosym("report", file, "--json").out)["recording"]
    for raised in told.get("raised_thresholds", []):
        threshold = max(threshold, raised["threshold_ns"])
    for thread in threads:
        told = sum(wait.weight for wait in waits if wait.tid == thread.tid and within(wait, thread))
        truth = thread.end - thread.begin - thread.cpu
        close(told, truth, thread, 0.02, 6 * math.sqrt(truth * threshold) + 10 * threshold)
    assert len(waits) < len(waits_of(recorded(*ALL)[0]))


def of_running_threads_that_wait_from_before_to_after():
    process = subprocess.Popen([build_waits(), "1000", new_place("disk"), "sleep-once", "lock"],
                               stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(list(pathlib.Path(f"/proc/{process.pid}/task").iterdir())) == 6, "threads")
        time.sleep(0.2)
        with recording("-p", process.pid, *ALL) as (_, file):
            time.sleep(1)
        text = gosym("report", file, "--by", "comm").out
        elapsed = float(re.search(r"of waiting in ([\d.]+) s", text)[1])
        sums = {comm: float(amount) for amount, comm in re.findall(r" ([\d.]+)  ([\w-]+)$", text, re.M)}
        assert abs(sums["sleep-once"] - elapsed) <= 0.02 * elapsed, text
        assert abs(sums["waits"] - elapsed) <= 0.02 * elapsed, text  # waits for the others
        assert abs(sums["lock"] - 4 * elapsed) <= 0.05 * 4 * elapsed, text
        functions = {stack.comm: set(stack.frames) for stack in folded(file) if stack.comm != "lock"}
        assert {"sleep_once", "usleep"} <= functions["sleep-once"], functions
        assert "main" in functions["waits"], functions
    finally:
        process.kill()
        process.wait()


def a_part_of_the_time_has_its_part_of_the_waits():
    file, threads = recorded(*ALL)
    for begin, end in ((1, 2), (1.25, 1.75)):
        text = gosym("report", file, "--time", f"{begin},{end}", "--comm", "sleep-once").out
        told = float(re.search(r": ([\d.]+) (?:s|ms) of waiting in", text)[1])
        told /= 1000 if " ms of waiting" in text else 1
        assert abs(told - (end - begin)) < 0.02, text
    seconds = re.findall(r"^ *[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)  +([\d.]+) s$",
                         gosym("report", file, "--comm", "sleep-once", "--by", "time:1s").out, re.M)
    whole = [time for amount, time in seconds if 0.95 < float(amount) < 1.02]
    assert {"1.000", "2.000"} <= set(whole), seconds


def beside_samples_of_a_cpu():
    file = new_place("cpu.raw")
    gosym("record", "-q", "-e", "cpu-clock", "-F", 499, "--off-cpu=100us", "-o", file, "--",
          build_waits(), 2, new_place("disk"), "spin", "sleep-long")
    text = gosym("report", file).out
    assert re.search(r"^[\d,]+ samples of cpu-clock at 499 Hz: ", text, re.M), text
    assert re.search(r"^[\d,]+ samples of off-cpu, one in 100 us: [\d.]+ s of waiting in ", text, re.M), text
    assert {stack.comm for stack in folded(file, "--event", "cpu-clock") if "spin" in stack.frames} == {"spin"}
    waits = waits_of(file, event=1)
    assert waits and not [wait for wait in waits_of(file, event=0) if wait.state]
    types = call("/usr/bin/go", "tool", "pprof", "-raw", pprof_file(file), env=GO_ENVIRONMENT).out
    assert "cpu/nanoseconds" in types and "off-cpu/nanoseconds" in types, types[:500]
    top = call("/usr/bin/go", "tool", "pprof", "-sample_index=off-cpu", "-tags", pprof_file(file),
               env=GO_ENVIRONMENT).out
    assert "state:" in top and "sleeping" in top, top


def the_first_screen_tells_of_a_lock_convoy():
    file = new_place("cpu.raw")
    gosym("record", "-q", *ALL, "-o", file, "--", build_waits(), 1, new_place("disk"), "lock")
    screen = gosym("report", "--event", "off-cpu", file).out.splitlines()[:30]
    text = "\n".join(screen)
    assert "states     sleeping" in text and "futex" in text, text
    assert re.search(r"wait_for_lock > hold_lock", text), text


def the_first_screen_tells_of_a_go_programs_lock():
    folder = new_place("convoy")
    folder.mkdir()
    (folder / "go.mod").write_text("module convoy\n\ngo 1.19\n")
    (folder / "main.go").write_text("""package main

/*
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void hold(void) { pthread_mutex_lock(&lock); usleep(2000); pthread_mutex_unlock(&lock); }
*/
import "C"
import "time"

func serve() {
	for {
		C.hold()
	}
}

func main() {
	for i := 0; i < 4; i++ {
		go serve()
	}
	time.Sleep(time.Second)
}
""")
    program = compiled(go("debian"), "build", "-buildvcs=false", "-ldflags=-s -w", output=folder / "convoy",
                       cwd=folder, env=GO_ENVIRONMENT | {"CGO_ENABLED": "1"})
    file = new_place("cpu.raw")
    gosym("record", "-q", *ALL, "-o", file, "--", program)
    text = gosym("report", "--event", "off-cpu", file).out
    assert "main.serve" in text and "futex" in text, text
    # The table's function of a wait is neither the kernel's nor the runtime's; exports have the innermost.
    title, row = re.search(r"^(self %.* waits in .*)\n(.*)$", text, re.M).groups()
    function = row[title.index("function"):].split()[0]
    ran = {stack.frames[-1] for stack in folded(file, "--event", "off-cpu")}
    in_kernel = {frame.removesuffix("_[k]") for frame in ran if frame.endswith("_[k]")}
    assert function not in in_kernel and not function.startswith("runtime."), text
    assert any("futex" in frame for frame in in_kernel), ran


def idle_threads_of_gos_runtime_are_told_apart():
    """Waits of the runtime alone are one line, outside of what is shown; nothing of it is lost."""
    program = compiled(go("debian"), "build", "-buildvcs=false", "-ldflags=-s -w", output=new_place("requests"),
                       cwd=FIXTURES / "requests", env=GO_ENVIRONMENT | {"CGO_ENABLED": "0"})
    file = new_place("cpu.raw")
    with subprocess.Popen([program, "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        gosym("record", "-q", "-e", "off-cpu", "-p", process.pid, "-d", "2s", "-o", file)
        process.stdin.close()
    text, whole = gosym("report", file).out, gosym("report", "--idle", file).out
    idle = re.search(r"^idle +([\d.]+) s more in idle threads of Go's runtime, see --idle; .* record --wall$", text, re.M)
    told, all_told = (float(re.search(r": ([\d.]+) s of waiting in", one)[1]) for one in (text, whole))
    assert abs(told + float(idle[1]) - all_told) < 0.03, (text, whole)
    assert float(idle[1]) > 1 and "\nidle " not in whole, (text, whole)  # of the watchman alone two
    totals = json.loads(gosym("report", "--json", file).out)["totals"]
    assert abs(totals["idle_value"] / 1e9 - float(idle[1])) < 0.01, (totals, text)
    of_idle = [stack for stack in folded(file) if stack.comm.endswith(" [idle thread of Go's runtime]")]
    assert abs(sum(stack.count for stack in of_idle) - totals["idle_value"]) < 1000, (of_idle, totals)
    profile = pprof(file)
    for sample in profile.samples:
        functions = {line.function for location in sample.locations for line in profile.locations[location].lines}
        if functions & {"runtime.stopm", "runtime.sysmon", "runtime.findRunnable"}:
            assert sample.labels["state"] != "sleeping", (functions, sample)
        if sample.labels["state"] == "idle thread of Go's runtime":
            assert not [function for function in functions if function.startswith("main.")], functions


def cgroup_with_a_quota():
    """A cgroup that may use a hundredth of a CPU, whatever there is to be had."""
    for root, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "300000", "cpu.cfs_quota_us": "3000"}),
                        ("/sys/fs/cgroup", {"cpu.max": "3000 300000"})):
        place = None
        try:
            place = pathlib.Path(tempfile.mkdtemp(prefix="gosym-test-", dir=root))
            for name, value in files.items():
                (place / name).write_text(value)
            return place
        except OSError:
            if place:
                place.rmdir()
    raise Skip("no cgroup can be throttled here")


def the_first_screen_tells_of_a_throttled_cgroup():
    place = cgroup_with_a_quota()
    try:
        file = new_place("cpu.raw")
        command = f"echo $$ > {place}/cgroup.procs && exec {build_waits()} 3 {new_place('disk')} spin"
        gosym("record", "-q", *ALL, "-o", file, "--", "sh", "-c", command)
        text = gosym("report", "--event", "off-cpu", file).out
        share = re.search(r"^states .*throttled ([\d.]+) %", text, re.M)
        assert share and float(share[1]) > 20, text
    finally:
        wait_for(lambda: not (place / "cgroup.procs").read_text(), "end of the throttled program")
        place.rmdir()


def the_first_screen_tells_of_a_throttled_go_program():
    program = compiled(go("debian"), "build", "-buildvcs=false", "-ldflags=-s -w", output=new_place("stuck"),
                       cwd=FIXTURES / "stuck", env=GO_ENVIRONMENT | {"CGO_ENABLED": "0"})
    place = cgroup_with_a_quota()
    process = subprocess.Popen(["sh", "-c", f"echo $$ > {place}/cgroup.procs && exec {program} busy"],
                               stdout=subprocess.PIPE, env=GO_ENVIRONMENT | {"GOMAXPROCS": "2"})
    try:
        assert process.stdout.readline() == b"ready\n"
        file = new_place("cpu.raw")
        gosym("record", "-q", "-e", "off-cpu", "-p", process.pid, "-d", "3s", "-o", file)
        text = gosym("report", file).out
        share = re.search(r"^states .*throttled ([\d.]+) %", text, re.M)
        assert share and float(share[1]) > 10, text
        assert any("main.compute" in stack.frames for stack in folded(file)), text
    finally:
        process.kill()
        process.communicate()
        wait_for(lambda: not (place / "cgroup.procs").read_text(), "end of the throttled program")
        place.rmdir()


@functools.cache
def build_sleepers():
    return compiled("gcc", "-O1", "-pthread", FIXTURES / "sleepers.c", output=new_place("sleepers"))


def beside_sleepers(*numbers, share):
    """Records everybody while two pairs of threads hand a byte to and fro beside threads that sleep 10 ms
    and again. What is told of the pairs may be wrong by a share. Gives the file, and the stacks of the
    sleepers."""
    sleepers = subprocess.Popen([build_sleepers(), *map(str, numbers)], stdout=subprocess.PIPE)
    try:
        assert sleepers.stdout.readline() == b"ready\n"
        with recording("-a", "-e", "off-cpu") as (_, file):
            pairs = [subprocess.Popen([build_waits(), "3", new_place("disk"), "ask", "answer"],
                                      stdout=subprocess.PIPE, text=True) for _ in range(2)]
            threads = [thread for pair in pairs for thread in threads_of(pair.communicate()[0])]
    finally:
        sleepers.kill()
        sleepers.communicate()
    told = collections.Counter()
    for wait in waits_of(file):
        told[wait.tid] += wait.weight
    truth = sum(thread.end - thread.begin - thread.cpu for thread in threads)
    close(sum(told[thread.tid] for thread in threads), truth, "the pairs", share)
    return file, [stack for stack in folded(file) if stack.comm == "sleepers"]


def a_process_has_samples_up_to_a_rate():
    """And its sums are right for all that. Without the limit these were 60,000 a second."""
    threads = 600
    file, stacks = beside_sleepers(threads, share=0.1)
    text = gosym("report", file, "--comm", "sleepers").out
    count = int(re.search(r"^([\d,]+) samples? of off-cpu", text)[1].replace(",", ""))
    seconds = float(re.search(r" in ([\d.]+) s$", text, re.M)[1])
    assert 0 < count < 1000 * (seconds + 1), text  # some before it is known how many they are
    raised = re.search(r"^threshold +up to ([\d.]+) (m?s) for sleepers \((\d+)\)", text, re.M)
    assert raised, text
    told = json.loads(gosym("report", file, "--comm", "sleepers", "--json").out)["recording"]
    largest = told["raised_thresholds"][0]
    assert largest["pid"] == int(raised[3]) and largest["process"] == "sleepers", largest
    assert largest["threshold_ns"] == float(raised[1]) * (1e6 if raised[2] == "ms" else 1e9), (largest, text)
    close(sum(stack.count for stack in stacks), threads * seconds * 1e9, "sleepers", 0.1)


def many_processes_have_fewer_each():
    """The pairs as well: some 60 samples each, so that their sum has a standard deviation of a tenth."""
    processes = 500
    file, stacks = beside_sleepers(1, processes, share=0.5)
    text = gosym("report", file).out
    seconds = float(re.search(r" in ([\d.]+) s$", text, re.M)[1])
    count = int(re.search(r"^([\d,]+) samples? of off-cpu", text)[1].replace(",", ""))
    assert 0 < count < 15_000 * (seconds + 1), text  # without the limit 50,000 a second, and the pairs'
    close(sum(stack.count for stack in stacks), processes * seconds * 1e9, "sleepers", 0.1)


def what_cannot_be_is_refused():
    def refused(*options):
        done = gosym("record", *options, "-o", new_place("cpu.raw"), "--", "true", check=False)
        assert done.status == 2 and not done.out, (options, done)
        return done.err

    assert "off-cpu needs the BPF sampler" in refused("--off-cpu", "--sampler=perf")
    assert "on no CPU" in refused("--off-cpu", "-C", "0")
    assert "'2s' is longer than a second" in refused("--off-cpu=2s")
    assert "'soon' is not a time" in refused("--off-cpu=soon")
    assert "'freq=9' is not period=N" in refused("-e", "off-cpu/freq=9/")
    assert "more than 4 events" in refused("--off-cpu", "-e", "cpu-clock,cs,faults,migrations")


def sleeps(pid):
    return re.search(r"\(sleep\) S ", pathlib.Path(f"/proc/{pid}/stat").read_text())


def one_wait_from_before_to_after_is_a_sample():
    sleeper = subprocess.Popen(["sleep", "100"])
    try:
        wait_for(lambda: sleeps(sleeper.pid), "sleep")
        file = new_place("cpu.raw")
        told = gosym("record", "--off-cpu", "-p", sleeper.pid, "-d", "1s", "-o", file).err
    finally:
        sleeper.kill()
        sleeper.wait()
    assert "no samples" not in told and told.startswith("recorded 1 sample of 1 process"), told
    waits = waits_of(file, event=1)
    assert len(waits) == 1 and waits[0].weight > 5e8, waits


def many_waits_from_before_to_after_are_all_there():
    """More than the kernel gives at once, in 32 KiB."""
    threads = 400
    sleepers = subprocess.Popen([build_sleepers(), str(threads), "1", "100000000"], stdout=subprocess.PIPE)
    try:
        assert sleepers.stdout.readline() == b"ready\n"
        file = new_place("cpu.raw")
        gosym("record", "--off-cpu", "-p", sleepers.pid, "-d", "1s", "-o", file)
    finally:
        sleepers.kill()
        sleepers.communicate()
    long = [wait.tid for wait in waits_of(file, event=1) if wait.weight > 5e8]
    assert len(long) == len(set(long)) == threads, (len(long), len(set(long)))


def together(*cases):
    """The same cases, which the first of them begins all at once: they wait most of their time. What all
    of them took is told of the first."""
    @functools.cache
    def begun():
        threads = concurrent.futures.ThreadPoolExecutor(len(cases))
        return {title: threads.submit(case) for title, case in cases}
    return [(title, lambda title=title: begun()[title].result()) for title, _ in cases]


run([("time on and off the CPU is elapsed time, of each thread", time_on_and_off_cpu_is_elapsed_time),
     ("waiting for a CPU is what the kernel counts", waiting_for_a_cpu_is_what_the_kernel_counts),
     ("states are those of what threads do", states_are_those_of_what_threads_do),
     ("wakers are named", wakers_are_named),
     ("stacks end where a thread waits", stacks_end_where_a_thread_waits),
     ("a threshold keeps the sums", a_threshold_keeps_the_sums),
     ("a part of the time has its part of the waits", a_part_of_the_time_has_its_part_of_the_waits),
     ("beside samples of a CPU, in reports and pprof", beside_samples_of_a_cpu),
     ("what cannot be is refused", what_cannot_be_is_refused),
     ("threads that wait from before the recording until after it",
      of_running_threads_that_wait_from_before_to_after),
     *together(
         ("one wait from before the recording until after it is a sample",
          one_wait_from_before_to_after_is_a_sample),
         ("waits of many threads from before the recording until after it are all there",
          many_waits_from_before_to_after_are_all_there),
         ("the first screen tells of a lock convoy", the_first_screen_tells_of_a_lock_convoy),
         ("the first screen tells of a Go program's lock", the_first_screen_tells_of_a_go_programs_lock),
         ("idle threads of Go's runtime are told apart", idle_threads_of_gos_runtime_are_told_apart),
         ("the first screen tells of a throttled cgroup", the_first_screen_tells_of_a_throttled_cgroup),
         ("the first screen tells of a throttled Go program",
          the_first_screen_tells_of_a_throttled_go_program)),
     ("a process has samples up to a rate, and keeps its sums and those of others",
      a_process_has_samples_up_to_a_rate),
     ("many processes have fewer samples each, and others keep their sums",
      many_processes_have_fewer_each)])
