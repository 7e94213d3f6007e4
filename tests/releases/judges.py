"""Compares what gosym says of a program of some release with what judges of that release say: the
program's own runtime where it runs, else `go tool nm` and `go tool addr2line`.
"""
import collections
import json
import re
import shutil
import subprocess
import tempfile

import toolchain  # which says where the others are
import oracle
from common import GOSYM, WORK, call

# Machines other than this one, and what runs their programs here if it is installed.
RUN_BY = {"amd64": [], "386": [], "arm64": ["qemu-aarch64"], "arm": ["qemu-arm"],
          "ppc64le": ["qemu-ppc64le"], "s390x": ["qemu-s390x"], "riscv64": ["qemu-riscv64"]}

STEP = 7  # odd, so that each place in an instruction comes up

Score = collections.namedtuple("Score", "wrong missing total inlined example",
                               defaults=[0, 0, 0, 0, ""])


def can_run(release, machine):
    """Programs of Go up to 1.8 start threads in a way that qemu refuses."""
    return all(toolchain.minor(release) >= 9 and shutil.which(word) for word in RUN_BY[machine])


def of(release, program, machine):
    """As the oracle's Oracle, so that its questions can be asked."""
    return oracle.Oracle(f"1.{toolchain.minor(release)}", [*RUN_BY[machine], program], program,
                         program, oracle.code_segment(program))


def by_runtime(release, program, machine, twins):
    """The scores of twins of a program: what gosym says of them, and the program of itself."""
    built = of(release, program, machine)
    theirs = list(oracle.ask_runtime(built, STEP))
    return [score(release, built._replace(twin=twin), iter(theirs)) for twin in twins]


def score(release, built, theirs):
    counts, example = collections.Counter(), ""
    for address, count, answer, words in oracle.in_step(
            oracle.addresses_of(built, STEP), oracle.ask_gosym(built, STEP), theirs):
        if words == ("!", "", "0"):
            continue
        ours = oracle.our_frames(answer, built.version)
        judged = [known_place(frame) for frame in oracle.their_frames(words)]
        counts["total"] += count
        counts["inlined"] += count * (len(judged) > 1)
        if agree(ours, judged) or len(ours) == len(judged) == 1 and is_last_file(
                release, built.program, address, judged[0], ours[0]):
            continue
        counts["wrong" if ours else "missing"] += count
        example = example or f"{address:#x}: the runtime says {judged}, gosym says {ours}"
    return Score(**counts, example=example)


def agree(ours, judged):
    """Also where the runtime does not know those between the innermost and the outermost."""
    names = [frame[0] for frame in judged]
    if "..." not in names:
        return oracle.agree(ours, judged)
    at = names.index("...")
    outer = names[at + 1:]
    return oracle.agree(ours[:1], judged[:1]) and [frame[0] for frame in ours[-1:]][:len(outer)] == \
        outer


def known_place(frame):
    """Up to Go 1.4 a place without a line has none of a file either, up to 1.2 in other words."""
    return frame if frame[2] > 0 else (frame[0], "?", 0)


def resolve(program, addresses, *options):
    """The frames of each address from the Go table, innermost first, wrappers shown."""
    with tempfile.TemporaryFile("w+", dir=WORK) as asked:
        asked.writelines(f"{address:x}\n" for address in addresses)
        asked.seek(0)
        done = subprocess.run([GOSYM, "resolve", "--json", "--wrappers", *options, program],
                              stdin=asked, capture_output=True, text=True)
    return [[frame for frame in json.loads(line)["frames"] if frame["source"] == "pclntab"]
            for line in done.stdout.splitlines()]


def symbols(release, program, way):
    """The functions of `go tool nm`: address and name."""
    listed = toolchain.go(release, "tool", "nm", "-n", program, way=way).out
    return [(int(address, 16), name)
            for address, name in re.findall(r"^ *([0-9a-f]+) [tT] (.+)$", listed, re.MULTILINE)]


# Symbols that the linker makes, at places where functions are too.
MADE = re.compile(r"^(runtime\.e?text|e?text|go[.:].*|.*-tramp\d+|local\..*|_.*|\$.*)$")


def plain_name(name):
    """What the symbol table and the function table write in different ways: the dot of assembly, the
    kind of a function's calls, types of an instance, which the linker shortened up to Go 1.20, and
    the characters that it escapes.
    """
    name = re.sub(r"\.abi(0|internal)$", "", name.replace("·", "."))
    name = re.sub(r"%[0-9a-f]{2}", lambda found: chr(int(found[0][1:], 16)), name)
    first, last = name.find("["), name.rfind("]")
    return name if first < 0 else f"{name[:first]}[...]{name[last + 1:]}"


def by_symbols(release, program, way, twin=None):
    """Names at the entries of functions of a twin, by the symbol table."""
    asked = collections.defaultdict(set)
    for address, name in symbols(release, program, way):
        if not MADE.match(name):
            asked[address].add(plain_name(name))
    wrong, missing, example = 0, 0, ""
    for (address, names), frames in zip(asked.items(), resolve(twin or program, asked),
                                        strict=True):
        ours = plain_name(frames[-1]["function"]) if frames else None
        if ours in names:
            continue
        wrong += ours is not None
        missing += ours is None
        example = example or f"{address:#x}: nm says {names}, gosym says {ours}"
    return Score(wrong, missing, len(asked), 0, example)


def by_addr2line(release, program, way, twin=None, limit=15000):
    """The function, and the line of the innermost call, at places all over the code."""
    segment = oracle.code_segment(program)
    step = max(STEP, segment.size // limit | 1)
    addresses = range(segment.address, segment.address + segment.size, step)
    asked = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run([toolchain.root(release) / "bin" / "go", "tool", "addr2line", program],
                          input=asked, capture_output=True, text=True,
                          env=toolchain.environment(release, way))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 2 * len(addresses), done.stderr[-500:]
    wrong, missing, inlined, example = 0, 0, 0, ""
    for at, (address, frames) in enumerate(zip(addresses, resolve(twin or program, addresses),
                                               strict=True)):
        theirs = known_line(*lines[2 * at:2 * at + 2])
        ours = (frames[-1]["function"], frames[0].get("file", "?"), frames[0].get("line", 0)) \
            if frames else None
        inlined += len(frames) > 1
        if theirs == ours or theirs and ours and (
                same_call(theirs, ours) or is_last_file(release, program, address, theirs, ours)):
            continue
        wrong += ours is not None
        missing += ours is None
        example = example or f"{address:#x}: addr2line says {theirs}, gosym says {ours}"
    return Score(wrong, missing, len(addresses), inlined, example)


def known_line(function, place):
    file, _, line = place.rpartition(":")
    if function in ("?", "??"):
        return None
    return (function, file, int(line)) if re.match(r"\d+$", line) and int(line) > 0 else \
        (function, "?", 0)


def same_call(theirs, ours):
    return plain_name(theirs[0]) == plain_name(ours[0]) and theirs[1:] == ours[1:]


def total(*scores):
    return Score(*(sum(score[at] for score in scores) for at in range(4)),
                 "\n".join(score.example for score in scores if score.example))


def is_last_file(release, program, address, theirs, ours):
    """Up to Go 1.7 neither the runtime nor the release's tools know the last file of the table: where
    they have none, or one without a name, the debugging information says whether it is the one,
    unless it has none either, as behind the last call of an init function.
    """
    if toolchain.minor(release) > 7 or theirs not in ((ours[0], "?", 0), (ours[0], "", ours[2])):
        return False
    told = call("addr2line", "-e", program, f"{address:#x}").out.split()[0]
    return told in ("??:?", "??:0", "go.o:?", f"{ours[1]}:{ours[2]}")


def stripped(program, *how):
    twin = program.with_name(program.name + "".join(how))
    call("llvm-strip", *how, program, "-o", twin)
    return twin


def is_whole(program):
    """What `inspect --check` says of a table that a released linker has written."""
    done = call(GOSYM, "inspect", "--check", program, check=False)
    failed = [line for line in done.out.splitlines() if re.search(r"\bFAILED|broken|first", line)]
    return Score(int(done.status != 0), 0, 1, 0, "; ".join(failed[:3]) or done.err[-300:])
