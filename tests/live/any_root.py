#!/usr/bin/python3
"""The program that is linked statically, in root directories that were not made for it: empty, with another
C library or with libraries elsewhere, without locales, terminfo or users. Each command in each of them.

GOSYM_TEST_ROOTS names more root directories, separated by colons; with GOSYM_TEST_ALL these are those that
scripts/test-roots makes.
"""
import functools
import http.server
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import threading

from common import (FIXTURES, GOSYM, ROOT, build_demo, build_fib, call, compiled, cpu_used, has_begun, new_place,
                    run, running, wait_for)
from terminals import terminal

# In a mount namespace of its own, which goes when the command ends. What the root has of terminfo is hidden.
ENTER = """
for place in proc sys dev tmp; do mkdir -p "$0/$place"; done
for place in etc/terminfo lib/terminfo usr/share/terminfo; do
  [ ! -d "$0/$place" ] || mount -t tmpfs none "$0/$place" || exit 125
done
mount -t proc none "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" || exit 125
exec env -i PATH=/usr/bin:/bin TERM=xterm-256color LANG=de_DE.UTF-8 LD_LIBRARY_PATH=/lib64 /usr/sbin/chroot "$0" "$@"
"""


class Root:
    """A directory with gosym, a Go program and a C program, and this once more without names."""

    def __init__(self, place, c_program, shell=None):
        self.place, self.shell = place, shell
        for source, name in [(GOSYM, "gosym"), (build_demo("newest"), "demo"), (c_program, "fib")]:
            shutil.copy(source, place / name)
            (place / name).chmod(0o755)
        call("strip", "-o", place / "fib-stripped", c_program)

    def enter(self, *command):
        return ["unshare", "--mount", "sh", "-c", ENTER, self.place, *command]

    def gosym(self, *arguments, **options):
        return call(*self.enter("/gosym", *arguments), **options)


def new_root():
    place = new_place("root")
    place.mkdir()
    return place


def copy_into(place, source, target):
    target = place / target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(source), target)


@functools.cache
def empty():
    return Root(new_root(), build_fib("-static"))


@functools.cache
def busybox():
    """Its shell alone, without any library."""
    place = new_root()
    copy_into(place, "/bin/busybox", "bin/busybox")
    (place / "bin/sh").symlink_to("busybox")
    return Root(place, build_fib("-static"), "/bin/sh")


@functools.cache
def alpine():
    """As Alpine is laid out: musl in /lib, busybox, no /usr/lib."""
    place = new_root()
    copy_into(place, "/lib/ld-musl-x86_64.so.1", "lib/ld-musl-x86_64.so.1")
    copy_into(place, "/bin/busybox", "bin/busybox")
    (place / "bin/sh").symlink_to("busybox")
    (place / "etc").mkdir()
    (place / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    program = compiled("musl-gcc", "-Og", "-fno-omit-frame-pointer", "-Wl,--build-id", FIXTURES / "fib.c",
                       output=new_place("fib"))
    return Root(place, program, "/bin/sh")


def libraries_of(program):
    """The files that the loader maps, and the name that the program knows the loader by."""
    return re.findall(r"(/\S+) \(0x", call("ldd", program).out)


@functools.cache
def red_hat():
    """As Red Hat's are laid out: glibc in /usr/lib64, users by sssd, whose library is none that a static
    program could load."""
    place, program = new_root(), build_fib()
    for path in [*libraries_of(program), *libraries_of("/bin/dash")]:
        copy_into(place, path, f"usr/lib64/{pathlib.Path(path).name}")
    copy_into(place, "/bin/dash", "usr/bin/sh")
    for name in ["lib64", "bin"]:
        (place / name).symlink_to(f"usr/{name}")
    for service in ["sss", "systemd", "ldap"]:
        (place / f"usr/lib64/libnss_{service}.so.2").write_bytes(b"\x7fELF" + bytes(60))
    (place / "etc").mkdir()
    (place / "etc/nsswitch.conf").write_text("passwd: sss files systemd ldap\n")
    (place / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    return Root(place, program, "/bin/sh")


ROOTS = {"empty": empty, "busybox": busybox, "Alpine's layout": alpine, "Red Hat's layout": red_hat}
more = os.environ.get("GOSYM_TEST_ROOTS", "")
if "GOSYM_TEST_ALL" in os.environ:
    more = call(ROOT / "scripts" / "test-roots", "--make").out.strip()
for given in filter(None, more.split(":")):
    ROOTS[pathlib.Path(given).name] = functools.cache(
        lambda place=pathlib.Path(given): Root(place, build_fib("-static"), "/bin/sh"))


@functools.cache
def recording(root):
    """A path inside the root: of the Go program, from start to end."""
    root.gosym("record", "-q", "-F", 997, "-o", "/tmp/command.raw", "--", "/demo", 1)
    return "/tmp/command.raw"


def names_of(text):
    assert "main.computeResult" in text, text
    return text


def whole_machine(root):
    """Programs inside and outside of the root are named."""
    with running(*root.enter("/fib")) as inside, running(build_demo("newest"), 600) as outside:
        command = root.enter("/gosym", "record", "-q", "-a", "-F", "499", "-o", "/tmp/all.raw")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as recorder:
            wait_for(lambda: recorder.poll() is not None or has_begun(recorder.pid), "recording begun")
            is_enough = cpu_used([inside, outside], 0.2)
            wait_for(lambda: recorder.poll() is not None or is_enough(), "CPU time used")
            recorder.send_signal(signal.SIGINT)
            told = recorder.communicate()[1]
    assert recorder.returncode == 0, told
    told = names_of(root.gosym("report", "/tmp/all.raw", "--stdio").out)
    assert "fibNaive" in told, told


def command(root):
    recording(root)
    if root.shell:
        done = root.gosym("record", "-q", "-o", "/tmp/shell.raw", "--", root.shell, "-c", "/demo 0; exit 7", check=False)
        assert done.status == 7, done


def report(root):
    names_of(root.gosym("report", recording(root), "--stdio").out)


def browser(root):
    """In colours and with characters of boxes, though there is neither terminfo nor a locale."""
    with terminal() as opened:
        opened.run(shlex.join(map(str, root.enter("/gosym", "report", recording(root)))))
        opened.shows(r"main.computeResult")
        opened.keys("3")
        shown = opened.shows("[─│█▏▁▂▃▄▅▆▇]")
        assert "\x1b[" in opened.screen("-e"), shown
        opened.keys("q")


def goroutines(root):
    with running(*root.enter("/demo", 600)) as pid:
        told = root.gosym("goroutines", pid).out
    assert "goroutine 1 [running]" in told, told


def diff(root):
    told = root.gosym("diff", recording(root), recording(root))
    names_of(told.out)


def resolve(root):
    told = root.gosym("resolve", "/demo", "main.main").out
    assert "main.go" in told, told


def instructions(root):
    told = root.gosym("annotate", "/fib", "fibNaive").out
    assert re.search(r"\b(call|bl)", told), told


def doctor(root):
    told = root.gosym("doctor").out
    for line in ["anything, by BPF +yes", "deleted files +yes", " +.*static for ", "instructions +yes, by LLVM \\d+ inside gosym"]:
        assert re.search("^" + line, told, re.MULTILINE), (line, told)


def page(root):
    root.gosym("report", "-q", recording(root), "--html", "/tmp/page.html")
    names_of(root.gosym("report", "/tmp/page.html", "--stdio").out)
    (root.place / "tmp/page.html").unlink()


def no_client_of_debuginfod(root):
    """It is told, as what would help is, and names are those that there are."""
    done = root.gosym("resolve", "--debuginfod=http://127.0.0.1:1", "/fib-stripped", "main", check=False)
    assert "there is no /usr/bin/debuginfod-find" in done.err, done
    told = root.gosym("doctor").out
    assert re.search("^debuginfod +no: there is no /usr/bin/.*\n +-> .*apt-get install", told, re.MULTILINE), told


def no_such_user(root):
    """Whatever libraries /etc/nsswitch.conf names."""
    done = root.gosym("record", "-u", "nosuch", "-d", "1s", "-o", "/tmp/none.raw", check=False)
    assert done.status == 5 and "nosuch" in done.err, done


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def debug_files_from_a_server():
    """By the client of elfutils, which lies outside of all roots."""
    place = new_place("served")
    digits = re.search(r"Build ID: (\w+)", call("readelf", "-nW", build_fib("-g")).out)[1]
    served = place / "buildid" / digits
    served.mkdir(parents=True)
    call("objcopy", "--only-keep-debug", build_fib("-g"), served / "debuginfo")
    call("strip", "-o", place / "fib", build_fib("-g"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=place)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        told = call(GOSYM, "resolve", f"--debuginfod={url}", place / "fib", "main",
                    env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(place / "cache")})
        server.shutdown()
    assert "fib.c:" in told.out, told


def is_static():
    """Nothing is asked of a loader, and nothing loads a library by another way."""
    told = call("readelf", "--program-headers", "--dynamic", GOSYM).out
    assert "INTERP" not in told and "NEEDED" not in told, told
    with subprocess.Popen([GOSYM, "--version"], stdout=subprocess.PIPE, text=True) as told:
        assert "static for " in told.stdout.read()


COMMANDS = {"record -a": whole_machine, "record -- COMMAND": command, "report": report, "browser": browser,
            "goroutines": goroutines, "diff": diff, "resolve": resolve, "annotate": instructions, "doctor": doctor,
            "report --html": page,
            "--debuginfod without its client": no_client_of_debuginfod, "record -u of nobody": no_such_user}

run([("it is static", is_static), ("debug files from a server", debug_files_from_a_server)] +
    [(f"{title}: {name}", lambda make=make, case=case: case(make()))
     for title, make in ROOTS.items() for name, case in COMMANDS.items()])
