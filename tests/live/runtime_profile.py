#!/usr/bin/python3
"""A profile against the one that Go's runtime took of the same process over the same time.

The runtime unwinds by tables of its own. What differs is noise, and is judged as such, but for
stays in the kernel that last several periods: they give the runtime one signal.
"""
import collections
import functools
import gzip
import math
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from common import GOSYM, WORK, build_leaves, pprof, read_pprof, run, running

SECONDS = 8      # of CPU time: 2,000 samples of the runtime
LIMIT = 400      # of time, on a machine with other work: only tells a hang from an answer
NOISE = 5        # standard deviations: a hundred comparisons stay below four
SEEN = 0.005     # of all samples: a call that one profile has so often is in the other as well
EXPECTED = 10    # times at least in both, so that it can be no accident that there is none

# What only one of them shows: goroutines begin in a function that the runtime leaves out, as it
# does code of the vdso with the function that calls it, and what it cannot unwind gets a caller
# that is none. It ends the scheduler's stacks at mcall, where those of gosym go on with the
# goroutine that called it. It does not see its profiler, which works in signal handlers, nor the
# one thread that runs no goroutines.
NOT_COMPARED = re.compile(r"runtime\.(goexit|nanotime1|walltime1|_\w+)(\.abi0)?$|__vdso_")
SCHEDULER = "runtime.mcall"
UNSEEN = re.compile(r"runtime\.(cgoSigtramp|sigtramp|sigprof|sigreturn|sysmon)|runtime/pprof\.")

# The code of sha256 is chosen by the processor.
LEAVES = {r"runtime\.memmove$": "main.copy", r"runtime\.memclrNoHeapPointers$": "main.clear",
          r"main\.leaf$": "main.spin", r"crypto.*/sha256\.block\w*$": "main.hash"}


class Figures:
    """How often each function is at work, and how often each calls another."""

    def __init__(self, profile):
        self.flat, self.edges, self.chains = (collections.Counter() for _ in range(3))
        for sample in profile.samples:
            chain = tuple(functions(profile, sample))
            if chain and not any(UNSEEN.match(name) for name in chain):
                self.chains[chain] += sample.count
        for chain, count in self.chains.items():
            self.flat[chain[0]] += count
            for callee, caller in set(zip(chain, chain[1:])):
                if callee != SCHEDULER:
                    self.edges[callee, caller] += count
        self.total = self.flat.total()


def functions(profile, sample):
    """The names of a stack in user space, innermost first, inlined calls among them."""
    for number in sample.locations:
        location = profile.locations[number]
        if location.address < 1 << 63:
            for line in location.lines:
                if not NOT_COMPARED.match(line.function):
                    yield line.function.removesuffix(".abi0")


@functools.cache
def profiles(version, work):
    """Figures of gosym and of the runtime."""
    program, own = build_leaves(version), pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "own.pb.gz"
    # A thread that is due for preemption is most often due for a sample of the runtime as well.
    environment = {**os.environ, "GODEBUG": "asyncpreemptoff=1"}
    with running(program, work, SECONDS, own, env=environment) as pid:
        recording = record_until(lambda: is_complete(own), pid)
    return Figures(pprof(recording)), Figures(read_pprof(own))


def record_until(is_done, pid):
    file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
    recorder = subprocess.Popen([GOSYM, "record", "-q", "-F", "499", "-p", str(pid), "-o", file])
    end = time.monotonic() + LIMIT
    while not is_done():
        assert time.monotonic() < end and recorder.poll() is None, "no profile of the runtime"
        time.sleep(0.1)
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(60) == 0, f"the recorder gave {recorder.returncode}"
    return file


def is_complete(file):
    try:
        return len(gzip.decompress(file.read_bytes())) > 0
    except EOFError:
        return False


def deviation(ours, theirs):
    """How far two counts of the same kinds are apart: chi squared, in standard deviations (by
    Wilson and Hilferty). Rare kinds are taken together."""
    totals = ours.total(), theirs.total()
    kinds = {kind: kind if (ours[kind] + theirs[kind]) * min(totals) >= EXPECTED * sum(totals)
             else "rare" for kind in ours | theirs}
    counts = collections.defaultdict(lambda: [0, 0])
    for kind, group in kinds.items():
        counts[group][0] += ours[kind]
        counts[group][1] += theirs[kind]
    if len(counts) < 2:
        return 0
    chi = sum((count - sum(pair) * total / sum(totals)) ** 2 / (sum(pair) * total / sum(totals))
              for pair in counts.values() for count, total in zip(pair, totals))
    spread = 2 / (9 * (len(counts) - 1))
    return ((chi / (len(counts) - 1)) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


def largest_differences(ours, theirs):
    share = lambda counts, kind: counts[kind] / max(counts.total(), 1)
    kinds = sorted(ours | theirs, key=lambda kind: -abs(share(ours, kind) - share(theirs, kind)))
    return [f"{share(ours, kind):7.2%} and {share(theirs, kind):7.2%} {kind}" for kind in kinds[:4]]


def flat(version, work):
    ours, theirs = profiles(version, work)
    print(f"# {ours.total:,} samples of gosym, {theirs.total:,} of the runtime")
    apart = deviation(ours.flat, theirs.flat)
    print(f"# flat shares are {apart:.1f} standard deviations apart, most of all")
    print(*("# " + line for line in largest_differences(ours.flat, theirs.flat)), sep="\n")
    assert apart < NOISE, "more than noise"


def edges(version, work):
    ours, theirs = profiles(version, work)
    missing = [*not_in(ours, theirs, "the runtime"), *not_in(theirs, ours, "gosym")]
    print(f"# {len(ours.edges.keys() & theirs.edges.keys())} calls in both, {len(missing)} missing")
    assert not missing, "\n".join(missing[:12])


def not_in(some, other, name):
    """Calls that one profile has often and the other never."""
    for (callee, caller), count in some.edges.most_common():
        expected = count * other.total / some.total
        if count >= SEEN * some.total and min(count, expected) >= EXPECTED and \
                not other.edges[callee, caller]:
            yield f"{caller} calls {callee} in {100 * count / some.total:.2f} %, never by {name}"


def leaves(version):
    """The callers of code without a frame, in the shares of the runtime and of the source."""
    ours, theirs = profiles(version, "leaves")
    for leaf, caller in LEAVES.items():
        callers = callers_of(ours, leaf), callers_of(theirs, leaf)
        apart, share = deviation(*callers), share_of_thrice(ours, leaf, caller)
        print(f"# {leaf} callers are {apart:.1f} standard deviations apart,"
              f" {share:.1%} for {caller}Thrice")
        assert callers[0].total() > 100 and apart < NOISE, "\n".join(largest_differences(*callers))
        assert 0.65 < share < 0.85, f"{share:.1%} of {leaf} for {caller}Thrice"


def callers_of(figures, leaf):
    counts = collections.Counter()
    for chain, count in figures.chains.items():
        if re.match(leaf, chain[0]):
            counts[chain[1] if len(chain) > 1 else "none"] += count
    return counts


def share_of_thrice(figures, leaf, caller):
    """Of two callers, directly or not, one has three times the work of the other."""
    once, thrice = (sum(count for chain, count in figures.chains.items()
                        if re.match(leaf, chain[0]) and caller + suffix in chain)
                    for suffix in ("Once", "Thrice"))
    return thrice / max(once + thrice, 1)


def cases(version, works):
    for work in works:
        yield f"Go {version}, {work}: flat shares as of the runtime", \
            functools.partial(flat, version, work)
        yield f"Go {version}, {work}: calls as of the runtime", \
            functools.partial(edges, version, work)
    yield f"Go {version}: callers of code without a frame", functools.partial(leaves, version)


run([*cases("1.19", ["leaves"]), *cases("1.27", ["text", "sort", "leaves"])])
