#!/usr/bin/python3
"""Where the goroutines of a running program wait, against what the program says of itself.

    waiting.py GOSYM
"""
import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import time

from common import FIXTURES, GOSYM, GO_ENVIRONMENT, WITHOUT_RIGHTS, call, compiled, go, go_versions, gosym
from common import host_of, new_place, run, wait_for

VERSIONS = go_versions("1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27")
STATIC, CGO = {"CGO_ENABLED": "0"}, {"CGO_ENABLED": "1"}
WAYS = {"static": (STATIC, []), "PIE": (STATIC, ["-buildmode=pie"]), "cgo": (CGO, []),
        "cgo PIE": (CGO, ["-buildmode=pie"])}
# Of a host that is written in C; only the oldest and the newest Go are tried so.
LIBRARY_WAYS = {"library": (CGO, ["-buildmode=c-shared", "-tags=library"]),
                "archive": (CGO, ["-buildmode=c-archive", "-tags=library"])}

Goroutine = collections.namedtuple("Goroutine", "state stack creator")


@functools.cache
def build(version, way="static", fixture="waiting"):
    environment, mode = (WAYS | LIBRARY_WAYS)[way]
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    program = compiled(go(version), "build", *vcs, *mode, "-ldflags=-s -w",
                       output=new_place(fixture), cwd=FIXTURES / fixture,
                       env=GO_ENVIRONMENT | environment)
    return host_of(program, new_place("host")) if way in LIBRARY_WAYS else program


class Waiting:
    """A program that has become quiet, and what it wrote of its goroutines then."""

    def __init__(self, program, count, **environment):
        self.own = new_place("stacks")
        self.process = subprocess.Popen([program, self.own, str(count)], stdout=subprocess.PIPE,
                                        text=True, env=os.environ | environment)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def parse(text):
    """Go's tracebacks: goroutines by number. Arguments and offsets are left out."""
    found = {}
    for block in text.strip().split("\n\n"):
        header, *lines = block.splitlines()
        number, state = re.match(r"goroutine (\d+) \[([^]]+)\](?: \{.*\})?:$", header).groups()
        state = re.sub(r", \d+ minutes", "", state)
        calls, creator = [], None
        while lines:
            name = lines.pop(0)
            if name.startswith(("...", "\t")):
                calls.append(name)
                continue
            place = re.sub(r" \+0x[0-9a-f]+$", "", lines.pop(0).strip())
            if name.startswith("created by "):
                creator = (name, place)
            else:
                calls.append((re.sub(r"\([^()]*(\([^()]*\))*[^()]*\)$", "", name), place))
        assert number not in found, f"goroutine {number} twice"
        found[number] = Goroutine(state, calls, creator)
    return found


def without_inlined_runtime(goroutine):
    """Up to Go 1.20 tracebacks show what was inlined into a function that is shown, whatever it is."""
    stack = [call for call in goroutine.stack if not re.match(r"runtime\.[a-z]\w*$", call[0])]
    return goroutine._replace(stack=stack)


def differences(own, ours):
    writer = next(iter(own))  # of the stacks: it waits for something else since
    own.pop(writer), ours.pop(writer)
    problems = [f"only the program has {own[number]}" for number in own.keys() - ours.keys()]
    problems += [f"only gosym has {ours[number]}" for number in ours.keys() - own.keys()]
    problems += [f"{number}: the program has {own[number]}, gosym {ours[number]}"
                 for number in own.keys() & ours.keys() if own[number] != ours[number]]
    return problems


def equals_own(version, way, count):
    with Waiting(build(version, way), count) as waiting:
        own = parse(waiting.own.read_text())
        if version in ("1.15", "1.19"):
            own = {number: without_inlined_runtime(goroutine) for number, goroutine in own.items()}
        ours = parse(gosym("goroutines", "--all", waiting.pid).out)
        assert len(own) > 19 * count
        problems = differences(own, ours)
        assert not problems, f"{len(problems)} of {len(own)}: " + problems[0][:900]


def not_begun(version):
    """Wrappers and functions of the runtime are shown where nothing else is, as the runtime does it."""
    with Waiting(build(version, fixture="unstarted"), 3, GODEBUG="asyncpreemptoff=1") as waiting:
        own = parse(waiting.own.read_text())
        ours = parse(gosym("goroutines", "--all", waiting.pid).out)
        assert len(own) == 1 + 9 * 3 and all(goroutine.stack for goroutine in own.values()), own
        problems = differences(own, ours)
        assert not problems, f"{len(problems)} of {len(own)}: " + problems[0][:900]


def groups():
    with Waiting(build("1.27"), 10) as waiting:
        text = gosym("goroutines", waiting.pid).out
        counted = sum(int(n.replace(",", "")) for n in re.findall(r"^([\d,]+) goroutines \[", text, re.M))
        alone = len(re.findall(r"^goroutine \d+ \[", text, re.M))
        total = len(parse(gosym("goroutines", "--all", waiting.pid).out))
        assert counted + alone == total == int(text.split()[0]), (counted, alone, total)
        states = dict((state, int(n)) for n, state in re.findall(
            r"^ +(\d+) +[\d.]+% +(.+)$", gosym("goroutines", "--by", "state", waiting.pid).out, re.M))
        assert sum(states.values()) == total and states["sync.Mutex.Lock"] >= 10, states


def other_forms():
    with Waiting(build("1.27"), 3) as waiting:
        every = parse(gosym("goroutines", "--all", waiting.pid).out)
        document = json.loads(gosym("goroutines", "--json", waiting.pid).out)
        listed = {str(g["id"]): g for g in document["programs"][0]["goroutines"]}
        assert listed.keys() == every.keys()
        for number, goroutine in every.items():
            names = [call["function"].replace("runtime.gopanic", "panic")
                     for call in listed[number]["stack"]]
            assert [name for name, _ in goroutine.stack] == names, (goroutine, listed[number])
        folded = gosym("goroutines", "--folded", waiting.pid).out.splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in folded) == len(every)
        profile = new_place("goroutines.pb.gz")
        gosym("goroutines", "--pprof", profile, waiting.pid)
        tops = call(go("1.27"), "tool", "pprof", "-top", "-nodecount=9999", profile).out
        assert f"accounting for {len(every)}, 100% of {len(every)} total" in tops, tops
        assert re.search(r"^ +\d+ +[\d.]+% +[\d.]+% +3 +[\d.]+% +main\.send$", tops, re.M), tops
        tags = call(go("1.27"), "tool", "pprof", "-tags", profile).out
        assert re.search(r"^ +3 \( *[\d.]+%\): chan send$", tags, re.M), tags
        assert any(line.startswith("chan send;main.send ") for line in folded), folded
        page = new_place("goroutines.html")
        gosym("goroutines", "--html", page, waiting.pid)
        states = gosym("report", "--stdio", "--by", "state", page).out
        assert re.search(r"^ *[\d.]+ +3 +[\d.]+ +3  chan send$", states, re.M), states


def filters():
    with Waiting(build("1.27"), 3) as waiting:
        def shown(*options):
            return parse(gosym("goroutines", "--all", *options, waiting.pid).out)
        assert {g.state for g in shown("--state", "^select$").values()} == {"select"}
        assert len(shown("--focus", r"main\.recurse$")) == 3
        assert len(shown("--focus", r"main\.start")) > 50  # that made them
        assert not gosym("goroutines", "--all", "--older", "5m", waiting.pid).out
        system = gosym("goroutines", "--all", "--system", waiting.pid).out
        assert "runtime.bgsweep" in system and "runtime.gopark" in system
        assert "runtime.bgsweep" not in gosym("goroutines", "--all", waiting.pid).out


def nothing_is_disturbed():
    """It is not stopped, traced or signalled."""
    with Waiting(build("1.27"), 3) as waiting:
        def facts():
            status = pathlib.Path(f"/proc/{waiting.pid}/status").read_text()
            return re.findall(r"^(?:TracerPid|SigPnd|ShdPnd).*$", status, re.M)
        before = facts()
        for _ in range(20):
            gosym("goroutines", waiting.pid)
        assert facts() == before and waiting.process.poll() is None


# What the first screen tells of a program that is stuck.
STUCK = {
    "deadlock": ["2 sync.Mutex.Lock", "[sync.Mutex.Lock]:", "main.transfer(...)"],
    "leak": ["1,000 chan send", "1,000 goroutines [chan send]", "main.ask(...)",
             "created by main.handle in goroutine 1"],
    "convoy": ["199 sync.Mutex.Lock", "199 goroutines [sync.Mutex.Lock]", "main.lookUp(...)"],
    "pool": ["96 chan receive", "96 goroutines [chan receive] {pool: db, tenant: 3 values, urgent: yes in 2",
             "main.connect(...)"],
}


def stuck(kind):
    with subprocess.Popen([build("1.27", fixture="stuck"), kind], stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            screen = gosym("goroutines", process.pid).out.splitlines()[:24]
            for expected in STUCK[kind]:
                assert any(expected in line for line in screen), \
                    (expected, screen)
        finally:
            process.kill()


def depth():
    """A deep stack is read whole, and its middle is left out of text alone, as the runtime does."""
    with subprocess.Popen([build("1.27", fixture="stuck"), "deep"], stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            text = gosym("goroutines", "--all", process.pid).out
            assert text.count("main.down(") == 100 and "...2901 frames elided...\n" in text, text[-3000:]
            document = json.loads(gosym("goroutines", "--json", process.pid).out)
            stacks = [[call["function"] for call in goroutine["stack"]]
                      for goroutine in document["programs"][0]["goroutines"]]
            assert ["main.down"] * 3001 in stacks, [len(stack) for stack in stacks]
            groups = gosym("goroutines", process.pid).out
            assert re.search(r"^main\.down\(.*\n.*\nmain\.down\(.*\n.*\n...the same frame 2,999 more times...$",
                             groups, re.M), groups
            assert re.search(r"^main\.(?:left|right)\(.*\n.*\nmain\.(?:left|right)\(.*\n.*\n...the same 2 frames 499 more times...$",
                             groups, re.M), groups
        finally:
            process.kill()


def limit():
    """Of a deeper stack it is told how much of it was read."""
    with subprocess.Popen([build("1.27", fixture="stuck"), "deeper"], stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            done = gosym("goroutines", "--json", process.pid)
            assert re.search(r"note: goroutines whose stacks end before their begin, as 1\.0 MiB of a stack is "
                             r"read at most: 1$", done.err, re.M), done.err
            found = [goroutine for goroutine in json.loads(done.out)["programs"][0]["goroutines"]
                     if goroutine["stack_state"] == "deep"]
            assert len(found) == 1 and 20_000 < len(found[0]["stack"]) < 100_000, found
            assert "\n...additional frames elided...\n" in gosym("goroutines", process.pid).out
        finally:
            process.kill()


def growth():
    """A leak is what grows, and the end of the process is the end of the watch."""
    with subprocess.Popen([build("1.27", fixture="stuck"), "drip"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            watch = subprocess.Popen([GOSYM, "goroutines", "--watch", "20ms", str(process.pid)],
                                     stdout=subprocess.PIPE, text=True)
            assert watch.stdout.readline().endswith(" goroutines\n")
            grown = 0
            for two in range(2, 12, 2):
                process.stdin.write(".")
                process.stdin.flush()
                while grown != two:
                    line = watch.stdout.readline()
                    assert line, "the watch has ended"
                    if change := re.match(r" +\d+ +([+-]\d+)  chan send +main\.ask, main\.handle$", line):
                        grown += int(change[1])
        finally:
            process.kill()
        watch.stdout.read()
        assert watch.wait() == 0
        watch.stdout.close()


def difference():
    """Goroutines of two dumps are counted, and so each change is one."""
    with subprocess.Popen([build("1.27", fixture="stuck"), "drip"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            before, after = new_place("before.pb.gz"), new_place("after.pb.gz")
            gosym("goroutines", "--pprof", before, process.pid)
            process.stdin.write("." * 15)
            process.stdin.flush()
            wait_for(lambda: len(parse(gosym("goroutines", "--all", process.pid).out)) == 31, "leak")
            gosym("goroutines", "--pprof", after, process.pid)
            text = gosym("diff", before, after).out
            assert re.search(r"^ +0 +30 +\+30 +more +main\.ask ", text, re.M), text
            assert re.search(r"^verdict:  \d+ more, 0 fewer, .*; most: main\.ask, more$", text, re.M), text
            states = gosym("diff", "--by", "state", before, after).out
            assert re.search(r"^ +0 +30 +\+30 +more +chan send", states, re.M), states
            back = gosym("diff", "--fail-above", "5", after, before)
            assert re.search(r"^ +30 +0 +-30 +fewer +main\.ask ", back.out, re.M), back
            assert gosym("diff", "--fail-above", "5", before, after, check=False).status == 1
        finally:
            process.kill()


# Which function may call which in the fixture; None is where a goroutine begins.
CALLS = {(None, "main.even"), ("main.even", "runtime.Gosched"), ("main.even", "main.evenDown"),
         ("main.evenDown", "main.evenDown"), ("main.evenDown", "main.evenTurn"),
         (None, "main.odd"), ("main.odd", "main.oddDown"), ("main.oddDown", "main.oddDown"),
         ("main.oddDown", "main.oddTurn")}


def churn(version):
    """No stack of two moments is shown while goroutines run, park and are moved."""
    with subprocess.Popen([build(version, fixture="churn"), "2000"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            whole = 0
            for _ in range(25):
                document = json.loads(gosym("goroutines", "--json", process.pid).out)
                goroutines = document["programs"][0]["goroutines"]
                assert len({g["id"] for g in goroutines}) == len(goroutines) >= 2000
                for goroutine in goroutines:
                    names = [call["function"] for call in reversed(goroutine["stack"])]
                    if goroutine["stack_state"] not in ("whole", "cut"):
                        assert not names, goroutine
                    elif names and names[0] in ("main.even", "main.odd"):
                        assert goroutine["stack_state"] == "whole", goroutine
                        pairs = set(zip([None] + names, names))
                        assert pairs <= CALLS, (pairs - CALLS, goroutine)
                        whole += 1
            assert whole > 25 * 1500, whole
        finally:
            process.kill()


LEAKS = {"channel": ("chan send", "main.sendResult"), "loop": ("", "main.refresh"),
         "network": ("IO wait", "main.readReply")}


def leaks(kind):
    """What the program still has, and what works, leaks as well; requests and pools beside it do not."""
    with subprocess.Popen([build("1.27", fixture="leaks"), kind], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            look = ["goroutines", "--leaks", "--interval", "400ms", "-n", 4, process.pid]
            done = gosym(*look, check=False)
            document = json.loads(gosym(*look, "--json", check=False).out)
        finally:
            process.kill()
    leaking = [place for place in document["places"] if place["verdict"] == "leaks"]
    if kind == "none":
        assert done.status == 0 and "no leak seen" in done.out and not leaking, (done, leaking)
        return
    state, function = LEAKS[kind]
    assert done.status == 1 and re.search(rf"^leaks: \+.*, and none has left.*\n\[.*{state}.*\]\n(?s:.*?)^{function}\(",
                                          done.out, re.M), done
    assert len(leaking) == 1 and function in leaking[0]["functions"], leaking
    counts = leaking[0]["counts"]
    assert len(counts) == 4 and counts == sorted(set(counts)), leaking
    assert document["goroutines"][-1] > document["goroutines"][0], document


def errors():
    ended = subprocess.Popen(["true"])
    ended.wait()
    for command, status, text in (
            (["goroutines"], 2, "PID"),
            (["goroutines", ended.pid], 5, "process"),
            (["goroutines", "no-such-program"], 5, "'no-such-program' is no file, and no process has this name"),
            (["goroutines", "--by", "x", "1"], 2, "'x' is none of"),
            (["goroutines", "--older", "5s", "1"], 2, "--older: '5s'"),
            (["goroutines", "--state", "(", "1"], 2, "--state"),
            (["goroutines", "--leaks", "--interval", "1us", "1"], 2, "--interval: '1us'"),
            (["goroutines", "--leaks", "-n", 2, "1"], 2, "3 looks or more"),
            (["goroutines", "-n", 2, "1"], 2, "--iterations needs --watch or --leaks")):
        done = gosym(*command, check=False)
        assert done.status == status and text in done.err, (command, done)
    with subprocess.Popen(["sleep", "100"]) as other:
        time.sleep(0.1)
        done = gosym("goroutines", other.pid, check=False)
        other.kill()
        assert done.status == 5 and "runs no Go code" in done.err, done
    with Waiting(build("1.27"), 3) as waiting:
        done = call(*WITHOUT_RIGHTS, "goroutines", waiting.pid, check=False)
        assert done.status == 4 and "sudo" in done.err, done


run([(f"Go {version}, {way}: equal to runtime.Stack", functools.partial(equals_own, version, way, 5))
     for version in VERSIONS
     for way in [*WAYS, *(LIBRARY_WAYS if version in (VERSIONS[0], VERSIONS[-1]) else [])]] +
    [(f"Go {version}: 10,000 goroutines", functools.partial(equals_own, version, "static", 520))
     for version in (VERSIONS[0], VERSIONS[-1])] +
    [(f"Go {version}: goroutines that run and park all the time", functools.partial(churn, version))
     for version in (VERSIONS[0], VERSIONS[-1])] +
    [(f"Go {version}: goroutines that have not run yet", functools.partial(not_begun, version))
     for version in ("1.15", "1.19", "1.27")] +
    [(f"the first screen tells of a {kind}", functools.partial(stuck, kind)) for kind in STUCK] +
    [("a deep stack", depth), ("a deeper stack", limit), ("what grows is seen", growth),
     *[(f"leaks: {kind}", functools.partial(leaks, kind)) for kind in ("none", *LEAKS)],
     ("two profiles are compared", difference),
     ("groups and counts", groups), ("JSON and folded stacks", other_forms), ("filters", filters),
     ("nothing is disturbed", nothing_is_disturbed), ("errors", errors)], root=False)
