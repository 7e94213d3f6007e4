#!/usr/bin/python3
"""However a recording ends, it is a recording; and what was started gives its status."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from common import (GOSYM, WORK, build_demo, call, cpu_used, facts, folded, gosym, has_begun, new_place, record,
                    recording, run, running, wait_for)


def new_file():
    return pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"


def stopped_by(number):
    file = new_file()
    with running(build_demo("debian"), 600) as pid:
        recorder = subprocess.Popen([GOSYM, "record", "-p", str(pid), "-F", "499", "-o", file],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: recorder.poll() is not None or has_begun(recorder.pid), "recording begun")
        wait_for(cpu_used([pid], 0.3), "more CPU time used")
        recorder.send_signal(number)
        told = recorder.communicate(timeout=60)[1]
    assert recorder.returncode == 0, f"status {recorder.returncode}: {told}"
    assert "recorded " in told and "gosym report" in told, told
    assert any("main.fetchData" in stack.frames for stack in folded(file))


def killed_outright():
    """What was written stays readable; only the last part may be lost, and that is said."""
    file = new_file()
    with running(build_demo("debian"), 600) as pid:
        recorder = subprocess.Popen([GOSYM, "record", "-q", "-p", str(pid), "-F", "999", "-o", file],
                                    stdin=subprocess.DEVNULL)
        wait_for(lambda: recorder.poll() is not None or has_begun(recorder.pid), "recording begun")
        wait_for(cpu_used([pid], 1.5), "more CPU time used")
        recorder.kill()
        recorder.wait()
    assert any("main.fetchData" in stack.frames for stack in folded(file))


def torn_tail():
    with running(build_demo("debian"), 600) as pid:
        file = record("-p", pid, samples=1500)
    whole = sum(stack.count for stack in folded(file))
    os.truncate(file, file.stat().st_size - 7)
    told = gosym("report", file)
    assert "warning" in told.err, told
    assert gosym("report", "--strict", file, check=False).status == 3
    assert sum(stack.count for stack in folded(file)) <= whole


def command_status():
    for command, status in [(["true"], 0), (["sh", "-c", "exit 7"], 7),
                            (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM),
                            (["/nowhere/program"], 127), (["/etc/passwd"], 126)]:
        found = gosym("record", "-q", "-o", new_file(), "--", *command, check=False).status
        assert found == status, f"{command} gave {found}, not {status}"


def command_is_profiled():
    file = new_file()
    gosym("record", "-q", "-F", "499", "-o", file, "--", build_demo("debian"), "2")
    stacks = folded(file)
    assert any("main.fetchData" in stack.frames for stack in stacks), stacks


def children_are_followed():
    demo = build_demo("debian")
    for options, expected in [([], True), (["--no-inherit"], False)]:
        file = new_file()
        gosym("record", "-q", "-F", "499", "-o", file, *options, "--", "sh", "-c", f"{demo} 1; true")
        found = any(stack.comm == "demo" for stack in folded_or_empty(file))
        assert found == expected, f"{options}: child seen: {found}"


def folded_or_empty(file):
    return folded(file) if gosym("report", file, check=False).status == 0 else []


def old_recording_is_kept():
    file = new_file()
    work = ["record", "-q", "-F", "499", "-o", file, "--", build_demo("debian"), "1"]
    gosym(*work)
    first = file.read_bytes()
    gosym(*work)
    assert (file.parent / "cpu.raw.old").read_bytes() == first
    assert file.read_bytes() != first


def is_kept_from_empty_ones():
    """Runs without samples leave what they found, and say so in a line; the status is the command's."""
    file = new_file()
    empty = ["record", "-F", "1", "-o", file, "--", "sh", "-c", "exit 7"]
    done = gosym(*empty, check=False)
    assert done.status == 7 and f"0 lost, {file} is not kept\n" in done.err, done
    assert os.listdir(file.parent) == [], os.listdir(file.parent)
    gosym("record", "-q", "-F", "499", "-o", file, "--", build_demo("debian"), "1")
    good = file.read_bytes()
    for _ in range(3):
        done = gosym(*empty, check=False)
        assert done.status == 7 and f"not kept: {file} is the recording before again\n" in done.err, done
        assert file.read_bytes() == good and os.listdir(file.parent) == ["cpu.raw"], os.listdir(file.parent)


def second_recorder():
    """Of one file: it is refused, and the first goes on."""
    with recording("-a") as (recorder, file):
        for _ in range(2):
            second = gosym("record", "-q", "-o", file, "--", "true", check=False)
            assert second.status == 1 and "another gosym records into it" in second.err, second
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=60) == 0
        assert os.listdir(file.parent) == ["cpu.raw"], os.listdir(file.parent)
    assert facts(file)["end"]


def directory_is_removed():
    """No file is left, and the status says so."""
    with recording("-a") as (recorder, file):
        shutil.rmtree(file.parent)
        recorder.send_signal(signal.SIGINT)
        told = recorder.communicate(timeout=60)[1]
    assert recorder.returncode == 3 and "removed" in told, (recorder.returncode, told)


def planted_fifo():
    """Of another user, where everybody may write: nothing of root's gets there; to root's own it does."""
    folder = new_place("shared")
    folder.mkdir()
    folder.chmod(0o1777)
    fifo = folder / "cpu.raw"
    os.mkfifo(fifo, 0o666)
    os.chown(fifo, 65534, 65534)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    done = gosym("record", "-q", "-o", fifo, "--", "true", check=False)
    assert done.status == 1 and "belongs to user 65534" in done.err, done
    assert os.read(reader, 100) == b""
    os.chown(fifo, 0, 0)
    gosym("record", "-q", "-o", fifo, "--", "true")
    assert os.read(reader, 100).startswith(b"GOSYMRAW")
    os.close(reader)


def planted_for_a_report():
    """Neither through a link nor into a FIFO of another user, where everybody may write."""
    file = record("-a", seconds=1, hertz=499)
    folder = new_place("shared")
    folder.mkdir()
    folder.chmod(0o777)
    victim = folder.parent / "victim"
    for option in ("--html", "--pprof", "--svg"):
        link, fifo = folder / "link", folder / "fifo"
        link.symlink_to(victim)
        os.mkfifo(fifo, 0o666)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        for planted in (link, fifo):
            os.chown(planted, 65534, 65534, follow_symlinks=False)
            done = gosym("report", "-q", option, planted, file, check=False)
            assert done.status == 1 and "belongs to user 65534" in done.err, (option, done)
            assert not victim.exists() and os.read(reader, 100) == b"", option
            os.chown(planted, 0, 0, follow_symlinks=False)
        gosym("report", "-q", option, link, file)
        os.close(reader)
        for made in (link, fifo, victim):
            made.unlink()


def limited_file_size():
    """What fits is there, and the status says that more was to come."""
    file = new_file()
    done = call("prlimit", f"--fsize={40 << 10}", GOSYM, "record", "-q", "-F", "max", "-o", file, "--",
                build_demo("debian"), "3", check=False)
    assert done.status == 3 and "File too large" in done.err, done
    found = facts(file)
    assert found["samples"] > 0 and found["damaged_bytes"] == 0, found


run([("Ctrl-C ends a recording well", lambda: stopped_by(signal.SIGINT)),
     ("SIGTERM ends a recording well", lambda: stopped_by(signal.SIGTERM)),
     ("a killed recorder leaves what it wrote", killed_outright),
     ("a torn tail is survived, told, and an error under --strict", torn_tail),
     ("record -- COMMAND gives the status of COMMAND", command_status),
     ("record -- COMMAND profiles it from its start", command_is_profiled),
     ("children are followed, unless --no-inherit is given", children_are_followed),
     ("an earlier recording is kept as cpu.raw.old", old_recording_is_kept),
     ("and is not replaced by one without samples", is_kept_from_empty_ones),
     ("a second recorder of a file is refused", second_recorder),
     ("a directory that is removed is told", directory_is_removed),
     ("a FIFO that another user put there gets nothing", planted_fifo),
     ("nor what a report writes", planted_for_a_report),
     ("a limit of the size of files", limited_file_size)])
