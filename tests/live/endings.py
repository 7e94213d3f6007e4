#!/usr/bin/python3
"""Whenever and however a recording stops, its file is read up to the last second.

    endings.py GOSYM [COUNT]    kills the recorder COUNT times (20)
"""
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import (GO_ENVIRONMENT, GOSYM, SLOW, WORK, Skip, build_fib, build_spin, busy_cpus, call, chunk_count, cpu_used,
                    facts, gosym, has_begun, new_place, record, recording, run, running, standing_still, wait_for)

COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 20
AT_ONCE = 10  # recorders
SECOND = 1_000_000_000

NO_END = "it has no end: the recorder was killed, or is still running"
OPENS = ("wait_for_partner", "fifo_open")
WRITES = ("pipe_write", "anon_pipe_write")  # where the kernel waits for a reader


@contextlib.contextmanager
def all_cpus():
    """Options that name programs which keep all CPUs busy."""
    with busy_cpus() as pids:
        yield ["-p", ",".join(map(str, pids))]


@contextlib.contextmanager
def one_cpu():
    """The same of one program, for what is no harder on a busy machine."""
    with running(build_spin()) as pid:
        yield ["-p", str(pid)]


def waited_for_cpu(pid):
    """Nanoseconds that it was ready to run, and others ran: no fault of the recorder's."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[1])


def is_read(file):
    """By gosym report, which says what is wrong with it and nothing else."""
    found = facts(file)
    done = gosym("report", file, "--folded", check=False)
    assert done.status == (0 if found["samples"] else 5), done
    told = done.err.splitlines()
    if found["damaged_bytes"]:
        size = r"\d+(\.\d)? [KM]?i?B"
        assert re.fullmatch(rf"gosym: warning: '{file}': {size} of {size} damaged or cut short, "
                            "and its end is missing", told[0]), told
    else:
        assert told[0] == f"gosym: warning: '{file}': {NO_END}", told
    assert found["damaged_chunks"] == 0, found
    return found


def killed():
    ages, waits = [], []
    for first in range(0, COUNT, AT_ONCE):
        for age, waited in kill_some(min(AT_ONCE, COUNT - first)):
            assert age <= SECOND + waited, f"{age / 1e9:.3f} s lost, {waited / 1e9:.3f} s waited"
            ages.append(age)
            waits.append(waited)
    print(f"# {COUNT} kills: {max(ages) / 1e9:.3f} s lost at most; {max(waits) / 1e9:.3f} s waited "
          "for a CPU at most")


def kill_some(count):
    """Of each of so many recorders: the age of its last sample, and how long it waited."""
    with busy_cpus() as pids, contextlib.ExitStack() as recorders:
        # It would take several times as long else.
        with standing_still(pids):
            begun = [recorders.enter_context(recording("-q", "-p", ",".join(map(str, pids)), "-F", "499"))
                     for _ in range(count)]
        start = time.monotonic_ns()
        before = {recorder.pid: waited_for_cpu(recorder.pid) for recorder, _ in begun}
        moments = sorted(start + random.randrange(2 * SECOND) for _ in begun)
        ends = []
        for moment, (recorder, _) in zip(moments, begun):
            time.sleep(max(0, moment - time.monotonic_ns()) / 1e9)
            waited = waited_for_cpu(recorder.pid) - before[recorder.pid]
            ends.append((time.monotonic_ns(), waited))
            recorder.kill()
            recorder.wait()
    return [(end - (is_read(file)["last_sample"] or start), waited)
            for (end, waited), (_, file) in zip(ends, begun)]


@contextlib.contextmanager
def small_disk(kind, size):
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    if kind == "tmpfs":
        call("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    else:
        image = WORK / "disk"
        image.write_bytes(bytes(size))
        call("mkfs.ext4", "-q", "-F", "-b", "1024", "-O", "^has_journal", "-m", "0", image)
        call("mount", "-o", "loop", image, folder)
    try:
        yield folder
    finally:
        call("umount", folder)


def full_disk(kind, least, most):
    """With the kernel's code and without."""
    if kind == "ext4" and not os.path.exists("/dev/loop-control"):
        raise Skip("no loop devices")
    for option in ["-U", "-g"]:
        size = random.randrange(least, most)
        with small_disk(kind, size) as folder, running(build_fib()) as pid:
            fill_disk(folder / "cpu.raw", size, "-p", str(pid), option)


def fill_disk(file, size, *options):
    start = time.monotonic_ns()
    recorder = subprocess.Popen([GOSYM, "record", "-F", "9999", "-o", file, *options],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    os.waitid(os.P_PID, recorder.pid, os.WEXITED | os.WNOWAIT)
    waited = waited_for_cpu(recorder.pid)
    err = recorder.communicate()[1]
    assert (recorder.returncode, err) == \
        (3, f"gosym: error: cannot write '{file}': No space left on device\n"), \
        f"{recorder.returncode}, {err}"
    found = is_read(file)
    assert found["damaged_bytes"] == 0, found
    # The last thing done to the file is to take from it what was not whole.
    end = file.stat().st_mtime_ns - time.time_ns() + time.monotonic_ns()
    age = end - (found["last_sample"] or start)
    print(f"# {size} bytes, {file.stat().st_size} used: {age / 1e9:.3f} s lost")
    assert age <= SECOND + waited, f"{age / 1e9:.3f} s lost, {waited / 1e9:.3f} s waited"


@functools.cache
def small_recording():
    with all_cpus() as targets:
        return record(*targets, "-U", seconds=2, hertz=199)


def cut_anywhere():
    read = facts(small_recording(), "--cut")
    print(f"# {read['prefixes']} prefixes, {read['chunks']} chunks")


def cut_reports():
    """A cut file is reported as far as it goes, or why it is not."""
    whole = small_recording().read_bytes()
    file = WORK / "cut.raw"
    samples = []
    for size in range(0, len(whole), len(whole) // 24):
        file.write_bytes(whole[:size])
        done = gosym("report", file, "--folded", check=False)
        assert done.status in (0, 1, 5), done
        assert f"'{file}'" in done.err, done
        samples.append(sum(int(line.rpartition(" ")[2]) for line in done.out.splitlines()))
    assert samples == sorted(samples) and samples[-1] > 0, samples


def read_while_written():
    with one_cpu() as targets, recording("-q", *targets, "-F", "499") as (_, file):
        seen = []
        for _ in range(5):
            size = file.stat().st_size
            wait_for(lambda: file.stat().st_size > size, "more recorded")
            seen.append(is_read(file)["samples"])
    assert seen == sorted(seen) and seen[-1] > seen[0], seen
    assert not gosym("report", file, "--strict").err


def handles_signals(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (signal.SIGTERM - 1) & 1


def ends_well(file, told):
    """It has an end, or no samples: then it is not kept."""
    return facts(file)["end"] if file.exists() else f"{file} is not kept\n" in told


def asked_to_end_at_once():
    """As soon as it handles signals, before there are samples."""
    for number in (signal.SIGTERM, signal.SIGINT):
        file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
        recorder = subprocess.Popen([GOSYM, "record", "-a", "-o", file], stdin=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        wait_for(lambda: handles_signals(recorder.pid), "signals handled")
        recorder.send_signal(number)
        told = recorder.communicate(timeout=60)[1]
        assert recorder.returncode == 0, (recorder.returncode, told)
        assert ends_well(file, told), told


def asked_to_end_with_the_file():
    """While its file is made: when it has no name, when it gets that, when its first chunk is written.
    And where that would be a FIFO which nobody reads, there is nothing to end."""
    for place in ("flock", "renameat2", "write"):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            file = new_place("cpu.raw")
            name = signal.Signals(number).name
            # Under nohup SIGHUP would be ignored.
            done = call("timeout", 60, "env", "--default-signal=HUP", "strace", "-o", "/dev/null",
                        "-e", f"trace={place}", "-e", f"inject={place}:signal={name}:when=1",
                        GOSYM, "record", "-F", "99", "-a", "-o", file, check=False)
            assert done.status == 0, (place, name, done)
            assert ends_well(file, done.err), (place, name, done)
            assert os.listdir(file.parent) in ([], [file.name]), os.listdir(file.parent)
    fifo = new_place("fifo")
    os.mkfifo(fifo)
    recorder = subprocess.Popen([GOSYM, "record", "-q", "-a", "-o", fifo], stdin=subprocess.DEVNULL)
    wait_for(lambda: pathlib.Path(f"/proc/{recorder.pid}/wchan").read_text() in OPENS, "wait for a reader")
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(timeout=60) == -signal.SIGINT


def size_limit():
    file = WORK / "limited.raw"
    with running(build_fib()) as pid:
        done = gosym("record", "-p", pid, "-U", "-F", "9999", "--max-size", "200K", "-o", file)
    assert "gosym: stopped: the file has reached --max-size\n" in done.err, done
    assert 200 << 10 <= file.stat().st_size < 500 << 10, file.stat().st_size
    assert not gosym("report", file, "--strict").err


@contextlib.contextmanager
def orphan(targets, *before):
    """The pid of a recorder whose parent has gone, its file, and what it says."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    file, told = folder / "cpu.raw", folder / "told"
    words = " ".join([*before, GOSYM, "record", *targets, "-o", str(file)])
    # The tests themselves may have been started by nohup.
    shell = subprocess.Popen(["sh", "-c", f"{words} > {told} 2>&1 & echo $!; read line"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    pid = int(shell.stdout.readline())
    try:
        wait_for(lambda: has_begun(pid), "recording begun")
        shell.communicate("\n")
        yield pid, file, told
    except AssertionError:
        status = pathlib.Path(f"/proc/{pid}/status")
        print("#", told.read_text(), status.read_text() if status.exists() else "no process")
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def has_ended(pid):
    return not pathlib.Path(f"/proc/{pid}/exe").exists()


def parent_gone():
    with one_cpu() as targets, orphan(targets) as (pid, file, told):
        wait_for(lambda: has_ended(pid), "end of the recorder")
        assert told.read_text().startswith(
            "gosym: warning: stopped: the program that started gosym has ended (nohup keeps gosym "
            "running)\n"), told.read_text()
        assert ends_well(file, told.read_text())


def parent_gone_after_nohup():
    with one_cpu() as targets, orphan(targets, "nohup") as (pid, file, _):
        chunks = chunk_count(file)
        wait_for(lambda: chunk_count(file) > chunks + 3, "more recorded")
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: has_ended(pid), "end of the recorder")
        assert facts(file)["end"]


@contextlib.contextmanager
def into_a_pipe():
    """A recorder of deep stacks, as many as there can be; an emulated processor would only sample."""
    with running(build_fib()) as pid:
        recorder = subprocess.Popen([GOSYM, "record", "-q", "-F", "999" if SLOW else "max", "-o", "-", "-p", str(pid)],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        try:
            yield recorder
        finally:
            recorder.kill()
            recorder.communicate()


def is_writing(recorder):
    return pathlib.Path(f"/proc/{recorder.pid}/wchan").read_text() in WRITES


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) << 10


def is_pending(pid, number):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"ShdPnd:\s*(\w+)", status)[1], 16) >> (number - 1) & 1


def second_interrupt():
    with into_a_pipe() as recorder:
        wait_for(lambda: is_writing(recorder), "full pipe")
        recorder.send_signal(signal.SIGINT)
        wait_for(lambda: not is_pending(recorder.pid, signal.SIGINT), "signal taken")
        assert recorder.poll() is None
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=60) == 130, recorder.returncode


def slow_reader():
    """It costs samples, which are counted, and no memory."""
    file = WORK / "piped.raw"
    with into_a_pipe() as recorder:
        data = recorder.stdout.read(1 << 16)
        wait_for(lambda: is_writing(recorder), "full pipe")
        before = resident(recorder.pid)
        # However busy the machine is: what it samples has had its time.
        wait_for(cpu_used([recorder.args[-1]], 4), "CPU time used")
        after = resident(recorder.pid)
        data += recorder.stdout.read(1 << 17)
        recorder.send_signal(signal.SIGINT)
        file.write_bytes(data + recorder.stdout.read())
        recorder.wait(timeout=60)
    found = facts(file)
    print(f"# resident {before >> 10} KiB, {after >> 10} KiB later; {found}")
    assert recorder.returncode == 0
    assert after <= before + (64 << 10), f"{before} bytes, then {after}"
    assert found["lost"] > 0 and found["damaged_bytes"] == 0 and found["end"], found


def reader_gone():
    with into_a_pipe() as recorder:
        recorder.stdout.read(1 << 16)
        recorder.stdout.close()
        recorder.stdout = None
        err = recorder.communicate(timeout=60)[1].decode()
    assert (recorder.returncode, err) == \
        (3, "gosym: error: cannot write standard output: Broken pipe\n"), (recorder.returncode, err)


def pipeline():
    with one_cpu() as targets:
        words = f"{GOSYM} record -q {' '.join(targets)} -d 1s -o - | {GOSYM} report --strict -"
        out = call("sh", "-c", words).out
    assert "busy" in out, out


def told_by_outputs(file):
    """What each output says of the damage of its recording."""
    pprof = WORK / "damaged.pb.gz"
    page = WORK / "damaged.html"
    gosym("report", "-q", file, "--pprof", pprof)
    gosym("report", "-q", file, "--html", page)
    comments = call("/usr/bin/go", "tool", "pprof", "-comments", pprof, env=GO_ENVIRONMENT).out
    return {"text": gosym("report", "-q", file).out, "csv": gosym("report", "-q", file, "--csv").out,
            "md": gosym("report", "-q", file, "--md").out, "pprof": comments,
            "page": gosym("report", "-q", page).out,
            "json": "\n".join(json.loads(gosym("report", "-q", file, "--json").out)["quality"]["damage"])}


def damage_is_told():
    program = WORK / "kept-program"
    shutil.copy(build_fib(), program)
    with running(program) as pid:
        whole = record("--archive=none", "-p", pid, samples=300)
    missing = {name for name, text in told_by_outputs(whole).items() if "damaged" in text or "no end" in text}
    assert not missing, missing
    cut = WORK / "cut.raw"
    cut.write_bytes(whole.read_bytes()[:-100])
    for _ in range(2):
        told = told_by_outputs(cut)
        lacking = {name for name, text in told.items() if "and its end is missing" not in text}
        assert not lacking, (lacking, {name: told[name][-500:] for name in lacking})
        size = cut.stat().st_size
        gosym("archive", "-q", cut)  # neither shortens it nor hides what is missing
        assert cut.stat().st_size >= size
    program.unlink()
    assert "fibNaive" in gosym("report", "-q", cut, "--folded").out
    # Less than all of a file that was kept.
    cut.write_bytes(cut.read_bytes()[:-5000])
    assert "its copy there is incomplete" in gosym("report", cut, "--folded").err


run([("damage is told in all that is made of it", damage_is_told),
     ("killed at any moment, it lacks a second at most", killed),
     ("a full tmpfs costs a second", lambda: full_disk("tmpfs", 1 << 17, 3 << 17)),
     ("a full ext4 costs a second", lambda: full_disk("ext4", 1 << 19, 3 << 18)),
     ("cut at any byte, all whole chunks are read", cut_anywhere),
     ("cut anywhere, it is reported", cut_reports),
     ("it is reported while it goes on", read_while_written),
     ("a signal before the first sample ends it well", asked_to_end_at_once),
     ("a signal while the file is made ends it well", asked_to_end_with_the_file),
     ("--max-size ends it well", size_limit),
     ("the end of its parent ends it well", parent_gone),
     ("after nohup it outlives its parent", parent_gone_after_nohup),
     ("a second Ctrl-C does not wait for a reader", second_interrupt),
     ("a slow reader costs counted samples, and no memory", slow_reader),
     ("a reader that has gone ends it", reader_gone),
     ("a pipe from record to report", pipeline)])
