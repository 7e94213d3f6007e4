"""Runs a command and tells what it took: time, and memory as the kernel counts it."""
import collections
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

Time = collections.namedtuple("Time", "wall cpu")  # seconds
Memory = collections.namedtuple("Memory", "private peak")  # MB

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_TRACEME, PTRACE_CONT, PTRACE_SETOPTIONS = 0, 7, 0x4200
PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT = 0x40, 6


def run(command, given=b""):
    """What the command writes when it is given that, and how long it takes."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as told, \
            open(os.devnull, "w") as nowhere:
        asked.write(given)
        asked.seek(0)
        streams = [(os.POSIX_SPAWN_DUP2, file.fileno(), number)
                   for number, file in enumerate([asked, told, nowhere])]
        begin = time.monotonic()
        # Unlike fork() this takes no time for the pages of Python.
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=streams)
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - begin
        # eu-addr2line gives 1 where an address has no answer.
        if os.waitstatus_to_exitcode(status) not in (0, 1):
            raise SystemExit(f"{' '.join(command)} failed: {status}")
        told.seek(0)
        return told.read().decode(), Time(wall, usage.ru_utime + usage.ru_stime)


def memory(command, given=b""):
    """What the process has when it exits, stopped there by ptrace: the memory that is its own, and
    how much it had at most with the pages of files, which the kernel could drop or share."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as asked, open(os.devnull, "w") as nowhere:
        asked.write(given)
        asked.seek(0)
        pid = start_traced(command, asked, nowhere)
        os.waitpid(pid, 0)
        LIBC.ptrace(PTRACE_SETOPTIONS, pid, None, ctypes.c_void_p(PTRACE_O_TRACEEXIT))
        result, delivered = None, 0
        while True:
            LIBC.ptrace(PTRACE_CONT, pid, None, ctypes.c_void_p(delivered))
            _, status = os.waitpid(pid, 0)
            if not os.WIFSTOPPED(status):
                return result
            delivered = os.WSTOPSIG(status)
            if status >> 8 == signal.SIGTRAP | PTRACE_EVENT_EXIT << 8:
                result, delivered = read_memory(pid), 0


def start_traced(command, asked, told):
    pid = os.fork()
    if pid:
        return pid
    try:
        for number, file in enumerate([asked, told, told]):
            os.dup2(file.fileno(), number)
        LIBC.ptrace(PTRACE_TRACEME, 0, None, None)
        os.execvp(command[0], command)
    finally:
        os._exit(127)


def read_memory(pid):
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    kilobytes = lambda name, text: int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1])
    return Memory(kilobytes("Anonymous", rollup) / 1024, kilobytes("VmHWM", status) / 1024)


def instructions(command):
    """(name, instructions, turns) of the scopes that the command has callgrind count, by name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no",
                        f"--callgrind-out-file={folder}/counted", *command],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        for file in sorted(pathlib.Path(folder).glob("counted.*"),
                           key=lambda file: int(file.suffix[1:])):
            text = file.read_text(errors="replace")
            note = re.search(r"^desc: Trigger: Client Request: (\d+) times (.*)$", text, re.MULTILINE)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if note and total and int(note[1]):
                yield note[2], int(total[1]), int(note[1])
