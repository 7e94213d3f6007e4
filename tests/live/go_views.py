#!/usr/bin/python3
"""Views that know Go's runtime: where goroutines were created, and whom the garbage collector works for.

    go_views.py GOSYM
"""
import collections
import contextlib
import functools
import json
import re
import shutil
import subprocess

from common import FIXTURES, GO_ENVIRONMENT, compiled, folded, go, go_versions, gosym, new_place, pprof_file
from common import call, record, run, running

VERSIONS = go_versions("1.15", "1.19", "1.24", "1.27")
ESTIMATE = "runtime.gc (estimated share)"
COLLECTOR = re.compile(r"runtime\.(gcBgMarkWorker|bgsweep|bgscavenge)\b")


BUILD_ID = "ab" * 20


@functools.cache
def build(version, strip="-s -w"):
    vcs = [] if version == "1.15" else ["-buildvcs=false"]
    return compiled(go(version), "build", *vcs, f"-ldflags={strip} -B 0x{BUILD_ID}", output=new_place("creators"),
                    cwd=FIXTURES / "creators", env=GO_ENVIRONMENT | {"CGO_ENABLED": "0"})


@contextlib.contextmanager
def working(program):
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process.pid


@functools.cache
def recording(version):
    """CPU time and what goroutines do."""
    with working(build(version)) as pid:
        return record("-p", pid, "--wall=194", seconds=2, hertz=3999)


def stacks(version, event, *options):
    """Outermost frame first, and how many samples."""
    return [(stack.frames, stack.count) for stack in folded(recording(version), "--event", event, *options)]


def samples(found):
    return sum(count for _, count in found)


def creators(version, event):
    """Each stack begins where its goroutine was created, and without the option does not."""
    found = stacks(version, event, "--creators")
    of = {function: [(stack, count) for stack, count in found if f"main.{function}" in stack]
          for function in ("work", "compute")}
    assert samples(of["work"]) and samples(of["compute"]), found
    for function, creator in (("work", "startWork"), ("compute", "startCompute")):
        rooted = [(stack, count) for stack, count in of[function]
                  if stack[:2] == [f"created by main.{creator}", f"main.{function}"]]
        # Of a goroutine that runs, no stack is known to `wall`.
        least = 0.97 if event == "cpu-clock" else 0.01
        print(f"# {function}: {samples(rooted) / samples(of[function]):.2%} with its creator")
        assert samples(rooted) >= least * samples(of[function]), of[function]
        wrong = [stack for stack, _ in of[function]
                 if stack[0].startswith("created by") and stack[0] != f"created by main.{creator}"]
        assert not wrong, wrong
    plain = stacks(version, event)
    assert samples(plain) == samples(found)
    assert not any("created by" in frame or frame in ("main.startWork", "main.startCompute")
                   for stack, _ in plain for frame in stack), plain


def named_later(version):
    """Creators are no frames, whoever gives the names when the program is gone."""
    program, debug = new_place("gone"), new_place("debug")
    shutil.copy(build(version), program)
    with working(program) as pid:
        recording = record("-p", pid, "--archive=none", "--wall", seconds=1, hertz=999)
    program.unlink()
    place = debug / ".build-id" / BUILD_ID[:2] / f"{BUILD_ID[2:]}.debug"
    place.parent.mkdir(parents=True)
    shutil.copy(build(version, ""), place)

    def check(*of):
        roots = collections.Counter(stack.frames[0] for stack in folded(*of))
        print(f"# {dict(roots)}")
        assert roots["runtime.goexit"] >= 2 and not {"main.startWork", "main.startCompute"} & set(roots), roots

    profile = pprof_file(recording, "--event", "cpu-clock")
    for event in ("cpu-clock", "wall"):
        check(recording, "--debug-dir", debug, "--event", event)
    rooted = [stack.frames for stack in folded(recording, "--debug-dir", debug, "--creators", "--event", "cpu-clock")]
    assert ["created by main.startCompute", "main.compute"] in [frames[:2] for frames in rooted], rooted
    shutil.copy(build(version), program)
    check(profile)


def collector(version):
    """What the collector does is charged by who allocates; nothing is lost, and it is said to be an estimate."""
    plain, charged = stacks(version, "cpu-clock"), stacks(version, "cpu-clock", "--charge-gc")
    assert samples(plain) == samples(charged)
    own = samples([(stack, count) for stack, count in plain if any(map(COLLECTOR.match, stack))])
    moved = [(stack, count) for stack, count in charged if ESTIMATE in stack]
    assert own > 100 and own == samples(moved), (own, samples(moved))
    assert not any(any(map(COLLECTOR.match, stack)) for stack, _ in charged)
    assert all(stack[-1] == ESTIMATE and stack[-2].startswith("runtime.mallocgc") for stack, _ in moved), moved
    much, little = (samples([(stack, count) for stack, count in moved if f"main.{function}" in stack])
                    for function in ("much", "little"))
    print(f"# {own} samples of the collector: {much} to main.much, {little} to main.little")
    assert much + little >= 0.95 * own
    # The program allocates three times as much there.
    assert 0.68 <= much / (much + little) <= 0.82, (much, little)


def said():
    file = recording("1.27")
    options = ["--event", "cpu-clock", "--charge-gc", file]
    text = gosym("report", "--stdio", *options).out
    assert re.search(r"^estimate +garbage collection is charged to stacks that allocate", text, re.M), text
    assert ESTIMATE in text, text
    document = json.loads(gosym("report", "--json", *options).out)
    assert "garbage collection is charged" in document["recording"]["estimate"], document["recording"]
    profile = pprof_file(file, "--event", "cpu-clock", "--charge-gc")
    comments = call("go", "tool", "pprof", "-comments", profile).out
    assert "estimate: garbage collection is charged" in comments, comments
    assert "estimate: garbage" in gosym("report", "--stdio", profile).out.replace("estimate  ", "estimate:"), profile
    page = new_place("page.html")
    gosym("report", "-q", "--html", page, *options)
    assert ESTIMATE in gosym("report", "--folded", "--event", "cpu-clock", page).out


def nothing_to_say():
    """Of a recording without Go."""
    file = new_place("other.raw")
    gosym("record", "-q", "-d", "1s", "-o", file, "--", "sh", "-c", "while :; do :; done")
    done = gosym("report", "--stdio", "--creators", "--charge-gc", file)
    assert "no sample says where its goroutine was created" in done.err, done
    assert "estimate " not in done.out, done


def own_code(version):
    """All samples stay, and what others do for a function is its own time."""
    mine = collections.Counter()
    shown = collections.Counter(dict(stacks_by_text(version, "--show", r"^main\.")))
    others = 0
    for stack, count in stacks_by_text(version, "--mine"):
        if stack.startswith("[not in own code: "):
            others += count
        else:
            mine[stack] += count
    assert mine == shown and mine, (mine, shown)
    assert others and others + mine.total() == samples(stacks(version, "cpu-clock")), others


def stacks_by_text(version, *options):
    found = collections.Counter()
    for stack, count in stacks(version, "cpu-clock", *options):
        found[";".join(stack)] += count
    return found.items()


MODULES = {
    "go.work": "go 1.24\n\nuse (\n\t./shop\n\t./tax\n)\n",
    "shop/go.mod": "module example.com/shop\n\ngo 1.24\n\nrequire example.com/money v1.0.0\n\n"
                   "replace example.com/money => ../money\n",
    "shop/main.go": 'package main\n\nimport "example.com/shop/cart"\n\n'
                    "func main() {\n\tfor {\n\t\tcart.Fill()\n\t}\n}\n",
    "shop/cart/cart.go": 'package cart\n\nimport (\n\t"example.com/money"\n\t"example.com/tax"\n)\n\n'
                         "//go:noinline\nfunc Fill() { money.Add(); tax.Add() }\n",
    "tax/go.mod": "module example.com/tax\n\ngo 1.24\n",
    "money/go.mod": "module example.com/money\n\ngo 1.24\n",
}
SORTS = ('package {0}\n\nimport "sort"\n\n//go:noinline\nfunc Add() {{\n\tn := make([]int, 300)\n'
         "\tfor i := range n {{\n\t\tn[i] = i * 7 % 300\n\t}}\n\tsort.Ints(n)\n}}\n")


def own_modules():
    folder = new_place("modules").parent
    for name, text in MODULES.items() | {f"{name}/{name}.go": SORTS.format(name) for name in ("tax", "money")}.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    program = compiled(go("1.24"), "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w",
                       output=new_place("shop"), cwd=folder / "shop",
                       env=GO_ENVIRONMENT | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": str(folder / "go.work")})
    with running(program) as pid:
        file = record("-p", pid, seconds=1)
    found = {frame for stack in folded(file, "--mine") for frame in stack.frames
             if not frame.startswith("[not in own code: ")}
    assert found == {"main.main", "example.com/shop/cart.Fill", "example.com/money.Add",
                     "example.com/tax.Add"}, found
    header = gosym("report", "--stdio", file).out
    assert " % with what it calls, see --mine: module" in header and "example.com/shop" in header, header
    page = new_place("shop.html")
    gosym("report", file, "--html", page)
    assert folded(page, "--mine") == folded(file, "--mine")


def own_sources():
    program = new_place("sorts")
    program.with_suffix(".c").write_text("""
        #include <stdlib.h>
        int numbers[300];
        __attribute__((noinline)) int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
        __attribute__((noinline)) void fill(void) {
            for (int i = 0; i < 300; i++) numbers[i] = i * 7 % 300;
            qsort(numbers, 300, sizeof(int), compare);
        }
        int main(void) { for (;;) fill(); }""")
    call("gcc", "-O1", "-g", program.with_suffix(".c"), "-o", program)
    with running(program) as pid:
        file = record("-p", pid, seconds=1)
    found = {frame for stack in folded(file, "--mine") for frame in stack.frames
             if not frame.startswith("[not in own code: ")}
    assert found == {"main", "fill", "compare"}, found


run([(f"Go {version}, {event}: where goroutines were created", functools.partial(creators, version, event))
     for version in VERSIONS for event in ("cpu-clock", "wall")] +
    [(f"Go {version}: the collector is charged to who allocates", functools.partial(collector, version))
     for version in VERSIONS] +
    [(f"Go {version}: creators are no callers where names come later", functools.partial(named_later, version))
     for version in VERSIONS[::3]] +
    [(f"Go {version}: own code is what --show of its packages leaves", functools.partial(own_code, version))
     for version in VERSIONS] +
    [("that it is an estimate is said", said), ("without Go", nothing_to_say),
     ("own code: modules of a workspace, and replaced by folders", own_modules),
     ("own code of C is that of its source files", own_sources)])
