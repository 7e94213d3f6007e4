#!/usr/bin/python3
"""What neighbours without rights do, and what it does to a recording beside them.

    attacks.py GOSYM              tests
    attacks.py GOSYM --beside S   records all of them at once with -a for S seconds, and prints what
                                  that took and what is there; once more at 1 Hz, for what is not
                                  sampling
"""
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

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, WORK, Skip, a_cgroup, build_spin, call, compiled, cpu_ticks,
                    cpu_used, folded, go, is_kernel, is_unnamed, record, recording, run, running, wait_for)

DUMP = pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures" / "dump_recording"

CHURN = ["comm", "comm", "mmap", "mprotect"]
ALL = ["comm", "comm", "mmap", "mprotect", "fork", "threads", "exec"]

# Until it ends after Ctrl-C or at -d. What the machine takes for others comes on top; a recorder that
# could be held up would not end at all.
ENDS_WITHIN = 10


@functools.cache
def build_attack():
    WORK.chmod(0o755)
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "attack"
    program.parent.chmod(0o755)
    call("gcc", "-O1", "-pthread", FIXTURES / "attack.c", "-o", program)
    return program


def as_nobody(*command):
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all", *command]


@contextlib.contextmanager
def attacked_by(*modes):
    """Their pids."""
    with contextlib.ExitStack() as programs:
        yield [programs.enter_context(running(*as_nobody(build_attack(), mode))) for mode in modes]


def named_share(file, comm):
    """Of the samples of programs of a name: those whose innermost user code has one."""
    named = every = 0
    for stack in folded(file, "--comm", comm):
        users = [frame for frame in stack.frames if not is_kernel(frame)]
        if users:
            every += stack.count
            named += 0 if is_unnamed(users[-1]) else stack.count
    assert every >= 20, f"only {every} samples of {comm}"
    return named / every


def names_of_a_command():
    """SampleOwner names are told by nobody else's events."""
    with attacked_by("comm", "comm"):
        file = WORK / "command.raw"
        done = call(GOSYM, "record", "-F", 499, "-d", "1s", "-o", file, "--", build_spin())
    assert "lost:" not in done.err and "events lost" not in done.err, done.err
    assert named_share(file, "spin") > 0.99, call(GOSYM, "report", file).out


def names_of_a_process():
    with attacked_by("comm", "comm"), running(build_spin()) as pid:
        file = record("-p", pid, seconds=1, hertz=499)
        assert not re.search("^lost", call(GOSYM, "report", file).out, re.MULTILINE)
    assert named_share(file, "spin") > 0.99


def events_of_a_cgroup():
    """What happens outside of it is neither heard nor looked at."""
    with a_cgroup() as group:
        enter = f"echo $$ > {group}/cgroup.procs; exec {build_spin()}"
        with attacked_by("comm", "comm", "mmap", "exec"), running(build_spin()) as mover:
            (group / "cgroup.procs").write_text(str(mover))
            with recording("-F", 499, "--cgroup", group) as (recorder, file):
                with running("sh", "-c", enter) as pid:
                    wait_for(lambda: cpu_ticks(pid) > 50 and cpu_ticks(mover) > 50, "work")
                    opened = call("ls", "-l", f"/proc/{recorder.pid}/fd").out
                    recorder.send_signal(signal.SIGINT)
                    told = recorder.communicate(timeout=60)[1]
        assert "attack" not in opened, opened
        assert recorder.returncode == 0 and "events lost" not in told, told
        assert named_share(file, "spin") > 0.99, call(GOSYM, "report", file).out
        # Of what moved in and executed another program before it was looked at the number is known.
        others = {stack.comm for stack in folded(file)} - {"spin", "sh", f":{pid}"}
        assert not others, others
        listed = call(GOSYM, "report", "-v", file).err
        assert "attack" not in listed, listed


def everything_ends(modes):
    """With -a it ends in time, is small, and has the names of what was not at it."""
    with running(build_spin()), attacked_by(*modes):
        file = WORK / "all.raw"
        begin = time.monotonic()
        done = call(GOSYM, "record", "-a", "-d", "3s", "-o", file)
        took = time.monotonic() - begin
        size = file.stat().st_size
        print(f"# {took:.1f} s, {size} bytes; {done.err.strip().splitlines()[0]}")
        assert took < 3 + ENDS_WITHIN, took
        assert size < 4 << 20, size
        with recording("-q", "-a") as (recorder, _):
            begin = time.monotonic()
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=60) == 0
            assert time.monotonic() - begin < ENDS_WITHIN
    assert named_share(file, "spin") > 0.9


def set_user_program():
    """The kernel ends the events of who executes such a program."""
    shell = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "attack"
    shell.write_bytes(build_attack().read_bytes())
    shell.parent.chmod(0o755)
    os.chown(shell, 65534, 65534)
    shell.chmod(0o4755)
    file = WORK / "setuid.raw"
    script = f"timeout -s INT 1 {shell} mprotect; true"
    call(GOSYM, "record", "-q", "-F", 499, "-o", file, "--", "sh", "-c", script)
    assert named_share(file, "attack") > 0.8, call(GOSYM, "report", file).out


def measured(*words):
    """Its status and output, how long it took, and the most memory that it had."""
    begin = time.monotonic()
    with open(WORK / "said", "w") as said:
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=said,
                                   stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return (process.returncode, (WORK / "said").read_text(), time.monotonic() - begin,
            usage.ru_maxrss << 10)


def sparse_files():
    """What a header claims costs neither the recorder nor who looks at the file later."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    folder.chmod(0o777)
    with contextlib.ExitStack() as programs:
        # Of these alone: what else runs has files of its own, which take memory as well.
        pids = [programs.enter_context(running(*as_nobody(build_attack(), mode), cwd=folder)) for mode in ["elf", "go"]]
        pids.append(programs.enter_context(running(build_spin())))
        target = ["-p", ",".join(map(str, pids))]
        file = WORK / "sparse.raw"
        for words in [["record", "-F", 499, *target, "-d", "2s", "-o", file], ["inspect", folder / "elf"],
                      ["inspect", folder / "go"], ["resolve", folder / "elf", "0x1000"],
                      ["resolve", folder / "go", "0x1000"], ["report", file]]:
            status, said, took, memory = measured(GOSYM, *words)
            print(f"# {words[0]} {words[-1]}: {took:.1f} s, {memory >> 20} MiB, status {status}")
            assert took < 2 + ENDS_WITHIN, (words, took)
            assert memory < 128 << 20, (words, memory)
            assert status in (0, 1), (words, said)
    assert named_share(file, "spin") > 0.9
    assert any(stack.comm == "attack" for stack in folded(file))


@contextlib.contextmanager
def file_system(program=None):
    """A folder with a program, that or one that spins, of a file system that stops to answer once the process is signalled that
    comes with it."""
    if not os.path.exists("/dev/fuse"):
        raise Skip("no /dev/fuse")
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    folder.chmod(0o755)
    server = subprocess.Popen([sys.executable, FIXTURES / "hanging_files.py", folder, program or build_spin()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if server.stdout.readline() != "mounted\n":
            raise Skip(server.stderr.read())
        yield folder, server
    finally:
        server.kill()
        server.wait()
        call("umount", "-l", folder, check=False)


@contextlib.contextmanager
def hanging_program():
    """The pid of a program whose file system has stopped to answer."""
    with file_system() as (folder, server), running(*as_nobody(folder / "program")) as pid:
        wait_for(lambda: cpu_ticks(pid) > 10, "program at work")
        server.send_signal(signal.SIGUSR1)
        yield pid


@contextlib.contextmanager
def hanging_memory():
    """The pids of two Go programs. A label of the first lies in memory that does not answer."""
    program = build_limits()
    WORK.chmod(0o755)
    with file_system() as (folder, server), \
            running_when_ready(*as_nobody(program, folder / "program")) as pid, \
            running_when_ready(*as_nobody(program)) as other:
        server.send_signal(signal.SIGUSR1)
        yield pid, other


@functools.cache
def build_limits():
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "limits"
    program.parent.chmod(0o755)
    return compiled(go("1.27"), "build", "-buildvcs=false", output=program, cwd=FIXTURES / "limits",
                    env=GO_ENVIRONMENT | {"CGO_ENABLED": "0"})


@contextlib.contextmanager
def running_when_ready(*command):
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.kill()


def held_dump():
    """Who lists goroutines is told that their memory does not answer."""
    with hanging_memory() as (pid, other):
        begin = time.monotonic()
        done = call(GOSYM, "goroutines", pid, check=False)
        print(f"# {time.monotonic() - begin:.2f} s")
        assert done.status == 1 and f"the memory of process {pid} does not answer in time" in done.err, done
        assert "main.down" in call(GOSYM, "goroutines", other).out


def held_looks():
    """Looks at such goroutines end, those at their neighbour go on, and Ctrl-C is heard."""
    with hanging_memory() as (pid, other):
        with recording("--wall", "-p", pid, "-p", other) as (recorder, file):
            time.sleep(2)
            begin = time.monotonic()
            recorder.send_signal(signal.SIGINT)
            told = recorder.communicate(timeout=60)[1]
            took = time.monotonic() - begin
    print(f"# {took:.2f} s from Ctrl-C to the end")
    assert recorder.returncode == 0, told
    assert took < ENDS_WITHIN, took
    assert "1 files, memory maps or memories of processes not read: they did not answer in time" in told, told
    stacks = [stack for stack in folded(file, "--event", "wall", "--pid", other) if "main.down" in stack.frames]
    assert sum(stack.count for stack in stacks) > 1e9, stacks  # of two seconds


def hanging_go_code():
    """Who looks for goroutines is told that the program cannot be read, at once."""
    WORK.chmod(0o755)
    with file_system(build_limits()) as (folder, server), \
            running_when_ready(*as_nobody(folder / "program")) as pid:
        server.send_signal(signal.SIGUSR1)
        for words in (["goroutines", pid], ["record", "--wall", "-o", WORK / "none.raw", "-p", pid],
                      ["resolve", "--pid", pid, "0x401000"]):
            begin = time.monotonic()
            done = call(GOSYM, *words, check=False)
            took = time.monotonic() - begin
            print(f"# {words[0]}: {took:.2f} s")
            assert "program" in done.out + done.err, done
            assert "on a file system that takes too long to answer" in done.out + done.err, done
            assert took < 5 + ENDS_WITHIN, (words, took)


def hanging_file(*options):
    """Its file system holds up whoever looks at it, but no recording."""
    with running(build_spin()) as spin, hanging_program() as pid:
        words = [str(pid) if word == "PID" else word for word in options]
        with recording("-F", 499, *words) as (recorder, file):
            wait_for(cpu_used([spin], 0.5), "another program at work")
            begin = time.monotonic()
            recorder.send_signal(signal.SIGINT)
            told = recorder.communicate(timeout=60)[1]
            took = time.monotonic() - begin
        print(f"# {took:.2f} s from Ctrl-C to the end")
        assert recorder.returncode == 0, told
        assert took < ENDS_WITHIN, took
        assert "not read: they did not answer in time" in told, told
    if "-a" in options:
        assert named_share(file, "spin") > 0.9
    assert any(stack.comm == "program" for stack in folded(file))


def unusable():
    """Most samples are of programs that came and went while the recorder could not look."""
    begin = time.monotonic()
    cpus = os.sched_getaffinity(0)
    with attacked_by(*["comm"] * len(cpus)) as pids, recording("-a", "-F", 29) as (recorder, _):
        for pid, cpu in zip(pids, cpus):  # each CPU has a ring of its own
            os.sched_setaffinity(pid, {cpu})
        recorder.send_signal(signal.SIGSTOP)
        wait_for(cpu_used(pids, 0.35), "full rings")
        with contextlib.ExitStack() as programs:
            for _ in range(24):  # in sessions of their own, so that they get most of the CPU
                program = programs.enter_context(subprocess.Popen(["setsid", build_spin()]))
                programs.callback(program.kill)
            # Longer than all before: most samples are to be of these.
            time.sleep(max(3, 3 * (time.monotonic() - begin)))
        recorder.send_signal(signal.SIGCONT)
        recorder.send_signal(signal.SIGINT)
        told = recorder.communicate(timeout=60)[1]
    assert recorder.returncode == 3, (recorder.returncode, told)
    assert "gosym: warning: this recording cannot be used: " in told, told


def few_descriptors():
    """Too few are told as what they are; what is enough, is."""
    with running(build_spin()) as pid:
        for count in (12, 16, 24, 32):
            for target in (["-p", pid], ["--", build_spin()]):
                done = call("prlimit", f"--nofile={count}", GOSYM, "record", "-q", "-d", "1s", "-o",
                            WORK / "few.raw", *target, check=False)
                assert done.status == 4, done
                assert "open files" in done.err and "ulimit -n" in done.err, done.err
                assert "bug of gosym" not in done.err and "does not exist" not in done.err, done.err
        enough = 64 + 8 * os.cpu_count()
        call("prlimit", f"--nofile={enough}", GOSYM, "record", "-d", "1s", "-o", WORK / "few.raw", "-p", pid)
    assert named_share(WORK / "few.raw", "spin") > 0.9


def ends_without_descriptors():
    """Threads that are too many for an event each are followed by events of everybody: the ends of what
    they start are told."""
    program = (f"import subprocess, threading, time\n"
               f"for _ in range({40 * os.cpu_count()}):\n"
               f"  threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
               f"print('ready', flush=True)\n"
               f"while True:\n"
               f"  subprocess.run([{sys.executable!r}, '-c', 'sum(range(3000000))'])\n")
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert parent.stdout.readline() == b"ready\n"
        enough = 64 + 8 * os.cpu_count()  # for all but these threads
        call("prlimit", f"--nofile={enough}", GOSYM, "record", "-d", "3s", "-o", WORK / "ends.raw", "-p",
             parent.pid)
    finally:
        parent.kill()
        parent.communicate()
    records = [json.loads(line) for line in call(DUMP, WORK / "ends.raw").out.splitlines()]
    assert [record for record in records if record["kind"] == "exit"], records


def execute_only():
    """Whoever may not read a program has no samples of it without BPF, and is told so."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    folder.chmod(0o777)
    program = folder / "closed"
    program.write_bytes(build_spin().read_bytes())
    program.chmod(0o111)
    done = call(*as_nobody(GOSYM), "record", "-d", "1s", "--", program, check=False, cwd=folder)
    assert "no samples: a program that its user may not read is sampled for root only" in done.err, done.err
    assert "too little CPU" not in done.err, done.err
    call(GOSYM, "record", "-q", "-F", 499, "-d", "1s", "-o", folder / "root.raw", "--", program)
    assert named_share(folder / "root.raw", "closed") > 0.9


def no_priority():
    """The recorder and its helpers run as all others do."""
    with running(build_spin()), recording("-a", "-F", 999) as (recorder, _):
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
        for one in (recorder.pid, *children):
            assert os.getpriority(os.PRIO_PROCESS, int(one)) == os.getpriority(os.PRIO_PROCESS, 0), one
            assert os.sched_getscheduler(int(one)) == os.SCHED_OTHER, one


@contextlib.contextmanager
def memory_cgroup(size):
    """The file that takes a process into a cgroup with so much memory."""
    for mount, limit in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]:
        group = pathlib.Path(mount, f"gosym-test-{os.getpid()}")
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(size))
                yield group / "cgroup.procs"
                return
            finally:
                wait_for(lambda: not (group / "cgroup.procs").read_text(), "end of all in the cgroup")
                group.rmdir()
    raise Skip("no cgroups with a limit of memory")


def little_memory():
    with memory_cgroup(64 << 20) as processes, running(build_spin()):
        for hertz in (99, 4999, "max"):
            command = f"echo $$ > {processes}; exec {GOSYM} record -q -a -F {hertz} -d 1s -o {WORK}/little.raw"
            call("sh", "-c", command)
            assert named_share(WORK / "little.raw", "spin") > 0.9


def helpers_of(pid):
    """Its child processes, which it leaves behind where they hang."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(cpu_ticks(child) for child in children)


def measured_beside(seconds, file, *options):
    """Records all for some seconds, and prints what that took, from when sampling begins."""
    recorder = subprocess.Popen([GOSYM, "record", "-v", "-a", *options, "-d", f"{seconds}s", "-o", file],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    launched = time.monotonic()
    for line in recorder.stderr:
        if line.startswith("gosym: sampling"):
            break
    begun, started = time.monotonic(), cpu_ticks(recorder.pid) / os.sysconf("SC_CLK_TCK")
    time.sleep(seconds - 1)
    helpers = helpers_of(recorder.pid) / os.sysconf("SC_CLK_TCK")
    told = recorder.stderr.read()
    _, status, usage = os.wait4(recorder.pid, 0)
    took = time.monotonic() - begun
    recorder.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime - started + helpers
    print(told, end="")
    print(f"{took:.2f} s for {seconds}, after {begun - launched:.2f} s to start; "
          f"status {recorder.returncode}; {usage.ru_maxrss / 1024:.0f} MiB; {cpu:.2f} s of CPU time, "
          f"{100 * cpu / took:.2f} %, besides {started:.2f} s to start; "
          f"{file.stat().st_size / 1e6:.1f} MB")
    return took, usage.ru_maxrss << 10, cpu / took, file.stat().st_size


def beside_all(seconds):
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    folder.chmod(0o777)
    with running(build_spin()), attacked_by(*ALL), hanging_program(), \
            running(*as_nobody(build_attack(), "elf"), cwd=folder), \
            running(*as_nobody(build_attack(), "go"), cwd=folder):
        file = WORK / "beside.raw"
        took, memory, _, size = measured_beside(seconds, file)
        print("at 1 Hz:")
        _, _, cpu, _ = measured_beside(seconds, WORK / "rarely.raw", "-F", "1")
    named = named_share(file, "spin")
    print(f"{named:.1%} of spin named")
    for what, met in [("1 s longer at most", took <= seconds + 1), ("128 MiB", memory <= 128 << 20),
                      ("2 % of a CPU besides sampling", cpu <= 0.02), ("20 MB", size <= 20e6),
                      ("names of others", named > 0.99)]:
        print(f"{what}: {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    if sys.argv[2:3] == ["--beside"]:
        beside_all(int(sys.argv[3]))
        sys.exit()
    run([("a command has its names beside who fills rings", names_of_a_command),
         ("a process has its names beside who fills rings", names_of_a_process),
     ("a cgroup has its names beside who fills rings", events_of_a_cgroup),
         ("a program of other rights is named", set_user_program),
         ("a recording that cannot be used says so", unusable),
         ("files that claim terabytes", sparse_files),
         ("a file that hangs, with -a", functools.partial(hanging_file, "-a")),
         ("a file that hangs, with -p", functools.partial(hanging_file, "-p", "PID")),
         ("memory that hangs, of goroutines that are listed", held_dump),
         ("memory that hangs, of goroutines that are sampled", held_looks),
         ("a Go program whose file hangs", hanging_go_code),
         ("few file descriptors", few_descriptors),
         ("ends of processes with few file descriptors", ends_without_descriptors),
         ("the recorder takes no priority", no_priority),
         ("a program that may not be read", execute_only),
         ("a cgroup with little memory", little_memory),
         ("names, mappings and protections that change all the time",
          functools.partial(everything_ends, CHURN)),
         ("processes, threads and programs that come and go",
          functools.partial(everything_ends, ["fork", "threads", "exec", "mmap"]))])
