#!/usr/bin/python3
"""What goes wrong is told in one clear line, with its own exit status."""
import functools
import pathlib
import re
import subprocess

from common import GOSYM, WITHOUT_RIGHTS, WORK, call, gosym, run, running

def told(arguments, status, *patterns, program=(GOSYM,)):
    done = call(*program, *arguments, check=False, cwd=WORK)
    assert done.status == status, f"status {done.status}, not {status}: {done.err}"
    assert not done.out, f"on standard output: {done.out}"
    for pattern in patterns:
        assert re.search(pattern, done.err), f"nothing like '{pattern}' in: {done.err}"
    assert "gosym: error: " in done.err, done.err


def ended_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def without_rights():
    WORK.chmod(0o777)
    with running("sh", "-c", "while :; do :; done") as pid:
        told(["record", "-p", pid, "-d", "1s"], 4, "CAP_", "gosym: hint: ", program=WITHOUT_RIGHTS)


def record_nothing(name):
    """By a stream: a file without samples would not be kept."""
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        call("sh", "-c", f"exec '{GOSYM}' record -q -F 1 -p {sleeper.pid} -d 0.1s -o - > '{WORK / name}'")
    finally:
        sleeper.kill()
        sleeper.wait()


def empty_profile():
    record_nothing("empty.raw")
    told(["report", "empty.raw"], 5, "no samples", "gosym: hint: ")


def other_version():
    """A recording of a format to come: its version number is the four bytes after the magic."""
    record_nothing("newer.raw")
    data = bytearray((WORK / "newer.raw").read_bytes())
    data[8] = 0x7f
    (WORK / "newer.raw").write_bytes(data)
    told(["report", "newer.raw"], 1, "newer|version")


def files():
    (WORK / "text").write_text("hello\n" * 100)
    (WORK / "nothing").write_text("")
    (WORK / "cut").write_bytes(pathlib.Path(GOSYM).read_bytes()[:5000])


CASES = {
    "no such process": (["record", "-p", ended_pid()], 5, r"process \d+ does not exist"),
    "nothing to record": (["record"], 2, "gosym: hint: "),
    "two things to record": (["record", "-a", "-p", "1"], 2, ""),
    "a rate out of range": (["record", "-a", "-F", "0"], 2, "--freq"),
    "a time that is none": (["record", "-a", "-d", "soon"], 2, "--duration|soon"),
    "an unknown option": (["record", "--frob"], 2, "--frob", "gosym record --help"),
    "no recording": (["report", "nowhere.raw"], 1, "'nowhere.raw'", "gosym: hint: "),
    "not a recording": (["report", "text"], 1, "'text'"),
    "an empty file as recording": (["report", "nothing"], 1, "'nothing'"),
    "inspect: no file": (["inspect", "nowhere"], 1, "'nowhere': No such file"),
    "inspect: not an ELF file": (["inspect", "text"], 1, "'text': .*ELF"),
    "inspect: a directory": (["inspect", "/"], 1, "'/'"),
    "index: two binaries of one name": (["index", "a/x", "b/x"], 2, "'a/x' and 'b/x' would both .* 'x.gsym'",
                                        "--store DIR"),
    "diff: spans by clocks that do not count": (["diff", "text", "--spans", "10:00..10:10,10:20..10:30", "--align"],
                                                2, "--spans", "--align"),
    "resolve: not an ELF file": (["resolve", "text", "1"], 1, "'text': .*ELF"),
    "annotate: no function": (["annotate"], 2, "FUNC is required"),
    "resolve: not an address": (["resolve", GOSYM, "0xmain"], 2, "'0xmain'"),
    "resolve: no such process": (["resolve", "-p", ended_pid(), "1"], 5,
                                 r"process \d+ does not exist"),
}


def cut_short():
    for command in (["resolve", "cut", "1"], ["inspect", "cut"]):
        done = gosym(*command, cwd=WORK)
        assert "the file is cut short: " in done.out + done.err, done


files()
run([(title, functools.partial(told, *case)) for title, case in CASES.items()] +
    [("missing rights", without_rights), ("a file that is cut short", cut_short),
     ("a recording without samples", empty_profile), ("a recording of a newer version", other_version)])
