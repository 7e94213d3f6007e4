#!/usr/bin/python3
"""The whole system at once: each process found, told apart, and the kernel named."""
import collections
import functools
import pathlib

from common import (FIXTURES, GOSYM, WORK, build_demo, build_fib, call, folded, gosym, is_kernel, new_place, pprof,
                    record, run, running)


@functools.cache
def recorded():
    """A Go program, a C program and one that mostly asks the kernel; with their pids. It lasts until
    each has used half a second of CPU time, whatever else the machine does."""
    with running(build_demo("debian", "-ldflags=-s -w"), 600) as demo, \
            running(build_fib("-fno-omit-frame-pointer")) as fib, \
            running("dd", "if=/dev/zero", "of=/dev/null", "bs=64k") as dd:
        pids = {"demo": demo, "fib": fib, "dd": dd}
        return record("-a", until=pids.values(), seconds=0.5, hertz=499), pids


def both_are_found():
    counts = collections.Counter()
    for stack in folded(recorded()[0]):
        counts.update({(stack.comm, frame): stack.count for frame in set(stack.frames)})
    for comm, function in [("demo", "main.fetchData"), ("fib", "fibNaive")]:
        assert counts[comm, function] > 10, f"{counts[comm, function]} samples of {function}"
        assert {c for c, f in counts if f == function} == {comm}, f"{function} in other processes"


def pids_and_names_belong_together():
    file, pids = recorded()
    names = collections.defaultdict(set)
    for sample in pprof(file).samples:
        names[int(sample.labels["pid"].split()[0])].add(sample.labels["thread"])
    for name, pid in pids.items():
        assert names[pid] == {name}, f"{pid} is {names[pid]}, not {name}"


def kernel_is_named():
    frames = {frame for stack in folded(recorded()[0]) for frame in stack.frames
              if is_kernel(frame)}
    assert frames, "no kernel frame"
    nameless = {f for f in frames if not f[0].isalpha() and f[0] != "_"}
    assert not nameless, f"without a name: {nameless}"


def hidden_kernel_symbols_are_told():
    """The files of /proc are covered for the recorder alone."""
    hidden = WORK / "kallsyms"
    lines = pathlib.Path("/proc/kallsyms").read_text().splitlines(keepends=True)
    hidden.write_text("".join("0" * 16 + line[16:] for line in lines))
    restrict = WORK / "kptr_restrict"
    file = WORK / "nameless.raw"
    for value, expected in [("1", "it takes CAP_SYSLOG"),
                            ("2", "kernel.kptr_restrict is 2: set it to 1 with sysctl")]:
        restrict.write_text(value + "\n")
        script = f"mount --bind {hidden} /proc/kallsyms && " \
                 f"mount --bind {restrict} /proc/sys/kernel/kptr_restrict && exec {GOSYM} record " \
                 f"-o {file} -- dd if=/dev/zero of=/dev/null bs=64k count=100000"
        told = call("unshare", "--mount", "sh", "-c", script).err
        assert f"/proc/kallsyms hides addresses ({expected})" in told, told
    note = gosym("report", "-v", file).out
    assert "[kernel]  record with CAP_SYSLOG, and sysctl kernel.kptr_restrict below 2" in note, note


def one_process_can_be_picked():
    file, pids = recorded()
    assert {stack.comm for stack in folded(file, "--pid", pids["fib"])} == {"fib"}
    assert {stack.comm for stack in folded(file, "--comm", "demo")} == {"demo"}


def equal_on_any_number_of_cpus():
    """By whatever many threads samples are decoded, stacks walked and files asked for names. Of programs
    whose files stay: those of other tests come and go meanwhile."""
    file = new_place("build.raw")
    gosym("record", "-q", "-F", 4999, "-o", file, "--", "g++", "-std=c++17", "-O1", "-c", "-o", "/dev/null",
          FIXTURES / "words.cpp")
    def answers(*command):
        return [gosym(*command, "-q", "-j", jobs, file).out for jobs in (1, 2, 5)]

    for form in (["--stdio", "--top", 0], ["--folded"], ["--json"], ["--tree", "--stdio"], ["--script"],
                 ["--by", "module,line"]):
        alone, *others = answers("report", *form)
        assert alone and others == [alone] * 2, f"{form}: the answer is another on several CPUs"
    pages = [new_place(f"{jobs}.pb") for jobs in (1, 2, 5)]
    for jobs, page in zip((1, 2, 5), pages):
        gosym("report", "-q", "--pprof", page, "-j", jobs, file)
    assert len({page.read_bytes() for page in pages}) == 1, "--pprof: the answer is another on several CPUs"
    other = new_place("other.raw")
    gosym("record", "-q", "-F", 999, "-o", other, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=50000")
    alone, *others = answers("diff", "--json", other)
    assert alone and others == [alone] * 2, "gosym diff: the answer is another on several CPUs"


run([("both programs are found", both_are_found),
     ("reports are equal on any number of CPUs", equal_on_any_number_of_cpus),
     ("pid and name of a sample belong together", pids_and_names_belong_together),
     ("kernel frames have names", kernel_is_named),
     ("kernel symbols that are hidden are told", hidden_kernel_symbols_are_told),
     ("--pid and --comm pick one of them", one_process_can_be_picked)])
