#!/usr/bin/python3
"""Stacks of Go programs on arm64, recorded in a virtual machine and reported here.

    arm64_stacks.py GOSYM GOSYM_FOR_ARM64 [--linux VERSION] [--go VERSION,...]

The judge is that of tests/live/call_sites.py: the code itself. A return address follows a call, and
that of a direct one leads to the function that was called.
"""
import argparse
import collections
import functools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]
import arm64  # noqa: E402
import call_sites  # noqa: E402
import common  # noqa: E402
import machine_code  # noqa: E402

SECONDS, HERTZ = 6, 499
LIMIT = 1200  # of this machine: tells a hang from slowness
EVENTS = ["cpu-clock", "cycles"]
GO = ["1.27"]
LOADER = "/lib/ld-linux-aarch64.so.1"

# Samples with user frames.
WRONG_LEAVES = 0.001
# The scheduler's stacks begin where a goroutine has left for them.
call_sites.ROOTS = re.compile(call_sites.ROOTS.pattern + r"|runtime\.(mcall|morestack)\b|thread_start$")
ROOTLESS = 0.003


class Program(machine_code.Program):
    """Machine code of arm64."""

    def __init__(self, file):
        super().__init__(file)
        # What assemblers mark code and data with is no function.
        self.names = {address: name for address, name in self.names.items() if name not in ("$x", "$d")}
        self.entries = sorted(self.names)

    def call_before(self, address):
        instruction = int.from_bytes(self.read(address - 4, 4), "little")
        if instruction >> 26 == 0x25:  # bl
            return machine_code.Call(address - 4 + distance(instruction, 0, 26))
        is_indirect = instruction & 0xfffffc1f == 0xd63f0000  # blr
        return machine_code.Call(None) if is_indirect else None

    @functools.cache
    def jumps_from(self, address):
        function = self.function(address)
        code = self.read(function.start, len(function))
        targets = set()
        for at in range(0, len(code) - 3, 4):
            instruction = int.from_bytes(code[at:at + 4], "little")
            if instruction >> 26 == 5:  # b
                targets.add(function.start + at + distance(instruction, 0, 26))
            elif instruction >> 24 == 0x54 or instruction >> 25 & 0x3f == 0x1a:  # b.cond, cbz
                targets.add(function.start + at + distance(instruction, 5, 19))
        return frozenset(target for target in targets if target not in function)


def distance(instruction, first, size):
    number = instruction >> first & (1 << size) - 1
    return 4 * (number - (1 << size) if number >> size - 1 else number)


class Programs(call_sites.Programs):
    make = Program


def build(version, fixture, flags=(), cgo=False):
    environment = common.GO_ENVIRONMENT | {"GOARCH": "arm64"}
    if cgo:
        environment |= {"CGO_ENABLED": "1", "CC": "aarch64-linux-gnu-gcc",
                        "CGO_CFLAGS": "-g -O2 -mbranch-protection=standard"}
        flags = [*flags, "-ldflags=-linkmode=external -extldflags=-static"]
    return common.compiled(common.go(version), "build", "-buildvcs=false", *flags, env=environment,
                           output=common.new_place(fixture), cwd=common.FIXTURES / fixture)


Work = collections.namedtuple("Work", "name program arguments")


def works(versions):
    for version in versions:
        yield Work(f"{version}-static", build(version, "leaves"), ["all", "1", "/dev/null"])
        yield Work(f"{version}-pie", build(version, "leaves", ["-buildmode=pie"]), ["all", "1", "/dev/null"])
        cgo = build(version, "cgo", cgo=True)
        for way in ("spin", "framed", "sort", "callback", "nested 3"):
            yield Work(f"{version}-cgo-{way.split()[0]}", cgo, way.split())


def job(all_works):
    lines = ["gosym doctor >doctor.txt 2>&1", "uname -r", "cat doctor.txt"]
    for work in all_works:
        lines += [f"{work.program} {' '.join(work.arguments)} & pid=$!", "sleep 1"]
        for event in EVENTS:
            lines += [f"gosym record -F {HERTZ} -d {SECONDS}s -e {event} -p $pid "
                      f"-o {work.name}.{event}.raw 2>&1"]
        lines += ["kill $pid", "wait $pid 2>/dev/null"]
    return "\n".join(lines) + "\n"


def judge(recording):
    """Figures of one recording, and what of them is too much."""
    figures = call_sites.Figures(call_sites.gosym_stacks(recording, Programs()))
    leaves = figures.leaves.total()
    wrong = call_sites.wrong_leaves(figures)
    lost = figures.ends[call_sites.LOST]
    print(f"{recording.stem:32} {leaves:6} samples, callers of leaves wrong or missing {wrong:4}"
          f" ({wrong / max(leaves, 1):.2%}), of callers {call_sites.wrong_callers(figures):4},"
          f" without a root {lost:4} ({lost / max(leaves, 1):.2%})", flush=True)
    for example, count in figures.examples.most_common(8):
        print(f"    {count} {example}")
    return leaves > 0 and wrong <= call_sites.allowed(WRONG_LEAVES, leaves) and \
        lost <= call_sites.allowed(ROOTLESS, leaves)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("gosym")
    options.add_argument("gosym_for_arm64", type=pathlib.Path)
    options.add_argument("--linux", default="6.1", metavar="VERSION")
    options.add_argument("--go", default=",".join(GO), metavar="VERSION,...")
    options.add_argument("--only", default="", metavar="NAME", help="of the recordings, by a regular expression")
    wanted = options.parse_args()
    folder = wanted.gosym_for_arm64.resolve().parent.parent / "vm"
    all_works = [work for work in works(wanted.go.split(",")) if re.search(wanted.only, work.name)]
    files = {str(work.program): work.program for work in all_works}
    files["/bin/gosym"] = wanted.gosym_for_arm64
    files[LOADER] = pathlib.Path("/usr/aarch64-linux-gnu" + LOADER)  # for those that are position independent
    is_done = arm64.boot(wanted.linux, job(all_works), files, folder, LIMIT)
    if not is_done:
        sys.exit(f"the guest did not end in order: {folder}/console")
    verdicts = [judge(folder / "out" / f"{work.name}.{event}.raw") for work in all_works for event in EVENTS]
    print(f"{sum(verdicts)} of {len(verdicts)} recordings are good")
    sys.exit(not all(verdicts))


if __name__ == "__main__":
    main()
