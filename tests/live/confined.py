#!/usr/bin/python3
"""What the processes may do that read what strangers wrote, as they find who try it; rows.py has what
the kernel says of them.

    confined.py GOSYM

The program tests/confine/taken_over is gosym, in which one of its processes attacks as soon as it has
only the rights that it is to have.
"""
import contextlib
import functools
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

from common import FIXTURES, GOSYM, SLOW, WORK, Skip, build_demo, call, run, wait_for

TAKEN_OVER = pathlib.Path(GOSYM).parent.parent / "tests" / "confine" / "taken_over"
PLACE = WORK / "place"  # whose files are attacked
KEPT = PLACE / "gosym-to-be-kept"


# Attacks that only Landlock refuses who may open files.
BY_PATH = {"write-etc", "write", "read-shadow", "read-shadow-found", "read-shadow-as-source", "remove", "rename",
           "mkdir", "execute"}


@functools.cache
def has_landlock():
    return ", by Landlock" in call(GOSYM, "doctor", check=False).out


def by_path():
    return set() if has_landlock() else BY_PATH


@contextlib.contextmanager
def attacked_place(is_kept=True):
    """Has what is to be kept, and a link to what is a source by its name only. It fails if there is more
    or less afterwards."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    KEPT.write_text("kept")
    KEPT.chmod(0o644)
    (PLACE / "gosym-source.c").symlink_to("/etc/shadow")
    yield
    if is_kept and has_landlock():
        assert KEPT.read_text() == "kept" and KEPT.stat().st_mode & 0o777 == 0o644
        assert sorted(path.name for path in PLACE.iterdir()) == ["gosym-source.c", KEPT.name]


def taken(words, check=True, **variables):
    """gosym, one process of which attacks."""
    return call(TAKEN_OVER, *words, check=check, cwd=PLACE,
                env=os.environ | {name: str(value) for name, value in variables.items()})


def told_in(file):
    """Who was ended while he told something leaves zeros."""
    return file.read_bytes()[8:].replace(b"\0", b"").decode()


def outcomes(name, text):
    """How many attacks were tried, and those that were not refused."""
    tried = re.findall(rf"^{name} (\S+): (\S+)$", text, re.MULTILINE)
    return len(tried), {attack for attack, outcome in tried if outcome != "refused"}


def in_etc(victim):
    return pathlib.Path(f"/etc/gosym-taken-over-{victim}")


@functools.cache
def program():
    source = WORK / "spin.c"
    turns = 30_000_000 if SLOW else 1_500_000_000
    source.write_text(f"int main(void) {{ for (volatile long i = 0; i < {turns}; i++) ; }}\n")
    binary = WORK / "spin"
    call("gcc", "-g", "-O1", source, "-o", binary)
    return binary


@functools.cache
def recorded():
    file = WORK / "spin.raw"
    call(GOSYM, "record", "-F", 999 if SLOW else 199, "-o", file, "--", program())
    return file


@contextlib.contextmanager
def sleeping():
    victim = subprocess.Popen(["sleep", "1000"])
    try:
        yield victim.pid
        assert victim.poll() is None, "the victim was ended"
    finally:
        victim.kill()
        victim.wait()


def commands():
    """Each that reads files, and a word of its answer."""
    archived = WORK / "archived.raw"
    shutil.copy(recorded(), archived)
    return [(["report", recorded()], "main"),
            (["report", "--folded", "-o", WORK / "out.folded", recorded()], "out.folded"),
            (["diff", recorded(), recorded()], "main"),
            (["annotate", recorded(), "main"], "spin.c:1"),
            (["annotate", program(), "main"], "spin.c:1"),
            (["inspect", program()], "symtab"),
            (["resolve", program(), "main"], "spin.c:1"),
            (["archive", archived], "archived")]


def taken_over():
    """Whoever takes a parser over can do nothing, and all of gosym works beside that."""
    attempts = 0
    with attacked_place(), sleeping() as victim:
        for words, answer in commands():
            done = taken(words, GOSYM_TAKEN_OVER="parser", GOSYM_VICTIM=victim)
            assert answer in done.out + done.err, (words, done.out, done.err)
            tried, won = outcomes("parser", done.err)
            assert tried > 20 and not won, (words, won, done.err)
            attempts += tried
        assert not in_etc(victim).exists()
    print(f"# {attempts} attempts")


def taken_over_fetcher():
    """It has the network, its cache and the program that fetches."""
    with attacked_place(), sleeping() as victim:
        done = taken(["report", "--debuginfod=http://127.0.0.1:1", recorded()], GOSYM_TAKEN_OVER="fetcher",
                     GOSYM_VICTIM=victim, DEBUGINFOD_CACHE_PATH=WORK / "cache")
        tried, won = outcomes("fetcher", done.err)
        assert tried > 20, done.err
        assert won - by_path() == {"socket-inet", "socket-unix", "start"}, won
        in_etc(victim).unlink(missing_ok=True)


@contextlib.contextmanager
def running():
    process = subprocess.Popen([build_demo("debian"), "600"], stdout=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


RECORD = ["record", "-q", "-d", "1s", "-o", WORK / "attacked.raw"]
ON_CPU, WALL = [*RECORD, "-p"], [*RECORD, "--wall", "-p"]
# Into a directory of its own, where it may remove and rename.
ELSEWHERE = WORK / "recorded-elsewhere"
INTO_ELSEWHERE = ["record", "-q", "-d", "1s", "-o", ELSEWHERE / "attacked.raw", "-p"]
INTO_DIRECTORY = ["record", "-q", "-d", "2s", "--rotate", "1s", "-o", WORK / "kept-by-attacked", "-p"]
# Commands that have such a process, and attacks that are its task: the parser of a process's files sees
# its own program.
LOOKERS = {"parser": ([["goroutines"], ["resolve", "0x400000", "--pid"]], set()),
           "reader": ([["goroutines"], WALL], {"memory"}),
           "recorder": ([ON_CPU, WALL], set()),
           "keeper": ([ON_CPU], {"perf"}),
           "remover": ([INTO_ELSEWHERE], set()),
           "storer": ([INTO_DIRECTORY], set())}


def taken_over_beside_a_process():
    """Those that look at a process that runs, for whoever names its code."""
    ELSEWHERE.mkdir(exist_ok=True)
    for name, (attacked, tasks) in LOOKERS.items():
        for number, words in enumerate(attacked):
            told = WORK / f"told-{name}-{number}"
            with attacked_place(), sleeping() as victim, running() as pid:
                done = taken([*words, pid], check=False, GOSYM_TAKEN_OVER=name, GOSYM_VICTIM=victim,
                             GOSYM_TOLD=told)
                in_etc(victim).unlink(missing_ok=True)
            tried, won = outcomes(name, told_in(told))
            assert tried > 20, (words, name, tried, done)
            if name in ("recorder", "remover", "storer"):
                won -= by_path()
            assert won == tasks, (words, name, won)


def attacks_work():
    """The same by one who has all rights, so that it is rights that refuse it. The parser waits for one of
    the openers, which has tried all by then; the others may be at it still."""
    told = WORK / "told-opener"
    with attacked_place(is_kept=False), sleeping() as victim:
        done = taken(["report", recorded()], GOSYM_TAKEN_OVER="opener", GOSYM_VICTIM=victim, GOSYM_TOLD=told)
        in_etc(victim).unlink(missing_ok=True)
    text = told_in(told)
    for name in ("write-etc", "read-shadow"):
        assert f"opener {name}: DONE" in text, (text, done)
    for name in ("kill", "ptrace", "memory", "execute", "socket-inet", "start", "bpf", "mount",
                 "limits"):
        assert f"opener {name}: refused" in text, (text, done)


def status_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return dict(re.findall(r"^(\w+):\s+(.*)$", text, re.MULTILINE))


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.contextmanager
def waiting_report(name, *options):
    """A report of a FIFO that nobody writes to, and its processes."""
    fifo = WORK / name
    os.mkfifo(fifo)
    front = subprocess.Popen([GOSYM, "report", *options, fifo], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(children(front.pid)) >= 4 + len(options), "processes of a report")
        wait_for(lambda: all(status_of(pid)["Seccomp"] == "2" for pid in children(front.pid)), "filters")
        yield front
    finally:
        front.kill()
        front.wait()


def ends_with_a_signal():
    """Also one that is sent to the first process alone; nothing is left."""
    for number, sent in enumerate([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]):
        with waiting_report(f"signal-{number}.fifo") as front:
            family = children(front.pid)
            begin = time.monotonic()
            front.send_signal(sent)
            assert front.wait(timeout=60) == -sent, front.returncode
            took = time.monotonic() - begin
            wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in family), "the end of all")
        assert took < 10, took


@contextlib.contextmanager
def hanging_program():
    """Recorded while its file system answered, which it does no more."""
    if not os.path.exists("/dev/fuse"):
        raise Skip("no /dev/fuse")
    folder = WORK / "hanging"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, FIXTURES / "hanging_files.py", folder, program()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if server.stdout.readline() != "mounted\n":
            raise Skip(server.stderr.read())
        file = WORK / "hanging.raw"
        call(GOSYM, "record", "-q", "--archive=none", "-F", 199, "-o", file, "--", folder / "program")
        server.send_signal(signal.SIGUSR1)
        yield folder / "program", file
    finally:
        server.kill()
        server.wait()
        call("umount", "-l", folder, check=False)


def hanging_files():
    """Of one that a recording names a report says that it did not answer; who waits for one that he
    named himself ends by a signal."""
    with hanging_program() as (binary, file):
        shutil.copyfile(file, copy := WORK / "archive-hanging.raw")
        for words, told in ((["report", file], "timed out"), (["annotate", file, "main"], "no function"),
                            (["archive", copy], "timed out")):
            begin = time.monotonic()
            done = call(GOSYM, *words, check=False)
            print(f"# {words[0]}: {time.monotonic() - begin:.1f} s")
            assert told in (done.out + done.err).lower(), (words, done)
        for words in (["inspect", binary], ["annotate", binary, "main"], ["resolve", binary, "main"]):
            waiting = subprocess.Popen([GOSYM, *words], stderr=subprocess.DEVNULL)
            wait_for(lambda: len(children(waiting.pid)) >= 4, "its processes")
            time.sleep(0.3)
            begin = time.monotonic()
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(timeout=60) == -signal.SIGINT, waiting.returncode
            print(f"# {words[0]}: {time.monotonic() - begin:.2f} s after Ctrl-C")
            assert time.monotonic() - begin < 10


def pager():
    """Has the rights of the user, and what is shown passes through it."""
    shown = WORK / "shown"
    status = WORK / "pager-status"
    script = WORK / "pager.sh"
    script.write_text(f"#!/bin/sh\ncat /proc/self/status > {status}\ncat > {shown}\n")
    script.chmod(0o755)
    primary, secondary = pty.openpty()
    done = subprocess.Popen([GOSYM, "annotate", recorded(), "main"], stdin=secondary, stdout=secondary,
                            stderr=subprocess.PIPE,
                            env={**os.environ, "PAGER": str(script), "TERM": "xterm", "LINES": "10",
                                 "COLUMNS": "80"})
    os.close(secondary)
    assert done.wait(timeout=600) == 0, done.stderr.read()
    os.close(primary)
    assert "spin.c:1" in shown.read_text()
    assert re.search(r"^Seccomp:\s+0$", status.read_text(), re.MULTILINE), status.read_text()


def types_nothing():
    """What a taken-over parser would type on the terminal, the shell would execute."""
    primary, secondary = pty.openpty()
    done = subprocess.run([TAKEN_OVER, "report", recorded(), "--no-pager", "--stdio"], stdin=secondary, stdout=secondary,
                          stderr=subprocess.PIPE, text=True, check=False, start_new_session=True,
                          env={**os.environ, "GOSYM_TAKEN_OVER": "parser", "TERM": "xterm"})
    os.close(secondary)
    os.close(primary)
    assert "parser type: refused" in done.stderr, done.stderr


def outputs():
    """Where an output may be."""
    text = call(GOSYM, "report", "--folded", recorded()).out
    assert "main" in text
    assert call(GOSYM, "report", "--folded", "-o", "/dev/stdout", recorded()).out == text
    fifo = WORK / "out.fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True)
    call(GOSYM, "report", "-q", "--folded", "-o", fifo, recorded())
    assert reader.communicate(timeout=600)[0] == text
    theirs = WORK / "theirs"
    theirs.mkdir(0o700)
    os.chown(theirs, 65534, 65534)
    call(GOSYM, "report", "-q", "--folded", "-o", theirs / "out", recorded())
    assert (theirs / "out").read_text() == text
    shutil.copy(recorded(), theirs / "cpu.raw")
    (theirs / "cpu.raw").chmod(0o600)
    os.chown(theirs / "cpu.raw", 65534, 65534)
    assert call(GOSYM, "report", "--folded", theirs / "cpu.raw").out == text
    assert sorted(path.name for path in theirs.iterdir()) == ["cpu.raw", "out"]
    shell = f"{GOSYM} report --folded <(cat {recorded()})"
    assert call("bash", "-c", shell).out == text
    assert call("sh", "-c", f"cat {recorded()} | {GOSYM} report --folded -").out == text


if __name__ == "__main__":
    run([("a parser that is taken over can do nothing", taken_over),
         ("a fetcher that is taken over has the network", taken_over_fetcher),
         ("who looks at a process and is taken over can do no more", taken_over_beside_a_process),
         ("it is rights that refuse it", attacks_work),
         ("a signal ends all of them", ends_with_a_signal),
         ("a file system that does not answer holds nobody", hanging_files),
         ("the pager has the user's rights", pager),
         ("nothing is typed", types_nothing),
         ("outputs and inputs", outputs)])
