#!/usr/bin/python3
"""What changed between two recordings of real programs, and how sure that is."""
import collections
import functools
import json
import re
import shutil
import signal
import subprocess

from common import (FIXTURES, GOSYM, call, cpu_ticks, fetched, folded, gosym, new_place, record, run, running,
                    wait_for)

SURE = ["--confidence", "99.99"]  # equal programs are called different once in ten thousand times


@functools.cache
def program(turns):
    """With so many turns of `changed` for 100,000 of `steady`."""
    binary = new_place(f"changes-{turns}")
    call("gcc", "-g", "-O1", f"-DTURNS={turns}", FIXTURES / "changes.c", "-o", binary)
    return binary


@functools.cache
def recorded(turns, number=0):
    with running(program(turns)) as pid:
        return record("-p", pid, seconds=0.5, hertz=1999)


def diff(*arguments, check=True):
    return gosym("diff", "-q", *arguments, check=check)


def rows(*arguments):
    document = json.loads(diff("--json", *SURE, *arguments).out)
    return document, {row["name"]: row for row in document["rows"]}


def equal_programs():
    document, functions = rows(recorded(100000), recorded(100000, 1))
    assert document["per"] == "share" and "whole" not in document, document
    for name in ("steady", "changed"):
        row = functions[name]
        assert row["verdict"] == "no difference seen", row
        assert 0.2 < row["before"]["rate"] < 0.8 and 0 < row["least_seen"] < 1, row


def known_change():
    before, after = recorded(100000), recorded(400000)
    _, functions = rows(before, after)
    changed, steady = functions["changed"], functions["steady"]
    assert changed["verdict"] == "dearer" and steady["verdict"] == "cheaper", functions
    # To the other function it is as the turns are, whatever a turn of each takes.
    beside = [changed[side]["rate"] / steady[side]["rate"] for side in ("before", "after")]
    assert 3.2 < beside[1] / beside[0] < 4.8, functions
    assert abs(changed["change"] + steady["change"]) < 0.05, functions
    _, back = rows(after, before)
    assert back["changed"]["verdict"] == "cheaper", back
    text = diff(before, after).out
    assert "dearer in this run, +" in text, text


def other_keys():
    before, after = recorded(100000), recorded(400000)
    _, modules = rows("--by", "module", before, after)
    assert {"changes-100000", "changes-400000"} <= set(modules), modules
    document, totals = rows("--children", before, recorded(100000, 1))
    assert document["of"] == "total" and totals["main"]["before"]["rate"] > 0.9, totals
    # The shares of what there was of a CPU, of which one thread has no more than a second a second.
    _, shares = rows(before, after)
    _, seconds = rows("--per", "second", before, after)
    for side in ("before", "after"):
        used = sum(row[side]["rate"] for row in seconds.values())
        assert 0 < used < 1.05e9, seconds
        for name in ("steady", "changed"):
            share, rate = shares[name][side]["rate"], seconds[name][side]["rate"]
            assert abs(rate / used - share) < 0.02, (name, rate, used, share)


def paths_of_calls():
    """Each has on both sides what folded stacks that begin so have."""
    before, after = recorded(100000), recorded(400000)
    document = json.loads(diff("--json", "--tree", "--min", "0", *SURE, before, after).out)
    assert document["of"] == "path", document["of"]
    paths = []
    for row in document["rows"]:
        paths.append((paths[row["parent"]] if "parent" in row else ()) + (row["name"],))
    known = set()
    for side, file in (("before", before), ("after", after)):
        counts = collections.Counter()
        stacks = folded(file)
        for stack in stacks:
            frames = [frame.removesuffix("_[k]") for frame in stack.frames]
            for length in range(1, len(frames) + 1):
                counts[tuple(frames[:length])] += stack.count
        known |= counts.keys()
        whole = sum(stack.count for stack in stacks)
        for row, path in zip(document["rows"], paths):
            assert abs(row[side]["rate"] - counts[path] / whole) < 1e-9, (path, row, counts[path])
    assert sorted(paths) == sorted(known), known.symmetric_difference(paths)
    verdicts = {}
    for row in document["rows"]:  # of one name, the largest path comes first
        verdicts.setdefault(row["name"], row["verdict"])
    assert verdicts["changed"] == "dearer" and verdicts["steady"] == "cheaper", verdicts
    lines = diff("--tree", before, after).out.splitlines()
    assert any(re.search(r"dearer in this run, \+.* changed$", line) for line in lines), lines


def folded_with_two_counts():
    """Each stack has what its side has of it, before as many in all as after."""
    before, after = recorded(100000), recorded(400000)
    stacks = {}
    for line in diff("--folded", before, after).out.splitlines():
        stack, *counts = line.rsplit(" ", 2)
        stacks[stack] = tuple(map(int, counts))
    sides = [{";".join([stack.comm, *stack.frames]): stack.count for stack in folded(file)}
             for file in (before, after)]
    assert stacks.keys() == sides[0].keys() | sides[1].keys()
    scale = sum(sides[1].values()) / sum(sides[0].values())
    for stack, (old, new) in stacks.items():
        assert new == sides[1].get(stack, 0), stack
        assert abs(old - scale * sides[0].get(stack, 0)) <= 0.5, stack
    assert list(stacks) == sorted(stacks), "not sorted"

    file = new_place("two-counts")
    diff("--folded", before, after, "-o", file)
    picture = call("perl", fetched("flamegraph"), file)
    assert not picture.err, picture.err
    assert picture.out.rstrip().endswith("</svg>")
    assert re.search(r"steady \(.*[+-][0-9.]+%\)", picture.out), picture.out[:2000]


def in_directory(turns, count):
    place = new_place(f"runs-{turns}")
    place.mkdir()
    for number in range(count):
        shutil.copy(recorded(turns, number), place / f"{number}.raw")
    return place


def exit_status():
    before, after = in_directory(100000, 6), in_directory(400000, 5)
    fails = lambda *arguments: diff("--fail-above", *arguments, check=False).status
    assert fails("10", before, after) == 1
    assert fails("300", before, after) == 0, "dearer, but not by so much"
    assert fails("10", after, before) == 1, "by share the other became dearer"
    assert fails("10", *SURE, "--focus", "changed", after, before) == 0
    assert fails("10", before, "nowhere.raw") == 3
    assert fails("10", recorded(100000), recorded(400000)) == 2, "of one run nothing is sure"
    assert diff("--by", "time", before, after, check=False).status == 2
    assert "dearer, +" in diff(before, after).out


def several_of_each():
    sides = [recorded(100000), recorded(100000, 1), "--", recorded(400000), recorded(400000, 1)]
    document, functions = rows(*sides)
    assert [len(document[side]["files"]) for side in ("before", "after")] == [2, 2], document
    assert functions["changed"]["verdict"] == "dearer", functions
    document, _ = rows("--per", "run", *sides)
    assert document["before"]["blocks_are"] == "recordings" and document["before"]["blocks"] == 2
    alone = diff("--per", "run", recorded(100000), recorded(400000)).out
    assert "cannot tell" in alone and "too few samples" not in alone, alone


def runs_of_a_command():
    """Each run has a recording; the first that fails is the last."""
    place = new_place("series")
    work = ["--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]
    done = gosym("record", "-F", "1999", "--runs", "3", "-o", place, *work)
    assert sorted(file.name for file in place.iterdir()) == ["1.raw", "2.raw", "3.raw"], done
    assert "run 3 of 3\n" in done.err and "next: gosym report" not in done.err, done.err
    document, _ = rows("--per", "run", place, place)
    assert len(document["before"]["files"]) == 3, document
    series = lambda where, *command: gosym("record", "-q", "--runs", "3", *where, *command, check=False)
    again = series(["-o", place], *work)
    assert again.status == 1 and "not empty" in again.err, again
    for where, command in [([], work), (["-o", "-"], work), (["-o", new_place("none")], ["-p", "1"])]:
        assert series(where, *command).status == 2, (where, command)
    failed = new_place("failed")
    assert series(["-o", failed], "--", "sh", "-c", f"{work[-1]}; exit 7").status == 7
    assert [file.name for file in failed.iterdir()] == ["1.raw"]


def series_is_ended():
    """A signal to the series ends the run, and no other begins."""
    place = new_place("ended")
    told = new_place("told")
    work = f"echo $$ >{told}; while :; do :; done"
    with subprocess.Popen([GOSYM, "record", "-q", "--runs", "3", "-o", place, "--", "sh", "-c", work]) as process:
        wait_for(lambda: told.exists() and told.read_text().endswith("\n") and cpu_ticks(int(told.read_text())) > 5,
                 "the first run at work")
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
    assert [file.name for file in place.iterdir()] == ["1.raw"]


run([("equal programs are not told apart", equal_programs),
     ("a known change is found, and its size", known_change),
     ("by module, in total, per second", other_keys),
     ("paths of calls have what folded stacks have", paths_of_calls),
     ("folded stacks with two counts", folded_with_two_counts),
     ("the exit status", exit_status),
     ("several recordings of each", several_of_each),
     ("--runs records each run of a command", runs_of_a_command),
     ("a signal ends a series of runs", series_is_ended)])
