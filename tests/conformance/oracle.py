"""Builds the oracle, a Go program that tells what its own runtime says of its code, and compares
its answers with those of gosym for the stripped program, address by address.

Both sides give a line for each address asked, or a run of them; runs are what is compared, so that
millions of addresses take seconds.
"""
import bisect
import collections
import concurrent.futures
import functools
import itertools
import json
import operator
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
import builds  # noqa: E402
from common import GO_ENVIRONMENT, GOSYM, WORK, call, go, run  # noqa: E402

# How the oracle is built, and the command that runs it then, with `@` for its directory.
Mode = collections.namedtuple("Mode", "build link environment command flags",
                              defaults=["exe", "", {}, "@/oracle", ()])

CGO = {"CGO_ENABLED": "1"}
EXTERNAL = "-linkmode=external"
LLD = EXTERNAL + " -extldflags=-fuse-ld=lld"
STATIC_LLD = EXTERNAL + " '-extldflags=-static-pie -fuse-ld=lld'"
ON_ARM64 = "qemu-aarch64 -L /usr/aarch64-linux-gnu @/oracle"
ON_S390X = "qemu-s390x -L /usr/s390x-linux-gnu @/oracle"
# Only where nothing else is built for that machine: it takes a standard library of its own.
TRIMPATH = ("-trimpath",)

MODES = {
    "static": Mode(),
    "PIE": Mode("pie"),
    "cgo": Mode("exe", EXTERNAL, CGO),
    "cgo PIE": Mode("pie", EXTERNAL, CGO),
    "cgo internal": Mode("exe", "-linkmode=internal", CGO),
    "cgo internal PIE": Mode("pie", "-linkmode=internal", CGO),
    "cgo by lld": Mode("exe", LLD, CGO),
    "cgo PIE by lld": Mode("pie", LLD, CGO),
    "cgo static PIE by lld": Mode("pie", STATIC_LLD, CGO),
    "c-shared": Mode("c-shared", "", CGO, "@/loader @/oracle"),
    "plugin": Mode("plugin", "", CGO, "@/pluginhost @/oracle"),
    "386": Mode("exe", "", {"GOARCH": "386"}, flags=TRIMPATH),
    "arm64": Mode("exe", "", {"GOARCH": "arm64"}, ON_ARM64, TRIMPATH),
    "arm64 PIE": Mode("pie", "", {"GOARCH": "arm64"}, ON_ARM64, TRIMPATH),
    "s390x": Mode("exe", "", {"GOARCH": "s390x"}, ON_S390X, TRIMPATH),
    "s390x PIE": Mode("pie", "", {"GOARCH": "s390x"}, ON_S390X, TRIMPATH),
}


def minor(version):
    return int(version.removeprefix("1."))


Oracle = collections.namedtuple("Oracle", "version command program twin segment")
Segment = collections.namedtuple("Segment", "address offset size")


def build(version, mode_name, size="small"):
    """The oracle, with its stripped twin and where its code is. A large one has much of the standard
    library in it."""
    mode, folder = MODES[mode_name], pathlib.Path(tempfile.mkdtemp(dir=WORK))
    # Go 1.23 and later keep the runtime's own functions to itself, unless told not to.
    link = mode.link + " -checklinkname=0" * (minor(version) >= 23)
    go_build(version, folder / "oracle", *mode.flags, f"-buildmode={mode.build}", f"-ldflags={link}",
             f"-tags={size}", env={**GO_ENVIRONMENT, **mode.environment})
    # For any machine, unlike strip.
    call("llvm-strip", "--strip-all", folder / "oracle", "-o", folder / "stripped")
    if mode.build == "c-shared":
        call("gcc", HERE / "oracle" / "loader" / "loader.c", "-o", folder / "loader")
    if mode.build == "plugin":
        go_build(version, folder / "pluginhost", source=HERE / "oracle" / "pluginhost",
                 env={**GO_ENVIRONMENT, **CGO})
    return Oracle(version, mode.command.replace("@", str(folder)).split(), folder / "oracle",
                  folder / "stripped", code_segment(folder / "oracle"))


def go_build(version, output, *flags, source=HERE / "oracle", env):
    """The sources stay where they are, so that the cache of Go has what others were built of."""
    # Each Go compiles the language of its own version, but only if the module says so.
    module = output.with_suffix(".mod")
    module.write_text(f"module oracle\n\ngo {version}\n")
    vcs = ["-buildvcs=false"] if minor(version) >= 18 else []

    def call_go(*words, **options):
        call(*words, f"-modfile={module}", **options)

    builds.compiled(call_go, [go(version), "build", *vcs, *flags], output, cwd=source, env=env)


def code_segment(program):
    headers = call("readelf", "--program-headers", "--wide", program).out
    found = re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E", headers)
    assert len(found) == 1, f"{len(found)} executable segments, not 1"
    offset, address, size = (int(word, 16) for word in found[0])
    return Segment(address, offset, size)


def addresses_of(oracle, step):
    start = oracle.segment.address
    return range(start, start + oracle.segment.size, step)


def ask_runtime(oracle, step):
    """Runs of addresses with the same answer: the last one, then the words of the answer."""
    line = "{:x} {:x} {:x} {:x}\n".format(*oracle.segment, step)
    # Its garbage is small and plenty: to collect it less often takes less time.
    done = subprocess.run(oracle.command, input=line, capture_output=True, text=True,
                          env={**os.environ, "GOGC": "400"})
    assert done.returncode == 0, f"{oracle.command} failed:\n{done.stderr[-2000:]}"
    for line in done.stdout.splitlines():
        _, last, *words = line.split("\t")
        yield int(last, 16), tuple(words)


def ask_gosym(oracle, step, *options, shift=0):
    """The same of gosym: the last address, then the JSON of the answer without the address."""
    addresses = addresses_of(oracle, step)
    with tempfile.TemporaryFile("w+", dir=WORK) as asked:
        for some in parts(addresses, range(0, len(addresses), 10000)):
            asked.write("%x\n" * len(some) % tuple(address + shift for address in some))
        asked.seek(0)
        process = subprocess.Popen([GOSYM, "resolve", "--json", *options, oracle.twin],
                                   stdin=asked, stdout=subprocess.PIPE)
    with process:
        # Addresses with the same number of digits: the answer is at the same place of each line.
        powers = [16 ** digits - shift for digits in range(1, 17)]
        for some in parts(addresses, [bisect.bisect_left(addresses, power) for power in powers]):
            answer_of = operator.itemgetter(slice(len(f'{{"address":"0x{some[0] + shift:x}"'), None))
            count = 0
            for answer, lines in itertools.groupby(itertools.islice(process.stdout, len(some)),
                                                   answer_of):
                count += len(list(lines))
                yield some[count - 1], answer
            assert count == len(some), f"{count} answers for {len(some)} addresses"
        assert not process.stdout.read(), "more answers than addresses"
    assert process.returncode == 0, f"gosym gave {process.returncode}"


def parts(addresses, places):
    """Those before, between and after such places."""
    for begin, end in itertools.pairwise([0, *places, len(addresses)]):
        if begin < end:
            yield addresses[begin:end]


def in_step(addresses, ours, theirs):
    """The runs in which neither answer changes: first address, count, and both answers."""
    first, step = addresses.start, addresses.step
    our, their = next(ours), next(theirs)
    while our and their:
        last = min(our[0], their[0])
        yield first, (last - first) // step + 1, our[1], their[1]
        first = last + step
        our = next(ours, None) if our[0] == last else our
        their = next(theirs, None) if their[0] == last else their
    assert not our and not their, f"one of them ends at {last:#x}"


def name_as_printed(name, version):
    """The runtime shortens the types of an instance. Before Go 1.21 the linker has done so."""
    first, last = name.find("["), name.rfind("]")
    if minor(version) < 21 or not 0 <= first < last:
        return name
    head, tail = name[:first], name[last + 1:]
    if minor(version) >= 27:  # a generic method of a generic type has two lists
        depth = 0
        for at in range(first, last):
            depth += {"[": 1, "]": -1}.get(name[at], 0)
            if depth == 0 and "[" in name[at:last]:
                return f"{head}[...]{name[at + 1:name.index('[', at)]}[...]{tail}"
    return f"{head}[...]{tail}"


# The same answer often comes in several runs, with others between.
@functools.lru_cache(maxsize=10000)
def our_frames(answer, version):
    """The frames from the Go table, as the runtime writes them: `?` for no file, 0 for no line."""
    frames = json.loads(b"{" + answer[1:])["frames"]
    return [(name_as_printed(frame["function"], version), frame.get("file", "?"),
             frame.get("line", 0)) for frame in frames if frame["source"] == "pclntab"]


def their_frames(words):
    return [(words[i], words[i + 1], int(words[i + 2])) for i in range(0, len(words), 3)]


def agree(ours, theirs):
    # The runtime takes offset 0 of the name table, that of the first name, for no name.
    return len(ours) == len(theirs) and all(
        our == their or not their[0] and our[1:] == their[1:] for our, their in zip(ours, theirs))


Figures = collections.namedtuple("Figures", "compared inlined not_go excluded different")


def compare(oracle, step, shift=0):
    """Figures, and the first differences."""
    counts, examples = collections.Counter(), []
    for address, count, answer, words in in_step(
            addresses_of(oracle, step), ask_gosym(oracle, step, shift=shift),
            ask_runtime(oracle, step)):
        if words == ("!", "", "0"):
            counts["excluded"] += count
            continue
        ours, theirs = our_frames(answer, oracle.version), their_frames(words)
        counts["compared"] += count
        if not theirs:
            counts["not_go"] += count
        if len(theirs) > 1:
            counts["inlined"] += count
        if not agree(ours, theirs):
            counts["different"] += count
            examples.append(f"{address:#x}: the runtime says {theirs}, gosym says {ours}")
    return Figures(*(counts[name] for name in Figures._fields)), examples[:3]


def run_pairs(cases):
    """Runs cases of title, function and arguments, two at a time, and shows what they return."""
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        running = [(title, pool.submit(*work)) for title, *work in cases]
        run([(title, lambda result=result: print("#", result.result()))
             for title, result in running], root=False)
