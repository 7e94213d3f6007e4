#!/usr/bin/python3
"""What is recorded: processes by name and by user, and with a command that is but the stop watch."""
import contextlib
import shutil
import signal
import subprocess

from common import (GOSYM, WITHOUT_RIGHTS, build_spin, call, cpu_ticks, cpu_used, folded, gosym, new_place,
                    recording, run, running, wait_for)

NOBODY = "65534"
GAMES = "5"  # who has no processes, where other tests run beside this one


def as_user(user, *command):
    return ["setpriv", f"--reuid={user}", "--clear-groups", *command]


def copy_of_spin(name):
    """In a place that every user may read."""
    program = new_place(name)
    shutil.copy(build_spin(), program)
    for place in (program.parent, program.parent.parent):
        place.chmod(0o755)
    return program


def comms(file):
    return {stack.comm for stack in folded(file)}


@contextlib.contextmanager
def stop_watch(file):
    """A command that ends when the block does."""
    go_on = new_place("go-on")
    go_on.touch()
    yield ["sh", "-c", f"while [ -e {go_on} ]; do sleep 0.05; done; exit 3", file], go_on.unlink


def recorded(*options, until):
    """Messages, status and file of a recording that ends once processes used CPU time."""
    file = new_place("cpu.raw")
    with stop_watch(file) as (command, end):
        recorder = subprocess.Popen([GOSYM, "record", "-F", "499", "-o", file, *map(str, options), *command],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # The stop watch is started once samples are taken.
        wait_for(lambda: recorder.poll() is not None or str(file) in command_lines(recorder.pid),
                 "stop watch started")
        is_enough = cpu_used(until, 0.2)
        wait_for(lambda: recorder.poll() is not None or is_enough(), "CPU time used")
        end()
        told = recorder.communicate(timeout=60)[1]
    return told, recorder.returncode, file


def command_lines(parent):
    """Of the children that have been executed: before, they have the line of the recorder."""
    found = call("ps", "-o", "args=", "--ppid", parent, check=False).out.splitlines()
    return "\n".join(line for line in found if not line.startswith(GOSYM))


def by_name():
    """Of the process or of its file; all that have it, and no other."""
    renamed, other = copy_of_spin("spin-renamed-file"), copy_of_spin("spin-other")
    with running(renamed) as one, running(renamed) as two, running(other) as three:
        for option, name in [("-p", "spin-renamed-file"), ("--comm", "spin-renamed-fi")]:
            told, status, file = recorded(option, name, until=[one, two])
            assert status == 3, f"{status}: {told}"
            assert f"recording 2 processes named '{name}': {min(one, two)}, {max(one, two)}" in told, told
            assert comms(file) == {"spin-renamed-fi"}, comms(file)
        told, _, file = recorded("-p", f"{three},spin-renamed-file", until=[one, two, three])
        assert comms(file) == {"spin-renamed-fi", "spin-other"}, f"{comms(file)} {told}"
        renamed.unlink()  # the name stays that of the file it was
        assert "2 processes" in recorded("-p", "spin-renamed-file", until=[one])[0]


def by_user():
    """Those it has, and their children, whoever these run as; but not what begins otherwise."""
    program, child, late = copy_of_spin("spin-games"), copy_of_spin("spin-child"), copy_of_spin("spin-late")
    signal_file, parent = program.parent / "go-on", program.parent / "parent"
    parent.write_text(f"while [ ! -e {signal_file} ]; do :; done\n{child} & wait\n")
    parent.chmod(0o755)
    with running(*as_user(GAMES, program)), running(build_spin()), \
            running(*as_user(GAMES, "sh", parent)) as two:
        with recording("-u", "games", "-F", "499") as (recorder, file), running(*as_user(GAMES, late)):
            wait_for(cpu_used([two], 0.05), "CPU time of the shell")
            signal_file.touch()
            children = lambda: call("pgrep", "-P", two, check=False).out.split()
            started = wait_for(children, "child")[0]
            wait_for(lambda: cpu_ticks(started) > 20, "CPU time used")
        call("kill", started)
        told = recorder.stderr.read()
        assert "recording 2 processes of user 'games'" in told, told
        assert comms(file) == {"spin-games", "sh", "spin-child"}, f"{comms(file)} {told}"


def not_yours():
    """Without rights only one's own of those that have the name."""
    program = copy_of_spin("spin-shared")
    with running(*as_user(NOBODY, program)) as own, running(program) as other:
        place = new_place("out")
        place.parent.chmod(0o777)
        done = call(*WITHOUT_RIGHTS, "record", "-p", "spin-shared", "-d", "0.2", "-o", place, check=False)
        assert "1 of 2 processes named 'spin-shared' left out: no permission" in done.err, done.err
        assert f": {own}\n" in done.err and str(other) not in done.err, done.err
    with running(program):
        done = call(*WITHOUT_RIGHTS, "record", "-p", "spin-shared", "-d", "0.2", "-o", place, check=False)
        assert done.status == 4 and "no permission to look into" in done.err, done


def stop_watch_only():
    """With -p nothing of the command is recorded, with -a as of any other."""
    spin = build_spin()
    with running(spin) as pid:
        told, status, file = recorded("-p", pid, until=[pid])
        assert status == 3 and comms(file) == {"spin"}, f"{status} {comms(file)} {told}"
        _, status, file = recorded("-a", until=[pid])
        assert status == 3 and "spin" in comms(file), comms(file)
    for words in (["-p", "1", "true"], ["-p1", "true"], ["-gp", "1", "true"], ["-p", "1", "--", "true"]):
        assert gosym("record", "-q", "-o", new_place("cpu.raw"), *words, check=False).status == 0, words


def target_ends_first():
    """Then the stop watch is ended, and that is no failure."""
    target = subprocess.Popen([build_spin()])
    file = new_place("cpu.raw")
    recorder = subprocess.Popen([GOSYM, "record", "-q", "-o", file, "-p", str(target.pid), "sleep", "1000"],
                                stdin=subprocess.DEVNULL)
    wait_for(lambda: "sleep 1000" in command_lines(recorder.pid), "stop watch started")
    target.kill()
    target.wait()
    assert recorder.wait(timeout=60) == 0


def interrupted():
    """Ctrl-C ends the stop watch too, which is no failure."""
    with running(build_spin()) as pid:
        recorder = subprocess.Popen([GOSYM, "record", "-q", "-o", new_place("cpu.raw"), "-p", str(pid), "sleep", "999"],
                                    stdin=subprocess.DEVNULL)
        wait_for(lambda: "sleep 999" in command_lines(recorder.pid), "stop watch started")
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=60) == 0


def output_is_ours():
    """What a stop watch prints does not come between the recording."""
    done = subprocess.run([GOSYM, "record", "-q", "-a", "-o", "-", "expr", "6", "*", "7000"], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    assert done.stdout.startswith(b"GOSYMRAW") and b"42000" not in done.stdout, done.stdout[:100]
    assert done.stderr == b"42000\n", done.stderr


run([("processes are found by the name of their program", by_name),
     ("processes are found by their user, and are followed", by_user),
     ("of processes with a name, those of others are left out", not_yours),
     ("with -p and -a a command is the stop watch", stop_watch_only),
     ("the end of what is recorded ends the stop watch", target_ends_first),
     ("Ctrl-C on a stop watch is no failure", interrupted),
     ("-o - takes the stop watch's output elsewhere", output_is_ours)])
