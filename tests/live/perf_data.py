#!/usr/bin/python3
"""perf.data files are read as recordings. What samples have is judged by what `perf script -D` says of
the same file, and names by perf's own of the same program before it was stripped.
"""
import collections
import functools
import json
import pathlib
import re
import shutil
import subprocess

from common import GO_ENVIRONMENT, GOSYM, Skip, build_demo, call, go, gosym, new_place, run

DUMP = pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures" / "dump_recording"
MARKERS = 2**64 - 4095  # PERF_CONTEXT_MAX: from there on addresses of a chain say what follows
KERNEL, USER = 2**64 - 128, 2**64 - 512
HERTZ, SECONDS = 499, 1

Sample = collections.namedtuple("Sample", "time pid tid kernel user")


@functools.cache
def program():
    """The demo as it was built, and stripped, which leaves it its build id."""
    whole, stripped = build_demo("newest"), new_place("stripped")
    call("strip", "-o", stripped, whole)
    return whole, stripped


def perf():
    if not shutil.which("perf"):
        raise Skip("no perf")
    return "perf"


@functools.cache
def recorded(*options):
    data = new_place("perf.data")
    command = [perf(), "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), *options]
    if "-" in options:
        call("sh", "-c", '"$@" > "$0"', data, *command, program()[1], SECONDS)
    else:
        call(*command, "-o", data, program()[1], SECONDS)
    return data


def is_in_kernel(address):
    return address >= 2**63


def samples_of_perf(data):
    """What perf's own listing of the file's bytes says: the sample, its address, and the pc among its registers."""
    head = re.compile(r"(?:(\d+) )?0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE\(IP, 0x[0-9a-f]+\): "
                      r"(-?\d+)/(-?\d+): 0x([0-9a-f]+) ")  # -1: of a thread that ends
    samples = []
    for line in call("perf", "script", "-D", "-i", data).out.splitlines():
        if found := head.search(line):
            part, kernel, user = None, [], []
            numbers = [int(found[1] or 0), *(int(found[i]) % 2**32 for i in (2, 3))]
            samples.append([Sample(*numbers, kernel, user), int(found[4], 16), 0])
        elif found := re.match(r"\.{5} +\d+: ([0-9a-f]{16})$", line):
            value = int(found[1], 16)
            if value >= MARKERS:
                part = {KERNEL: kernel, USER: user}.get(value)
            elif part is not None and value:
                part.append(value)
        elif found := re.match(r"\.{4} IP +0x([0-9a-f]{16})$", line):
            samples[-1][2] = int(found[1], 16)
    return samples


def expected(data):
    """Where user code was is in the registers, where the chain has none of it."""
    for sample, address, pc in samples_of_perf(data):
        if not sample.kernel and not sample.user:
            (sample.kernel if is_in_kernel(address) else sample.user).append(address)
        if not sample.user and pc:
            sample.user.append(pc)
        yield sample


def dumped(data):
    return [json.loads(line) for line in call(DUMP, data).out.splitlines()]


def read(data):
    return [Sample(*(one[key] for key in ("time", "pid", "tid", "kernel_stack", "user_stack")))
            for one in dumped(data) if one["kind"] == "sample"]


def is_read(*options):
    data = recorded(*options)
    ours, theirs = sorted(read(data)), sorted(expected(data))
    if not any(sample.time for sample in theirs):  # then ours are places in the file
        ours = sorted(sample._replace(time=0) for sample in ours)
    print(f"# {len(ours)} samples")
    assert len(theirs) > 10, "too few samples"
    assert len(ours) == len(theirs), (len(ours), len(theirs))
    for one, other in zip(ours, theirs):
        assert one == other, (one, other)


def events_are_told_apart():
    data = recorded("-g", "-e", "page-faults")
    shown = call("perf", "script", "-F", "event", "-i", data).out.split()
    counts = collections.Counter(name.rstrip(":") for name in shown)
    info, *rest = dumped(data)
    names = [bytes.fromhex(event[0]).decode() for event in info["events"]]
    ours = collections.Counter(names[one["event"]] for one in rest if one["kind"] == "sample")
    assert ours == counts and len(ours) == 2, (ours, counts)


def scripted(text):
    """Of each sample its thread and its functions, without those that are inlined."""
    for sample in text.strip().split("\n\n"):
        head, *frames = sample.splitlines()
        tid = re.search(r"\s(?:\d+/)?(\d+) +\d+\.\d+:", head)[1]
        names = [re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", frame) for frame in frames]
        yield tid, tuple(name[1] for name in names if name[2] != "inlined" and "kernel" not in name[2])


def names_are_those_of_symbols():
    """perf is shown the program with symbols, in the place of the stripped one."""
    whole, stripped = program()
    data = recorded("-g")
    ours = collections.Counter(scripted(gosym("report", "-q", "--script", data).out))
    assert "main.main" in str(ours)
    kept = stripped.with_name("kept")
    shutil.copy2(stripped, kept)
    shutil.copy2(whole, stripped)
    try:
        text = call("perf", "script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i", data).out
    finally:
        shutil.copy2(kept, stripped)
    theirs = collections.Counter(scripted(re.sub(r"(\.abi0)?(\+0x[0-9a-f]+)? \(", " (", text)))
    same = (ours & theirs).total()
    for stack in list((theirs - ours))[:3] + list((ours - theirs))[:3]:
        print(f"# differs: {stack}")
    print(f"# {same} of {theirs.total()} stacks are the same")
    assert ours.total() == theirs.total() and same >= 0.95 * theirs.total()


def callers_are_found_in_copies_of_stacks():
    data = recorded("--call-graph", "dwarf")
    text = gosym("report", "-q", "--folded", data).out
    whole = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines() if ";runtime.goexit;runtime.main;main.main;main.processRequest;" in line)
    total = sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines())
    print(f"# {whole} of {total} from main")
    assert whole > 0.9 * total, text[:2000]


def another_program_is_refused():
    data = recorded("-g")
    stripped = program()[1]
    kept = stripped.with_name("kept2")
    shutil.copy2(stripped, kept)
    shutil.copy2("/bin/true", stripped)
    try:
        done = gosym("report", "--folded", data)
    finally:
        shutil.copy2(kept, stripped)
    assert "main.fetchData" not in done.out and "not the file that was recorded" in done.err, done.err


def compiler_takes_its_profile():
    profile = new_place("default.pgo")
    gosym("report", "-q", recorded("-g"), "--pprof", profile)
    listed = profile.with_suffix(".preprofile")
    call(go("newest"), "tool", "preprofile", "-i", profile, "-o", listed, env=GO_ENVIRONMENT)
    assert "main.fetchData" in listed.read_text()


def streams_and_views():
    data = recorded("-g", "-o", "-")
    with open(data, "rb") as stream:
        done = subprocess.run([GOSYM, "report", "-"], stdin=stream, capture_output=True, text=True)
    assert done.returncode == 0 and "main.fetchData" in done.stdout, done
    assert re.search(r"read .*a perf\.data file of perf \d", done.stdout), done.stdout
    told = gosym("diff", recorded("-g"), recorded("-g", "--buildid-mmap"))
    assert "main.fetchData" in told.out and "kernel code" not in told.err, told
    assert "main.go" in gosym("annotate", data, "main.main").out
    kept = gosym("report", data, "--pprof", data, check=False)
    assert kept.status == 2 and "does not overwrite" in kept.err, kept
    refused = gosym("archive", recorded("-g"), check=False)
    assert refused.status != 0 and "perf.data" in refused.err, refused


run([(f"perf record {' '.join(options)}: samples are perf's", functools.partial(is_read, *options))
     for options in (("-g",), ("-g", "-z"), ("-g", "-o", "-"), ("-g", "-a"), ("--call-graph", "dwarf"), (),
                     ("-g", "--buildid-mmap"), ("-g", "--per-thread"))] +
    [("events are told apart", events_are_told_apart),
     ("names are those of the symbols that were stripped", names_are_those_of_symbols),
     ("callers are found in copies of stacks", callers_are_found_in_copies_of_stacks),
     ("another program at the path gives no names", another_program_is_refused),
     ("Go's compiler takes its profile", compiler_takes_its_profile),
     ("streams, views and diff", streams_and_views)])
