#!/usr/bin/python3
"""Views that know Go's runtime: where goroutines were created.

    go_views.py GOSYM
"""
import contextlib
import functools
import subprocess

from common import FIXTURES, GO_ENVIRONMENT, compiled, folded, go, go_versions, gosym, new_place, run

VERSIONS = go_versions("1.15", "1.19", "1.24", "1.27")


@functools.cache
def build(version):
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    return compiled(go(version), "build", *vcs, "-ldflags=-s -w", output=new_place("creators"),
                    cwd=FIXTURES / "creators", env=GO_ENVIRONMENT | {"CGO_ENABLED": "0"})


@contextlib.contextmanager
def working(version):
    with subprocess.Popen([build(version)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process.pid


@functools.cache
def recording(version):
    """CPU time and what goroutines do."""
    file = new_place("both.raw")
    with working(version) as pid:
        gosym("record", "-q", "-F", "997", "--wall", "-p", pid, "-d", "4s", "-o", file)
    return file


def stacks(version, event, *options):
    """Outermost frame first, and how many samples."""
    return [(stack.frames, stack.count) for stack in folded(recording(version), "--event", event, *options)]


def samples(found):
    return sum(count for _, count in found)


def creators(version, event):
    """Each stack begins where its goroutine was created, and without the option does not."""
    found = stacks(version, event, "--creators")
    of = {function: [(stack, count) for stack, count in found if f"main.{function}" in stack]
          for function in ("work", "compute")}
    assert samples(of["work"]) and samples(of["compute"]), found
    for function, creator in (("work", "startWork"), ("compute", "startCompute")):
        rooted = [(stack, count) for stack, count in of[function]
                  if stack[:2] == [f"created by main.{creator}", f"main.{function}"]]
        # Of a goroutine that runs, no stack is known to `wall`.
        least = 0.97 if event == "cpu-clock" else 0.01
        print(f"# {function}: {samples(rooted) / samples(of[function]):.2%} with its creator")
        assert samples(rooted) >= least * samples(of[function]), of[function]
        wrong = [stack for stack, _ in of[function]
                 if stack[0].startswith("created by") and stack[0] != f"created by main.{creator}"]
        assert not wrong, wrong
    plain = stacks(version, event)
    assert samples(plain) == samples(found)
    assert not any("created by" in frame or frame in ("main.startWork", "main.startCompute")
                   for stack, _ in plain for frame in stack), plain


def nothing_to_say():
    """Of a recording without Go."""
    file = new_place("other.raw")
    gosym("record", "-q", "-d", "1s", "-o", file, "--", "sh", "-c", "while :; do :; done")
    done = gosym("report", "--stdio", "--creators", file)
    assert "no sample says where its goroutine was created" in done.err, done


run([(f"Go {version}, {event}: where goroutines were created", functools.partial(creators, version, event))
     for version in VERSIONS for event in ("cpu-clock", "wall")] +
    [("without Go", nothing_to_say)])
