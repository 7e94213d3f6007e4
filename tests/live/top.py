#!/usr/bin/python3
"""gosym top: what it shows is what a recording of the same time has.

The last report of a command comes when that has ended, and --save writes the same window: both are
compared as wholes. The judge of the CPU time is the kernel.
"""
import contextlib
import difflib
import os
import pathlib
import re
import signal
import subprocess

from common import (GOSYM, WITHOUT_RIGHTS, build_demo, build_fib, build_spin, call, cpu_used, gosym,
                    has_begun, new_place, record, run, running, wait_for)

TICK = os.sysconf("SC_CLK_TCK")


def reports_of(text):
    """Each begins with its headline."""
    return re.findall(r"(?:^[\d,]+ samples? of |^no samples).*?(?=^[\d,]+ samples? of |^no samples|\Z)",
                      text, re.MULTILINE | re.DOTALL)


def shares(report):
    """Of its table: function, with what it has in self and total percent. Of a name that several programs
    have, such as `main`, the largest counts.
    """
    rows = re.findall(r"^ *(\d+\.\d+) +\d+\.\d+ +(\d+\.\d+) +\d+\.\d+  (\S.*?)(?:  .*)?$", report, re.M)
    values = sorted((float(total), float(own), name) for own, total, name in rows)
    return {name: (own, total) for total, own, name in values}


def top(*arguments, **options):
    return gosym("top", "-b", "-F", 499, "--top", 0, *arguments, **options)


@contextlib.contextmanager
def top_beside(*arguments):
    """One that has begun; it writes to a pipe."""
    process = subprocess.Popen([GOSYM, "top", "-b", *map(str, arguments)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: process.poll() is not None or has_begun(process.pid), "top begun")
        yield process
    finally:
        process.kill()
        process.wait()


def same_as_saved(*command, window="100s", interval="100s"):
    """The last report, which is the same as that of the window that was saved with it."""
    file = new_place("top.raw")
    done = top("--window", window, "--interval", interval, "--save", file, "--", *command)
    assert "lost" not in done.err + done.out, done.err
    last = reports_of(done.out)[-1].strip()
    saved = gosym("report", "--strict", "--top", 0, file)
    assert saved.err == "", saved.err
    difference = "\n".join(difflib.unified_diff(last.splitlines(), saved.out.strip().splitlines(),
                                                "shown", "saved", lineterm=""))
    assert difference == "", difference
    return last


def go_program():
    last = same_as_saved(build_demo("debian", "-ldflags=-s -w"), 2)
    names = shares(last)
    assert names["main.computeResult"][0] > 50, names
    assert names["main.main"][1] > 90, names
    assert re.search(r"main\.computeResult .*main\.go:\d+$", last, re.M), last


def c_program():
    names = shares(same_as_saved("sh", "-c", f"timeout 2 {build_fib()}; true"))
    assert names["fibNaive"][0] > 90, names
    assert names["main"][1] > 90, names


def programs_of_a_shell():
    """Each forked from a shell that has gone out of the window as it was."""
    script = f"timeout 1 {build_fib()}; sleep 3; (timeout 2 {build_fib()}; :); timeout 1 {build_spin()}; true"
    last = same_as_saved("sh", "-c", script, window="4s", interval="1s")
    names = shares(last)
    assert names["fibNaive"][0] + names["busy"][0] > 90, last
    assert names["busy"][0] > 10, last


def past_is_left_out():
    script = f"timeout 1 {build_fib()}; sleep 4"
    done = top("--window", "1s", "--interval", "1s", "--", "sh", "-c", script)
    reports = reports_of(done.out)
    assert "fibNaive" in done.out, done.out
    assert "fibNaive" not in reports[-1], reports[-1]


def accumulated():
    """All of it lies in the window that is saved, of which the report is one of all at once."""
    file = new_place("top.raw")
    script = f"timeout 1 {build_fib()}; timeout 1 {build_demo('debian')} 9; timeout 1 {build_fib()}; true"
    done = top("--accumulate", "--interval", "300ms", "--save", file, "--", "sh", "-c", script)
    reports = reports_of(done.out)
    assert len(reports) > 3, done.out
    last, saved = reports[-1], gosym("report", "--top", 0, file).out
    assert shares(last) == shares(saved), f"{last}\n{saved}"
    assert shares(last)["fibNaive"][0] > 30, last
    assert re.match(r".*of CPU time", last)[0] == re.match(r".*of CPU time", saved)[0], f"{last}\n{saved}"


def process_that_runs():
    """Mapped before it began, and the names of it are those of a recording."""
    with running(build_demo("debian"), 600) as pid:
        recorded = shares(gosym("report", "--top", 0, record("-p", pid, seconds=2, hertz=499)).out)
        with top_beside("-F", 499, "--interval", "500ms", "-p", pid, "--top", 0) as process:
            wait_for(cpu_used([pid], 2), "CPU time used")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
            assert process.returncode == 0, err
    shown = shares(reports_of(out)[-1])
    frequent = {name for name, (_, total) in recorded.items() if total >= 5}
    assert "main.processRequest" in frequent, recorded
    assert frequent == {name for name, (_, total) in shown.items() if total >= 5}, (recorded, shown)


def cpu_time():
    """As the shell has it of its children."""
    script = f"timeout 3 {build_spin()}; cat /proc/$$/stat >&2"
    done = top("--window", "100s", "--interval", "100s", "--", "sh", "-c", script)
    fields = re.search(r"^\d+ \(sh\) (.*)$", done.err, re.M)[1].split()
    used = (int(fields[13]) + int(fields[14])) / TICK
    number, unit = re.search(r": ([\d.]+) (m?s) of CPU time", done.out).groups()
    told = float(number) / (1000 if unit == "ms" else 1)
    print(f"# {told} s, of {used} s")
    assert abs(told - used) < 0.1 + 0.05 * used, (told, used)
    assert "lost" not in done.out + done.err, done.err


def whole_system():
    """Without a target; and it sees itself."""
    with running(build_spin()) as pid:
        done = top("--interval", "1s", "-n", 3, "--by", "process")
    reports = reports_of(done.out)
    assert len(reports) == 3, done.out
    assert f"({pid})" in reports[-1], reports[-1]
    assert "lost" not in done.out + done.err, done.err


def few_pages_of_files():
    """Constants of a program are not looked at, though it is open, and what was read is given back."""
    megabytes = 48
    folder = new_place("large")
    folder.mkdir()
    (folder / "filler").write_bytes(os.urandom(1 << 20) * megabytes)
    (folder / "constants.s").write_text(f'.section .rodata\n.global filler\nfiller: .incbin "{folder}/filler"\n'
                                        '.section .note.GNU-stack,"",@progbits\n')
    (folder / "main.c").write_text("extern const char filler[];\nint main() {\n"
                                   "  for (volatile long i = filler[1];; i++) {}\n}\n")
    program = folder / "large"
    call("gcc", "-O1", folder / "main.c", folder / "constants.s", "-o", program)
    with running(program) as pid, top_beside("--interval", "300ms", "-p", pid) as process:
        # The first report has opened the file: the third is looked at.
        for _ in range(3):
            assert any(re.match(r"[\d,]+ samples? of ", line) for line in process.stdout)
        smaps = pathlib.Path(f"/proc/{process.pid}/smaps").read_text()
    resident = sum(int(kilobytes) for kilobytes in
                   re.findall(rf"{program}\n(?:[A-Z].*\n)*?Rss: +(\d+) kB", smaps))
    assert str(program) in smaps, "the program is not open"
    assert resident < 4096, f"{resident} kB of {megabytes} MB"


def ends_with_its_reader():
    with running(build_spin()) as pid, top_beside("--interval", "100ms", "-p", pid) as process:
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=60)


def ends_with_its_target():
    with running(build_spin()) as pid:
        with top_beside("--interval", "100s", "-p", pid) as process:
            wait_for(cpu_used([pid], 1), "CPU time used")
            os.kill(pid, signal.SIGKILL)
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
            assert len(reports_of(out)) == 1 and "busy" in out, out


def status_of_the_command():
    assert gosym("top", "-b", "--", "sh", "-c", "exit 7", check=False).status == 7
    done = gosym("top", "-b", "--", "sh", "-c", f"echo sa'i'd; timeout 1 {build_spin()}; true")
    assert "said" in done.err and "said" not in done.out, done
    done = gosym("top", "-b", "-n", 1, "--interval", "200ms", "--", "sleep", 100)
    assert done.status == 0, done


def wrong_usage():
    for words in [("--interval", "0"), ("--window", "x"), ("-n", "-1"), ("--by", "cpu,cpu"),
                  ("-p", "1", "-a"), ("--save", ""), ("--accumulate", "--by", "time")]:
        done = gosym("top", *words, check=False)
        assert done.status == 2 and "gosym: error: " in done.err, (words, done)


def rights():
    done = call(*WITHOUT_RIGHTS, "top", "-b", "-n", 1, "-a", check=False)
    assert done.status == 4, done


run([("a Go program", go_program),
     ("a C program", c_program),
     ("programs that a shell starts, in a short window", programs_of_a_shell),
     ("what was before the window is left out", past_is_left_out),
     ("all since the start is the sum of its parts", accumulated),
     ("a process that runs has the names of a recording", process_that_runs),
     ("CPU time is what the kernel counts", cpu_time),
     ("the whole system", whole_system),
     ("few pages of the files that it looks at stay", few_pages_of_files),
     ("it ends with its reader", ends_with_its_reader),
     ("it ends with its target", ends_with_its_target),
     ("its status is that of the command", status_of_the_command),
     ("wrong usage", wrong_usage),
     ("rights are those of record", rights)])
