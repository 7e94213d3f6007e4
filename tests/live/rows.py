#!/usr/bin/python3
"""What each process of each command may do, as the kernel has it, beside what gosym doctor says: as
root, as a copy with capabilities and as a user.

    rows.py GOSYM

The program tests/confine/taken_over is gosym, of which each process says who it is and waits until it
has been looked at. /proc tells nothing of Landlock: strace sees who was restricted.
"""
import collections
import contextlib
import functools
import mmap
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import threading
import time

from common import GOSYM, SLOW, WORK, build_demo_for_others, call, compiled, run

TAKEN_OVER = pathlib.Path(GOSYM).parent.parent / "tests" / "confine" / "taken_over"
NOBODY = 65534
OF_COPY = "cap_bpf,cap_perfmon,cap_syslog,cap_checkpoint_restore"
CAPABILITIES = {"CAP_DAC_OVERRIDE": 1, "CAP_DAC_READ_SEARCH": 2, "CAP_FOWNER": 3, "CAP_KILL": 5,
                "CAP_SYS_PTRACE": 19, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39,
                "CAP_CHECKPOINT_RESTORE": 40}
LOOK, PLACE_OF_COUNT, SHARED = struct.Struct("ii24s"), struct.Struct("Q"), 1 << 16
SHORTLY = "2s" if SLOW else "0.4s"
Seen = collections.namedtuple("Seen", "capabilities seccomp no_new_privs landlock")


@functools.cache
def folder():
    """Where anybody may write."""
    WORK.chmod(0o755)
    place = WORK / "rows"
    place.mkdir()
    place.chmod(0o777)
    return place


@functools.cache
def program(who):
    place = folder() / who
    shutil.copy(TAKEN_OVER, place)
    place.chmod(0o755)
    if who == "copy":
        call("setcap", OF_COPY + "+ep", place)
    return place


@functools.cache
def spin():
    """With debugging information, and goes on for a second or so."""
    source = folder() / "spin.c"
    turns = 30_000_000 if SLOW else 700_000_000
    source.write_text(f"int main(void) {{ for (volatile long i = 0; i < {turns}; i++) ; }}\n")
    return compiled("gcc", "-g", "-O1", source, output=folder() / "spin")


@functools.cache
def recorded():
    file = folder() / "spin.raw"
    call(GOSYM, "record", "-F", 999, "-o", file, "--", spin())
    file.chmod(0o644)
    return file


def demo():
    return build_demo_for_others("debian")


@contextlib.contextmanager
def go_process(who):
    """A program in Go of the same user."""
    process = subprocess.Popen([demo(), "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               **({} if who == "root" else {"user": NOBODY, "group": NOBODY}))
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def commands(pid):
    """Each by what it is called in the table."""
    spin(), recorded()
    archived = folder() / f"archived-{len(list(folder().iterdir()))}.raw"
    shutil.copy(recorded(), archived)
    archived.chmod(0o666)
    record = ["record", "-q", "-d", SHORTLY, "-o", folder() / f"{archived.stem}.out.raw"]
    own = ["record", "-q", "-o", folder() / f"{archived.stem}.own.raw"]
    return {"record -a": [*record, "-a"],
            "record -p": [*record, "-p", pid],
            "record --wall -p": [*record, "--wall", "-p", pid],
            "record --off-cpu -p": [*record, "--off-cpu", "-p", pid],
            "record --rotate": ["record", "-q", "-d", SHORTLY, "--rotate", "1s", "-o",
                                folder() / f"{archived.stem}.kept", "-p", pid],
            "record -- COMMAND": [*own, "--", spin()],
            "top -p": ["top", "-d", SHORTLY, "-p", pid],
            "report": ["report", recorded()],
            "report in a terminal": ["report", recorded()],
            "report --debuginfod": ["report", "--debuginfod=http://127.0.0.1:1", recorded()],
            "diff": ["diff", recorded(), recorded()],
            "goroutines": ["goroutines", pid],
            "archive": ["archive", archived],
            "annotate": ["annotate", recorded(), "main"],
            "annotate of a binary": ["annotate", spin(), "main"],
            "inspect": ["inspect", spin()],
            "resolve": ["resolve", spin(), "main"],
            "resolve --pid": ["resolve", "--pid", pid, "0x400000"]}


def status_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return dict(re.findall(r"^(\w+):\s+(.*)$", text, re.MULTILINE))


class Looker:
    """Looks at each process that waits for it."""

    def __init__(self):
        self.file = folder() / f"looked-at-{time.monotonic_ns()}"
        self.file.write_bytes(bytes(SHARED))
        self.file.chmod(0o666)
        self.seen = {}  # by pid: a name, and what /proc says
        self.is_over = False

    def __enter__(self):
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()

    def look(self):
        with self.file.open("r+b") as file, mmap.mmap(file.fileno(), SHARED) as memory:
            while not self.is_over:
                for at in range(PLACE_OF_COUNT.unpack_from(memory)[0]):
                    place = PLACE_OF_COUNT.size + at * LOOK.size
                    pid, is_done, name = LOOK.unpack_from(memory, place)
                    if pid != 0 and not is_done:
                        self.seen.setdefault(pid, []).append((name.rstrip(b"\0").decode(), status_of(pid)))
                        struct.pack_into("i", memory, place + 4, 1)
                time.sleep(0.005)


def in_terminal(command, **options):
    """Until it ends, which it does by 'q'."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(command, stdin=secondary, stdout=secondary, stderr=subprocess.PIPE, **options)
    os.close(secondary)

    def press():
        with contextlib.suppress(OSError):
            while process.poll() is None:
                os.write(primary, b"q")
                time.sleep(0.2)

    def swallow():
        with contextlib.suppress(OSError):
            while os.read(primary, 4096):
                pass

    threads = [threading.Thread(target=each) for each in (press, swallow)]
    for thread in threads:
        thread.start()
    told = process.communicate()[1]
    for thread in threads:
        thread.join()
    os.close(primary)
    return told.decode(errors="replace")


def processes_of(who, title, words):
    """The rows that a command has, each with what was seen, and what the command told."""
    log = folder() / "strace"
    command = ["strace", "-f", "-q", "-o", log, "-e", "trace=landlock_restrict_self", "-e", "signal=none",
               *([] if who == "root" else ["-u", "nobody"]), program(who), *words]
    with Looker() as looker:
        environment = {**os.environ, "GOSYM_LOOKED_AT": str(looker.file), "TERM": "xterm", "HOME": str(folder()),
                       "DEBUGINFOD_CACHE_PATH": str(folder() / f"cache-{who}")}
        command = [str(word) for word in command]
        if "terminal" in title or title == "top -p":
            told = in_terminal(command, env=environment)
        else:
            told = call(*command, check=False, env=environment).err
    # Of two at once strace tells the call and its outcome apart.
    outcome = r"^(\d+) +(?:<\.\.\. )?landlock_restrict_self\b.* = 0$"
    restricted = set(map(int, re.findall(outcome, log.read_text(), re.MULTILINE)))
    rows = []
    for pid, looks in looker.seen.items():
        for name, status in looks:
            assert status["CapPrm"] == status["CapEff"] and int(status["CapInh"], 16) == 0 and \
                int(status["CapAmb"], 16) == 0, (title, name, status)
            rows.append((name, Seen(int(status["CapEff"], 16), status.get("Seccomp"), status.get("NoNewPrivs"),
                                    pid in restricted)))
    return rows, told


@functools.cache
def table():
    """By the name of a process what gosym doctor says of it."""
    told = call(GOSYM, "doctor", check=False).out
    part = told[told.index("processes that read"):].splitlines()[1:]
    return {line[:24].strip(): line[24:] for line in part}


def bits(text):
    return sum(1 << number for name, number in CAPABILITIES.items() if name in text)


def of_user(who):
    """The capabilities that a command begins with."""
    if who == "root":
        return int(status_of(os.getpid())["CapPrm"], 16)
    return bits(OF_COPY.upper()) if who == "copy" else 0


def names_of(capabilities):
    return " ".join(name.removeprefix("CAP_") for name, number in CAPABILITIES.items()
                    if capabilities >> number & 1) or "none"


def check(who, title, name, seen):
    row = table()[name]
    wanted = bits(row) & of_user(who)
    # Whoever uses those of the file for sampling alone has none of them elsewhere.
    allowed = {wanted} if who != "copy" or name == "keeper" else {wanted, 0}
    assert seen.capabilities in allowed, (who, title, name, names_of(seen.capabilities), row)
    assert seen.no_new_privs == "1", (who, title, name)
    assert (seen.seccomp == "2") == ("seccomp" in row), (who, title, name, seen, row)
    assert seen.landlock == ("Landlock" in row), (who, title, name, seen, row)


def as_the_table_says(who):
    names = set()
    with go_process(who) as pid:
        for title, words in commands(pid).items():
            rows, told = processes_of(who, title, words)
            for (name, seen), count in sorted(collections.Counter(rows).items()):
                print(f"# {who:5} {title:21} {name:8} x{count} CapEff {seen.capabilities:016x} "
                      f"({names_of(seen.capabilities)}), Seccomp {seen.seccomp}, NoNewPrivs "
                      f"{seen.no_new_privs}, Landlock {'yes' if seen.landlock else 'no'}")
            if not rows:
                print(f"# {who:5} {title:21} none: {' '.join(told.split())[:150]}")
            for name, seen in rows:
                check(who, title, name, seen)
            names.update(name for name, _ in rows)
    assert who != "root" or names == set(table()) - {"system calls", "paths"}, names


run([(f"processes have what doctor says, as {who}", functools.partial(as_the_table_says, who))
     for who in ("root", "copy", "user")])
