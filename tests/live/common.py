"""What the live tests share: programs to profile, recordings of them, and judges that are not ours.

Each test file is run as `FILE.py GOSYM` and prints TAP. Its cases are functions that assert.
"""
import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import builds  # noqa: E402
import environment  # noqa: E402

# All that a test starts inherits it.
for name in set(os.environ) - set(environment.clean(os.environ)):
    del os.environ[name]
os.environ.update(environment.clean(os.environ))

FIXTURES = ROOT / "tests" / "fixtures"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="gosym-live-"))
GOSYM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "gosym"

# A user who may do nothing but what everybody may.
WITHOUT_RIGHTS = ["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all",
                  "--inh-caps=-all", GOSYM]

GO_ENVIRONMENT = {**os.environ, **environment.GO_SETTINGS}

# Set where there is only an emulated processor.
SLOW = "GOSYM_TEST_SLOW" in os.environ

# Seconds of a command. A compiler may take minutes on a busy machine: this only tells a hang from an answer.
HANGS = 1200

Done = collections.namedtuple("Done", "status out err")


def call(*command, check=True, **options):
    """Runs a command to its end. Unless told otherwise it has to succeed."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=HANGS, **options)
    if check:
        assert done.returncode == 0, f"{command} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    return Done(done.returncode, done.stdout, done.stderr)


def compiled(*command, output, **options):
    """What a compiler makes of it, which has not to be built again where it is kept."""
    return builds.compiled(call, command, output, **options)


def host_of(library, place, *flags, source=FIXTURES / "goroutines" / "host" / "main.c"):
    """A program in C, at `place`, that calls a shared library or an archive of Go: Run() of it, unless
    another source is given."""
    call("gcc", *flags, source, library, "-pthread",
         f"-Wl,-rpath,{library.parent}", "-o", place)
    return place


def gosym(*arguments, **options):
    return call(GOSYM, *arguments, **options)


def fetched(*words):
    """A program that is not installed but unpacked; see scripts/fetch."""
    return call(ROOT / "scripts" / "fetch", *words).out.strip()


@functools.cache
def go(which):
    """Debian's installed Go, the newest, or that of a version such as 1.15."""
    if which == "debian":
        return "/usr/bin/go"
    return fetched("go", *([] if which == "newest" else [which])) + "/bin/go"


def go_versions(*versions):
    """All, or only the oldest and the newest where there is no time for more."""
    return [versions[0], versions[-1]] if SLOW else versions


@functools.cache
def build_demo(which, *flags):
    """The Go demo, by a Go as go() names them."""
    return compiled(go(which), "build", "-buildvcs=false", *flags, output=new_place("demo"),
                    cwd=FIXTURES / "demo", env=GO_ENVIRONMENT)


def build_demo_for_others(which):
    """The same, where other users may run it."""
    program = build_demo(which)
    program.parent.chmod(0o755)
    return program


@functools.cache
def build_fib(*flags):
    return compiled("gcc", "-Og", *flags, FIXTURES / "fib.c", output=new_place("fib"))


@functools.cache
def build_leaves(which):
    return compiled(go(which), "build", "-buildvcs=false", output=new_place("leaves"),
                    cwd=FIXTURES / "leaves", env=GO_ENVIRONMENT)


@functools.cache
def build_templates(compiler="g++", *flags, link=()):
    """C++ of which much is inlined, with debugging information. To compile it takes seconds, to link it
    does not: it is compiled once for all ways to link it."""
    module = compiled(compiler, "-std=c++20", "-O2", "-g", *flags, "-c", FIXTURES / "templates.cpp",
                      output=new_place("templates.o"))
    program = new_place("templates")
    call(compiler, *link, module, "-o", program)
    return program


def new_place(name):
    """For a file, in a directory of its own."""
    return pathlib.Path(tempfile.mkdtemp(dir=WORK)) / name


def wait_for(condition, what):
    """Waits until the condition holds. The limit only tells a hang from an answer."""
    for _ in range(6000):
        if answer := condition():
            return answer
        time.sleep(0.1 if SLOW else 0.01)  # to look takes time as well
    raise AssertionError(f"no {what} in all that time")


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def cpu_used(pids, seconds):
    """A condition to wait for: each of these has used so much CPU time from now on."""
    ends = [(pid, cpu_ticks(pid) + seconds * os.sysconf("SC_CLK_TCK")) for pid in pids]
    return lambda: all(cpu_ticks(pid) > end for pid, end in ends)


@contextlib.contextmanager
def running(*command, out=subprocess.DEVNULL, **options):
    """A program that is at work, and is ended afterwards."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=out, stderr=subprocess.DEVNULL, **options)
    try:
        wait_for(lambda: process.poll() is not None or cpu_ticks(process.pid) > 0, "CPU time used")
        assert process.poll() is None, f"{command[0]} ended early, with {process.returncode}"
        yield process.pid
    finally:
        process.kill()
        process.wait()


@functools.cache
def build_spin():
    """Without end, in a function `busy`."""
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "spin"
    call("gcc", "-O1", "-w", "-DNAME=busy", "-DTURNS=1000", "-Dspin=main", FIXTURES / "spin.c",
         "-o", program)
    return program


def build_with_source(source, owner):
    """A program of this user that spends its time in a function `busy`, whose lines it says are those of a
    file."""
    program = new_place("with_source")
    code = program.with_suffix(".c")
    code.write_text(f'#line 1 "{source}"\n' + (FIXTURES / "spin.c").read_text())
    call("gcc", "-g", "-O1", "-w", "-DNAME=busy", "-DTURNS=1000", "-Dspin=main", code, "-o", program)
    os.chown(program, owner, owner)
    return program


@contextlib.contextmanager
def busy_cpus():
    """The pids of programs that leave no CPU idle."""
    with contextlib.ExitStack() as programs:
        yield [programs.enter_context(running("taskset", "-c", cpu, build_spin()))
               for cpu in os.sched_getaffinity(0)]


@functools.cache
def build_jit():
    program = compiled("gcc", "-O1", FIXTURES / "jit.c", output=new_place("jit"))
    program.parent.chmod(0o755)
    WORK.chmod(0o755)  # for other users
    return program


def perf_map(pid):
    return pathlib.Path(f"/tmp/perf-{pid}.map")


@contextlib.contextmanager
def running_jit(*arguments, **options):
    with running(build_jit(), *arguments, **options) as pid:
        try:
            yield pid
        finally:
            perf_map(pid).unlink(missing_ok=True)


def code_of(pid, name):
    """The executable mapping of a file, or of [vdso], once it is there."""
    def find():
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, offset, _, _, *path = line.split(maxsplit=5)
            file = path[0].removesuffix(" (deleted)") if path else ""
            if "x" in rights and file.endswith(name):
                return Mapping(*(int(n, 16) for n in [*place.split("-"), offset]), file)
        return None
    return wait_for(find, f"{name} in {pid}")


@contextlib.contextmanager
def standing_still(pids):
    """Programs do not run: nothing looks at them, and others need the CPU."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(pid, signal.SIGCONT)


def record(*arguments, until=(), samples=1500, seconds=None, hertz=None):
    """A new recording; the arguments say of what. Of processes, and of all where some are looked for in
    it (`until`), it lasts for so many samples, or seconds, of the CPU time of each, however busy the
    machine is. Whom the rate matters gives both seconds and hertz.
    """
    if hertz is None:
        hertz = 999 if SLOW else 4999  # more is too much for a simulated CPU
        seconds = samples / hertz
    file = new_place("cpu.raw")
    command = ["record", "-q", "-F", hertz, "-o", file, *arguments]
    of_processes = str(arguments[arguments.index("-p") + 1]).split(",") if "-p" in arguments else until
    pids = [int(pid) for pid in of_processes]
    if not pids:
        gosym(*command, "-d", f"{seconds}s")
        return file
    with standing_still(pids):
        recorder = subprocess.Popen([GOSYM, *map(str, command)], stdin=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        wait_for(lambda: recorder.poll() is not None or has_begun(recorder.pid), "recording begun")
    is_enough = cpu_used(pids, seconds)
    wait_for(lambda: recorder.poll() is not None or is_enough(), "CPU time used")
    recorder.send_signal(signal.SIGINT)
    with standing_still(pids):
        told = recorder.communicate()[1]
    assert recorder.returncode == 0, f"the recorder gave {recorder.returncode}: {told}"
    print(*(f"# {line}\n" for line in told.splitlines()), sep="", end="")
    return file


@contextlib.contextmanager
def recording(*arguments, **options):
    """A recorder that has begun, and its file. It is stopped afterwards, as by Ctrl-C."""
    file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
    recorder = subprocess.Popen([GOSYM, "record", "-o", str(file), *map(str, arguments)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, **options)
    try:
        wait_for(lambda: recorder.poll() is not None or has_begun(recorder.pid), "recording begun")
        yield recorder, file
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=60)
    finally:
        recorder.kill()
        recorder.wait()


POLL = {"x86_64": "7", "aarch64": "73"}[os.uname().machine]  # as the C library calls it


def has_begun(recorder):
    """Whether the recorder takes samples. Then a thread of it waits for its rings, for signals and
    for the end of others at once; what is waited for before is one thing.
    """
    for call_of_thread in pathlib.Path(f"/proc/{recorder}/task").glob("*/syscall"):
        with contextlib.suppress(OSError):  # it has ended
            words = call_of_thread.read_text().split()
            if words[0] == POLL and int(words[2], 16) >= 4:
                return True
    return False


def chunk_count(file):
    return file.read_bytes().count(b"CHNK") if file.exists() else 0


def facts(file, *options):
    """What tests/fixtures/recording_facts.cpp, which was built with gosym, says of a recording."""
    program = pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures" / "recording_facts"
    return json.loads(call(program, *options, file).out)


Stack = collections.namedtuple("Stack", "comm frames count")  # frames: outermost first


def folded(recording, *options):
    reported = gosym("report", recording, "--folded", *options)
    assert "do not decode" not in reported.err, reported.err
    return parse_folded(reported.out)


def parse_folded(text):
    stacks = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        comm, *frames = stack.split(";")
        stacks.append(Stack(comm, frames, int(count)))
    return stacks


def told_as_cut(recording):
    """How many samples the report says are cut short or have unknown ends; and how many ticks were
    skipped, which folded stacks count with the sample that follows and these do not."""
    told = gosym("report", "-v", recording).err
    cut = re.search(r"([\d,]+) cut, ([\d,]+) with unknown ends$", told, re.MULTILINE)
    skipped = re.findall(r"([\d,]+) ticks skipped$", told, re.MULTILINE)
    count = lambda numbers: sum(int(number.replace(",", "")) for number in numbers)
    return count(cut.groups()), count(skipped)


def leaves(recording, *options):
    """Samples of each function that was running itself, the most first."""
    counts = collections.Counter()
    for stack in folded(recording, *options):
        counts[stack.frames[-1]] += stack.count
    return counts


def share(counts, function):
    return counts[function] / counts.total()


def is_kernel(frame):
    return frame.endswith("_[k]")


def user_frames(stacks):
    """Each user frame with the number of samples it is in."""
    for stack in stacks:
        for frame in stack.frames:
            if not is_kernel(frame):
                yield frame, stack.count


def is_unnamed(frame):
    return frame.startswith("[") or frame.startswith("0x") or frame == "??" or "!fun_" in frame


Line = collections.namedtuple("Line", "function file line")
Location = collections.namedtuple("Location", "address mapping lines")  # lines: innermost first
Mapping = collections.namedtuple("Mapping", "start limit offset file")
Sample = collections.namedtuple("Sample", "count nanoseconds locations labels")
Profile = collections.namedtuple("Profile", "samples locations mappings")


def pprof_file(recording, *options):
    file = recording.with_suffix(".pb.gz")
    gosym("report", "-q", recording, "--pprof", file, *options)
    return file


def pprof(recording, *options):
    """The pprof file of a recording."""
    return read_pprof(pprof_file(recording, *options))


def read_pprof(file):
    """What `go tool pprof -raw` reads in the file."""
    raw = call("/usr/bin/go", "tool", "pprof", "-raw", file, env=GO_ENVIRONMENT).out
    head, locations = raw.split("\nLocations\n")
    locations, mappings = locations.split("\nMappings\n")
    return Profile(parse_samples(head), parse_locations(locations), parse_mappings(mappings))


def parse_samples(text):
    """Lines `3  30300000: 1 2 3` of count, nanoseconds and locations, each with lines of labels."""
    samples = []
    for line in text.partition("\nSamples:\n")[2].splitlines()[1:]:
        if found := re.match(r" *(\d+) +(\d+): ([\d ]*)$", line):
            samples.append(Sample(int(found[1]), int(found[2]), found[3].split(), {}))
        else:
            samples[-1].labels.update(re.findall(r"(\w+):\[(.*?)\]", line))
    return samples


def parse_locations(text):
    """Lines `4: 0x4a1b20 M=1 main.f /src/main.go:19 s=0`; callers of an inlined call follow."""
    locations = {}
    for line in text.splitlines():
        if found := re.match(r" *(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)", line):
            number, address, mapping, line = found.groups()
            locations[number] = Location(int(address, 16), mapping, [])
        if found := re.match(r"\s*(.+?) (\S*):(\d+)(?::\d+)? s=\d+", line):
            locations[number].lines.append(Line(found[1], found[2], int(found[3])))
    return locations


def parse_mappings(text):
    """Lines `1: 0x400000/0x49e000/0x0 /usr/bin/demo 3f2a... [FN][FL][LN][IN]`."""
    mappings = {}
    for line in text.splitlines():
        if found := re.match(r" *(\d+): (0x\w+)/(0x\w+)/(0x\w+) (\S*)", line):
            mappings[found[1]] = Mapping(*(int(n, 16) for n in found.group(2, 3, 4)), found[5])
    return mappings


class Skip(Exception):
    """Raised by a case that cannot be tried here, with the reason."""


@contextlib.contextmanager
def a_cgroup():
    """Its directory, of cgroup v2."""
    for mount in ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]:
        group = pathlib.Path(mount, f"gosym-test-{os.getpid()}")
        if not pathlib.Path(mount, "cgroup.controllers").exists():
            continue
        group.mkdir()
        try:
            yield group
        finally:
            wait_for(lambda: not (group / "cgroup.procs").read_text(), "end of all in the cgroup")
            group.rmdir()
        return
    raise Skip("no cgroup v2")


def cpu_time():
    """Of this test and of all that it has started and seen the end of, in seconds."""
    return sum(os.times()[:4])


def run(cases, root=True):
    """Runs the cases, titles with functions, and prints what came of them and what they took: long
    beside little CPU time has waited, for something or for a CPU.
    """
    if root and os.geteuid() != 0:
        print("1..0 # SKIP needs root")
        return
    failed = 0
    for number, (title, case) in enumerate(cases, 1):
        begin, cpu_before = time.monotonic(), cpu_time()
        try:
            case()
            print(f"ok {number} - {title}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {title} # SKIP {reason}", flush=True)
        except Exception as problem:  # a case that broke is a case that failed
            failed += 1
            print(f"not ok {number} - {title}")
            text = str(problem) if isinstance(problem, AssertionError) and str(problem) else \
                traceback.format_exc()
            print("\n".join("# " + line for line in text.splitlines()), flush=True)
        print(f"# took {time.monotonic() - begin:.1f} s, {cpu_time() - cpu_before:.1f} s of CPU",
              flush=True)
    print(f"1..{len(cases)}")
    call("rm", "-rf", WORK)
    sys.exit(failed > 0)
