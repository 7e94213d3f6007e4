#!/usr/bin/python3
"""Code that no file holds: made at run time by node and others, or loaded into the kernel."""
import collections
import contextlib
import functools
import os
import pathlib
import re
import tempfile

from common import (FIXTURES, WORK, Skip, build_jit, call, compiled, folded, gosym, is_kernel, leaves, new_place,
                    perf_map, record, recording, run, running, running_jit, share, standing_still, wait_for)

FOREVER = 1 << 62
A_SECOND_OR_SO = 3_000_000_000  # turns of the fixture's loop


def functions_by_source(recording):
    """The lines `perf map    12 locations` of -v."""
    told = gosym("report", "-v", recording).err
    return {source: int(count.replace(",", ""))
            for source, count in re.findall(r"^(\S.*?) +([\d,]+) locations$", told, re.MULTILINE)}


def node_is_named():
    # It logs into the directory where it runs.
    with running("node", "--perf-basic-prof", FIXTURES / "hot.js", cwd=WORK) as pid:
        recording = record("-p", pid, seconds=1, hertz=1499)
    perf_map(pid).unlink()
    counts = leaves(recording)
    top = counts.most_common(1)[0][0]
    assert "fibonacci" in top and "hot.js" in top, f"{top} is on top"
    assert share(counts, top) > 0.5, counts
    deepest = max(stack.frames.count(top) for stack in folded(recording))
    assert deepest > 5, f"the recursion is {deepest} deep"
    assert functions_by_source(recording)["perf map"] > 0


def node_without_perf_map_says_what_to_do():
    with running("node", FIXTURES / "hot.js") as pid:
        text = gosym("report", record("-p", pid, seconds=1, hertz=499)).out
    assert "[anonymous]" in text and "node --perf-basic-prof" in text, text


def copied_code_is_its_files():
    """What was put in the place of a file's code, and is the same; told apart by a program that knows."""
    program = compiled("gcc", "-O1", FIXTURES / "copied_code.c", output=new_place("copied_code"))
    expected = {"mremap": "work_in_copy", "over": "work_in_copy", "late": "work_in_copy", "other": "[anonymous]"}
    for how, name in expected.items():
        with running(program, how) as pid:
            wait_for(lambda: re.search(r"r-xp \S+ 00:00 0 *$", pathlib.Path(f"/proc/{pid}/maps").read_text(),
                                       re.MULTILINE), "copy")
            attached = record("-p", pid, samples=500)
        begun = new_place("cpu.raw")
        gosym("record", "-q", "-F", 499, "-o", begun, "--", "sh", "-c", f"timeout 2 {program} {how}; true")
        # Of a copy that is moved there no event tells: then the file's code seems to be there still.
        names = [name, "work_in_copy" if how == "mremap" else name]
        for recording, leaf in zip([attached, begun], names, strict=True):
            counts = leaves(recording, "--comm", "copied_code")
            # The function goes on behind the copy.
            assert share(counts, leaf) > (0.5 if leaf == "[anonymous]" else 0.9), f"{how}: {counts}"


@contextlib.contextmanager
def huge_pages(count):
    """So many more are set aside."""
    setting = pathlib.Path("/proc/sys/vm/nr_hugepages")
    before = setting.read_text()
    setting.write_text(str(int(before) + count))
    try:
        if int(setting.read_text()) < int(before) + count:
            raise Skip("no room for huge pages")
        yield
    finally:
        setting.write_text(before)


def code_in_huge_pages_set_aside():
    """For the kernel such memory has a file."""
    program = compiled("gcc", "-O1", "-DHUGE", "-Wl,-z,max-page-size=2097152", FIXTURES / "copied_code.c",
                       output=new_place("in_huge_pages"))
    with huge_pages(2):
        for how in ["over", "late", "mremap"]:
            with running(program, how) as pid:
                wait_for(lambda: "/anon_hugepage" in pathlib.Path(f"/proc/{pid}/maps").read_text()
                         or how == "mremap", "copy")
                attached = record("-p", pid, samples=300)
            begun = new_place("cpu.raw")
            gosym("record", "-q", "-F", 499, "-o", begun, "--", "sh", "-c", f"timeout 1 {program} {how}; true")
            for recording in [attached, begun]:
                counts = leaves(recording, "--comm", "in_huge_pages")
                assert share(counts, "work_in_copy") > 0.9, f"{how}: {counts}"


def node_in_huge_pages_is_named():
    """Without a compiler all that it runs is code of its file."""
    with running("node", "--use-largepages=on", "--jitless", FIXTURES / "hot.js") as pid:
        wait_for(lambda: re.search(r"r-xp 0+ 00:00 0 *$", pathlib.Path(f"/proc/{pid}/maps").read_text(),
                                   re.MULTILINE), "code in huge pages")
        counts = leaves(record("-p", pid, samples=500))
    assert share(counts, "[anonymous]") < 0.01, counts


def python_is_named():
    with running("/usr/bin/python3", "-c", "while True: sum(i * i for i in range(1000))") as pid:
        counts = leaves(record("-p", pid, seconds=1, hertz=1499))
    top = counts.most_common(1)[0][0]
    assert top == "_PyEval_EvalFrameDefault", f"{top} is on top"


def remove_perf_maps(word):
    for left in pathlib.Path("/tmp").glob("perf-*.map"):
        if word in left.read_text(errors="replace"):
            left.unlink()


def command_that_ended_is_named():
    file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
    for place in ["anon", "memfd"]:
        gosym("record", "-q", "-o", file, "--", build_jit(), place, A_SECOND_OR_SO, "made here")
        counts = leaves(file, "--comm", "jit")
        assert share(counts, "made here") > 0.9, f"{place}: {counts}"
    remove_perf_maps("made here")


def told_times(text):
    """Of each name how long its code ran, as the program counted it."""
    return {name: float(seconds) for name, seconds in re.findall(r"^(\w+) ([\d.]+)$", text, re.MULTILINE)}


def assert_shares(counts, seconds):
    for name, time in seconds.items():
        expected = time / sum(seconds.values())
        assert abs(share(counts, name) - expected) < 0.08, f"{name}: {expected:.3f} of {counts}"


def code_at_one_address_is_told_apart():
    for place in ["anon", "memfd"]:
        recording = new_place("cpu.raw")
        done = gosym("record", "-q", "-F", 499, "-o", recording, "--", build_jit(), place, A_SECOND_OR_SO,
                     "first", "second", "third")
        assert_shares(leaves(recording, "--comm", "jit"), told_times(done.out))
        err = gosym("report", recording).err
        assert re.search(r"\d addresses had different code made in turn", err), err
    remove_perf_maps("third")


def functions_of_node_at_one_address_are_told_apart():
    recording = new_place("cpu.raw")
    done = gosym("record", "-q", "-F", 499, "-o", recording, "--", "node", "--expose-gc", "--perf-basic-prof",
                 FIXTURES / "remade.js", cwd=WORK)
    counts = collections.Counter()
    for stack in folded(recording):
        names = [name for frame in stack.frames for name in re.findall(r"^JS:\W?(work\d) ", frame)]
        counts[names[-1] if names else "other"] += stack.count
    del counts["other"]
    assert_shares(counts, told_times(done.out))
    remove_perf_maps("remade.js")


def code_made_before_the_recording_is_told_apart():
    times = new_place("times")
    with times.open("w") as out, \
            running(build_jit(), "anon", A_SECOND_OR_SO, "unseen", "first", "second", out=out) as pid:
        with standing_still([pid]):
            gosym_runs = recording("-q", "-F", 499, "-p", pid)
            recorder, file = gosym_runs.__enter__()
        recorder.wait()
        gosym_runs.__exit__(None, None, None)
    seconds = told_times(times.read_text())
    counts = leaves(file)
    del seconds["unseen"], counts["unseen"]
    assert_shares(counts, seconds)
    perf_map(pid).unlink()


def program_that_was_left_by_exec_is_named():
    recording = new_place("cpu.raw")
    gosym("record", "-q", "-F", 499, "-o", recording, "--", "env", "JIT_NEXT=true", build_jit(), "anon",
          A_SECOND_OR_SO, "left")
    counts = leaves(recording)
    assert share(counts, "left") > 0.8, counts
    remove_perf_maps("left")


def map_of_root_is_used_where_only_root_mounts():
    with running_jit("anon", FOREVER, "of_root", env={**os.environ, "JIT_USER": "65534"}) as pid:
        counts = leaves(record("-p", pid, seconds=1, hertz=499))
        assert perf_map(pid).stat().st_uid == 0
    assert share(counts, "of_root") > 0.9, counts
    # In a user namespace of its own the process could mount any file of root there.
    with running_jit("anon", FOREVER, "of_root", env={**os.environ, "JIT_USER": "65534", "JIT_UNSHARE": ""}) as pid:
        done = gosym("record", "-F", 499, "-d", "1s", "-o", new_place("cpu.raw"), "-p", pid)
    assert "not used: it belongs to user 0, the process to user 65534" in done.err, done.err


def processes_are_told_apart():
    with running_jit("anon", FOREVER, "one") as one, running_jit("anon", FOREVER, "two") as two, \
            running_jit("anon", FOREVER) as nameless:
        recording = record("-a", until=[one, two, nameless], seconds=0.6, hertz=499)
    assert share(leaves(recording, "--pid", one), "one") > 0.5
    assert share(leaves(recording, "--pid", two), "two") > 0.5
    unnamed = leaves(recording, "--pid", nameless)
    assert unnamed["one"] == unnamed["two"] == 0 and share(unnamed, "[anonymous]") > 0.5, unnamed


def own_namespaces_are_seen_through():
    """Its /tmp is its own, and so is its number, 1."""
    script = f"mount -t tmpfs none /tmp && exec {build_jit()} anon {A_SECOND_OR_SO} inside"
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
               script.replace(str(WORK), "/proc/1/cwd")]
    # The program lies in the /tmp that is hidden: it is reached by where the shell is.
    file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
    gosym("record", "-q", "-o", file, "--", *command, cwd=WORK)
    # Interrupts of other work on a busy machine come while it runs.
    counts = leaves(file, "--comm", "jit")
    for leaf in list(filter(is_kernel, counts)):
        del counts[leaf]
    assert share(counts, "inside") > 0.9, counts
    assert not perf_map(1).exists()


def untrusted(title, make):
    """A map that is not to be used, and the words for why."""
    with running_jit("anon", FOREVER) as pid:
        code = "100000000 100 injected\n"
        make(perf_map(pid), code)
        file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
        told = gosym("record", "-F", 499, "-d", "1s", "-o", file, "-p", pid).err
        report = gosym("report", file)
        expected = f"gosym: warning: '{perf_map(pid)}': not used: {title}"
    assert expected in told, told
    assert expected in report.err, report.err
    assert "injected" not in report.out and "[anonymous]" in report.out, report.out


def symbolic_link(path, code):
    target = WORK / "target.map"
    target.write_text(code)
    path.symlink_to(target)


def fifo(path, _):
    os.mkfifo(path)


def of_another_user(path, code):
    path.write_text(code)
    os.chown(path, 65534, 65534)


def of_an_earlier_process(path, code):
    path.write_text(code)
    os.utime(path, (1_000_000_000, 1_000_000_000))


def map_of_the_process_user_is_used():
    with running_jit("anon", FOREVER, "theirs", user=65534) as pid:
        wait_for(perf_map(pid).exists, "perf map")
        assert perf_map(pid).stat().st_uid == 65534
        counts = leaves(record("-p", pid, seconds=1, hertz=499))
    assert share(counts, "theirs") > 0.9, counts


def map_that_goes_on_is_read_up_to_its_last_whole_line():
    with running_jit("anon", FOREVER, "whole") as pid:
        with perf_map(pid).open("a") as file:
            file.write("100000000 100 torn")
        counts = leaves(record("-p", pid, seconds=1, hertz=499))
    assert share(counts, "whole") > 0.9, counts


def bpf_program_is_named():
    program = WORK / "spin.bpf.o"
    packet = WORK / "packet"
    packet.write_bytes(bytes(64))
    call("clang", "-O2", "-target", "bpf", "-c", FIXTURES / "spin.bpf.c", "-o", program)
    pin = f"/sys/fs/bpf/gosym-live-{os.getpid()}"
    script = f"bpftool prog load {program} {pin} && " \
             f"bpftool prog run pinned {pin} data_in {packet} repeat 200000; rm -f {pin}"
    file = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "cpu.raw"
    gosym("record", "-q", "-F", 499, "-o", file, "--", "sh", "-c", script)
    counts = leaves(file)
    hot = sum(n for name, n in counts.items() if name.endswith("_spin_[k]"))
    assert hot > 0.5 * counts.total(), counts
    assert functions_by_source(file)["BPF program"] > 0


run([("node's hot function is on top, by its perf map", node_is_named),
     ("node without a perf map: the report says what to do", node_without_perf_map_says_what_to_do),
     ("code that was copied into memory is its file's", copied_code_is_its_files),
     ("and into huge pages that were set aside", code_in_huge_pages_set_aside),
     ("node, its code in huge pages, is named", node_in_huge_pages_is_named),
     ("python's interpreter is named", python_is_named),
     ("a command that has ended is named", command_that_ended_is_named),
     ("code at one address in turn", code_at_one_address_is_told_apart),
     ("functions of node at one address in turn", functions_of_node_at_one_address_are_told_apart),
     ("the same, made before the recording", code_made_before_the_recording_is_told_apart),
     ("a program that its process left by exec is named", program_that_was_left_by_exec_is_named),
     ("a map of root is used where nobody else can mount", map_of_root_is_used_where_only_root_mounts),
     ("code at the same address in several processes", processes_are_told_apart),
     ("a process with its own /tmp and process ids", own_namespaces_are_seen_through),
     ("a map of the process's own user is used", map_of_the_process_user_is_used),
     ("half a line at the end is not used", map_that_goes_on_is_read_up_to_its_last_whole_line),
     ("a BPF program that comes and goes is named", bpf_program_is_named)] +
    [(f"a map is not used: {title}", functools.partial(untrusted, title, make))
     for title, make in [("it is a symbolic link", symbolic_link),
                         ("it is no regular file", fifo),
                         ("it belongs to user 65534, the process to user 0", of_another_user),
                         ("it is older than the process", of_an_earlier_process)]])
