"""Where the runtime of a release keeps its goroutines, as gosym believes it, against the debugging
information of a program of that release, and against the memory of that program while it runs.
"""
import re
import struct
import subprocess
import sys
import time

import toolchain
from common import FIXTURES, call
from judges import Score
from toolchain import Way, minor

FIRST = 4  # the first release that has its version in a variable
PRINT = sys.argv[2] if len(sys.argv) > 2 else ""


def of(release):
    has_labels = minor(release) >= 9
    program = toolchain.build(release, FIXTURES / ("goroutines" if has_labels else "go_stacks"), Way())
    line = call(PRINT, program).out.strip()
    if line == "none":
        return Score(0, 1, 1, 0, "unknown")
    ours = dict(word.split("=") for word in line.split())
    ours = {name: int(value) for name, value in ours.items() if name != "reasons"}
    expected = by_debug_info(program, has_frame_pointers=minor(release) >= 7,
                             has_waits=minor(release) >= 15)
    if has_labels:
        expected["callback_frame"] = callback_frame(release)
    differing = [f"{name} is {ours[name]}, not {value}" for name, value in expected.items()
                 if ours[name] != value]
    problems = differing + (in_memory(release, program, ours) if has_labels else [])
    return Score(len(problems), 0, len(expected) + 6 * has_labels, 0, "\n".join(problems))


def members(program, name):
    """The offsets of the members of a structure."""
    text = call("llvm-dwarfdump", f"--name=runtime.{name}", "--show-children", program).out
    found = re.findall(r'DW_TAG_member\n\s+DW_AT_name\s+\("(\w+)"\)\n\s+DW_AT_data_member_location'
                       r'\s+\((?:DW_OP_plus_uconst )?(\w+)\)', text)
    return {member: int(offset, 0) for member, offset in reversed(found)}


def by_debug_info(program, has_frame_pointers, has_waits):
    g, m, buffer = (members(program, name) for name in ("g", "m", "gobuf"))
    assert buffer["pc"] == buffer["sp"] + 8 and m["g0"] == 0 and g["stack"] == 0
    waits = {"m.procid": m["procid"], "g.parentGoid": g.get("parentGoid", 0),
             "g.trackingSeq": g.get("trackingSeq", 0)} | {
        f"g.{name}": g[name] for name in ("atomicstatus", "waitsince", "waitreason", "syscallsp", "lockedm",
                                          "gopc", "startpc")} if has_waits else {}
    return waits | {"g.m": g["m"], "g.sched.sp": g["sched"] + buffer["sp"],
            "g.sched.bp": g["sched"] + buffer["bp"] if has_frame_pointers else 0, "g.goid": g["goid"],
            "g.labels": g.get("labels", 0), "g.stkbar": g.get("stkbar", 0),
            "m.gsignal": m["gsignal"], "m.curg": m["curg"]}


def callback_frame(release):
    """What the function that calls Go code back takes of the stack, return address included."""
    program = toolchain.build(release, FIXTURES / "goroutines", Way(cgo=True))
    name = "cgocallback_gofunc" if minor(release) < 16 else "cgocallback"
    listed = toolchain.go(release, "tool", "objdump", "-s",
                          rf"^runtime\.{name}(\.abi0)?$", program).out
    opened = re.search(r"\b(?:SUBQ \$|ADDQ \$-)0x([0-9a-f]+), SP", listed)
    pushed = listed[:opened.start()].count("PUSHQ BP")
    return int(opened[1], 16) + 8 * pushed + 8


def in_memory(release, program, ours):
    """What does not hold in a process: of its first thread and of all of its goroutines."""
    symbols = {name: int(address, 16) for address, name in re.findall(
        r"^ *([0-9a-f]+) [bBdD] (runtime\.(?:m0|g0|allgs))$",
        toolchain.go(release, "tool", "nm", program).out, re.MULTILINE)}
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            announced = [process.stdout.readline().split() for _ in range(5)]
            with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
                return eventually_none(lambda: broken(memory, symbols, ours, announced))
        finally:
            process.kill()


def eventually_none(problems):
    """Of a process that goes on while it is looked at, and has no labels from time to time."""
    for _ in range(200):
        if not (found := problems()):
            break
        time.sleep(0.02)
    return found


def broken(memory, symbols, ours, announced):
    def word(address):
        memory.seek(address)
        return struct.unpack("<Q", memory.read(8))[0]

    def field(of, name):
        return word(of + ours[name])

    g0, m0 = symbols["runtime.g0"], symbols["runtime.m0"]
    goroutines = [word(word(symbols["runtime.allgs"]) + 8 * at)
                  for at in range(word(symbols["runtime.allgs"] + 8))]
    by_number = {field(g, "g.goid"): g for g in goroutines}
    running = field(m0, "m.curg")
    left = [g for g in goroutines if word(g) and field(g, "g.sched.sp")]
    holds = {
        "g0 and m0 know each other": word(m0) == g0 and field(g0, "g.m") == m0,
        "gsignal is of its thread": field(field(m0, "m.gsignal"), "g.m") == m0,
        "curg is a goroutine": running in (0, *goroutines),
        "goroutines have the numbers that they say they have":
            all(int(number) in by_number for _, number in announced),
        "labels are of those that have some": all(
            (field(by_number[int(number)], "g.labels") != 0) == (name != "plain")
            for name, number in announced if int(number) in by_number and name != "changing"),
        "goroutines that wait left their stacks within their bounds": len(left) > 0 and all(
            word(g) < field(g, "g.sched.sp") <= word(g + 8) for g in left),
    }
    return [f"not so: {what}" for what, is_so in holds.items() if not is_so]
