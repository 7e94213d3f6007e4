#!/usr/bin/python3
"""Whether the callers in stacks of native code are true, judged by the code as call_sites.py does:
what a return address follows calls the function that the stack has below it. And whether the
stacks that end at no root are as many as the report says.

    native_call_sites.py GOSYM          some programs
    native_call_sites.py GOSYM --all    all of them, and a table at the end
"""
import bisect
import functools
import re
import shutil
import sys

import machine_code
from call_sites import DIRECT, JUMP, INDIRECT, NO_CALL, WRONG, Programs, allowed, gosym_stacks
from common import FIXTURES, Skip, call, compiled, gosym, new_place, run, told_as_cut

ALL = "--all" in sys.argv
HERTZ = 1999
SECONDS = 2 if ALL else 1
TARGET = 0.001  # of the samples with user frames: with a wrong caller, with none, falsely told
STACKS = FIXTURES / "stacks"
CIPHERS = ["-evp aes-256-gcm", "-evp chacha20-poly1305", "-evp aes-256-cbc", "-evp sha256",
           "-evp sha512", "-evp md5", "rsa2048", "ecdhp256"]

# The first functions of programs and threads, where they have names. That of musl is jumped to.
START = re.compile(r"(_start|_dl_start_user|_*clone3?|__libc_start_main\S*|libc_start_main_stage2)$")
# A jump to where a register or a word of memory leads, but for a table of its own places.
OPEN_JUMP = re.compile(r"\t(?:bnd |notrack )?jmp +\*")


class Program(machine_code.Program):
    """Its functions are those of its unwind tables, and of its symbols where those have none."""

    def __init__(self, file):
        super().__init__(file)
        # It also fails where the file of the debug information is not installed.
        listing = call("readelf", "--wide", "--debug-dump=frames", file, check=False).out
        self.ranges, self.roots = {}, set()
        for entry in listing.split("\n\n"):
            if found := re.search(r" FDE .*pc=(\w+)\.\.(\w+)", entry):
                begin, end = (int(number, 16) for number in found.groups())
                self.ranges[begin] = end
                # The return address is undefined: the tables say that nothing has called it.
                if re.search(r"DW_CFA_undefined: r16\b", entry):
                    self.roots.add(begin)
        self.begins = sorted(self.ranges)
        if not self.entries:
            dynamic = call("nm", "-D", "--defined-only", file, check=False).out
            self.names = {int(line.split()[0], 16): line.split()[2] for line in dynamic.splitlines()
                          if line.split()[1] in "tTwWi"}
            self.entries = sorted(self.names)
        header = call("readelf", "--file-header", file).out
        self.start = int(re.search(r"Entry point address: +0x(\w+)", header)[1], 16)

    def function(self, address):
        at = bisect.bisect_right(self.begins, address) - 1
        if at >= 0 and address < self.ranges[self.begins[at]]:
            return range(self.begins[at], self.ranges[self.begins[at]])
        return super().function(address)

    def name(self, address):
        function = self.function(address)
        return self.names.get(function.start, f"{self.file.rpartition('/')[2]}:{function.start:x}")

    def is_open(self, address):
        return self.is_stub(address) or self.has_open_jump(self.function(address))

    @functools.cache
    def has_open_jump(self, function):
        return bool(OPEN_JUMP.search(self.listing(function)))

    def is_root(self, address):
        function = self.function(address)
        return self.start in function or function.start in self.roots or START.match(self.name(address))


# mov $15, %rax; syscall: signal handlers return there (__restore_rt), where a library has no names too.
SIGNAL_RETURN = bytes.fromhex("48c7c00f0000000f05")


def is_interrupt(frame):
    """The kernel has made its return address: that of a handler is where __restore_rt begins, and
    that of __restore_rt, wherever in it that is, where a signal came."""
    size = len(SIGNAL_RETURN)
    return frame.is_interrupt() or SIGNAL_RETURN in frame.program.read(frame.pc - size, 2 * size + 1)


class Native(Programs):
    make = Program


@functools.cache
def judge(callee, caller):
    """What the code says of two neighbours of a stack; none where it says nothing."""
    if callee.pc is None or caller.pc is None or is_interrupt(callee) or is_interrupt(caller):
        return None
    made = caller.program.call_before(caller.pc + 1)
    if made is None or made.target is None:
        return NO_CALL if made is None else INDIRECT
    if caller.program.is_stub(made.target):
        return JUMP
    if caller.program is not callee.program:
        return JUMP if caller.program.leads_to(made.target, range(0)) else WRONG
    function = callee.program.function(callee.pc)
    if made.target in function:
        return DIRECT
    return JUMP if caller.program.leads_to(made.target, function) else WRONG


class Figures:
    def __init__(self, file):
        programs = Native()
        self.total = self.judged = self.wrong = self.alone = self.lost = 0
        self.examples = {}
        for frames, count in gosym_stacks(file, programs):
            if frames:
                self.add(frames, count)
        self.told, _ = told_as_cut(file)  # pprof counts samples as well

    def add(self, frames, count):
        self.total += count
        last = frames[-1]
        is_whole = last.pc is not None and last.program.is_root(last.pc)
        if not is_whole:
            self.lost += count
            self.alone += count if len(frames) == 1 else 0
            self.note(f"ends at {last.name()}", count)
        pairs = [(pair, judge(*pair)) for pair in zip(frames, frames[1:])]
        self.judged += count * any(verdict in (DIRECT, JUMP) for _, verdict in pairs)
        bad = [pair for pair, verdict in pairs if verdict in (WRONG, NO_CALL)]
        self.wrong += count if bad else 0
        for callee, caller in bad:
            self.note(f"wrong: {callee.name()} < {caller.name()}", count)

    def note(self, example, count):
        self.examples[example] = self.examples.get(example, 0) + count

    def __str__(self):
        return (f"{self.total:8,} {self.judged:8,} {self.wrong:6,} {self.alone:6,} {self.lost:6,} "
                f"{self.told:6,}")


TABLE = {}


def check(name, *command):
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", HERTZ, "-o", file, "--", *command)
    figures = TABLE[name] = Figures(file)
    print(f"# samples, judged, wrong, leaf only, without a root, told: {figures}")
    for example, count in sorted(figures.examples.items(), key=lambda item: -item[1])[:8]:
        print(f"# {count} {example}")
    assert figures.total > 100, f"only {figures.total} samples"
    assert figures.judged > figures.total / 2, f"the code says something of {figures.judged} only"
    limit = allowed(TARGET, figures.total)
    assert figures.wrong <= limit, f"{figures.wrong} of {figures.total} have a wrong caller"
    assert figures.lost <= 3 * limit, f"{figures.lost} of {figures.total} have no root"
    assert abs(figures.lost - figures.told) <= limit, f"{figures.told} are told, not {figures.lost}"


def compile_variety(compiler, *flags):
    return compiled(compiler, "-w", *flags, STACKS / "variety.cpp", output=new_place("variety"))


def variety(name, *command):
    check(name, compile_variety(*command), SECONDS)


def musl(name, *flags):
    if not shutil.which("musl-gcc"):
        raise Skip("no musl-gcc")
    program = compiled("musl-gcc", "-w", *flags, STACKS / "chain.c", output=new_place("chain"))
    check(name, program, SECONDS)


def rust(name, *flags):
    if not shutil.which("rustc"):
        raise Skip("no rustc")
    program = compiled("rustc", *flags, FIXTURES / "shapes.rs", output=new_place("shapes"))
    check(name, "sh", "-c", f"for i in $(seq {400 * SECONDS}); do {program}; done >/dev/null")


def cipher(name, arguments):
    if not shutil.which("openssl"):
        raise Skip("no openssl")
    check(name, "openssl", "speed", "-seconds", SECONDS, "-bytes", 8192, *arguments.split())


def zlib(name):
    check(name, "/usr/bin/python3", "-S", "-c", ZLIB, SECONDS)


ZLIB = """
import sys, time, zlib
text = b"".join(b"%d words and %x more, " % (n, n * 2654435761) for n in range(20000))
while time.process_time() < float(sys.argv[1]):
    assert zlib.decompress(zlib.compress(text, 6)) == text
"""


GXX, CLANG = ["g++"], ["clang++"]
BUILDS = [GXX + [level] for level in ("-O0", "-O1", "-O2", "-O3")] + \
    [CLANG + [level] for level in ("-O0", "-O1", "-O2", "-O3")] + \
    [GXX + ["-O2", *flags] for flags in (["-flto"], ["-static-pie"], ["-static"], ["-fno-plt"],
                                         ["-fomit-frame-pointer", "-s"], ["-fno-omit-frame-pointer"],
                                         ["-fsanitize=thread"], ["-fcf-protection=none"])]
SOME = [GXX + ["-O2", "-static-pie"], CLANG + ["-O3"], GXX + ["-O2", "-fsanitize=thread"]]

CASES = [(" ".join(build), functools.partial(variety, " ".join(build), *build))
         for build in (BUILDS if ALL else SOME)]
CASES += [(f"musl {flags}", functools.partial(musl, f"musl {flags}", *flags.split()))
          for flags in (["-O2 -static"] if ALL else [])]
CASES += [(f"rustc {flags}", functools.partial(rust, f"rustc {flags}", *flags.split()))
          for flags in ["-Copt-level=0", *(["-O"] if ALL else [])]]
CASES += [(f"openssl speed {words}", functools.partial(cipher, f"openssl speed {words}", words))
          for words in (CIPHERS if ALL else CIPHERS[:1])]
if ALL:
    CASES += [("zlib", functools.partial(zlib, "zlib"))]


def show_table():
    print(f"# {'':36} samples   judged  wrong   leaf  lost   told")
    for name, figures in TABLE.items():
        print(f"# {name:36}{figures}")


run([(f"{name}: calls lead where stacks say", case) for name, case in CASES] +
    ([("a table", show_table)] if ALL else []))
