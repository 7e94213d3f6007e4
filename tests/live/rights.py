#!/usr/bin/python3
"""What is possible with which rights, tried by users who have just these.

    rights.py GOSYM             tests
    rights.py GOSYM --table     the matrices of capabilities and targets, and of capabilities, commands
                                and files of others, as they are found

A user without rights is `nobody`; capabilities come from the file, as `setcap` leaves them.
"""
import collections
import contextlib
import functools
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from common import (FIXTURES, GOSYM, GO_ENVIRONMENT, SLOW, WITHOUT_RIGHTS, WORK, Skip, build_demo_for_others, call,
                    folded, go, gosym, is_kernel, is_unnamed, record, run, running, wait_for)

NOBODY = 65534
PARANOID = "kernel.perf_event_paranoid"
BPF, PERF, REFUSED = "bpf", "perf", "refused"
CAPABILITIES = {
    "none": [],
    "BPF": ["bpf"],
    "PERFMON": ["perfmon"],
    "BPF, PERFMON": ["bpf", "perfmon"],
    "and SYS_PTRACE": ["bpf", "perfmon", "sys_ptrace"],
    "and DAC_READ_SEARCH, CHECKPOINT_RESTORE":
        ["bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore"],
    "all": "all",
    "set-user-ID": "set-user-ID",
    "root": None,
}
# Those that a recorder is tried with; what a file with more gives is tried on files only.
TRIED = [name for name in CAPABILITIES if name not in ("all", "set-user-ID")]
# At 1999 Hz a thousand samples of a program that has a CPU to itself, a hundred on a busy machine: it is
# asked of them only whether they are there and have names.
SHORTLY, HERTZ = "6s" if SLOW else "0.5s", 499 if SLOW else 1999
# Of a secret a sample is enough: what is looked for is whether it is shown at all.
GLANCE = SHORTLY if SLOW else "0.2s"
Outcome = collections.namedtuple("Outcome", "sampler named kernel message")


RELEASE = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))

# Before Linux 5.11 rings of BPF count against a limit.
UNLIMITED = ["prlimit", "--memlock=unlimited"] if RELEASE < (5, 11) else []


def as_nobody(*command):
    return [*UNLIMITED, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
            "--inh-caps=-all", *command]


def all_capabilities():
    """By name, of those that any program can have here: one with others cannot be executed."""
    bounding = re.search(r"^CapBnd:\s(\w+)", pathlib.Path("/proc/self/status").read_text(), re.MULTILINE)[1]
    return call("capsh", f"--decode={bounding}").out.strip().partition("=")[2]


@functools.cache
def program_with(name):
    """gosym as a file that gives these capabilities to whoever runs it, and how to run it."""
    capabilities = CAPABILITIES[name]
    if capabilities is None:
        return [GOSYM]
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "gosym"
    program.parent.chmod(0o755)
    shutil.copy(GOSYM, program)
    if capabilities == "set-user-ID":
        program.chmod(0o4755)
    elif capabilities == "all":
        call("setcap", all_capabilities() + "+ep", program)
    elif capabilities:
        call("setcap", ",".join("cap_" + each for each in capabilities) + "+ep", program)
    return as_nobody(program)


def new_folder():
    """Where anybody may write."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    folder.chmod(0o777)
    return folder


def demo():
    return build_demo_for_others("newest")


@contextlib.contextmanager
def target(kind):
    """Arguments of `record`: of a process of nobody's, of one of another user, ..."""
    if kind == "-a":
        with running(*as_nobody(demo(), 600)):
            yield ["-a", "-d", "1s"]
    elif kind == "-- CMD":
        yield ["-d", SHORTLY, "--", demo(), 600]
    elif kind == "-p dd":  # as much in the kernel as outside
        with running(*as_nobody("dd", "if=/dev/zero", "of=/dev/null", "bs=1")) as pid:
            yield ["-p", pid, "-d", SHORTLY]
    else:
        runner = as_nobody(demo(), 600) if kind == "-p own" else [demo(), 600]
        with running(*runner) as pid:
            yield ["-p", pid, "-d", SHORTLY]


TARGETS = ["-p own", "-p other's", "-a", "-- CMD"]


def sampler_of(recording):
    header = gosym("report", recording).out
    return PERF if "by perf_event's call chains" in header else BPF


def outcome(runner, kind, *options):
    """What comes of `record`: refused, or by which sampler, and whether the names are there."""
    folder = new_folder()
    with target(kind) as arguments:
        done = call(*runner, "record", "-F", HERTZ, "-o", folder / "cpu.raw", *options, *arguments,
                    check=False, cwd=folder)
    message = "; ".join(line for line in done.err.splitlines() if line.startswith("gosym: "))
    if done.status == 4:
        return Outcome(REFUSED, False, False, message)
    assert done.status == 0, f"status {done.status}: {done.err}"
    assert (folder / "cpu.raw").stat().st_mode & 0o777 == 0o600, "others can read the recording"
    stacks = [stack for stack in folded(folder / "cpu.raw") if stack.comm == "demo"]
    names = collections.Counter()
    for stack in stacks:
        users = [frame for frame in stack.frames if not is_kernel(frame)]
        names[bool(users) and not is_unnamed(users[-1])] += stack.count
    kernel = any(is_kernel(frame) for stack in folded(folder / "cpu.raw") for frame in stack.frames)
    return Outcome(sampler_of(folder / "cpu.raw"), names[True] > 0.9 * names.total() > 0, kernel,
                   message)


@contextlib.contextmanager
def sysctl(name, value):
    before = call("sysctl", "-n", name).out.strip()
    call("sysctl", "-q", "-w", f"{name}={value}")
    try:
        yield
    finally:
        call("sysctl", "-q", "-w", f"{name}={before}")


def expected(name, kind):
    """Sampler, and whether functions are named."""
    rights = CAPABILITIES[name]
    if rights is None:
        return BPF, True
    if kind == "-p other's":
        return REFUSED, False
    if {"bpf", "perfmon"} <= set(rights):
        return BPF, True
    return (REFUSED, False) if kind == "-a" else (PERF, True)


def check_rights(name):
    for kind in TARGETS:
        found = outcome(program_with(name), kind)
        if kind == "-a":  # others may take all of its time
            assert found.sampler == expected(name, kind)[0], f"{kind}: {found}"
        else:
            assert found[:2] == expected(name, kind), f"{kind}: {found}"
        if found.sampler == REFUSED:
            reason = "cannot record: .*missing CAP_|no permission to look into process [0-9]+"
            assert re.search(f"gosym: error: ({reason})", found.message), found
            assert "gosym: hint: run with sudo" in found.message, found
        if found.sampler == PERF:
            assert "sampling by perf_event's call chains" in found.message, found


def others_process():
    done = outcome(WITHOUT_RIGHTS[:-1] + [GOSYM], "-p other's")
    assert "belongs to another user, of uid 0" in done.message, done


def command_of_a_copy_with_rights():
    """Before it is executed, its process is of a file that gives rights, and cannot be looked into."""
    done = call(*program_with("BPF, PERFMON"), "record", "-F", HERTZ, "-o", new_folder() / "cpu.raw", "--", demo(), 1)
    assert "recorded" in done.err and "cannot be read: their functions" not in done.err, done


def paranoid(value):
    with sysctl(PARANOID, value):
        found = outcome(program_with("none"), "-p dd")
    assert found.sampler == (PERF if value <= 2 else found.sampler), found
    assert found.kernel == (value <= 1), found
    if found.sampler == REFUSED:  # Debian's and Ubuntu's kernels only
        assert f"{PARANOID} is {value}" in found.message, found
        with sysctl(PARANOID, value):  # where these rights are not enough either
            found = outcome(program_with("BPF, PERFMON"), "-p own")
        assert found.sampler == REFUSED and f"{PARANOID} is {value}" in found.message, found
        assert f"gosym: hint: sudo sysctl {PARANOID}=2" in found.message, found


def locked_memory():
    if not UNLIMITED:
        raise Skip("this kernel does not count it")
    found = outcome(["prlimit", "--memlock=65536", *program_with("BPF, PERFMON")[len(UNLIMITED):]],
                    "-p own")
    assert "cannot create a ring buffer: the limit of locked memory is 64.0 KiB" in found.message, found


def kernel_only():
    done = outcome(program_with("none"), "-p own", "-K")
    assert done.sampler == REFUSED and f"{PARANOID} is 2" in done.message, done


SECCOMP_FILTER = """
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
DENY, ALLOW = 0x00050001, 0x7fff0000                     # EPERM
denied = [int(number) for number in sys.argv[1].split(",")]
code = [(LOAD, 0, 0, 0)] + [(EQUAL, len(denied) - i, 0, number) for i, number in enumerate(denied)]
code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, DENY)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0                   # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0   # PR_SET_SECCOMP
os.execvp(sys.argv[2], sys.argv[2:])
"""
BPF_CALL, PERF_EVENT_OPEN = {"x86_64": (321, 298), "aarch64": (280, 241)}[os.uname().machine]


def behind_filter(*calls):
    return ["/usr/bin/python3", "-c", SECCOMP_FILTER, ",".join(map(str, calls)), GOSYM]


def seccomp():
    found = outcome(behind_filter(BPF_CALL), "-p own")
    assert found.sampler == PERF and "seccomp filter" in found.message, found
    found = outcome(behind_filter(BPF_CALL, PERF_EVENT_OPEN), "-p own")
    assert found.sampler == REFUSED and "seccomp filter forbids" in found.message, found


def user_namespace():
    """Where it is root in name, and the command its own."""
    found = outcome(["unshare", "--user", "--map-root-user", GOSYM], "-- CMD")
    assert found.sampler == PERF and found.named, found
    assert "not in the initial user namespace" in found.message, found


def pid_namespace():
    found = outcome(["unshare", "--pid", "--fork", "--mount-proc", GOSYM], "-- CMD")
    assert found.sampler == PERF and found.named, found
    assert "pid namespace" in found.message, found


# CAP_KILL, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_PERFMON, CAP_CHECKPOINT_RESTORE;
# CAP_BPF. Those that the file gave are the latter four.
KEPT_OF_FILE = sum(1 << number for number in (34, 38, 39, 40))
KEPT_OF_ROOT = KEPT_OF_FILE | sum(1 << number for number in (2, 5, 19))


def privileges(name):
    """A recorder at work has given up what it does not need; the command has not."""
    folder = new_folder()
    script = 'cat /proc/$PPID/status > recorder; cat /proc/self/status > command'
    done = call(*program_with(name), "record", "-q", "-o", folder / "cpu.raw", "--", "sh", "-c",
                script, check=False, cwd=folder)
    assert done.status == 0, done.err
    recorder, command = (capabilities_in(folder / each) for each in ("recorder", "command"))
    assert recorder["Eff"] == recorder["Prm"], recorder
    assert recorder["Inh"] == 0, recorder
    assert recorder["Prm"] & ~(KEPT_OF_ROOT if name == "root" else KEPT_OF_FILE) == 0, recorder
    assert "NoNewPrivs:\t1" in (folder / "recorder").read_text()
    assert name != "root" or recorder["Bnd"] == 0, recorder
    own = capabilities_in(pathlib.Path("/proc/self/status"))["Prm"] if name == "root" else 0
    assert command["Prm"] == own, command


def capabilities_in(file):
    return {kind: int(value, 16) for kind, value in
            re.findall(r"^Cap(Prm|Eff|Inh|Bnd):\s(\w+)", file.read_text(), re.MULTILINE)}


SECRET = "secret_of_root"


@functools.cache
def secret_program(mode=0o700):
    """A program of root, where only root comes, or that others may execute but not read: it runs a
    function of that name, a third of the time, which is enough to be seen."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    call("gcc", "-O1", "-w", f"-DNAME={SECRET}", "-DTURNS=5000000", "-DPAUSE=4000", "-Dspin=main",
         FIXTURES / "spin.c", "-o", folder / "secret")
    (folder / "secret").chmod(mode)
    if mode & 0o001:
        folder.chmod(0o711)
    return folder / "secret"


WAITER = """package main

import "os"

//go:noinline
func %s() { <-make(chan int) }

func main() {
	go %s()
	os.Stdin.Read(make([]byte, 1))
}
"""


@functools.cache
def secret_waiter():
    """A Go program of root, where only root comes, with a goroutine that waits in a function of that
    name, and its core file."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    (folder / "waiter.go").write_text(WAITER % (SECRET, SECRET))
    program = folder / "waiter"
    call(go("debian"), "build", "-o", program, folder / "waiter.go", env=GO_ENVIRONMENT)
    with waiting_program(program) as pid:
        call("gcore", "-o", folder / "core", pid)
    core = next(folder.glob("core.*"))
    assert SECRET in gosym("goroutines", core, "--all").out
    assert SECRET in gosym("goroutines", core).out
    return core, program


@contextlib.contextmanager
def waiting_program(program):
    process = subprocess.Popen([program], stdin=subprocess.PIPE)
    try:
        wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 2, "threads of Go")
        yield process.pid
    finally:
        process.kill()
        process.wait()


def looks_at(secret, name):
    """What a user with these capabilities gets of a program, its process and its recordings: the
    commands, and what each said, or what its recording shows to a user without any."""
    runner = program_with(name)
    folder = new_folder()
    of_root = folder / "root.raw"
    core, waiter = secret_waiter()
    with running(secret) as pid, waiting_program(waiter) as waiting:
        shutil.copy(record("-p", pid, "--archive=none", samples=200), of_root)
        assert SECRET in gosym("report", "-q", "--folded", of_root).out, "there is nothing to be shown"
        of_root.chmod(0o644)
        shutil.copy(of_root, folder / "mine.raw")
        os.chown(folder / "mine.raw", NOBODY, NOBODY)
        for command in (
                ["inspect", secret], ["resolve", secret, "0x1149"], ["resolve", "--pid", pid, "0x1149"],
                ["report", "root.raw"], ["report", "--debug-dir", secret.parent, "root.raw"],
                ["report", "--symfs", secret.parent, "root.raw"], ["archive", "mine.raw"], ["doctor"],
                ["diff", "root.raw", "mine.raw"], ["diff", "root.raw", "mine.raw", "--tree"],
                ["annotate", "root.raw", "."], ["annotate", secret, "main"], ["annotate", secret, "0x1149"],
                ["goroutines", pid], ["goroutines", secret], ["top", "-p", pid, "-b", "-n", "1"],
                ["goroutines", waiting, "--all"], ["resolve", "--pid", waiting, "0x1"],
                ["goroutines", core], ["goroutines", core, "--all"],
                ["record", "-F", HERTZ, "-p", pid, "-d", GLANCE, "-o", "of_pid.raw"],
                ["record", "-F", HERTZ, "-a", "-d", GLANCE, "--archive=all", "-o", "all.raw"],
                ["record", "-o", secret.parent / "new.raw", "--", "true"],
                ["record", "-F", HERTZ, "-d", GLANCE, "-o", "run.raw", "--", secret]):
            # At work only while it is recorded: it would take a CPU all that time.
            os.kill(pid, signal.SIGCONT if {"-a", pid} & set(command) and command[0] in ("record", "top")
                    else signal.SIGSTOP)
            done = call(*runner, *command, check=False, cwd=folder)
            text = done.out + done.err
            written = [folder / word for word in map(str, command)
                       if word.endswith(".raw") and word != "root.raw" and (folder / word).exists()]
            for recording in written:
                recording.chmod(0o644)
                shown = call(*program_with("none"), "report", "--folded", recording, check=False)
                text += shown.out + shown.err
            words = " ".join("PID" if word in (pid, waiting) else str(word) for word in command)
            for place, name_of_it in ((secret.parent, "DIR"), (waiter.parent, "GO")):
                words = words.replace(str(place), name_of_it)
            yield words, done.status, text
    assert not (secret.parent / "new.raw").exists()


def files_of_others(name):
    """Whatever a program's file allows, its user reads with it what he may read without, no more."""
    for mode in (0o700, 0o711):
        for command, status, text in looks_at(secret_program(mode), name):
            assert SECRET not in text, (oct(mode), command, text)
            assert status != 126, (command, text)  # it ran


def print_files_table():
    """Of commands that name what nobody may read: their status, or what they showed of it."""
    for mode in (0o700, 0o711):
        names = [name for name in CAPABILITIES if name != "root"]
        columns = [list(looks_at(secret_program(mode), name)) for name in names]
        print(f"\na program of root, {mode:o}, its process and a recording of it by root:")
        for i, name in enumerate(names):
            print(f"  {chr(ord('A') + i)}: {name}")
        for row in zip(*columns):
            cells = ["SHOWN" if SECRET in text else str(status) for _, status, text in row]
            print(f"  {row[0][0]:60}" + "".join(f"{cell:>6}" for cell in cells), flush=True)


def doctor():
    done = call(*program_with("root"), "doctor")
    assert re.search("anything, by BPF +yes, on ", done.out), done.out
    assert "no:" not in done.out, done.out
    done = call(*program_with("none"), "doctor", check=False)
    assert done.status == 3, done
    assert re.search(r"anything, by BPF +no: .*missing CAP_BPF and CAP_PERFMON\n +-> ", done.out)
    assert re.search("own processes, by perf +yes, on .*, without the kernel's code", done.out)
    done = call(*behind_filter(BPF_CALL, PERF_EVENT_OPEN), "doctor", check=False)
    assert done.status == 4, done


def same_stacks():
    """Both samplers see the same callers, in a Go program whose stacks are of few kinds."""
    shares, totals = [], []
    with running(*as_nobody(demo(), 600)) as pid:
        folders = [new_folder(), new_folder()]
        recorders = [subprocess.Popen([*map(str, runner), "record", "-q", "-U", "-F", str(HERTZ), "-p",
                                       str(pid), "-d", "30s" if SLOW else "3s", "-o", folder / "cpu.raw"])
                     for runner, folder in zip([program_with("root"), program_with("none")], folders)]
        assert [recorder.wait(120) for recorder in recorders] == [0, 0]
    for folder in folders:
        callers = collections.Counter()
        for stack in folded(folder / "cpu.raw"):
            for caller, callee in zip(stack.frames, stack.frames[1:]):
                callers[caller, callee] += stack.count
        total = sum(stack.count for stack in folded(folder / "cpu.raw"))
        assert total > 300, f"only {total} samples"
        totals.append(total)
        shares.append({call: count / total for call, count in callers.items()})
    for call_pair in shares[0] | shares[1]:
        bpf, perf = (share.get(call_pair, 0) for share in shares)
        mean = (bpf + perf) / 2  # four standard deviations of noise, and what the two differ in
        noise = 4 * math.sqrt(mean * (1 - mean) * sum(1 / total for total in totals))
        assert abs(bpf - perf) < noise + 0.01, \
            f"{call_pair}: {bpf:.1%} of {totals[0]} by BPF, {perf:.1%} of {totals[1]} by perf"
    print(f"# {totals[0]} samples by BPF, {totals[1]} by perf; the commonest calls:")
    for call_pair, share in sorted(shares[0].items(), key=lambda each: -each[1])[:6]:
        print(f"# {share:6.1%} {shares[1].get(call_pair, 0):6.1%} {' > '.join(call_pair)}")


def print_table():
    width = max(map(len, CAPABILITIES))
    print(f"{'':{width}}  " + "".join(f"{kind:20}" for kind in TARGETS))
    for name in TRIED:
        cells = []
        for kind in TARGETS:
            found = outcome(program_with(name), kind)
            names = "" if found.sampler == REFUSED or kind == "-a" else \
                ", named" if found.named else ", no names"
            cells.append(found.sampler + (", kernel" if found.kernel else "") + names)
        print(f"{name:{width}}  " + "".join(f"{cell:20}" for cell in cells), flush=True)


if __name__ == "__main__":
    WORK.chmod(0o755)
    if sys.argv[2:] == ["--table"]:
        print_table()
        print_files_table()
        sys.exit()
    debian = int(call("sysctl", "-n", PARANOID).out) > 2  # whose default is 3
    with sysctl(PARANOID, 2) if debian else contextlib.nullcontext():
        run([(f"capabilities: {name}", functools.partial(check_rights, name)) for name in TRIED] +
            [(f"files of others: {name}", functools.partial(files_of_others, name))
             for name in CAPABILITIES if name != "root"] +
            [(f"{PARANOID} {value}", functools.partial(paranoid, value)) for value in (1, 2, 3, 4)] +
            [("only the kernel's code takes rights", kernel_only), ("a process of others", others_process),
             ("a command of a copy with rights", command_of_a_copy_with_rights),
             ("the limit of locked memory", locked_memory), ("a seccomp filter", seccomp),
             ("a user namespace", user_namespace),
             ("a pid namespace", pid_namespace),
             ("privileges are given up by root", functools.partial(privileges, "root")),
             ("privileges are given up by a user with capabilities", functools.partial(
                 privileges, "and DAC_READ_SEARCH, CHECKPOINT_RESTORE")),
             ("doctor tells it", doctor), ("both samplers see the same callers", same_stacks)])
