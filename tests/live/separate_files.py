#!/usr/bin/python3
"""Recordings of stripped programs, named with debug files and files that lie elsewhere."""
import collections
import contextlib
import functools
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import zlib

from common import (GO_ENVIRONMENT, GOSYM, WORK, Skip, build_demo, build_fib, call, folded, gosym, pprof_file,
                    record, run, running)

# Only tells a hang from an answer: gosym waits for 10 s.
FOREVER = 100

os.environ.pop("DEBUGINFOD_URLS", None)


def folder():
    return pathlib.Path(tempfile.mkdtemp(dir=WORK))


@functools.cache
def stripped():
    """A stripped program and a recording of it."""
    program = folder() / "fib"
    call("strip", "-o", program, build_fib("-g"))
    with running(program) as pid:
        return program, record("-p", pid, samples=1000)


def functions(*options):
    return {frame for stack in folded(stripped()[1], *options) for frame in stack.frames}


def build_id(program):
    return re.search(r"Build ID: (\w+)", call("readelf", "-nW", program).out)[1]


def by_debug_file():
    assert "fibNaive" not in functions(), functions()
    digits, debug = build_id(stripped()[0]), folder()
    place = debug / ".build-id" / digits[:2]
    place.mkdir(parents=True)
    call("objcopy", "--only-keep-debug", build_fib("-g"), place / f"{digits[2:]}.debug")
    assert "fibNaive" in functions("--debug-dir", debug), functions("--debug-dir", debug)
    return debug


def nameless():
    """Its functions are told from one another, and are those that the names are of."""
    program, recording = stripped()
    names = {f"fib!fun_{int(line.split()[0], 16):x}": line.split()[-1]
             for line in call("nm", build_fib("-g")).out.splitlines() if line.split()[-2] in "tT"}
    alone, named = collections.Counter(), collections.Counter()
    for stack in folded(recording):
        alone[tuple(names.get(frame, frame) for frame in stack.frames)] += stack.count
    for stack in folded(recording, "--debug-dir", by_debug_file()):
        named[tuple(stack.frames)] += stack.count
    assert alone == named and any("fibNaive" in stack for stack in alone), (alone - named, named - alone)
    ours = [frame for frame in functions() if "!fun_" in frame]
    assert ours and "fib!fun_" in ours[0], ours

    # All outputs tell that these are no names.
    rows = json.loads(gosym("report", "--json", recording).out)["functions"]
    assert {row["name"] for row in rows if row.get("unnamed")} >= set(ours), rows
    assert re.search(r"unnamed +\d+\.\d % of the samples, .* in \[stripped fib\]",
                     gosym("report", recording).out)
    raw = call("/usr/bin/go", "tool", "pprof", "-raw", pprof_file(recording), env=GO_ENVIRONMENT).out
    mapping = next(line for line in raw.splitlines() if line.endswith(str(program)) or f"{program} " in line)
    assert "[FN]" not in mapping and ours[0] in raw, mapping
    assert f" {ours[0]}" in gosym("report", "--by", "function", recording).out
    assert "stripped fib" in gosym("report", "--by", "file", recording).out
    # What a user would ask next.
    text = gosym("annotate", recording, re.escape(ours[0])).out
    assert text.startswith(f"{ours[0]}  0x"), text[:200]
    assert "fib!fun_" in gosym("report", "--callers", re.escape(ours[0]), recording).out


def needs():
    """Missing files are listed by ids and package; names that lie apart are told."""
    program, recording = stripped()
    note = json.dumps({"type": "rpm", "name": "fibonacci", "version": "1.2-3"}).encode() + b"\0"
    note += bytes(-len(note) % 4)
    section = folder() / "note"
    section.write_bytes((4).to_bytes(4, "little") + len(note).to_bytes(4, "little") +
                        (0xcafe1a7e).to_bytes(4, "little") + b"FDO\0" + note)
    packaged, plain = folder() / "packaged", folder() / "plain"
    call("objcopy", f"--add-section=.note.package={section}", "--set-section-flags=.note.package=alloc,readonly",
         program, packaged)
    call("objcopy", "--remove-section=.note.gnu.build-id", program, plain)
    with running(packaged) as one, running(plain) as other, running("/bin/dash", "-c", "while :; do :; done") as dash:
        several = record("-p", f"{one},{other},{dash}", samples=300)

    def files(recording, *options):
        listed = json.loads(gosym("report", "--needs", "--json", recording, *options).out)
        return {os.path.basename(file["path"]): file for file in listed["files"]}, listed
    found = files(several)[0]
    assert found["packaged"]["package"] == "fibonacci" and found["packaged"]["version"] == "1.2-3", found
    assert found["packaged"]["build_id"] == build_id(packaged) and found["packaged"]["reason"] == "stripped", found
    assert not found["packaged"]["is_known_by_time"] and found["plain"]["is_known_by_time"], found
    assert found["plain"]["package"] == found["plain"]["build_id"] == "", found
    version = call("dpkg-query", "-W", "-f=${Version}", "dash").out
    assert found["dash"]["package"] == "dash" and found["dash"]["version"] == version, found
    counts = collections.Counter()
    for stack in folded(several):
        for name in {"packaged", "plain"}:
            counts[name] += stack.count * any(name in frame for frame in stack.frames)
    assert {name: found[name]["samples"] for name in counts} == counts, (found, counts)
    text = gosym("report", "--needs", several).out
    assert "fibonacci" in text and "known by size and time" in text and "unknown" in text, text
    assert re.search(r"^known +by size and time of change alone, without a build id: plain$",
                     gosym("report", several).out, re.M)

    debug = by_debug_file()
    left, listed = files(recording, "--debug-dir", debug)
    assert "fib" not in left and listed["debug_files"][0]["debug_file"].startswith(str(debug)), listed
    gone = folder() / "gone.raw"
    shutil.copy(recording, gone)
    program.rename(program.with_suffix(".away"))
    missing = files(gone)[0]["fib"]
    program.with_suffix(".away").rename(program)
    assert missing["reason"] == "missing" and missing["package"] == "", missing
    assert gosym("report", "--needs", "--folded", recording, check=False).status == 2


def package():
    """The one that would name a program of the distribution."""
    awk = shutil.which("mawk")
    if not awk or not os.path.exists("/var/lib/dpkg/info/mawk.list"):
        raise Skip("no mawk of dpkg's")
    with running(awk, "BEGIN { while (1) i++ }") as pid:
        text = gosym("report", record("-p", pid, samples=1000)).out
    assert re.search(r"in \[stripped mawk\]: install mawk-dbgsym, or see --debug-dir", text), text


def by_debug_file_alone():
    """The debug file is enough where the program is gone, or another is in its place."""
    debug, program = by_debug_file(), stripped()[0]
    program.rename(program.with_suffix(".away"))
    try:
        assert "fibNaive" in functions("--debug-dir", debug), functions("--debug-dir", debug)
        shutil.copy("/bin/true", program)
        assert "fibNaive" in functions("--debug-dir", debug), functions("--debug-dir", debug)
        assert "fibNaive" not in functions()
    finally:
        program.with_suffix(".away").rename(program)


def by_copy_of_a_store():
    """A copy of the program by its build id leads to callers too, where the program is gone."""
    go_program = folder() / "demo"
    call("strip", "-o", go_program, build_demo("debian"))  # this old Go gives it no GNU build id
    go_program.chmod(0o755)
    with running(go_program) as pid:
        of_go = record("-p", pid, samples=1000)
    go_id = call("/usr/bin/go", "tool", "buildid", go_program, env=GO_ENVIRONMENT).out.strip()
    go_digits = hashlib.sha256(go_id.encode()).digest()[:20].hex()
    program, recording = stripped()
    for program, recording, digits in [(program, recording, build_id(program)), (go_program, of_go, go_digits)]:
        at_home = folded(recording)
        store = folder()
        copy = store / ".build-id" / digits[:2] / digits[2:]
        copy.parent.mkdir(parents=True)
        shutil.copy(program, copy)
        away = program.rename(program.with_suffix(".away"))
        try:
            assert folded(recording) != at_home, at_home
            assert folded(recording, "--debug-dir", store) == at_home, folded(recording, "--debug-dir", store)
            shutil.copy("/bin/true", program)
            assert folded(recording, "--debug-dir", store) == at_home, folded(recording, "--debug-dir", store)
            shutil.copy("/bin/true", copy)
            assert folded(recording, "--debug-dir", store) != at_home, at_home
        finally:
            away.rename(program)


def below_symfs():
    root, program = folder(), stripped()[0]
    copy = root / program.relative_to("/")
    copy.parent.mkdir(parents=True)
    shutil.copy(build_fib("-g"), copy)
    found = functions("--symfs", root)
    assert "fibNaive" in found, found
    # Nothing else is there.
    assert not any("libc" in frame and "missing" not in frame for frame in found), found
    copy.unlink()
    copy.symlink_to(program)
    assert "fibNaive" not in functions("--symfs", root)


def a_hang_is_waited_for_once():
    """Although the program and libc are both without debugging information."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        begin = time.monotonic()
        done = gosym("report", f"--debuginfod={url}", stripped()[1],
                     env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(folder())})
        assert time.monotonic() - begin < FOREVER
        server.setblocking(False)
        server.accept()[0].close()
        try:
            server.accept()
        except BlockingIOError:
            pass
        else:
            raise AssertionError("asked twice")
    assert done.err.count("not asked again") == 1, done.err


class Answers(http.server.BaseHTTPRequestHandler):
    """What a hostile server sends: little that becomes much, or what nobody asked for."""
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        self.send_response(200)
        if self.server.is_bomb:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(self.server.body)

    def log_message(self, *words):
        pass


@contextlib.contextmanager
def serving(body, is_bomb=False):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.body, server.is_bomb = body, is_bomb
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def small_disk(megabytes):
    place = folder()
    call("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", place)
    try:
        yield place
    finally:
        call("umount", "-l", place)


def used(place):
    """Mebibytes, of files that have no name any more as well."""
    status = os.statvfs(place)
    return (status.f_blocks - status.f_bfree) * status.f_frsize / 2**20


def a_server_does_not_fill_the_disk():
    size, disk = 96, 48
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([packed.compress(b"\x7fELF" + bytes(2**20 - 4))] +
                    [packed.compress(bytes(2**20)) for _ in range(size - 1)] + [packed.flush()])
    most = [0]
    with small_disk(disk) as cache, serving(bomb, is_bomb=True) as url:
        environ = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(cache)}
        report = subprocess.Popen([GOSYM, "report", f"--debuginfod={url}", stripped()[1]], env=environ,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while report.poll() is None:
            most[0] = max(most[0], used(cache))
            time.sleep(0.001)
        told = report.stderr.read()
        assert report.returncode == 0, told
        assert most[0] <= disk / 2 + 1, most
        assert used(cache) < 1, used(cache)


def what_is_refused_does_not_stay():
    other = build_fib("-g").read_bytes()
    for body in (b"no program" * 100_000, other):
        with small_disk(16) as cache, serving(body) as url:
            done = gosym("report", f"--debuginfod={url}", stripped()[1],
                         env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(cache)})
            left = [file for file in cache.glob("*/debuginfo") if file.stat().st_size > 0]
            # Of the two files that are asked for one is the program that is sent.
            assert len(left) <= (body == other), (left, done.err)


def without_a_process_for_it_nobody_is_ended():
    """A user has no processes left: none is started that asks, and those that there are go on."""
    user = 61_234
    as_user = ["setpriv", f"--reuid={user}", "--regid=65534", "--clear-groups"]
    home = folder()
    for place, mode in ((WORK, 0o755), (home, 0o777)):
        place.chmod(mode)
    program = shutil.copy(GOSYM, home / "gosym")
    bystander = subprocess.Popen([*as_user, "sleep", "60"])
    try:
        for processes in range(1, 6):
            done = call("prlimit", f"--nproc={processes}", *as_user, program, "resolve", "--debuginfod=http://127.0.0.1:9",
                        "/usr/bin/true", "0x2000", check=False, env={**os.environ, "DEBUGINFOD_CACHE_PATH": str(home)})
            assert done.status >= 0, done
            assert bystander.poll() is None, f"ended with {processes} processes"
    finally:
        bystander.kill()
        bystander.wait()


run([("report: names by a debug file", by_debug_file),
     ("report: functions of a stripped program, without names", nameless),
     ("report: files that lack names, and their packages", needs),
     ("report: the package that would name a program", package),
     ("report: names by the debug file of a program that is gone", by_debug_file_alone),
     ("report: callers by a store's copy of a program that is gone", by_copy_of_a_store),
     ("report: files from below --symfs", below_symfs),
     ("report: a debuginfod server does not fill the disk", a_server_does_not_fill_the_disk),
     ("report: what a debuginfod server sends and is refused does not stay", what_is_refused_does_not_stay),
     ("resolve: nobody is ended where no process can be started", without_a_process_for_it_nobody_is_ended),
     ("report: a debuginfod server that hangs is waited for once", a_hang_is_waited_for_once)])
