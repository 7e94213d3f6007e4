#!/usr/bin/python3
"""Answers of a stripped program with a separate debug file are those of the whole program.

The debug files are made by binutils, elfutils and dwz, and served by Debian's debuginfod, and by
servers that hang, stall or have nothing.
"""
import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import GOSYM, WORK, build_templates, call, run, wait_for  # noqa: E402

# Each such limit only tells a hang from an answer: gosym waits for 10 s, and nobody for 100.
FOREVER = 100

os.environ.pop("DEBUGINFOD_URLS", None)


def folder():
    return pathlib.Path(tempfile.mkdtemp(dir=WORK))


def whole(*flags, link=()):
    """A program with its debugging information."""
    return build_templates("g++", "-gdwarf-5", *flags, link=link)


def without_id():
    return whole(link=("-Wl,--build-id=none",))


def build_id(program):
    return re.search(r"Build ID: (\w+)", call("readelf", "-nW", program).out)[1]


@functools.cache
def addresses(program):
    """Two places in each function, in hexadecimal."""
    chosen = []
    for line in call("nm", "-S", "--defined-only", program).out.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            start, size = int(words[0], 16), int(words[1], 16)
            chosen += [start + size // 3, start + size // 2]
    assert len(chosen) > 200, f"only {len(chosen)} addresses"
    return "".join(f"{address:x}\n" for address in chosen)


def ask(program, original, *options, **environment):
    """Standard output and error of gosym for the addresses of the original."""
    done = subprocess.run([GOSYM, "resolve", "--json", *map(str, options), str(program)],
                          input=addresses(original), capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=FOREVER)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def strip_into(place, original):
    """The program without, and beside it its debug file; no link between them."""
    place.mkdir(parents=True, exist_ok=True)
    call("strip", "-o", place / "program", original)
    call("objcopy", "--only-keep-debug", original, place / "program.debug")
    return place / "program", place / "program.debug"


def add_link(program, debug_file):
    call("objcopy", f"--add-gnu-debuglink={debug_file}", program)


def move(debug_file, where):
    where.parent.mkdir(parents=True, exist_ok=True)
    return shutil.move(debug_file, where)


@functools.cache
def own_answers(original):
    return ask(original, original)[0]


def is_whole(program, original, *options, **environment):
    answers, problems = ask(program, original, *options, **environment)
    assert problems == "", problems
    assert answers == own_answers(original), "the answers differ"


def is_bare(program, original, *options, **environment):
    """No answer is known; gives what is told of that."""
    answers, problems = ask(program, original, *options, **environment)
    assert '"main"' not in answers, answers[:1000]
    return problems


def by_build_id():
    program, debug_file = strip_into(folder(), whole())
    is_bare(program, whole())
    digits, debug = build_id(program), folder()
    move(debug_file, debug / ".build-id" / digits[:2] / f"{digits[2:]}.debug")
    is_whole(program, whole(), "--debug-dir", debug)
    is_whole(program, whole(), "--debug-dir", folder(), "--debug-dir", debug)


def by_debug_link(original):
    program, debug_file = strip_into(folder(), original)
    add_link(program, debug_file)
    is_whole(program, original)
    debug_file = move(debug_file, program.parent / ".debug" / "program.debug")
    is_whole(program, original)
    debug = folder()
    move(debug_file, debug / program.parent.relative_to("/") / "program.debug")
    assert is_bare(program, original) == ""
    is_whole(program, original, "--debug-dir", debug)


def packed(how, *flags):
    """Of a whole program, and of a debug file."""
    original = whole(*flags)
    program, debug_file = strip_into(folder(), original)
    add_link(program, debug_file)
    packed_program = folder() / "program"
    for plain, place in ((original, packed_program), (debug_file, debug_file)):
        call("objcopy", f"--compress-debug-sections={how}", plain, place)
    assert re.search(r"debug_info .*\bC\b|\.zdebug_info", call("readelf", "-SW", packed_program).out)
    is_whole(packed_program, original)
    is_whole(program, original)


def by_elfutils():
    place = folder()
    call("eu-strip", "-f", place / "program.debug", "-o", place / "program", whole())
    is_whole(place / "program", whole())


def not_by_crc():
    program, debug_file = strip_into(folder(), without_id())
    add_link(program, debug_file)
    with debug_file.open("ab") as file:
        file.write(b"\0")
    told = is_bare(program, without_id())
    assert re.search(r"program\.debug': CRC is 0x\w+, not 0x\w+$", told.strip()), told


def not_by_another_id():
    program, debug_file = strip_into(folder(), whole())
    add_link(program, debug_file)
    call("objcopy", "--only-keep-debug", whole("-DOTHER", "-O1"), debug_file)
    told = is_bare(program, whole())
    assert re.search(r"program\.debug': build id is \w+, not \w+$", told.strip()), told


def not_by_the_id_alone():
    """A build may have given a constant for its id."""
    constant = ("-Wl,--build-id=0x1234",)
    program, debug_file = strip_into(folder(), whole(link=constant))
    add_link(program, debug_file)
    is_whole(program, whole(link=constant))
    call("objcopy", "--only-keep-debug", whole("-DOTHER", "-O1", link=constant), debug_file)
    told = is_bare(program, whole(link=constant))
    assert told.strip().endswith("program.debug': its code lies elsewhere"), told


def by_dwz():
    """With common parts in a file of their own, named by a path from the debug file."""
    place = folder()
    program, debug_file = strip_into(place, whole())
    _, other = strip_into(place / "other", whole("-DOTHER", "-O1"))
    add_link(program, debug_file)
    call("dwz", "-m", place / "common.debug", "-r", debug_file, other)
    # dwz changed the file, but with a build id its CRC does not matter.
    is_whole(program, whole())
    digits = build_id(place / "common.debug")
    common = move(place / "common.debug", place / "d/.build-id" / digits[:2] / f"{digits[2:]}.debug")
    is_whole(program, whole(), "--debug-dir", place / "d")
    shutil.move(common, place / "elsewhere")
    told = ask(program, whole())[1]
    assert "alternate debug file 'common.debug': not found" in told, told


def by_dwz_5():
    """As DWARF 5 has it, by a section .debug_sup: told, and nothing of it is read."""
    place = folder()
    program, debug_file = strip_into(place, whole())
    _, other = strip_into(place / "other", whole("-DOTHER", "-O1"))
    add_link(program, debug_file)
    call("dwz", "--dwarf-5", "-m", place / "common.debug", "-r", debug_file, other)
    answers, told = ask(program, whole())
    assert "(dwz --dwarf-5): none of it is read" in told and '"dwarf"' not in answers, (told, answers[:1000])
    assert '"symtab"' in answers, answers[:1000]


def by_package(*flags):
    """Units that were split off are found in files .dwo, or in the package beside the program."""
    place = folder()
    program = place / "program"
    call("clang++", "-std=c++20", "-O2", "-g", "-gsplit-dwarf", *flags, "-c",
         HERE.parent / "fixtures/templates.cpp", "-o", place / "program.o")
    call("clang++", place / "program.o", "-o", program)
    package = place / "d" / place.relative_to("/") / "program.dwp"
    package.parent.mkdir(parents=True)
    call("llvm-dwp-14", "-e", program, "-o", package)
    assert '"inlined":true' in own_answers(program).replace(" ", "")
    (place / "program.dwo").unlink()
    answers, told = ask(program, program)
    assert "1 of the 1 units that were split off its debugging information are not there" in told, told
    assert "templates.cpp" not in answers, answers[:1000]
    told = call(GOSYM, "inspect", program).out
    assert "are not there ('" in told, told
    is_whole(program, program, "--debug-dir", place / "d")
    move(package, place / "program.dwp")
    is_whole(program, program)
    is_whole("/program", program, "--symfs", place)
    whole_package = shutil.move(place / "program.dwp", place / "whole.dwp")
    for kind in ("zlib", "zstd"):
        call("objcopy", f"--compress-debug-sections={kind}", whole_package, place / "program.dwp")
        assert (place / "program.dwp").stat().st_size < os.path.getsize(whole_package)
        is_whole(program, program)


def below_symfs():
    root = folder()
    program, debug_file = strip_into(root / "usr/bin", whole())
    digits = build_id(program)
    link = root / "usr/lib/debug/.build-id" / digits[:2] / f"{digits[2:]}.debug"
    move(debug_file, root / "srv/program.debug")
    link.parent.mkdir(parents=True)
    link.symlink_to("/srv/program.debug")
    is_whole("/usr/bin/program", whole(), "--symfs", root)
    is_bare(program, whole())


# Servers

@contextlib.contextmanager
def debuginfod(files):
    """Debian's server; gives its URL."""
    port = free_port()
    log = open(WORK / f"debuginfod-{port}.log", "w")
    server = subprocess.Popen(["debuginfod", "-F", str(files), "-p", str(port), "-d", ":memory:"],
                              stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: is_ready(url), "debuginfod")
        yield url
    finally:
        server.terminate()
        server.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def is_ready(url):
    """Whether the files have been scanned."""
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(url + "/metrics", timeout=FOREVER) as answer:
            return b'thread_work_total{role="scan"}' in answer.read() and \
                urllib.request.urlopen(url + "/buildid/" + build_id(whole()) + "/debuginfo",
                                       timeout=FOREVER).status == 200
    return False


@contextlib.contextmanager
def hanging():
    """A server that takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextlib.contextmanager
def answering(answer):
    """A server that calls a function for each request; gives its URL and the paths asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            with contextlib.suppress(OSError):
                answer(self)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def no_such_file(request):
    request.send_error(404)


def another_file(request):
    contents = whole("-DOTHER", "-O1").read_bytes()
    request.send_response(200)
    request.send_header("Content-Length", str(len(contents)))
    request.end_headers()
    request.wfile.write(contents)


def stall(request):
    request.send_response(200)
    request.send_header("Content-Length", "1000000000")
    request.end_headers()
    request.wfile.write(bytes(100000))
    request.wfile.flush()
    time.sleep(FOREVER)


def bare():
    """A stripped program whose debug file is nowhere near."""
    program, debug_file = strip_into(folder(), whole())
    debug_file.unlink()
    return program


def cache_variable():
    return {"DEBUGINFOD_CACHE_PATH": str(folder())}


def fetched_when_asked():
    files = folder()
    strip_into(files, whole())
    program = bare()
    with debuginfod(files) as url:
        is_whole(program, whole(), f"--debuginfod={url}", **cache_variable())
        is_whole(program, whole(), DEBUGINFOD_URLS=url, **cache_variable())
        is_whole(program, whole(), "--debuginfod", DEBUGINFOD_URLS=url, **cache_variable())
        # One that answers is enough.
        with hanging() as silent:
            is_whole(program, whole(), f"--debuginfod={silent} {url}", **cache_variable())
        assert is_bare(program, whole(), **cache_variable()) == ""
        assert is_bare(program, whole(), "--no-debuginfod", DEBUGINFOD_URLS=url,
                       **cache_variable()) == ""


def not_asked_in_vain():
    with answering(no_such_file) as (url, asked):
        is_whole(whole(), whole(), f"--debuginfod={url}", **cache_variable())
        program, debug_file = strip_into(folder(), whole())
        add_link(program, debug_file)
        is_whole(program, whole(), f"--debuginfod={url}", **cache_variable())
        assert asked == [], asked


def nothing_is_no_problem():
    cache, program = cache_variable(), bare()
    with answering(no_such_file) as (url, asked):
        for _ in range(2):  # the second time, libdebuginfod remembers
            assert is_bare(program, whole(), f"--debuginfod={url}", **cache) == ""
        assert asked == [f"/buildid/{build_id(program)}/debuginfo"], asked


def another_file_is_refused():
    with answering(another_file) as (url, _):
        told = is_bare(bare(), whole(), f"--debuginfod={url}", **cache_variable())
    assert re.search(r"/debuginfo': build id is \w+, not \w+$", told.strip()), told


def waited_for_in_bounds(server, reason):
    cache = folder()
    with server as url:
        url = url[0] if isinstance(url, tuple) else url
        begin = time.monotonic()
        told = is_bare(bare(), whole(), f"--debuginfod={url}", DEBUGINFOD_CACHE_PATH=str(cache))
        assert time.monotonic() - begin < FOREVER
    assert re.fullmatch(rf"gosym: warning: .*: debuginfod, not asked again: '{url}': {reason}\n",
                        told), told
    left = [str(file) for file in cache.rglob("*") if file.is_file() and "debuginfo" in file.name]
    assert left == [], left


def refused():
    port = free_port()
    told = is_bare(bare(), whole(), f"--debuginfod=http://127.0.0.1:{port}", **cache_variable())
    assert told.endswith(": Connection refused\n"), told


run([("by build id", by_build_id),
     ("by debug link and build id", functools.partial(by_debug_link, whole())),
     ("by debug link and CRC", functools.partial(by_debug_link, without_id())),
     ("by debug link of elfutils", by_elfutils),
     ("by build id of dwz's alternate file", by_dwz),
     ("with a supplementary file of DWARF 5, which is told", by_dwz_5),
     *((f"packed, {how}", functools.partial(packed, how)) for how in ("zlib", "zlib-gnu", "zstd")),
     ("packed, zstd, DWARF 4", functools.partial(packed, "zstd", "-gdwarf-4")),
     *((f"split, in a package, DWARF {version}", functools.partial(by_package, f"-gdwarf-{version}"))
       for version in (4, 5)),
     ("not with another CRC", not_by_crc),
     ("not with another build id", not_by_another_id),
     ("not with the same build id but other code", not_by_the_id_alone),
     ("below --symfs", below_symfs),
     ("debuginfod: fetched when asked for", fetched_when_asked),
     ("debuginfod: not asked for what is there", not_asked_in_vain),
     ("debuginfod: a server that has nothing", nothing_is_no_problem),
     ("debuginfod: a server that sends another file", another_file_is_refused),
     ("debuginfod: a server that hangs",
      functools.partial(waited_for_in_bounds, hanging(), r"no answer in \d+\.\d s")),
     ("debuginfod: a server that stalls",
      functools.partial(waited_for_in_bounds, answering(stall), r"\d.* KiB in \d+\.\d s")),
     ("debuginfod: nobody there", refused)], root=False)
