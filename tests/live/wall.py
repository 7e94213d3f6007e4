#!/usr/bin/python3
"""Samples of what goroutines do, against what the program and `goroutines` say of them.

    wall.py GOSYM
"""
import collections
import ctypes
import functools
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, Skip, call, compiled, folded, go, go_versions, gosym, host_of,
                    new_place, pprof, recording, run, running, wait_for)

VERSIONS = go_versions("1.15", "1.27")
WITH_C = go_versions("1.15", "1.19", "1.27")
DUMP = pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures" / "dump_recording"


@functools.cache
def build(version, fixture="waiting", cgo=False):
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    return compiled(go(version), "build", *vcs, "-ldflags=-s -w", output=new_place(fixture),
                    cwd=FIXTURES / fixture, env=GO_ENVIRONMENT | {"CGO_ENABLED": str(int(cgo))})


class Program:
    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def states(pid):
    text = gosym("goroutines", "--by", "state", pid).out
    return {state: int(count.replace(",", ""))
            for count, state in re.findall(r"^ +([\d,]+) +[\d.]+% +(.+)$", text, re.M)}


def recorded(pid, *options, seconds=1):
    """A recording and how long it took, at the least and at the most."""
    file = new_place("wall.raw")
    begin = time.monotonic()
    gosym("record", "-q", "-p", pid, *options, "-d", f"{seconds}s", "-o", file)
    return file, seconds, time.monotonic() - begin


def each_for_itself(version):
    """Fewer goroutines than are read at a look: each has all the time, to the nanosecond."""
    with Program(build(version), new_place("own"), 1) as pid:
        own = states(pid)
        file, least, most = recorded(pid, "-e", "wall")
    times, by_state = collections.Counter(), collections.defaultdict(set)
    for sample in pprof(file, "--goid").samples:
        goid = sample.labels["goid"]
        times[goid] += sample.nanoseconds
        by_state[sample.labels["state"]].add(goid)
    assert {state: len(goids) for state, goids in by_state.items()} == own, (by_state, own)
    assert len(set(times.values())) == 1, times
    assert least <= next(iter(times.values())) / 1e9 <= most, (times, most)


def each_for_others(version):
    """The sum is that of all, and each kind of waiting has its part of it."""
    with Program(build(version), new_place("own"), 100) as pid:
        own = states(pid)
        file, least, most = recorded(pid, "-e", "wall", seconds=2)
    count = sum(own.values())
    found = collections.Counter()
    for sample in pprof(file).samples:
        found[sample.labels["state"]] += sample.nanoseconds / 1e9
    assert 0.98 * count * least <= sum(found.values()) <= 1.02 * count * most, (count, found)
    for state, number in own.items():
        share, own_share = found[state] / sum(found.values()), number / count
        assert abs(share - own_share) < 0.05, (state, share, own_share)


PHASES = ("sleep", "receive", "lock", "compute")


def as_the_program_samples(version):
    """Shares of the phases of goroutines, as the program finds them by runtime.GoroutineProfile."""
    process = subprocess.Popen([build(version, "phases")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    file, *_ = recorded(process.pid, "-e", "wall", seconds=6)
    out, _ = process.communicate()
    own = {name: int(count) for name, count in map(str.split, out.splitlines())}
    found = collections.Counter()
    profile = pprof(file)
    for sample in profile.samples:
        functions = {line.function for location in sample.locations for line in profile.locations[location].lines}
        if "main.run" in functions:
            phase = next((name for name in PHASES if f"main.{name}" in functions), "compute")
            found[phase] += sample.nanoseconds
    for name in PHASES:
        share, own_share = found[name] / found.total(), own[name] / sum(own.values())
        print(f"# {name}: {share:.2%}, by the program itself {own_share:.2%}")
        assert abs(share - own_share) < 0.03, (name, share, own_share)
    assert own["lock"] > 0 and own["receive"] > 0, own


WORK = {"main.ask": "query", "main.change": "lock", "main.compute": "compute", "main.handle": "handle",
        "main.client.gowrap1": "handle", "main.client": "wait", "main.main.gowrap1": "wait", "main.leak": "leak"}
REQUESTS = ("query", "lock", "compute")
KINDS = (*REQUESTS, "wait")


def requests_beside(leaked):
    """A server that says how long each kind of its work took, as samples of its goroutines tell it: how many
    there are of each kind, what they stand for, and the sum of squares of that."""
    process = subprocess.Popen([build("1.27", "requests"), str(leaked)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    file, *_ = recorded(process.pid, "-e", "wall", seconds=5)
    out, _ = process.communicate()
    own = {name: int(time) for name, time in map(str.split, out.splitlines())}
    counts, sums, squares = (collections.Counter() for _ in range(3))
    profile = pprof(file, "--goid")
    for sample in profile.samples:
        functions = {line.function for location in sample.locations for line in profile.locations[location].lines}
        work = next((name for function, name in WORK.items() if function in functions), None)
        if work == "handle":  # its stack is not known: it computes, or has not begun
            work = "query" if sample.labels["state"] == "runnable" else "compute"
        counts[work] += sample.count
        sums[work] += sample.nanoseconds
        squares[work] += sample.nanoseconds ** 2 / sample.count
    return file, own, counts, sums, squares


def beside_goroutines_that_rest(leaked):
    """Each request that is served is sampled at each look, however many goroutines wait for ever, and shares
    are those of the program's clocks. Looks come late on a busy machine, when who ran begins to wait."""
    file, own, counts, sums, squares = requests_beside(leaked)
    looks = len({json.loads(line)["time"] for line in call(DUMP, file).out.splitlines() if '"sample"' in line})
    served_at_once = sum(own[kind] for kind in REQUESTS) / (own["wait"] / 4)  # clients
    requests, expected = sum(counts[kind] for kind in REQUESTS), looks * served_at_once
    print(f"# {requests} samples of requests at {looks} looks, {expected:.0f} expected")
    assert abs(requests - expected) < 0.2 * expected, (requests, expected)
    whole, own_whole = (sum(of[kind] for kind in KINDS) for of in (sums, own))
    sigma = sum(squares[kind] for kind in KINDS) ** 0.5 / (sums["leak"] + whole)
    shares = [("leak", sums["leak"] / (sums["leak"] + whole), own["leak"] / (own["leak"] + own_whole), sigma, 0)]
    for kind in KINDS:
        share = own[kind] / own_whole
        others = sum(squares[other] for other in KINDS if other != kind)
        sigma = (squares[kind] * (1 - share) ** 2 + others * share ** 2) ** 0.5 / whole
        shares.append((kind, sums[kind] / whole, share, sigma, 0.02))
    for kind, share, own_share, sigma, late in shares:
        print(f"# {kind}: {share:.3%}, by the program's clocks {own_share:.3%}, sigma {sigma:.3%}")
        assert abs(share - own_share) <= 3 * sigma + late, (kind, share, own_share, sigma)
    header = re.search(r"^goroutines ([\d,]+) on average, (.+) looked at each time$", gosym("report", file).out, re.M)
    assert 0.98 * leaked <= int(header[1].replace(",", "")) < 1.02 * leaked + 20, header
    assert header[2] == "all" if leaked == 0 else 20 < float(header[2]) <= 32, header


def called_back(version):
    """Go code that C code called waits: the stacks go on to where the goroutine began, and are those that
    the program itself tells."""
    own = new_place("own")
    with Program(build(version, cgo=True), own, 1) as pid:
        file, *_ = recorded(pid, "-e", "wall")
    told = [re.findall(r"^(main\.\w+)\(", block, re.M) for block in own.read_text().split("\n\n")]
    told = {tuple(reversed(names)) for names in told if "main.waitForC" in names}
    assert len(told) == 2, told
    found = set()
    for stack in folded(file):
        if "main.waitForC" in stack.frames:
            assert stack.frames[0] == "runtime.goexit", stack
            found.add(tuple(frame for frame in stack.frames if frame.startswith("main.")))
    assert found == told, (found, told)


def running_for_c(version):
    """Go code that C threads call, and that runs: nothing of its stack can be read then, nor a function that
    it began with. That is said, whatever shows it, and no frame is made up."""
    folder = new_place("called")
    folder.mkdir()
    flags = [] if version == "1.15" else ["-buildvcs=false"]
    library = compiled(go(version), "build", *flags, "-buildmode=c-shared", output=folder / "work.so",
                       cwd=FIXTURES / "go_shared",
                       env=GO_ENVIRONMENT | {"CGO_ENABLED": "1", "GO111MODULE": "off"})
    program = host_of(library, folder / "main", source=FIXTURES / "go_shared" / "program" / "main.c")
    with running(program) as pid:
        file, *_ = recorded(pid, "--wall")
    wall = ["--event", "wall", file]
    called = [stack for stack in folded(file, "--event", "wall") if "[running, called from C]" in stack.frames]
    assert called and all(stack.frames == ["[running, called from C]"] for stack in called), called
    assert not any("no mapping" in frame for stack in folded(file, "--event", "wall") for frame in stack.frames)
    told = gosym("report", "-v", *wall)
    assert re.search(r"\[running, called from C\] +goroutines that C code entered", told.out + told.err), told
    assert re.search(r"[1-9][\d,]* cut, ", told.err), told.err
    for by in ("module", "package", "category"):
        told = gosym("report", "--by", by, *wall).out
        assert "[running, called from C]" in told and "[no mapping]" not in told, told
    page = file.with_suffix(".html")
    gosym("report", *wall, "--html", page)
    assert "[running, called from C]" in gosym("report", page).out


def in_time_namespace():
    """A recorder whose clock is ahead of the kernel's, or behind it, looks as often, and says of no goroutine
    that it has waited since before the program began."""
    if call("unshare", "--time", "--monotonic", 1, "true", check=False).status != 0:
        raise Skip("no time namespaces")
    with Program(build("1.27"), new_place("own"), 1) as pid:
        for shift in (3600, -int(time.monotonic() / 2)):
            begin = ["unshare", "--time", "--monotonic", shift, GOSYM]
            file = new_place("wall.raw")
            call(*begin, "record", "-q", "-p", pid, "-e", "wall", "-d", "1s", "-o", file)
            times = collections.Counter()
            for sample in pprof(file, "--goid").samples:
                times[sample.labels["goid"]] += sample.nanoseconds
            assert times and min(times.values()) >= 1e9, (shift, times)
            looks = re.search(r"^([\d,]+) samples of wall", gosym("report", file).out, re.M)[1]
            assert int(looks.replace(",", "")) > 10 * len(times), (looks, times)
            told = call(*begin, "goroutines", pid).out
            assert "goroutine" in told and "minutes" not in told, (shift, told)


def beside_others():
    """A command, whose start is seen, with CPU time in the same recording."""
    file = new_place("both.raw")
    gosym("record", "-q", "--wall", "-d", "1s", "-o", file, "--", build("1.27"), new_place("own"), 1)
    text = gosym("report", file).out
    assert re.search(r"^[\d,]+ samples of wall at 97 Hz: [\d.]+ s of goroutine time in ", text, re.M), text
    alone = new_place("alone.raw")
    gosym("record", "-q", "-e", "wall", "-d", "1s", "-o", alone, "--", build("1.27"), new_place("own"), 1)
    text = gosym("report", "--event", "wall", alone).out
    assert " main.callInlined " in text and "of wall " in text, text
    own = new_place("own.raw")
    gosym("record", "-q", "-e", "cpu-clock,wall/freq=50/", "-d", "1s", "-o", own, "--", build("1.27"),
          new_place("own"), 1)
    text = gosym("report", own).out
    assert re.search(r"^[\d,]+ samples of wall at 50 Hz: ", text, re.M), text


def in_turns_of_its_own():
    """A program whose turns are as long as the time between two looks is seen in both of them."""
    with Program(build("1.27", "turns")) as pid:
        file, _, _ = recorded(pid, "-e", "wall", seconds=3)
    found = collections.Counter()
    for line in gosym("report", "--by", "state", "--csv", file).out.splitlines()[1:]:
        *_, state = line.split(",")
        found[state] = float(line.split(",")[0])
    print(f"# {dict(found)}")
    waited = found["sleep"] + found["chan receive"]
    assert 0.3 < found["sleep"] / waited < 0.7, found


def looks_come_soon():
    """The recorder has short turns on the CPU, no more of it; what it starts has turns as others."""
    release = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups()))
    if release < (6, 12):
        raise Skip("Linux before 6.12 has no turns of a length")
    command = [build("1.27"), new_place("own"), "1"]
    with recording("-e", "wall", "--", *command) as (recorder, _):
        child = wait_for(lambda: children_of(recorder.pid), "a command")[0]
        wait_for(lambda: turn_of(recorder.pid) == 100_000, "short turns")
        assert turn_of(child) > 100_000, turn_of(child)
        assert os.getpriority(os.PRIO_PROCESS, recorder.pid) >= 0
        os.kill(child, signal.SIGKILL)
        recorder.wait()


def children_of(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def turn_of(pid):
    """In nanoseconds, as sched_getattr(2) has it."""
    attributes = ctypes.create_string_buffer(48)
    SCHED_GETATTR = 315  # of x86-64
    assert ctypes.CDLL(None).syscall(SCHED_GETATTR, pid, attributes, 48, 0) == 0
    return struct.unpack_from("=IIQiIQ", attributes)[5]


def beyond_the_format():
    """What no sample has room for is cut, and told; nothing else of the recording is lost by it."""
    with Program(build("1.27", "limits")) as pid:
        file = new_place("limits.raw")
        told = gosym("record", "--wall", "-p", pid, "-d", "1s", "-o", file).err
    assert re.search(r"warning: [\d,]+ samples have stacks of more than 2,048 frames: their middle is left out", told)
    assert re.search(r"warning: [\d,]+ samples have labels or states of more than 256 bytes", told)
    done = gosym("report", "--strict", "--event", "wall", "--json", file)
    assert "do not decode" not in done.err, done.err
    stacks = {}
    for stack in folded(file, "--event", "wall"):
        stacks[stack.frames[-1]] = stack.frames
    deep = next(frames for frames in stacks.values() if "main.down" in frames)
    left_out = [i for i, frame in enumerate(deep) if frame.startswith("… ")]
    assert len(left_out) == 1 and deep[left_out[0]] == "… 960 frames …", [deep[i] for i in left_out]
    labels = {sample.labels.get("sql") for sample in pprof(file, "--event", "wall").samples} - {None}
    assert labels == {"SELECT " + 246 * "x" + "..."}, labels
    assert " main.work " in gosym("report", file).out


def errors():
    with subprocess.Popen(["sleep", "100"]) as other:
        done = gosym("record", "-e", "wall", "-p", other.pid, "-d", "1s", "-o", new_place("x"), check=False)
        other.kill()
    assert done.status == 5 and "none of the processes runs Go code" in done.err, done
    for options, text in ((["-e", "wall", "-a"], "of which processes?"),
                          (["--wall=0", "-p", 1], "'0' is not between 1 and 1,000"),
                          (["-e", "wall/freq=2000/", "-p", 1], "--event: '2000' is not between 1 and 1,000"),
                          (["-e", "wall/period=9/", "-p", 1], "'period=9' is not freq=N")):
        done = gosym("record", *options, "-d", "1s", "-o", new_place("x"), check=False)
        assert done.status == 2 and text in done.err, done


run([(f"Go {version}: few goroutines", functools.partial(each_for_itself, version)) for version in VERSIONS] +
    [(f"Go {version}: many goroutines", functools.partial(each_for_others, version)) for version in VERSIONS] +
    [(f"Go {version}: as the program samples itself", functools.partial(as_the_program_samples, version))
     for version in VERSIONS] +
    [(f"requests beside {leaked:,} goroutines that rest", functools.partial(beside_goroutines_that_rest, leaked))
     for leaked in (0, 1000, 10_000)] +
    [(f"Go {version}: called back from C", functools.partial(called_back, version)) for version in WITH_C] +
    [(f"Go {version}: running, called from C", functools.partial(running_for_c, version)) for version in VERSIONS] +
    [("a recorder in a time namespace", in_time_namespace),
     ("a command, and CPU time beside it", beside_others),
     ("a program with turns as long as those of the looks", in_turns_of_its_own),
     ("more of everything than a sample holds", beyond_the_format),
     ("looks come soon on a busy CPU", looks_come_soon), ("errors", errors)])
