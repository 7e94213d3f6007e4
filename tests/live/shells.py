#!/usr/bin/python3
"""Names that others chose (of processes, users, files and cgroups) are completed as names, in a terminal with a real
bash, zsh and fish: nothing in them is run, and the program is given the name that was completed.
"""
import contextlib
import functools
import os
import pathlib
import pty
import select
import signal
import subprocess

from common import GOSYM, ROOT, a_cgroup, new_place, run, wait_for

# Each begins such that the beginning leaves no choice. 15 bytes are the longest name of a process.
NAMES = ["q0$(touch x)", "q1`touch x`", "q2;touch x;", "q3 b", "q4'&touch x", 'q5"|touch x', "q6>x", "q7~#*!",
         "q8\\$(touch x)"]
BARE = ["$(touch x)", "`touch x`", ";touch x", "'$(touch x)'", '"$(touch x)"']
BROKEN = "q9\n$(touch x)"  # over two lines

PROMPT, RAN = "<ready>", "<ran>"
ANSWERS = 60  # seconds: only tells a hang from an answer
# The echo of these lines has no prompt in it.
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             f"PS1='{PROMPT[0]}''{PROMPT[1:]}'; bind 'set completion-query-items 0'; bind 'set page-completions off'; "
             f"bind 'set enable-bracketed-paste off'; source {ROOT}/completions/gosym.bash"),
    "zsh": (["zsh", "-f", "-i"],
            f"PROMPT='{PROMPT[0]}''{PROMPT[1:]}'; LISTMAX=-1; fpath=({ROOT}/completions $fpath); autoload -Uz compinit; "
            "compinit -u -D"),
    "fish": (["fish", "--no-config", "-i"],
             f"function fish_prompt; echo -n '{PROMPT[0]}''{PROMPT[1:]}'; end; source {ROOT}/completions/gosym.fish"),
}


class Shell:
    """One in a terminal, in a directory of its own, where `gosym` writes down what it is given."""

    def __init__(self, name, users):
        self.place = new_place("here")
        self.place.mkdir()
        self.given = self.place.parent / "given"
        program = self.place.parent / "bin" / "gosym"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n[ \"$1\" = completion ] && exec {GOSYM} \"$@\"\nprintf '%s\\0' \"$@\" > {self.given}.new; mv {self.given}.new {self.given}\n"
                           f"echo '{RAN}'\n")
        program.chmod(0o755)
        command, settings = START[name]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.place)
            os.environ.update(PATH=f"{program.parent}:{os.environ['PATH']}", TERM="xterm", HOME=str(program.parent))
            mount = f'mount --bind {users} /etc/passwd && exec "$@"'
            os.execvp("unshare", ["unshare", "--mount", "sh", "-c", mount, "sh", *command])
        self.seen = ""
        self.send(settings + "\r")
        self.wait_for(PROMPT)

    def send(self, keys):
        os.write(self.terminal, keys.encode())

    def wait_for(self, *words):
        """Until these are shown, one after the other."""
        for word in words:
            while word not in self.seen:
                assert select.select([self.terminal], [], [], ANSWERS)[0], f"the shell hangs: {self.seen}"
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
            self.shown, _, self.seen = self.seen.partition(word)

    def arguments(self, keys):
        """What the program is given once the line, with the keys within it, is entered."""
        self.given.unlink(missing_ok=True)
        self.send(keys + "\r")
        self.wait_for(RAN, PROMPT)
        ran = [str(file) for file in self.place.rglob("x")]
        assert not ran, f"{keys!r} ran a name: {self.shown}"
        return self.given.read_text().split("\0")[:-1]

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def processes(names):
    """Those that call themselves so, until they are ended."""
    with contextlib.ExitStack() as ended:
        for name in names:
            renamed = 'printf %s "$1" > /proc/self/comm; read end'
            process = ended.enter_context(subprocess.Popen(["sh", "-c", renamed, "sh", name], stdin=subprocess.PIPE))
            comm = pathlib.Path(f"/proc/{process.pid}/comm")
            wait_for(lambda: comm.read_text() == name + "\n", f"process {name!r}")
        yield


@contextlib.contextmanager
def groups(names):
    """A cgroup with those within."""
    with a_cgroup() as parent:
        try:
            for name in names:
                (parent / name).mkdir()
            yield parent
        finally:
            for group in filter(pathlib.Path.is_dir, parent.iterdir()):
                group.rmdir()


def passwd(names):
    """A list of users with those as well."""
    file = new_place("passwd")
    users = "".join(f"{name}:x:{70000 + number}:1:$(touch x)`touch x`:/:/bin/sh\n" for number, name in enumerate(names))
    file.write_text(pathlib.Path("/etc/passwd").read_text() + users)
    return file


# Lines that end where something is offered.
LISTS = ["record --comm ", "record -p ", "record -u ", "record --cgroup ", "record -o ", "record -- ", "top --comm ",
         "top -p ", "top -u ", "report ", "report --pid ", "report --symfs ", "report --symfs folders/", "diff --pid ",
         "goroutines ", "resolve -p ", "archive ", "annotate --source folders/"]


def completes(name):
    with contextlib.ExitStack() as places:
        shell = Shell(name, passwd(NAMES))
        places.callback(shell.close)
        places.enter_context(processes([*NAMES, *BARE, BROKEN]))
        group = places.enter_context(groups(NAMES))
        for file in [*NAMES, BROKEN]:
            (shell.place / file).touch()
            (shell.place / "folders" / file).mkdir(parents=True)

        for line in LISTS:
            shell.arguments(f"gosym {line}\t\t end")

        def each(line, names, within=""):
            for offered in names:
                given = shell.arguments(f"gosym {line}{within}{offered[:2]}\t")
                assert given[-1].rstrip("/") == within + offered, f"{line!r} and {offered!r} gave {given}"

        each("record -u ", NAMES)
        each("record -o ", [*NAMES, BROKEN])
        each("report ", [*NAMES, BROKEN])
        each("record --cgroup ", NAMES, within=f"{group}/")
        # To fish's own function for folders a line is a name.
        each("report --symfs ", NAMES if name == "fish" else [*NAMES, BROKEN], within="folders/")
        for quote in "'\"":
            each(f"report {quote}", [file for file in [*NAMES, BROKEN] if quote not in file])
        if name == "bash":  # the others complete no names of processes
            each("record --comm ", NAMES)
            each("top --comm ", NAMES)
            left_alone = ["q9", *(quote + file[:2] for quote in "'\"" for file in NAMES)]
            for typed in left_alone:
                quote = typed[0].strip("q")
                given = shell.arguments(f"gosym record --comm {typed}\t{quote}")
                assert given[-1] == typed.lstrip("'\""), f"{typed} gave {given}"


run([(f"in {shell}, names are completed as names", functools.partial(completes, shell)) for shell in START])
