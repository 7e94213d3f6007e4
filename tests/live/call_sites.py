#!/usr/bin/python3
"""Whether the callers in stacks are true, by a judge that needs no reference: the code itself.

A return address follows a call. If that is a direct call, it leads to the function that the stack
has below: at once, or by jumps through others. Where a stack lacks the caller of its innermost
function, which keeps no frame yet or never, the call before the next return address leads
elsewhere. `perf record -g`, which goes by frame pointers alone, is judged by the same rules over
the same time.
"""
import collections
import contextlib
import functools
import math
import pathlib
import re
import shutil
import subprocess

import prometheus
from common import (FIXTURES, GO_ENVIRONMENT, Mapping, build_leaves, call, compiled, fetched, new_place,
                    pprof, record, run, running)
from machine_code import Program

SECONDS, HERTZ = 1, 4999  # as many samples as are judged, in little CPU time
TARGET = 0.001  # of the samples with user frames: wrong or missing callers of the innermost
TARGET_OF_OTHERS = 0.003  # of the same: wrong callers further out

# What a signal interrupted is not after a call, and neither is where a goroutine begins.
INTERRUPTS = re.compile(r"runtime\.(asyncPreempt|sigpanic|sigreturn|debugCall)|__restore_rt")
HANDLER = re.compile(r"runtime\.(cgoSigtramp|sigtramp)\b")  # called by the kernel
BEGIN = re.compile(r"runtime\.goexit\b")
ROOTS = re.compile(r"runtime\.(goexit|mstart|rt0_go|clone)\b|_rt0_|_start$|_*clone3?$")


# `pc` is the instruction at work: for callers, the last byte of the call. In the file's own terms.
class Frame(collections.namedtuple("Frame", "program pc")):
    def name(self):
        return self.program.name(self.pc) if self.pc is not None else "?"

    def is_interrupt(self):
        """The kernel's return address of a signal handler is where a function begins."""
        return any(INTERRUPTS.match(self.program.name(at)) for at in (self.pc, self.pc + 1))


DIRECT, JUMP, INDIRECT = "direct call of it", "call of what jumps to it", "indirect call"
WRONG, NO_CALL, ALONE = "call of another function", "not a call", "no caller"
SIGNAL, ROOT, ELSEWHERE = "interrupted by a signal", "root of the stack", "code of no file"
LOST = "not a root"
GOOD, BAD, UNJUDGED = [DIRECT, JUMP, INDIRECT], [WRONG, NO_CALL, ALONE], [SIGNAL, ROOT, ELSEWHERE]

NOWHERE = Mapping(0, 0, 0, "")


class Programs:
    """The files of a process, read when a stack first shows them."""

    make = Program

    def __init__(self):
        self.known = {}

    def find(self, file):
        if file not in self.known:
            self.known[file] = self.make(file) if pathlib.Path(file).is_file() else None
        return self.known[file]

    def frame(self, file, offset):
        program = self.find(file)
        return Frame(program, program.address_of(offset) if program else None)


def is_kernel(address):
    return address >= 1 << 63


def gosym_stacks(recording, programs):
    """User stacks, innermost frame first, each with the number of its samples."""
    profile = pprof(recording, "--wrappers")
    for sample in profile.samples:
        locations = [profile.locations[number] for number in sample.locations]
        yield [programs.frame(mapping.file, location.address - mapping.start + mapping.offset)
               for location in locations if not is_kernel(location.address)
               for mapping in [profile.mappings.get(location.mapping, NOWHERE)]], sample.count


def perf_stacks(data, programs):
    """The same of perf, which writes offsets into files in place of user addresses."""
    listing = call("perf", "script", "-i", data, "-F", "ip,dso", "--no-inline").out
    for sample in listing.split("\n\n"):
        found = [(file, int(offset, 16)) for offset, file in
                 re.findall(r"^\s*([0-9a-f]+) \((.*)\)$", sample, re.MULTILINE)]
        user = [(file, offset) for file, offset in found if not is_kernel(offset)]
        yield [programs.frame(file, offset - (depth > 0))
               for depth, (file, offset) in enumerate(user)], 1


@functools.cache
def judge(callee, caller):
    """What the code says of two neighbours of a stack."""
    if callee.pc is None or caller.pc is None:
        return ELSEWHERE
    if callee.is_interrupt() or caller.is_interrupt():
        return SIGNAL
    if BEGIN.match(caller.name()):
        return ROOT
    made = caller.program.call_before(caller.pc + 1)
    if made is None or made.target is None:
        return NO_CALL if made is None else INDIRECT
    if caller.program is not callee.program:
        return JUMP if caller.program.is_stub(made.target) else WRONG
    function = callee.program.function(callee.pc)
    if made.target in function:
        return DIRECT
    return JUMP if caller.program.leads_to(made.target, function) else WRONG


class Figures:
    """How many innermost callers, other callers and ends of stacks are of each class."""

    def __init__(self, stacks):
        self.leaves, self.others, self.ends, self.examples = (collections.Counter()
                                                              for _ in range(4))
        for frames, count in stacks:
            if frames:
                self.add(frames, count)

    def add(self, frames, count):
        is_whole = ROOTS.match(frames[-1].name())
        self.ends[ROOT if is_whole else LOST] += count
        if not is_whole:
            self.examples[f"ends: {frames[-1].name()}"] += count
        if len(frames) == 1:
            is_handler = HANDLER.match(frames[0].name())
            self.leaves[ROOT if is_whole else SIGNAL if is_handler else ALONE] += count
            if not is_whole and not is_handler:
                self.examples[f"leaf, {ALONE}: {frames[0].name()}"] += count
        for depth, (callee, caller) in enumerate(zip(frames, frames[1:])):
            verdict = judge(callee, caller)
            (self.others if depth else self.leaves)[verdict] += count
            if verdict in BAD:
                where = "inner" if depth else "leaf"
                self.examples[f"{where}, {verdict}: {callee.name()} < {caller.name()}"] += count


@contextlib.contextmanager
def perf_recording(pid, hertz, *callers):
    """The file of perf, which samples the process meanwhile; afterwards it is whole."""
    data = new_place("perf.data")
    with subprocess.Popen(["perf", "record", "-q", *callers, "-e", "cpu-clock", "-F", str(hertz), "-p",
                           str(pid), "-o", data, "--", "sleep", "60"]) as perf:
        try:
            yield data
        finally:
            perf.terminate()


def record_both(pid):
    """Recordings of gosym and of perf, made at the same time. None of perf where there is none."""
    if not shutil.which("perf"):
        return record("-p", pid, seconds=SECONDS, hertz=HERTZ), None
    with perf_recording(pid, HERTZ, "-g") as data:
        return record("-p", pid, seconds=SECONDS, hertz=HERTZ), data


def table(columns):
    """Lines of counts and shares, a column for each recorder."""
    for title, kind, verdicts in [("callers of the innermost", "leaves", GOOD + BAD + UNJUDGED),
                                  ("callers of callers", "others", GOOD + BAD + UNJUDGED),
                                  ("ends of stacks", "ends", [ROOT, LOST])]:
        yield f"{title:34}" + "".join(f"{name:>20}" for name in columns)
        for verdict in verdicts:
            row = f"  {verdict:32}"
            for figures in columns.values():
                counts = getattr(figures, kind)
                share = 100 * counts[verdict] / max(counts.total(), 1)
                row += f"{counts[verdict]:11,}{share:7.2f} %"
            yield row


def wrong_leaves(figures):
    return sum(figures.leaves[verdict] for verdict in BAD)


def wrong_callers(figures):
    """Further out: how many are of another function."""
    return sum(figures.others[verdict] for verdict in (WRONG, NO_CALL))


def allowed(share, total):
    """How many of so many samples, three standard deviations of noise included."""
    return share * total + 3 * math.sqrt(share * total)


def check(pid):
    recording, data = record_both(pid)
    programs = Programs()
    columns = {"gosym": Figures(gosym_stacks(recording, programs))}
    if data:
        columns["perf record -g"] = Figures(perf_stacks(data, programs))
    for line in table(columns):
        print("#", line)
    ours, *theirs = columns.values()
    for example, count in ours.examples.most_common(12):
        print(f"# {count} {example}")
    least = min(figures.leaves.total() for figures in columns.values())
    assert least > SECONDS * HERTZ / 5, f"only {least} samples"
    assert all(wrong_leaves(figures) + wrong_callers(figures) > 0.05 * figures.leaves.total()
               for figures in theirs), \
        "those of perf are not found out"
    wrong, total = wrong_leaves(ours), ours.leaves.total()
    assert wrong <= allowed(TARGET, total), \
        f"{wrong} of {total} innermost callers are wrong or missing, {wrong / total:.2%}"
    wrong = wrong_callers(ours)
    assert wrong <= allowed(TARGET_OF_OTHERS, total), f"{wrong} callers of callers in {total} stacks are wrong"


def busy_program(version):
    with running(build_leaves(version), "all", 1, "/dev/null") as pid:
        check(pid)


def thunks(version, work):
    """Functions that keep no frame call others: the chain of frame pointers passes over their callers."""
    program = compiled(fetched("toolchain", version) + "/bin/go", "build", "-buildvcs=false",
                       output=new_place("thunks"), cwd=FIXTURES / "thunks", env=GO_ENVIRONMENT)
    with running(program, work) as pid:
        check(pid)


def service():
    with prometheus.busy() as pid:
        check(pid)


if __name__ == "__main__":
    run([(f"Go {version}: calls lead where stacks say", functools.partial(busy_program, version))
         for version in ("1.19", "1.23", "1.25", "1.27")] +
        [(f"Go {version}, assembly without frames, {work}: calls lead where stacks say",
          functools.partial(thunks, version, work))
         for version, work in (("1.18", "writes"), ("1.27", "calls"))] +
        [("a stripped service: calls lead where stacks say", service)])
