#!/usr/bin/python3
"""Several recordings in one report: the sums are those of the single ones, each told apart."""
import collections
import functools
import json
import os
import re
import shutil

from common import (GO_ENVIRONMENT, GOSYM, build_demo, build_fib, call, gosym, new_place,
                    parse_folded, pprof_file, record, run, running)


@functools.cache
def recordings():
    """A directory: a Go program twice, and a C program on a host of another name."""
    place = new_place("all")
    place.mkdir()
    with running(build_demo("newest"), 600) as pid:
        for name in ("one.raw", "two.raw"):
            shutil.copy(record("-p", pid, seconds=1, hertz=499), place / name)
    gosym_there = ["unshare", "--uts", "sh", "-c", 'hostname other-host && exec "$0" "$@"', GOSYM]
    with running(build_fib()) as pid:
        call(*gosym_there, "record", "-q", "-F", "499", "-e", "cpu-clock,page-faults", "-p", pid,
             "-d", "2", "-o", place / "three.raw")
    (place / "notes.txt").write_text("no recording\n")
    (place / "directory.raw").mkdir()
    os.mkfifo(place / "fifo.raw")
    return place


def files():
    return [recordings() / name for name in ("one.raw", "two.raw", "three.raw")]


def counted(*arguments):
    counts = collections.Counter()
    for stack in parse_folded(gosym("report", "-q", "--folded", *arguments).out):
        counts[(stack.comm, *stack.frames)] += stack.count
    return counts


def sums():
    each = sum((counted(file) for file in files()), collections.Counter())
    assert len(each) > 10, each
    assert counted(*files()) == each
    assert counted(*reversed(files())) == each
    assert counted(recordings()) == each, "of the directory"
    two = counted(files()[0]) + counted(files()[1])
    assert counted("--comm", "demo", recordings()) == two


def top_of_pprof(*profiles):
    """Function -> its own samples and those with it, as go tool pprof adds them up."""
    text = call("/usr/bin/go", "tool", "pprof", "-top", "-functions", "-nodecount=1000", "-nodefraction=0", "-sample_index=samples",
                *profiles, env=GO_ENVIRONMENT).out
    rows = re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.*)$", text, re.M)
    duration = re.search(r"Duration: (\S+),", text)[1]
    assert len(rows) > 4, text
    return duration, {name: (own, all_of) for own, all_of, name in rows}


def pprof_adds_up():
    """The judge is pprof, which merges as well."""
    each = [pprof_file(file) for file in files()[:2]]
    merged = new_place("merged.pb.gz")
    gosym("report", "-q", *files()[:2], "--pprof", merged)
    assert top_of_pprof(merged) == top_of_pprof(*each)


def told_apart():
    host = call("uname", "-n").out.strip()
    report = json.loads(gosym("report", "-q", recordings(), "--json", "--event", "cpu-clock").out)
    told = {(one["file"], one["host"]) for one in report["recording"]["files"]}
    one, two, three = map(str, files())
    assert told == {(one, host), (two, host), (three, "other-host")}, told
    text = gosym("report", "--event", "cpu-clock", recordings()).out
    assert " in 3 recordings\n" in text, text
    for file, where in ((one, host), (two, host), (three, "other-host")):
        assert re.search(rf"^recorded   {re.escape(file)}: [\d,]+ samples in .* on {where} by gosym record", text, re.M), text

    def rows(key):
        table = gosym("report", "--csv", "--by", key, "--event", "cpu-clock", recordings()).out
        return {line.rsplit(",", 1)[0] if line.endswith('"') else line for line in table.splitlines()[1:]}

    assert len(rows("host")) == 2 and len(rows("recording")) == 3, (rows("host"), rows("recording"))
    processes = gosym("report", "--by", "process", "--event", "cpu-clock", recordings()).out
    assert re.search(r"fib \(\d+\) on other-host$", processes, re.M), processes
    assert re.search(rf"demo \(\d+\) on {host}$", processes, re.M), processes


def on_one_clock():
    """Times count from the beginning of the first recording, in the order of time."""
    whole = json.loads(gosym("report", "-q", *reversed(files()), "--json", "--event", "cpu-clock").out)
    parts = whole["recording"]["files"]
    begin = parts[0]["start_ns"]
    assert [part["start_ns"] for part in parts] == sorted(part["start_ns"] for part in parts)
    last = (parts[2]["start_ns"] - begin) / 1e9
    late = counted("--event", "cpu-clock", "--time", f"{last - 0.1:.3f},", recordings())
    assert late == counted("--event", "cpu-clock", files()[2]), late
    early = counted("--event", "cpu-clock", "--time", f",{last - 0.1:.3f}", recordings())
    assert early == counted(files()[0]) + counted(files()[1])


def each_file_once():
    """A program is opened once, also where it ran in several of them."""
    def opened(*arguments):
        log = new_place("strace")
        call("strace", "-f", "-e", "trace=openat,open", "-o", log, GOSYM, "report", "-q", "--folded", *arguments)
        # A parser asks for a file, and an opener opens it: the one that asks has it once for each.
        by_process = collections.Counter(line.split()[0] for line in log.read_text().splitlines()
                                         if '/demo"' in line)
        return max(by_process.values())

    one, two = opened(files()[0]), opened(*files()[:2])
    assert one == two == 1, (one, two)


def refused():
    one = files()[0]
    twice = gosym("report", one, recordings(), check=False)
    assert twice.status == 2 and f"'{one}' is given twice" in twice.err, twice
    empty = new_place("empty")
    empty.mkdir()
    nothing = gosym("report", empty, check=False)
    assert nothing.status == 5 and "no recordings (*.raw)" in nothing.err, nothing
    other = gosym("report", one, recordings() / "notes.txt", check=False)
    assert other.status not in (0, 3) and "notes.txt" in other.err and not other.out, other
    with running(build_fib()) as pid:
        slow = record("-p", pid, seconds=1, hertz=99)
    rates = gosym("report", one, slow, check=False)
    assert rates.status != 0 and "cpu-clock at 499 Hz" in rates.err and "cpu-clock at 99 Hz" in rates.err, rates


@functools.cache
def machines():
    """Recordings of two that call themselves "same": what tells them apart is /etc/machine-id."""
    place = new_place("machines")
    place.mkdir()
    script = 'mount -t tmpfs none /etc && echo "$1" > /etc/machine-id && hostname same && shift && exec "$@"'
    with running(build_fib()) as pid:
        for digit in "12":
            call("unshare", "--mount", "--uts", "sh", "-c", script, "sh", digit * 32, GOSYM, "record", "-q", "-F", "499",
                 "-p", pid, "-d", "1", "-o", place / f"%h-%t-{digit}-%%.raw")
    return place


def machines_of_one_name():
    place = machines()
    names = sorted(file.name for file in place.iterdir())
    assert len(names) == 2 and all(re.fullmatch(r"same-\d{8}T\d{6}Z-[12]-%\.raw", name) for name in names), names
    report = json.loads(gosym("report", "-q", place, "--json").out)
    hosts = {one["host"] for one in report["recording"]["files"]}
    assert len(hosts) == 2 and all(re.fullmatch("same#[0-9a-f]{4}", host) for host in hosts), hosts
    rows = gosym("report", "-q", place, "--by", "host", "--csv").out
    assert all(host in rows for host in hosts), rows
    wrong = gosym("record", "-o", "%x.raw", "-p", "1", check=False)
    assert wrong.status == 2 and "%h is the host" in wrong.err, wrong


def xxh32(data):
    """The hash of a text of fewer than 16 bytes more than a multiple of 16, and no fewer than 16."""
    primes = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    word, mask = (lambda at: int.from_bytes(data[at:at + 4], "little")), 0xffffffff
    turn = lambda value, by: (value << by | value >> (32 - by)) & mask
    lanes = [(primes[0] + primes[1]) & mask, primes[1], 0, -primes[0] & mask]
    at = 0
    while at + 16 <= len(data):
        for i in range(4):
            lanes[i] = turn((lanes[i] + word(at + 4 * i) * primes[1]) & mask, 13) * primes[0] & mask
        at += 16
    value = sum(turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) + len(data) & mask
    while at + 4 <= len(data):
        value = turn((value + word(at) * primes[2]) & mask, 17) * primes[3] & mask
        at += 4
    assert at == len(data)
    value = (value ^ value >> 15) * primes[1] & mask
    value = (value ^ value >> 13) * primes[2] & mask
    return value ^ value >> 16


def with_clock(recording, seconds):
    """A copy by a host whose clock is so many seconds ahead."""
    data = bytearray(recording.read_bytes())
    realtime = int.from_bytes(data[32:40], "little") + round(seconds * 1e9)
    data[32:40] = realtime.to_bytes(8, "little")
    data[60:64] = xxh32(data[:60]).to_bytes(4, "little")
    copy = new_place(recording.name)
    copy.write_bytes(data)
    return copy


def clocks_that_differ():
    """Two machines at the same time, of which one is an hour ahead."""
    first, second = sorted(machines().iterdir())
    second = with_clock(second, 3600)
    done = gosym("report", first, second, "--json")
    assert re.search(r"by their hosts' clocks .* began 36\d\d\.\d s after .*--align", done.err), done.err
    aligned = gosym("report", first, second, "--by", "time:10s", "--csv", "--align")
    assert "clocks" not in aligned.err and len(aligned.out.splitlines()) == 2, aligned
    assert counted("--time", ",100", first, second) == counted(first)
    assert counted("--time", ",100", "--align", first, second) == counted(first) + counted(second)
    # The clock of one machine is one clock.
    assert "clocks" not in gosym("report", first, with_clock(first, 3600)).err
    for command in (["report", "--html"], ["diff", "--html"]):
        sides = [first, second] + (["--", first] if command[0] == "diff" else [])
        assert "--align" in gosym(*command, new_place("page"), *sides).err
        assert "--align" not in gosym(*command, new_place("page"), "--align", *sides).err


def copies_are_refused():
    copy = new_place("copy.raw")
    shutil.copy(files()[0], copy)
    gosym("archive", "-q", copy)
    done = gosym("report", *files(), copy, check=False)
    assert done.status == 2 and "are the same recording" in done.err and str(copy) in done.err, done
    assert gosym("diff", files()[0], copy, check=False).status == 0


run([("machines of one name are told apart", machines_of_one_name),
     ("clocks of hosts that differ are told", clocks_that_differ),
     ("a copy of a recording is refused", copies_are_refused),
     ("sums are those of the single ones", sums),
     ("go tool pprof adds up the same", pprof_adds_up),
     ("hosts, files and processes are told apart", told_apart),
     ("all have one clock", on_one_clock),
     ("a file is opened once", each_file_once),
     ("what does not add up is refused", refused)])
