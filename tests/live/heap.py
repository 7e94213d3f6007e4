#!/usr/bin/python3
"""Who allocated the memory of a running program, against what the program says of itself.

    heap.py GOSYM
"""
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import time

from common import FIXTURES, GO_ENVIRONMENT, WITHOUT_RIGHTS, call, compiled, go, go_versions, gosym
from common import new_place, parse_locations, run

VERSIONS = go_versions("1.15", "1.19", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27")
STATIC, CGO = {"CGO_ENABLED": "0"}, {"CGO_ENABLED": "1"}
WAYS = {"static": (STATIC, []), "PIE": (STATIC, ["-buildmode=pie"]), "cgo": (CGO, []),
        "race": (CGO, ["-race"])}
ALL_WAYS = {"1.15", "1.21", "1.26", "1.27"}
TYPES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
UNLIKE_GO = "the heap profile is not as Go keeps it"


def ways_of(version):
    return [way for way in WAYS if way != "race" or version == "1.27"]


@functools.cache
def build(version, way="static", *flags):
    environment, mode = WAYS[way]
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    return compiled(go(version), "build", *vcs, *mode, *flags, "-ldflags=-s -w", output=new_place("heap"),
                    cwd=FIXTURES / "heap", env=GO_ENVIRONMENT | environment)


@contextlib.contextmanager
def resting(program, how="", rate=None):
    """A program that allocates nothing any more: its number, and its own profile."""
    own = new_place("own.pb.gz")
    debug = {"GODEBUG": f"memprofilerate={rate}"} if rate else {}
    with subprocess.Popen([program, own, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=os.environ | debug) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid, own
        finally:
            process.kill()


def ours(pid, *options):
    file = new_place("ours.pb.gz")
    gosym("heap", "--pprof", file, *options, pid)
    return file


def read_raw(file):
    """What go tool pprof reads in a profile: its period, types of values, locations, lines of samples."""
    raw = call("/usr/bin/go", "tool", "pprof", "-raw", file, env=GO_ENVIRONMENT).out
    head, _, text = raw.partition("\nSamples:\n")
    samples, _, rest = text.partition("\nLocations\n")
    types, *lines = samples.splitlines()
    return (dict(re.findall(r"^(PeriodType|Period): (.*)$", head, re.M)),
            [re.sub(r"/.*", "", name) for name in types.split()],
            parse_locations(rest.partition("\nMappings\n")[0]), lines)


def read(file):
    """The head of a profile, and what each stack has of each size: frames with lines, the four values."""
    head, types, locations, lines = read_raw(file)
    assert types == TYPES, types
    found = collections.Counter()
    for line in lines:
        if parts := re.match(r" *(\d+) +(\d+) +(\d+) +(\d+): ([\d ]*)$", line):
            values = [int(value) for value in parts.groups()[:4]]
            stack = tuple(tuple(locations[number].lines) for number in parts[5].split())
        elif size := re.search(r"bytes:\[(\d+)\]", line):
            for name, value in zip(TYPES, values):
                found[stack, size[1], name] += value
    return head, {key: value for key, value in found.items() if value}


def equals_own(version, way, how, rate):
    with resting(build(version, way), how, rate) as (pid, own):
        told, read_here = read(own), read(ours(pid))
        assert told[0] == read_here[0], (told[0], read_here[0])
        assert len(told[1]) > (30 if rate else 3), len(told[1])
        differing = [(key, told[1].get(key), read_here[1].get(key)) for key in told[1].keys() | read_here[1].keys()
                     if told[1].get(key) != read_here[1].get(key)]
        assert not differing, f"{len(differing)} of {len(told[1])}: {differing[0]}"


def tops_equal():
    """Whatever go tool pprof makes of it, and a difference of the two is nothing."""
    def top(*words):
        text = call(go("1.27"), "tool", "pprof", "-top", "-nodecount=9999", "-nodefraction=0", *words).out
        return sorted(line for line in text.splitlines() if re.match(r" +-?[\d.]", line))
    with resting(build("1.27"), "collect", 4096) as (pid, own):
        here = ours(pid)
        for name in ("alloc_objects", "inuse_space"):
            rows = top(f"-sample_index={name}", own)
            assert len(rows) > 5 and rows == top(f"-sample_index={name}", here), name
        assert not top("-diff_base", own, here), top("-diff_base", own, here)


def allocated():
    """Until now: what was allocated since the last collection counts as well."""
    with resting(build("1.26"), "collect", 4096) as (pid, own):
        def total(file, name):
            return sum(value for key, value in read(file)[1].items() if key[2] == name and
                       any("main.drop" == line.function for frame in key[0] for line in frame))
        dropped = 1000 * 10025
        assert 1.5 * dropped < total(own, "alloc_space") < 2.5 * dropped
        assert 2.5 * dropped < total(ours(pid, "--alloc"), "alloc_space") < 3.5 * dropped


def other_forms():
    with resting(build("1.27"), "collect", 4096) as (pid, own):
        values = read(own)[1]
        total = {name: sum(value for key, value in values.items() if key[2] == name) for name in TYPES}
        document = json.loads(gosym("heap", "--json", pid).out)
        assert document["totals"]["value"] == total["inuse_space"], document["totals"]
        assert document["totals"]["unit"] == "bytes" and document["recording"]["period"] == 4096
        for options, name in [([], "inuse_space"), (["--objects"], "inuse_objects")]:
            folded = gosym("heap", "--folded", *options, pid).out.splitlines()
            assert sum(int(line.rpartition(" ")[2]) for line in folded) == total[name], name
            assert any(";main.keep;main.recurse;" in line for line in folded), folded[:3]
        text = gosym("heap", pid).out
        assert re.match(r"as the last of \d+ collections left it\nsampled +[\d,]+ objects, one in 4\.0 KiB; "
                        r"the total is right within \d+\.\d %", text), text
        assert re.search(r"^ *[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+  main\.recurse ", text, re.M), text
        assert "main.keep" in gosym("heap", "--tree", pid).out
        assert "label:bytes" in gosym("heap", "--by", "label:bytes", pid).out
        page = new_place("heap.html")
        gosym("heap", "--html", page, pid)
        assert "inuse_space" in gosym("report", page).out
        told = gosym("diff", own, ours(pid), "--event", "inuse_space").out
        assert "main.keep" in told, told


def counts_equal(version, way):
    """What the memory is for, as the program counts it itself, and as the kernel has it."""
    with resting(build(version, way), "collect") as (pid, own):
        document = json.loads(gosym("heap", "--summary", "--json", pid).out)
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        text = gosym("heap", "--summary", pid).out
        classes = json.loads(gosym("heap", "--classes", "--json", pid).out)["classes"]
        table = gosym("heap", "--classes", pid).out
    lines = [line.split() for line in pathlib.Path(f"{own}.counts").read_text().splitlines()]
    sizes = {int(words[1]): int(words[2]) for words in lines if words[0] == "size"}
    lines = [words for words in lines if words[0] != "size"]
    told = {name: int(value) for name, value in lines if name != "pause"}
    collector, heap, resident = document["collector"], document["heap"], document["resident"]
    for name in ("collections", "forced", "pause_total_ns"):
        assert collector[name] == told[name], (name, collector, told)
    assert collector["pauses_ns"] == [int(value) for name, value in lines if name == "pause"], collector
    near = {"spans": heap["live"] + heap["since"] + heap["free_slots"], "objects": heap["live"] + heap["since"],
            "stacks": heap["stacks"]}
    for name, value in near.items():  # to write them takes memory, and so do objects that are to come
        assert abs(told[name] - value) < 0.05 * told[name] + (256 << 10), (name, value, told)
    found = {row["size"]: row["objects"] for row in classes if "size" in row}
    for size, objects in sizes.items():  # a page of spare slots a processor counts as taken
        assert abs(found.get(size, 0) - objects) <= 0.05 * objects + 16 * 8192 / max(size, 8) + 16, (size, objects, found)
    assert sum(row["taken"] for row in classes) == heap["live"] + heap["since"], (classes, heap)
    assert re.search(r"^ +4,096 +[\d,]+ +[\d,]+ +[\d.]+ +[\d.]+$", table, re.M), table
    parts = [resident[name] for name in ("heap", "runtime", "files", "others")]
    assert sum(parts) == resident["total"], resident
    kernel = int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1]) << 10
    assert abs(kernel - resident["total"]) < 0.05 * kernel + (256 << 10), (kernel, resident)
    assert 0.3 * heap["committed"] < resident["heap"] <= 1.05 * heap["committed"], document  # some was never used
    assert "gogc" not in collector and "the collector is off: the heap only grows" in document["unusual"], document
    assert re.search(r"^collections +\d+, 2 asked for; the last \d+\.\d s ago; ", text, re.M), text
    assert re.search(r"^ +\d+\.\d+ +\d+\.\d %  Go's heap, of which$", text, re.M), text


def counts_unknown():
    with resting(build("1.15")) as (pid, _):
        done = gosym("heap", "--summary", pid, check=False)
        assert done.status == 4 and "gosym knows how Go 1.19 to 1.27 count memory" in done.err, done


def waits(version, way):
    """Of each stack the runtime's own number of waits, and their time by the clock that it has at its end."""
    def read_waits(file):
        head, types, locations, lines = read_raw(file)
        assert types[:2] == ["contentions", "delay"], types
        found = collections.defaultdict(lambda: [0, 0])
        for line in lines:
            if parts := re.match(r" *(\d+) +(\d+): ([\d ]*)$", line):
                entry = found[tuple(tuple(locations[number].lines) for number in parts[3].split())]
                entry[0] += int(parts[1])
                entry[1] += int(parts[2])
        return head, found

    with resting(build(version, way), "waits") as (pid, own):
        for name in ("mutex", "block"):
            (head, told), (own_head, read_here) = read_waits(f"{own}.{name}"), read_waits(ours(pid, f"--{name}"))
            assert head == own_head, (head, own_head)
            assert told.keys() == read_here.keys(), (told.keys() ^ read_here.keys())
            assert any(line.function == "main.holdInlined" for stack in told for frame in stack for line in frame)
            for stack, (count, time) in told.items():
                ours_count, ours_time = read_here[stack]
                assert ours_count == count and abs(ours_time - time) < 0.002 * time + 1000, (stack, told[stack],
                                                                                             read_here[stack])
            total = sum(time for _, time in told.values())
            text = gosym("heap", f"--{name}", pid).out
            seconds = re.search(r" waits, ([\d.]+) s together", text)
            assert seconds and abs(float(seconds[1]) - total / 1e9) < 0.01 + 0.002 * total / 1e9, text
            folded = gosym("heap", f"--{name}", "--objects", "--folded", pid).out.splitlines()
            assert sum(int(line.rpartition(" ")[2]) for line in folded) == sum(count for count, _ in told.values())


def waits_unknown():
    with resting(build("1.19"), "waits") as (pid, _):
        done = gosym("heap", "--mutex", pid, check=False)
        assert done.status == 4 and "gosym knows the profiles of waits of Go 1.20 to 1.27" in done.err, done
    with resting(build("1.27")) as (pid, _):
        done = gosym("heap", "--mutex", pid, check=False)
        assert done.status == 5 and "has no profile of mutexes" in done.err, done


def growth(version):
    """Whose memory grows, and how fast, by what the program wrote meanwhile; what is replaced does not."""
    with resting(build(version), "grow", 4096) as (pid, own):
        begin = time.time_ns()
        document = json.loads(gosym("heap", "--growth", "--interval", "300ms", "-n", 5, "--json", pid).out)
        end = time.time_ns()
        text = gosym("heap", "--growth", "--interval", "100ms", "-n", 4, pid).out
    lines = [tuple(map(int, line.split())) for line in pathlib.Path(f"{own}.grown").read_text().splitlines()[:-1]]
    lines = [line for line in lines if begin < line[0] < end]
    rate = (lines[-1][1] - lines[0][1]) / (lines[-1][0] - lines[0][0]) * 1e9
    print(f"# {rate:.0f} bytes a second, found {document['total']}")
    assert document["collections"] > 0 and len(document["in_use"]) == 5, document
    assert [row["stack"][0] for row in document["growing"]] == ["main.hoard"], document
    for found in (document["total"], document["growing"][0]):
        assert abs(found["bytes_per_second"] - rate) < found["error"] + 0.25 * rate, (found, rate)
    assert re.search(r"^ *\+[\d.]+ ± [\d.]+ +[\d.]+  main\.hoard < main\.grow < main\.main", text, re.M), text
    with resting(build(version), "collect", 4096) as (pid, _):
        text = gosym("heap", "--growth", "--interval", "10ms", "-n", 3, pid).out
        assert "no collection ended meanwhile" in text, text
        for options, what in [(["-n", 2], "3 looks or more"), (["--interval", "1ms"], "--interval: '1ms'")]:
            done = gosym("heap", "--growth", *options, pid, check=False)
            assert done.status == 2 and what in done.err, done


def hostile(how):
    with resting(build("1.21", "static", "-tags=hostile"), how, 4096) as (pid, _):
        done = gosym("heap", pid, check=False)
        if how == "flicker":
            assert done.status in (0, 4), done
        else:
            assert done.status == 4 and UNLIKE_GO in done.err, done


def without_profile():
    program = compiled(go("1.27"), "build", "-buildvcs=false", output=new_place("waiting"), cwd=FIXTURES / "turns",
                       env=GO_ENVIRONMENT | STATIC)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        done = gosym("heap", process.pid, check=False)
        process.kill()
    assert done.status == 5 and "keeps no heap profile" in done.err, done


def refused():
    with resting(build("1.27")) as (pid, _):
        done = call(*WITHOUT_RIGHTS, "heap", pid, check=False)
        assert done.status == 4 and done.err, done
    done = gosym("heap", pid, check=False)
    assert done.status == 5, done
    with subprocess.Popen(["sleep", "100"]) as process:
        done = gosym("heap", process.pid, check=False)
        process.kill()
    assert done.status == 5 and "runs no Go code" in done.err, done


HOSTILE = ["circle", "itself", "wild", "odd", "kernel", "deep", "size", "kind", "flicker"]

run([(f"Go {version}, {way}, {how or 'not collected'}, {rate or 'default rate'}: stacks and numbers are its own",
      functools.partial(equals_own, version, way, how, rate))
     for version in VERSIONS for way in (ways_of(version) if version in ALL_WAYS else ["static"])
     for how, rate in [("collect", 4096)] + [("", None)] * (way == "static" and version in ALL_WAYS)] +
    [("go tool pprof shows the same", tops_equal),
     ("what was allocated is told until now", allocated),
     ("other forms have the same numbers", other_forms)] +
    [(f"Go {version}, {way}: what its memory is for", functools.partial(counts_equal, version, way))
     for version in VERSIONS if version != "1.15" for way in (["static", "cgo"] if version == "1.27" else ["static"])] +
    [(f"Go {version}, {way}: who waited, and who let others wait", functools.partial(waits, version, way))
     for version in VERSIONS if version not in ("1.15", "1.19")
     for way in (ways_of(version) if version == "1.27" else ["static"])] +
    [(f"Go {version}: whose memory grows", functools.partial(growth, version)) for version in ("1.15", "1.27")] +
    [("of releases that are not known nothing is told", counts_unknown),
     ("nor of their waits, or where there is no profile of them", waits_unknown)] +
    [(f"a list that is made to lead astray: {how}", functools.partial(hostile, how)) for how in HOSTILE] +
    [("a program that keeps none is told", without_profile),
     ("what cannot be read is refused", refused)])
