#!/usr/bin/python3
"""The browser on a real terminal, as a person has it. What it shows and exports is what `gosym
report` prints of the same part of the recording."""
import contextlib
import functools
import itertools
import json
import os
import pathlib
import re

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, build_spin, build_with_source, call, go, gosym,
                    new_place, record, run, running, wait_for)
from terminals import terminal


@functools.cache
def program():
    """Recursion, closures, goroutines and hot leaves, in several threads."""
    built = new_place("go_stacks")
    call(go("newest"), "build", "-ldflags=-s -w", "-o", built, FIXTURES / "go_stacks" / "main.go",
         env=GO_ENVIRONMENT)
    return built


@functools.cache
def recording():
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", 499, "-o", file, "--", program(), "all", 4000)
    return file


@contextlib.contextmanager
def browser(*options, **terminal_options):
    """The browser in a folder of its own, once it shows what was recorded."""
    folder = new_place("shown")
    folder.mkdir()
    with terminal(folder=folder, **terminal_options) as opened:
        opened.folder = folder
        opened.run(GOSYM, "report", recording(), *options)
        opened.shows(r"^ 1 ")
        yield opened


def exported(opened, choice):
    """What `e` wrote. The name of the file before it may still be on the screen."""
    before = set(opened.folder.iterdir())
    opened.keys("e", choice)

    def new_file():
        named = re.search(r"wrote (gosym-\S+)", opened.screen())
        return named and opened.folder / named[1] not in before and opened.folder / named[1]

    return wait_for(new_file, "new file named")


def printed(*options):
    return gosym("report", "-q", recording(), *options).out


@functools.cache
def functions():
    """By self, as JSON has them."""
    document = json.loads(printed("--json"))
    total = document["totals"]["value"]
    found = [(f["name"], 100 * f["self"] / total, 100 * f["total"] / total)
             for f in document["functions"] if "unnamed" not in f]
    return sorted(found, key=lambda f: -f[1])


def first_screen(size):
    name, own, total = functions()[0]
    with browser(size=size) as opened:
        screen = opened.shows(rf"{own:.2f} .*{re.escape(name[-10:])}").splitlines()
    row = next(line for line in screen if f"{own:.2f}" in line)
    assert f"{total:.2f}" in row, row
    assert len(screen) == size[1] and max(map(len, screen)) <= size[0], screen


def searching_tells_the_share():
    with browser() as opened:
        opened.type("/main\\.fib")
        opened.keys("Enter")
        told = re.search(r"/main\\\.fib: ([\d.]+) %", opened.shows(r"main\\\.fib: "))[1]
        opened.keys("n", "N")
        opened.shows(r"^ main\.fib")
    document = json.loads(printed("--json", "--focus", r"main\.fib"))
    whole = json.loads(printed("--json"))["totals"]["value"]
    assert abs(float(told) - 100 * document["totals"]["value"] / whole) < 0.01, told


def only_stacks_with_a_function():
    name = functions()[0][0]
    with browser() as opened:
        opened.keys("f")
        opened.shows("with ")
        file = exported(opened, "f")
        assert file.read_text() == printed("--folded", "--focus", f"^{re.escape(name)}$")
        opened.keys("u", "x")
        opened.shows("without ")
        file = exported(opened, "f")
        assert file.read_text() == printed("--folded", "--ignore", f"^{re.escape(name)}$")
        opened.keys("c", "K", "I")
        opened.shows("no kernel, no inlined calls")
        assert exported(opened, "f").read_text() == printed("--folded", "--no-kernel", "--no-inlines")


def one_thread():
    with browser() as opened:
        opened.keys("t")
        tid = re.search(r"%  \S+ \((\d+)\)", opened.shows(r"thread ─"))[1]
        opened.keys("Enter")
        opened.shows(rf"thread \S+ \({tid}\)")
        assert exported(opened, "f").read_text() == printed("--folded", "--tid", tid)
        opened.keys("c", "t", "g")
        opened.shows("the tree is grouped by thread")
        opened.shows(rf"\({tid}\)")


def a_part_of_the_time():
    with browser() as opened:
        chosen = re.compile(r"^ ([\d.]+) to ([\d.]+) s: ", re.M)  # in the last line, until Enter

        def pressed(key):
            """The time that is chosen once the key has changed it."""
            before = chosen.findall(opened.screen())
            opened.keys(key)
            return wait_for(lambda: [now for now in chosen.findall(opened.screen()) if [now] != before],
                            f"other time after {key}")[0]

        for key in ["[", *["Right"] * 20]:
            _, last = pressed(key)
        opened.keys("]")
        opened.shows("move the end")
        for _ in range(10):
            begin, end = pressed("Left")
        assert 0 < float(begin) < float(end) < float(last), (begin, end, last)
        opened.keys("Enter")
        opened.shows(rf"{re.escape(begin)} to {re.escape(end)} s(?!:)")
        file = exported(opened, "f")
    assert file.read_text() == printed("--folded", "--time", f"{begin},{end}")


def callers_and_callees():
    name = functions()[0][0]
    rows = [line for line in printed("--callers", f"^{re.escape(name)}$", "--csv").splitlines()[1:]]
    caller = rows[0].split(",")[4]
    with browser() as opened:
        opened.keys("Enter")
        screen = opened.shows("below: what it calls").splitlines()
        assert caller in screen[4], screen
        opened.keys("a")  # its own source, then its instructions, at the hottest one
        opened.shows(r"> +[0-9]+  ")
        opened.keys("a")
        hottest = re.search(r"([\d.]+) +[\d.]+ +[0-9a-f]+:", opened.shows(r"[0-9a-f]+:  "))
        assert hottest, opened.screen()
        opened.keys("g")
        opened.shows(rf"{re.escape(name)}  0x[0-9a-f]+, [\d,]+ bytes")


def code_without_a_secret():
    """A program of nobody names a file of root's as its source."""
    secret = new_place("secret")
    secret.write_text("a secret\n" * 99)
    secret.chmod(0o600)
    with running(build_with_source(secret, 65534)) as pid:
        file = record("-p", pid, samples=200)
    with terminal(size=(160, 60)) as opened:
        opened.run(GOSYM, "report", file)
        opened.shows(r"^ 1 ")
        opened.type("a")
        assert "a secret" not in opened.shows(r"> +[0-9]+$"), opened.screen()
        opened.type("a")
        screen = opened.shows(r"[0-9a-f]+:  ")
        assert "a secret" not in screen, screen
        opened.keys("End")
        assert "a secret" not in opened.shows("source '.*' is not shown"), opened.screen()


def an_editor_opens_at_the_line():
    """It is given words that no shell expands, and has the terminal; then the code is there again."""
    folder = new_place("a $(touch x) b")
    folder.mkdir()
    editor = new_place("editor")
    editor.write_text(f"""#!/bin/sh
stty -a | grep -q ' icanon' || exit 3
printf '%s\\n' "$@" > {editor}.words
echo 'the file is edited'
read -r word
[ "$word" = done ]
""")
    editor.chmod(0o755)
    source = folder / "main.go"
    source.write_text((FIXTURES / "go_stacks" / "main.go").read_text())
    built = new_place("edited")
    call(go("newest"), "build", "-o", built, source, env=GO_ENVIRONMENT)
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", 499, "-o", file, "--", built, "fib", 1000)
    with terminal(VISUAL=f"{editor} -x") as opened:
        opened.run(GOSYM, "report", file, "--focus", r"main\.fib$")
        opened.shows(r"^ 1 ")
        opened.keys("a")
        line = re.search(r"> +(\d+)  ", opened.shows(r"> +\d+  "))[1]
        opened.keys("v")
        opened.shows("the file is edited")
        opened.type("done")
        opened.keys("Enter")
        opened.shows(rf"> +{line}  ")
        words = pathlib.Path(f"{editor}.words").read_text()
        assert words == f"-x\n+{line}\n{source}\n", words
        opened.keys("v")
        opened.shows(r"^the file is edited\n(.*\n)+the file is edited")  # it runs again
        opened.keys("C-c")  # ends the editor, not the browser
        opened.shows("the editor failed")
        opened.keys("q")
        opened.shows(r"^\$")
    elsewhere = new_place("elsewhere")
    folder.rename(elsewhere)
    with terminal() as opened:
        opened.run(GOSYM, "report", file, "--focus", r"main\.fib$", "--source", elsewhere)
        opened.shows(r"^ 1 ")
        opened.keys("a")
        opened.shows(rf"> +{line}  ")


def flame_graph():
    with browser() as opened:
        opened.keys("4")
        opened.shows("▏all")
        opened.keys("Down", "Down", "Enter")
        opened.shows("from top to bottom")
        opened.keys("i")
        opened.shows("what ran, and who calls it, from top to bottom")
        opened.type("/fib")
        opened.keys("Enter")
        opened.shows("/fib: ")


def exports_are_what_report_writes():
    with browser() as opened:
        assert exported(opened, "f").read_text() == printed("--folded")
        assert json.loads(exported(opened, "j").read_text())["totals"] == \
            json.loads(printed("--json"))["totals"]
        profile = exported(opened, "p")
        assert exported(opened, "c").read_text().startswith("self %,")
    told = call("/usr/bin/go", "tool", "pprof", "-top", "-nodecount=5", profile, env=GO_ENVIRONMENT).out
    assert functions()[0][0].split(".")[-1] in told, told


def size_changes():
    with browser(size=(120, 40)) as opened:
        opened.keys("2")
        opened.shows("who is called")
        for width, height in ((80, 24), (40, 10), (100, 30), (10, 3), (80, 24)):
            call(*opened.tmux, "resize-window", "-x", width, "-y", height)
            opened.shows("too small" if width < 30 else r"Enter open|\? keys|keys …|…$")
        screen = opened.shows("who is called").splitlines()
        assert len(screen) == 24 and max(map(len, screen)) <= 80, screen


def terminal_is_left_as_it_was():
    with terminal() as opened:
        turns = itertools.count()

        def settings():
            # What was on the screen before may still be there.
            turn = f"turn {next(turns)}"
            opened.run(f"clear; echo {turn}; stty -a; echo end of {turn}")
            screen = opened.shows(rf"(?s)^{turn}$.*^end of {turn}$")
            return re.search(rf"^{turn}$(.*)^end of {turn}$", screen, re.M | re.S)[1]

        before = settings()
        opened.run(GOSYM, "report", recording())
        opened.shows(r"\? keys")
        opened.keys("q")
        opened.shows(r"^\$")
        assert settings() == before
        opened.run(f"{GOSYM} report {recording()} & sleep 0; fg >/dev/null 2>&1; echo st''atus $?")
        opened.shows(r"\? keys")
        call("pkill", "-TERM", "-f", f"{GOSYM} report {recording()}")
        opened.shows("status 143")
        assert settings() == before
        # Ctrl-C is the wish to quit, too.
        opened.run(GOSYM, "report", recording())
        opened.shows(r"\? keys")
        opened.keys("C-c")
        opened.shows(r"^\$")
        assert settings() == before


def killed_browser_gives_the_terminal_back():
    def state():
        return call(*opened.tmux, "display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").out

    for signal, status in (("SEGV", 139), ("KILL", 137)):
        with terminal() as opened:
            opened.run("stty -a > before")
            before = state()
            opened.run(f"{GOSYM} report {recording()}; echo st''atus $?")
            opened.shows(r"\? keys")
            assert state() != before
            # The one that draws has threads.
            found = [pid for pid in call("pgrep", "-f", f"^{GOSYM} report {recording()}").out.split()
                     if len(os.listdir(f"/proc/{pid}/task")) > 1]
            call("kill", f"-{signal}", found[0])
            opened.shows(f"status {status}")
            assert state() == before, state()
            opened.run("stty -a | cmp - before && echo as be''fore")
            opened.shows("as before")


def suspended_and_resumed():
    with terminal() as opened:
        opened.run("exec bash --norc -i")
        opened.run(GOSYM, "report", recording())
        opened.shows(r"\? keys")
        opened.keys("2")
        opened.shows("who is called")
        opened.keys("C-z")
        opened.shows("Stopped")
        opened.run("clear; echo b''elow; fg")
        opened.shows("who is called")
        opened.keys("q")
        opened.shows("below")


def printed_where_it_cannot_be_browsed():
    shown = "samples of cpu-clock"
    with terminal() as opened:
        opened.run(f"clear; {GOSYM} report {recording()} | head -3")
        opened.shows(shown)
        opened.run(f"clear; {GOSYM} report --stdio {recording()} | cat; {GOSYM} report -q --stdio --top 2 {recording()}")
        opened.shows(shown)
        opened.run(f"clear; TERM=dumb {GOSYM} report {recording()} | head -3")
        opened.shows(shown)
    with terminal(TERM="dumb") as opened:
        opened.run(f"{GOSYM} report --top 2 {recording()}")
        opened.shows(shown)
    with terminal(TERM="nonesuch") as opened:
        opened.run(f"{GOSYM} report --no-pager --top 2 {recording()}")
        opened.shows(shown)
        opened.shows("note: no terminal called 'nonesuch'")


def printed_in_ascii():
    text = gosym("report", "--stdio", "--tree", recording(), env={"LC_ALL": "C"}).out
    assert text.isascii() and "|- " in text, text
    assert not gosym("report", "--stdio", "--tree", recording(), env={"LC_ALL": "C.UTF-8"}).out.isascii()
    assert gosym("report", "--folded", recording(), env={"LC_ALL": "C"}).out == printed("--folded")


def other_terminals():
    """Without colours; without UTF-8, where all is ASCII."""
    with browser(TERM="vt100") as opened:
        opened.keys("4")
        opened.shows("▏all")
    with browser(LC_ALL="xx_XX.UTF8") as opened:  # no such locale, but it is clear what it means
        opened.keys("4")
        opened.shows("▏all")
    with browser(LC_ALL="C") as opened:
        opened.keys("4")
        screen = opened.shows(r"\|all")
        assert screen.isascii(), screen
    with browser() as opened:
        opened.keys("4")
        opened.shows("▏all")
        assert "\x1b[38;5;16m\x1b[48;5;" in opened.screen("-e") or "48;5;" in opened.screen("-e")


def what_is_wrong_is_told_afterwards():
    damaged = new_place("damaged.raw")
    damaged.write_bytes(recording().read_bytes()[:-1000])
    with terminal(size=(150, 30)) as opened:
        opened.run(GOSYM, "report", damaged)
        opened.shows(r"\? keys")
        assert "warning" not in opened.screen()
        opened.keys("q")
        opened.shows("gosym: warning: .*damaged")
        opened.run(f"clear; {GOSYM} report /dev/null; echo st''atus $?")
        opened.shows("gosym: error: ")
        opened.shows(r"status [1-9]")


def two_events():
    file = new_place("two.raw")
    gosym("record", "-q", "-F", 499, "-e", "cpu-clock,page-faults/period=1/", "-o", file, "--", "sh", "-c",
          "i=0; while [ $i -lt 300 ]; do ls / >/dev/null; i=$((i+1)); done")
    with terminal(size=(120, 30)) as opened:
        opened.run(GOSYM, "report", file)
        opened.shows("of CPU time in")
        opened.keys("E")
        told = re.search(r"([\d,]+) of page-faults", opened.shows("of page-faults"))[1]
    document = json.loads(gosym("report", "-q", "--json", "--event", "page-faults", file).out)
    assert int(told.replace(",", "")) == document["totals"]["value"], told


def a_large_recording_is_shown_in_part_first():
    file, log = new_place("large.raw"), new_place("large.log")
    source = new_place("regex.cpp")
    source.write_text("#include <regex>\nstd::regex words(\"a+\");\n")
    gosym("record", "-q", "-F", 9999, "--max-size", "12M", "-o", file, "--", "sh", "-c",
          f"while :; do g++ -O2 -c {source} -o /dev/null; done")
    whole = json.loads(gosym("report", "-q", "--json", file).out)
    seconds = sum(f["self"] for f in whole["functions"]) / 1e9
    with terminal(size=(120, 30)) as opened:
        call(*opened.tmux, "pipe-pane", f"cat > {log}")
        opened.run(GOSYM, "report", file)
        title = opened.shows(r"of CPU time in \d").splitlines()[0]
        assert re.search(r"the first \d+ %, reading the rest", log.read_text())
        assert "reading" not in title
        shown = float(re.search(r"([\d.]+) s of CPU time", title)[1])
        assert abs(shown - seconds) < 0.01, (title, seconds)


def what_is_missing_is_a_status():
    damaged = new_place("cut.raw")
    damaged.write_bytes(recording().read_bytes()[:-1000])
    with terminal() as opened:
        opened.run(f"{GOSYM} report --strict {damaged}; echo st''atus $?")
        opened.shows(r"\? keys")
        opened.keys("q")
        opened.shows("status 3")


def live():
    """gosym top: a command's function is there while it runs, frozen, saved, and to the end."""
    folder = new_place("live")
    folder.mkdir()
    with terminal(folder=folder) as opened:
        opened.run(GOSYM, "top", "--interval", "300ms", "-F", 499, "--", build_spin())
        opened.shows(r"^ gosym top .*live")
        opened.shows(r"^ +\d+\.\d+ .* busy")
        opened.keys("z")
        frozen = opened.shows("frozen").splitlines()
        opened.keys("z", "W")
        opened.shows("wrote gosym-1.raw")
        call("pkill", "-f", f"^{build_spin()}$")
        opened.shows(r"^ gosym top .*ended")
        assert opened.screen().splitlines()[4] != frozen[4]
        opened.keys("q")
        opened.shows(r"^\$")
    saved = gosym("report", "--strict", "--folded", folder / "gosym-1.raw").out
    assert ";busy" in saved, saved


run([*[(f"the hottest function is on the first screen of {w}x{h}", functools.partial(first_screen, (w, h)))
       for w, h in ((80, 24), (120, 40), (200, 50))],
     ("a search tells the share of what matches", searching_tells_the_share),
     ("only stacks with a function, or without", only_stacks_with_a_function),
     ("one thread, and a tree by threads", one_thread),
     ("a part of the time", a_part_of_the_time),
     ("callers and callees, and code", callers_and_callees),
     ("code without the secret that a stranger's program names", code_without_a_secret),
     ("an editor opens at the line", an_editor_opens_at_the_line),
     ("flame graph", flame_graph),
     ("exports are what report writes", exports_are_what_report_writes),
     ("the size changes", size_changes),
     ("the terminal is left as it was", terminal_is_left_as_it_was),
     ("a killed browser gives the terminal back", killed_browser_gives_the_terminal_back),
     ("suspended and resumed", suspended_and_resumed),
     ("printed in ASCII", printed_in_ascii),
     ("printed where it cannot be browsed", printed_where_it_cannot_be_browsed),
     ("other terminals", other_terminals),
     ("what is wrong is told afterwards", what_is_wrong_is_told_afterwards),
     ("two events, one by one", two_events),
     ("what is missing is a status", what_is_missing_is_a_status),
     ("a large recording is shown in part first", a_large_recording_is_shown_in_part_first),
     ("live", live)])
