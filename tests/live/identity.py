#!/usr/bin/python3
"""Files that change their place under running programs. Code is named from the file that was mapped,
or it is told why it is not; another file at the path never gives it a name.
"""
import collections
import contextlib
import functools
import os
import pathlib
import shutil
import tempfile

import common
from common import (FIXTURES, WITHOUT_RIGHTS, WORK, build_fib, call, code_of, compiled, folded,
                    gosym, new_place, run, running)

# What archives do is tested in archive.py.
record = functools.partial(common.record, "--archive=none")

# The libraries are of one size; only these, a number and the build id differ.
OLD, NEW = "old_code", "new_code"
TURNS = {OLD: 1000, NEW: 2000}


@functools.cache
def build_library(name, *flags):
    return compiled("gcc", "-Og", "-shared", "-fPIC", *flags, f"-DNAME={name}",
                    f"-DTURNS={TURNS[name]}", FIXTURES / "spin.c", output=new_place("libspin.so"))


Upgrade = collections.namedtuple("Upgrade", "program library new")


def upgrade(*flags):
    """A program, the old library that it loads, and a new one to be put into its place."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    main = folder / "main.c"
    main.write_text("void spin(void);\nint main(void) { spin(); }\n")
    library, new = folder / "libspin.so", folder / "libspin.so.new"
    shutil.copy2(build_library(OLD, *flags), library)
    shutil.copy2(build_library(NEW, *flags), new)
    call("gcc", main, library, f"-Wl,-rpath,{folder}", "-o", folder / "program")
    return Upgrade(folder / "program", library, new)


def frames(recording, *options):
    return {frame for stack in folded(recording, *options) for frame in stack.frames}


def names_in(pid, file):
    """All that gosym resolve finds in the code of a file."""
    code = code_of(pid, file)
    asked = [f"{address:x}" for address in range(code.start, code.limit, 16)]
    done = gosym("resolve", "--pid", pid, *asked)
    return {line.split()[1] for line in done.out.splitlines()}


def is_explained(recording, reason, file):
    group = f"[{reason} {file}]"
    text = gosym("report", "-v", recording).out
    assert f"  {group} " in text.rpartition("have no name:")[2], text
    return group


BUILD_IDS = {"with a build id": [], "without a build id": ["-Wl,--build-id=none"]}


def replaced_before_it_was_recorded(kind):
    program, library, new = upgrade(*BUILD_IDS[kind])
    os.utime(new, ns=(library.stat().st_atime_ns, library.stat().st_mtime_ns))
    with running(program) as pid:
        new.rename(library)
        recording = record("-p", pid, samples=1000)
        names = names_in(pid, "libspin.so")
    assert library.stat().st_size == build_library(OLD, *BUILD_IDS[kind]).stat().st_size
    assert OLD in names and NEW not in names, names
    found = frames(recording)
    assert not {OLD, NEW} & found, found
    is_explained(recording, "deleted", "libspin.so")


def replaced_before_the_report(kind):
    program, library, new = upgrade(*BUILD_IDS[kind])
    with running(program) as pid:
        recording = record("-p", pid, samples=1000)
    assert OLD in frames(recording)
    new.touch()
    new.rename(library)
    found = frames(recording)
    assert not {OLD, NEW} & found, found
    is_explained(recording, "changed", "libspin.so")


def old_and_new_side_by_side():
    program, library, new = upgrade()
    with running(program) as old_pid:
        new.rename(library)
        with running(program) as new_pid:
            recording = record("-p", f"{old_pid},{new_pid}", samples=1000)
            assert OLD in names_in(old_pid, "libspin.so")
            assert NEW in names_in(new_pid, "libspin.so")
    old, new = frames(recording, "--pid", old_pid), frames(recording, "--pid", new_pid)
    assert not {OLD, NEW} & old, old
    assert NEW in new and OLD not in new, new


def another_file_in_a_mount_namespace():
    """The process sees the new library where all others see the old one."""
    program, library, new = upgrade()
    script = f"mount --bind {new} {library} && exec {program}"
    with running("unshare", "--mount", "sh", "-c", script) as pid:
        code_of(pid, "libspin.so")
        recording = record("-p", pid, samples=1000)
        names = names_in(pid, "libspin.so")
        # Its files can be had by way of its root.
        seen = frames(recording, "--symfs", f"/proc/{pid}/root")
    assert NEW in names and OLD not in names, names
    assert NEW in seen and OLD not in seen, seen
    assert not {OLD, NEW} & frames(recording)
    is_explained(recording, "changed", "libspin.so")


def deleted_program():
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "fib"
    shutil.copy(build_fib(), program)
    with running(program) as pid:
        program.unlink()
        recording = record("-p", pid, samples=1000)
        assert "fibNaive" in names_in(pid, "/fib")
    is_explained(recording, "deleted", "fib")
    shutil.copy("/bin/true", program)
    assert "fibNaive" not in frames(recording)
    is_explained(recording, "deleted", "fib")


def replaced_and_out_of_reach():
    """To open what others have mapped takes a right that the owner of a process lacks."""
    program, library, new = upgrade()
    for folder in [WORK, program.parent]:
        folder.chmod(0o755)
    with running(program, user=65534) as pid:
        start = code_of(pid, "libspin.so").start
        new.rename(library)
        done = call(*WITHOUT_RIGHTS, "resolve", "-p", pid, f"{start:x}")
    assert done.out == f"0x{start:x} ?? (deleted, and gosym cannot open it) {library}\n", done


@contextlib.contextmanager
def running_in_memory(program):
    script = "import os, sys\n" \
        "memory = os.memfd_create('hidden')\n" \
        "os.write(memory, open(sys.argv[1], 'rb').read())\n" \
        "os.execve(f'/proc/self/fd/{memory}', ['hidden'], {})"
    with running("/usr/bin/python3", "-c", script, program) as pid:
        yield pid


def program_in_memory():
    with running_in_memory(build_fib()) as pid:
        recording = record("-p", pid, samples=1000)
        assert "fibNaive" in names_in(pid, "/memfd:hidden")
    is_explained(recording, "deleted", "memfd:hidden")


def program_of_that_name():
    """It ends as the kernel marks the paths of those that were deleted."""
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "plain (deleted)"
    shutil.copy(build_fib(), program)
    with running(program) as pid:
        recording = record("-p", pid, samples=1000)
    assert "fibNaive" in frames(recording), gosym("report", "-v", recording).out
    program.unlink()
    assert "fibNaive" not in frames(recording)


run([(f"a library that was replaced before the {what}, {kind}", functools.partial(check, kind))
     for what, check in [("recording", replaced_before_it_was_recorded),
                         ("report", replaced_before_the_report)] for kind in BUILD_IDS] +
    [("an old and a new library of one path, side by side", old_and_new_side_by_side),
     ("another file at the path in a mount namespace", another_file_in_a_mount_namespace),
     ("a library that was replaced, and is out of reach", replaced_and_out_of_reach),
     ("a program that was deleted", deleted_program),
     ("a program whose name says that it was deleted", program_of_that_name),
     ("a program that is only in memory", program_in_memory)])
