#!/usr/bin/python3
"""Files that are gone when the recording is read, and are in the recording: reports are made below a
second root, where nothing is but gosym itself and the recording.
"""
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile

import prometheus
from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, SLOW, WORK, Skip, build_demo, build_fib, call, cpu_ticks,
                    fetched, go, gosym, is_unnamed, parse_folded, record, run, running, user_frames,
                    wait_for)

GO = "1.25"
SAMPLES, CONTENTS = 4, 8  # types of chunks


def new_folder():
    return pathlib.Path(tempfile.mkdtemp(dir=WORK))


def copy_with_libraries(root, *programs):
    """Into a root of its own: each program, and its libraries where it looks for them."""
    for program in programs:
        shutil.copy(program, root)
        for library in re.findall(r"(/\S+) \(0x", call("ldd", program, check=False).out):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library[1:])
    return root


@functools.cache
def second_root():
    return copy_with_libraries(new_folder(), GOSYM)


def elsewhere(recording, *options):
    root = second_root()
    shutil.copy(recording, root / "cpu.raw")
    return call("chroot", root, "/" + os.path.basename(GOSYM), "report", "/cpu.raw", *options)


def stacks(recording, *options):
    return parse_folded(elsewhere(recording, "--folded", *options).out)


def frames(recording):
    return {frame for frame, _ in user_frames(stacks(recording))}


def has_names(recording, *wanted):
    found = frames(recording)
    assert set(wanted) <= found, found


def chunk_types(recording):
    """Of all whole chunks, in order."""
    data, types, offset = recording.read_bytes(), [], 64
    while offset + 32 <= len(data):
        magic, kind, _, size = struct.unpack_from("<4sHHI", data, offset)
        offset += (32 + size + 7) // 8 * 8
        if magic != b"CHNK" or offset > len(data):
            break
        types.append(kind)
    return types


def contents_of(recording):
    """All that it has of files, unpacked."""
    data, contents, offset = recording.read_bytes(), b"", 64
    while offset + 32 <= len(data):
        _, kind, flags, size = struct.unpack_from("<4sHHI", data, offset)
        if kind == CONTENTS:
            stored = data[offset + 32:offset + 32 + size]
            contents += subprocess.run(["zstd", "-dc"], input=stored, stdout=subprocess.PIPE,
                                       check=True).stdout if flags & 1 else stored
        offset += (32 + size + 7) // 8 * 8
    return contents


@functools.cache
def build_cgo():
    program = new_folder() / "cgo"
    call(go(GO), "build", "-buildvcs=false", "-o", program, cwd=FIXTURES / "cgo",
         env=GO_ENVIRONMENT | {"CGO_ENABLED": "1"})
    return program


def children(pid):
    return [int(word) for word in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descendants(pid):
    return [found for child in children(pid) for found in [child, *descendants(child)]]


def comm_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


@contextlib.contextmanager
def container():
    """Two programs with their own root, mounts, process ids and cgroups. The root is in memory, and
    gone with them. Gives the ids by which others know the programs.
    """
    files = copy_with_libraries(new_folder(), build_cgo(), build_fib(), "/bin/sh")
    (files / "old").mkdir()
    (files / "dev").mkdir()
    (files / "dev" / "null").touch()  # the shell has it read by what it starts
    root = new_folder()
    script = f"mount -t tmpfs none {root} && cp -a {files}/. {root} && cd {root} && " \
        "pivot_root . old && cd / && exec /sh -c '/fib & exec /cgo callback'"
    process = subprocess.Popen(["unshare", "--mount", "--pid", "--cgroup", "--fork",
                                "--kill-child", "sh", "-c", script], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    try:
        def busy():
            ids = [pid for pid in descendants(process.pid)
                   if comm_of(pid) in ["fib", "cgo"]]
            is_busy = len(ids) == 2 and all(cpu_ticks(pid) > 2 for pid in ids)
            return ",".join(map(str, ids)) if is_busy else None
        yield wait_for(busy, "busy programs in the container")
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(files)


def is_named_throughout(recording, ids):
    """All but local functions of the C library and the vdso, which have no symbols for them."""
    counted = list(user_frames(stacks(recording, "--pid", ids)))
    unnamed = {frame: count for frame, count in counted if is_unnamed(frame)}
    assert counted and all(frame.startswith(("[stripped libc", "libc.so.6!fun_", "[vdso]")) for frame in unnamed), \
        unnamed
    names = {frame for frame, _ in counted}
    wanted = {"fibNaive", "main.main", "main.work", "main.step", "main.busyInCallback", "spin"}
    assert wanted <= names, wanted - names


def a_container(*targets):
    with container() as ids:
        recording = record(*(targets or ["-p", ids]), until=ids.split(","), samples=3000)
    is_named_throughout(recording, ids)


def a_container_without_archive():
    with container() as ids:
        recording = record("--archive=none", "-p", ids)
    assert CONTENTS not in chunk_types(recording)
    found = frames(recording)
    assert found and all(is_unnamed(frame) or "vdso" in frame for frame in found), found


def two_containers_of_one_image():
    """Each has a copy of the program, and is gone: functions are rows of both."""
    place, program = new_folder(), build_fib()
    run_copy = ["unshare", "--mount", "sh", "-c",
                'mount -t tmpfs none "$0" && cp "$1" "$0/fib" && exec "$0/fib"', place, program]
    with running(*run_copy) as one, running(*run_copy) as other:
        wait_for(lambda: {comm_of(one), comm_of(other)} == {"fib"}, "both programs")
        recording = record("-p", f"{one},{other}", samples=500)
    has_names(recording, "fibNaive")
    found = json.loads(gosym("report", "--json", "--top", "0", recording).out)
    rows = [row for row in found["functions"] if row["name"] == "fibNaive"]
    assert len(rows) == 1, rows


def copied(program):
    copy = new_folder() / program.name
    shutil.copy(program, copy)
    return copy


def deleted_before_it_was_recorded():
    program = copied(build_fib())
    with running(program) as pid:
        program.unlink()
        recording = record("-p", pid, samples=1000)
    has_names(recording, "fibNaive")


def deleted_without_a_build_id():
    """Its copy in the recording was written at another time than it was."""
    program = copied(build_fib("-Wl,--build-id=none"))
    with running(program) as pid:
        program.unlink()
        recording = record("-p", pid, samples=1000)
    has_names(recording, "fibNaive")


@contextlib.contextmanager
def recorder(recording, *arguments):
    process = subprocess.Popen([GOSYM, "record", "-q", "-o", recording, *map(str, arguments)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for_chunk(recording, kind):
    wait_for(lambda: recording.exists() and kind in chunk_types(recording), f"chunk of type {kind}")


def deleted_while_it_was_recorded():
    program, recording = copied(build_fib()), new_folder() / "cpu.raw"
    with running(program) as pid, recorder(recording, "-p", pid) as process:
        wait_for_chunk(recording, SAMPLES)
        assert CONTENTS not in chunk_types(recording)
        program.unlink()
        process.send_signal(signal.SIGINT)
        process.wait()
    has_names(recording, "fibNaive")


def killed_recorder():
    program, recording = copied(build_fib()), new_folder() / "cpu.raw"
    with running(program) as pid:
        program.unlink()
        with recorder(recording, "-p", pid) as process:
            wait_for_chunk(recording, CONTENTS)
            # Samples come behind the last of what is kept of the file.
            wait_for(lambda: SAMPLES in bytes(chunk_types(recording)).rpartition(bytes([CONTENTS]))[2],
                     "samples behind the contents")
            process.send_signal(signal.SIGKILL)
            process.wait()
    has_names(recording, "fibNaive")


def program_in_memory():
    script = "import os, sys\n" \
        "memory = os.memfd_create('hidden')\n" \
        "os.write(memory, open(sys.argv[1], 'rb').read())\n" \
        "os.execve(f'/proc/self/fd/{memory}', ['hidden'], {})"
    with running("/usr/bin/python3", "-c", script, build_fib()) as pid:
        recording = record("-p", pid, samples=1000)
    has_names(recording, "fibNaive")


def replaced_library():
    folder = new_folder()
    (folder / "main.c").write_text("void spin(void);\nint main(void) { spin(); }\n")
    library = folder / "libspin.so"
    build = ["gcc", "-Og", "-shared", "-fPIC", FIXTURES / "spin.c", "-DTURNS=1000", "-o"]
    call(*build, library, "-DNAME=old_code")
    call(*build, folder / "new", "-DNAME=new_code")
    call("gcc", folder / "main.c", library, f"-Wl,-rpath,{folder}", "-o", folder / "program")
    with running(folder / "program") as pid:
        (folder / "new").rename(library)
        recording = record("-p", pid, samples=1000)
    found = frames(recording)
    assert "old_code" in found and "new_code" not in found, found


def ordinary_programs_are_left_where_they_are():
    with running(build_demo(GO), 600) as demo, running(build_fib()) as fib:
        recording = record("-p", f"{demo},{fib}", samples=1000)
    assert CONTENTS not in chunk_types(recording)


def all_files():
    with running(build_demo(GO), 600) as demo, running(build_fib()) as fib:
        recording = record("--archive=all", "-p", f"{demo},{fib}", samples=1000)
    has_names(recording, "main.main", "fibNaive", "main")


def what_is_left_out_is_told():
    folder = new_folder()
    with (folder / "zeros").open("wb") as zeros:
        zeros.truncate(130 << 20)
    call("objcopy", "--add-section", f".debug_large={folder}/zeros", build_fib(), folder / "large")
    with running(folder / "large") as pid:
        done = gosym("record", "--archive=all", "-p", pid, "-d", "1s", "-o", folder / "cpu.raw")
    assert re.search(r"^archived \d+ files in it; debug files that lie apart are not kept$", done.err, re.M), done.err
    assert (f"gosym: warning: 1 file not archived, or not whole: '{folder}/large': its debugging "
            "information: with it, it has more than 128.0 MiB\n") in done.err, done.err
    has_names(folder / "cpu.raw", "fibNaive")


def afterwards():
    program = copied(build_fib())
    with running(build_demo(GO), 600) as demo, running(program) as fib:
        recording = record("-p", f"{demo},{fib}", samples=1000)
    assert "fibNaive" not in frames(recording)
    size = recording.stat().st_size
    gosym("archive", recording)
    has_names(recording, "main.main", "fibNaive")
    assert recording.stat().st_size > size
    size = recording.stat().st_size
    assert gosym("archive", recording).err.startswith("nothing to add: ")
    assert recording.stat().st_size == size


def without_data():
    """Names and callers are those that whole files give; of initial data nothing is there."""
    secret = b"correct horse battery staple"
    folder = new_folder()
    (folder / "secret.c").write_text(f'char secret[] = "{secret.decode()}";\n' + (FIXTURES / "fib.c").read_text())
    call("gcc", "-Og", folder / "secret.c", "-o", folder / "secret")
    programs = [[folder / "secret"], [build_cgo(), "callback"],
                [build_demo(GO, "-buildmode=pie"), 600], [build_demo("newest", "-ldflags=-s -w"), 600]]
    with contextlib.ExitStack() as running_now:
        ids = [running_now.enter_context(running(*program)) for program in programs]
        plain = record("--archive=none", "-p", ",".join(map(str, ids)), samples=500)
        kept = record("--archive=all", "--archive-data=no", "-p", ids[0], samples=100)
    copies = [shutil.copy(plain, folder / name) for name in ("whole", "without")]
    gosym("archive", copies[0])
    gosym("archive", "--archive-data=no", copies[1])
    whole, without = (elsewhere(copy, "--folded").out for copy in copies)
    assert whole == without and "main.main" in whole and "fibNaive" in whole, (whole, without)
    has_names(kept, "fibNaive")
    for recording, is_there in [(copies[0], True), (copies[1], False), (kept, False)]:
        assert (secret in contents_of(pathlib.Path(recording))) == is_there, recording


def debug_files_that_stay_behind():
    """They are told also where the recording has all the files that it needs."""
    folder = new_folder()
    program = folder / "fib"
    call("objcopy", "--only-keep-debug", build_fib("-g"), folder / "fib.debug")
    call("strip", "-o", program, build_fib("-g"))
    call("objcopy", f"--add-gnu-debuglink={folder}/fib.debug", program)
    with running(program) as pid:
        recording = record("--archive=none", "-p", pid, samples=300)
    for _ in range(2):
        told = gosym("archive", recording).err
        assert re.search("^note: debug files that lie apart from their binaries are not kept, [12] of them", told, re.M), told
    assert "nothing to add" in told, told
    assert "fibNaive" in gosym("report", "--folded", recording).out and "fibNaive" not in frames(recording)


def c_code_in_go():
    """Its inlined calls, which debugging information alone knows."""
    with running(build_cgo(), "callback") as pid:
        recording = record("--archive=none", "-p", pid, samples=500)
    home = gosym("report", "--folded", recording).out
    gosym("archive", recording)
    assert "call_back;churn" in home and home == elsewhere(recording, "--folded").out, home


def only_callers():
    """Programs without frame pointers that are at work in a library: samples point into that alone."""
    folder = new_folder()
    (folder / "work.c").write_text("""
        void spin(void);
        __attribute__((noinline)) void busy(void) { for (;;) spin(); }""")
    (folder / "main.c").write_text("void busy(void);\nint main(void) { busy(); return 1; }\n")
    (folder / "wait.c").write_text("""
        #include <poll.h>
        int main(void) { while (poll(0, 0, 1) == 0); return 1; }""")
    build = ["gcc", "-O2", "-fomit-frame-pointer", f"-Wl,-rpath,{folder}", "-o"]
    call(*build, folder / "libspin.so", "-shared", "-fPIC", FIXTURES / "spin.c", "-DTURNS=1000", "-DNAME=work")
    call(*build, folder / "libwork.so", "-shared", "-fPIC", folder / "work.c", folder / "libspin.so")
    call(*build, folder / "program", folder / "main.c", folder / "libwork.so", folder / "libspin.so")
    call(*build, folder / "waiter", folder / "wait.c")
    with running(folder / "program") as busy, running(folder / "waiter") as waiter:
        recording = record("--off-cpu", "--archive=none", "-p", f"{busy},{waiter}", samples=100)
    gosym("archive", recording)
    for event in ("cpu-clock", "off-cpu"):
        # Nothing of the debug files that the C library may have here, and not there.
        home = gosym("report", recording, "--folded", "--event", event).out
        away = elsewhere(recording, "--folded", "--event", event).out
        assert ";main;" in away and "[missing" not in away, away
        assert len(home.splitlines()) == len(away.splitlines()), (home, away)
    assert "nothing to add" in gosym("archive", recording).err


def one_archive_for_all():
    """A program was archived once, and is recorded without it before, and after it was deleted."""
    program = copied(build_fib())
    with running(program) as fib:
        before = record("--archive=none", "-p", fib, samples=500)
        archived = record("--archive=all", "-p", fib, samples=500)
        program.unlink()
        after = record("--archive=none", "-p", fib, samples=500)
    for one in (before, after):
        assert "fibNaive" not in frames(one)
    copies = [shutil.copy(file, second_root() / f"{name}.raw") and f"/{name}.raw"
              for name, file in {"before": before, "archived": archived, "after": after}.items()]
    program_of_root = "/" + os.path.basename(GOSYM)
    done = call("chroot", second_root(), program_of_root, "report", "--folded", *copies)
    found = {frame for frame, _ in user_frames(parse_folded(done.out))}
    assert "fibNaive" in found and "[missing" not in done.out + done.err, (found, done.err)
    # What the filters leave needs the files of what they leave out.
    done = call("chroot", second_root(), program_of_root, "report", "--folded", "--time", "0,0.2", *copies)
    assert "fibNaive" in done.out and "[missing" not in done.out + done.err, done


def what_changed_since_is_refused():
    program = copied(build_fib())
    with running(program) as fib:
        recording = record("-p", fib, samples=1000)
    program.unlink()
    shutil.copy("/bin/true", program)
    done = gosym("archive", recording, check=False)
    assert done.status == 3, done
    assert f"gosym: warning: '{program}': not the file that was recorded: " in done.err, done.err
    assert "fibNaive" not in frames(recording)


def size_of_a_service():
    if SLOW:
        raise Skip("a service under load takes too long")
    with prometheus.busy() as pid:
        recording = record("--archive=all", "-p", pid, samples=2000)
        plain = record("--archive=none", "-p", pid, samples=2000)
    file = pathlib.Path(fetched("prometheus")).stat().st_size
    kept = recording.stat().st_size - plain.stat().st_size
    print(f"# {kept / 1e6:.1f} MB are kept of a file of {file / 1e6:.1f} MB, {kept / file:.2f}")
    assert kept < 0.6 * file
    counted = list(user_frames(stacks(recording)))
    unnamed = sum(count for frame, count in counted if is_unnamed(frame))
    assert unnamed <= 0.01 * sum(count for _, count in counted), unnamed


def archive_without_room():
    """--max-size is for all of a recording."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    (folder / "data").write_bytes(os.urandom(20 << 20))
    (folder / "large.s").write_text(f'.section .rodata\n.incbin "{folder}/data"\n')
    program = folder / "large"
    call("gcc", "-O1", "-w", "-DNAME=busy", "-DTURNS=1000", "-Dspin=main", FIXTURES / "spin.c",
         folder / "large.s", "-o", program)
    with running(program) as pid:
        program.unlink()
        told = []
        for limit in ("2M", "100M"):
            file = WORK / f"limit-{limit}.raw"
            done = gosym("record", "-p", pid, "-d", "1s", "--max-size", limit, "-o", file)
            told.append((done.err, file.stat().st_size))
    assert told[0][1] < 2 << 20 and "no room for it below --max-size" in told[0][0], told
    assert told[1][1] > 20 << 20 and "--max-size" not in told[1][0], told


def recorded_kinds():
    """Name -> what makes a recording of that kind, and is over when the next one is made."""
    def of(program, *options, **length):
        with running(*program) as pid:
            return record(*options, "-p", pid, **length or {"samples": 300})

    def split():
        folder = new_folder()
        (folder / "hot.cpp").write_text("""
            namespace app { template <int N> __attribute__((noinline)) long hot(long x) {
              for (int i = 0; i < 1000; i++) x = x * N + i; return x; } }
            static inline long work(long x) { return app::hot<3>(x) + app::hot<7>(x); }
            int main() { volatile long sum = 0; for (;;) sum = work(sum); }""")
        call("g++", "-g", "-O2", folder / "hot.cpp", "-o", folder / "hot")
        call("objcopy", "--only-keep-debug", folder / "hot", folder / "hot.debug")
        call("strip", folder / "hot")
        call("objcopy", f"--add-gnu-debuglink={folder}/hot.debug", folder / "hot")
        recording = of([folder / "hot"])
        assert "app::hot" in gosym("report", "--folded", recording).out
        told = gosym("archive", shutil.copy(recording, folder / "copy.raw")).err
        assert "debug files that lie apart from their binaries are not kept" in told, told
        # No archive has these names, which was told: without the file they are not here either.
        (folder / "hot.debug").unlink()
        return recording

    def contained():
        with container() as ids:
            return record("-p", ids, until=ids.split(","), samples=600)

    def deleted():
        program = copied(build_fib())
        with running(program) as pid:
            program.unlink()
            return record("-p", pid, samples=300)

    def with_waits():
        with running(build_demo(GO), 600) as demo, running(build_fib()) as fib:
            return record("--off-cpu", "-p", f"{demo},{fib}", samples=300)

    def bpf():
        folder, pin = new_folder(), f"/sys/fs/bpf/gosym-archive-{os.getpid()}"
        (folder / "packet").write_bytes(bytes(64))
        call("clang", "-O2", "-target", "bpf", "-c", FIXTURES / "spin.bpf.c", "-o", folder / "spin.bpf.o")
        script = f"bpftool prog load {folder}/spin.bpf.o {pin} && bpftool prog run pinned {pin} " \
                 f"data_in {folder}/packet repeat 100000; rm -f {pin}"
        gosym("record", "-q", "-F", 1999, "-o", folder / "cpu.raw", "--", "sh", "-c", script)
        assert "_spin_[k]" in gosym("report", "--folded", folder / "cpu.raw").out
        return folder / "cpu.raw"

    stripped = build_demo("newest", "-ldflags=-s -w")
    return {"Go": lambda: of([stripped, 600]),
            "Go and C": lambda: of([build_cgo(), "callback"], samples=600),
            "C++ with a debug file": split,
            "Python": lambda: of(["/usr/bin/python3", "-c", "while True: sum(i * i for i in range(1000))"]),
            "a container": contained,
            "a deleted program": deleted,
            "wall time": lambda: of([stripped, 600], "-e", "wall", seconds=1, hertz=499),
            "CPU time and waits": with_waits,
            "BPF": bpf}


def at_home(*arguments):
    """What gosym says here without debug files that lie apart: no archive has them, which is told."""
    hidden = "mount -t tmpfs none /usr/lib/debug 2>&-; exec"
    return call("unshare", "--mount", "sh", "-c", f'{hidden} "$0" "$@"', GOSYM, *arguments)


def by_stranger(*arguments):
    """What gosym says in the second root to a user who has no rights."""
    (second_root() / "proc").mkdir(exist_ok=True)
    second_root().chmod(0o755)
    enter = 'mount -t proc none "$0/proc" && exec chroot --userspec=1234:1234 --groups= "$0" "$@"'
    return call("unshare", "--mount", "sh", "-c", enter, second_root(), "/" + os.path.basename(GOSYM), *arguments)


def with_files_of_home(recording, *options):
    """A tree for --symfs, of the files that the recording needs: callers are needed once it is known that
    they are some."""
    tree = pathlib.Path(tempfile.mkdtemp(dir=second_root()))
    tree.chmod(0o755)
    while True:
        needed = json.loads(by_stranger("report", "--needs", "--json", "--symfs", f"/{tree.name}", *options,
                                        recording).out)
        paths = {file["path"][1:] for file in needed["files"] if file["reason"] == "missing"}
        there = {path for path in paths if os.path.isfile(f"/{path}") and not (tree / path).exists()}
        if not there:
            return f"/{tree.name}"
        for path in there:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(f"/{path}", tree / path)


def same_elsewhere(name):
    """What is said at home is said to another user below another root, by the archive, by the files,
    and by a page and a pprof that were made at home, byte for byte."""
    root, recording = second_root(), recorded_kinds()[name]()
    for event in [["--event", "cpu-clock"], ["--event", "off-cpu"]] if "waits" in name else [[]]:
        home = at_home("report", "--folded", *event, recording).out
        assert home
        archived = shutil.copy(recording, root / "archived.raw")
        gosym("archive", archived)
        at_home("report", "--idle", "--html", root / "page.html", recording)
        at_home("report", "--pprof", root / "pprof", *event, recording)
        shutil.copy(recording, root / "plain.raw")
        for file in ["archived.raw", "page.html", "pprof", "plain.raw"]:
            (root / file).chmod(0o644)
        ways = {"the archive": ["/archived.raw", *event], "a page": ["/page.html", *event], "pprof": ["/pprof"],
                "files": ["/plain.raw", *event, "--symfs", with_files_of_home("/plain.raw", *event)]}
        for way, arguments in ways.items():
            expected, found = home, by_stranger("report", "--folded", *arguments).out
            if way == "pprof":  # it does not say why code has no name, and the file is not there
                expected, found = (re.sub(r"\[(stripped|missing) ", "[", text) for text in (home, found))
                expected, found = ("".join(sorted(text.splitlines(True))) for text in (expected, found))
            lines = set(expected.splitlines()) ^ set(found.splitlines())
            assert found == expected, (way, event, sorted(lines)[:2])


run([("a container that is gone, by the ids of its processes", a_container),
     ("a container that is gone, of the whole system", functools.partial(a_container, "-a")),
     ("a container that is gone, without archive", a_container_without_archive),
     ("two containers of one image that are gone", two_containers_of_one_image),
     ("a program that was deleted before", deleted_before_it_was_recorded),
     ("a program without a build id that was deleted", deleted_without_a_build_id),
     ("a program that is deleted while it is recorded", deleted_while_it_was_recorded),
     ("a recorder that is killed", killed_recorder),
     ("a program that is only in memory", program_in_memory),
     ("a library that was replaced", replaced_library),
     ("ordinary programs are left where they are", ordinary_programs_are_left_where_they_are),
     ("all files", all_files),
     ("what is left out is told", what_is_left_out_is_told),
     ("files for which there is no room", archive_without_room),
     ("gosym archive", afterwards),
     ("debug files that stay behind are told", debug_files_that_stay_behind),
     ("inlined calls of C code in a Go program", c_code_in_go),
     ("files are kept without their initial data", without_data),
     ("gosym archive: files of callers only", only_callers),
     ("one archive for all recordings", one_archive_for_all),
     ("gosym archive: what changed since is refused", what_changed_since_is_refused),
     ("the size of a service", size_of_a_service)] +
    [(f"a recording of {kind} says the same elsewhere", functools.partial(same_elsewhere, kind))
     for kind in ["Go", "Go and C", "C++ with a debug file", "Python", "a container", "a deleted program",
                  "wall time", "CPU time and waits", "BPF"]])
