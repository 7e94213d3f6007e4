#!/usr/bin/python3
"""Each sample has the names of what ran when it was taken: of the program, the process and the thread."""
import os
import re
import shutil
import time

from common import (FIXTURES, GOSYM, SLOW, Skip, build_spin, call, folded, gosym, new_place, pprof, run, running,
                    running_jit)

RATE = 99 if SLOW else 999
TURNS = 3 if SLOW else 25
FOREVER = 1 << 62


# A thread of its own works.
JAVA = """
public class Work {
  public static void main(String[] words) throws Exception {
    Thread worker = new Thread(() -> {
      long sum = 0;
      for (long end = System.nanoTime() + 300_000_000; System.nanoTime() < end;)
        sum += sum * 31 + 1;
      System.out.println(sum);
    }, "cruncher-1");
    worker.start();
    worker.join();
  }
}
"""


def steps(name="steps"):
    program = new_place(name)
    call("gcc", "-O1", "-g", "-pthread", "-D_GNU_SOURCE", FIXTURES / "steps.c", "-o", program)
    return program


def repeated(command, *options):
    """A recording of a shell that runs a command some times."""
    file = new_place("cpu.raw")
    words = " ".join(str(word) for word in command)
    gosym("record", "-q", "-F", RATE, "-o", file, *options, "--", "sh", "-c",
          f"i=0; while [ $i -lt {TURNS} ]; do {words}; i=$((i + 1)); done")
    return file


def two_cpus():
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise Skip("one CPU")
    return allowed[0], allowed[-1]


def by_function(file, *options):
    """Samples of the functions of steps.c, and of unknown code, by name of the thread and function.
    While the kernel executes a program none of it runs yet, and where the one before called is gone.
    """
    counts = {}
    for stack in folded(file, *options):
        if "load_elf_binary_[k]" in stack.frames:
            continue
        for name in ("first", "second", "[no mapping]"):
            if name in stack.frames:
                counts[stack.comm, name] = counts.get((stack.comm, name), 0) + stack.count
    return counts


def exec_on_another_cpu(*options):
    """Rings are read one CPU after the other: the program before the exec is in the last."""
    for here, there in (two_cpus(), two_cpus()[::-1]):
        file = repeated([steps(), "name", "before", "cpu", here, "first", 10, "cpu", there, "exec",
                         "name", "after", "second", 10], *options)
        counts = by_function(file)
        print(f"# from {here} to {there}: {counts}")
        assert set(counts) == {("before", "first"), ("after", "second")}, counts
        assert min(counts.values()) > 0.3 * sum(counts.values()), counts


def execs_in_a_row():
    here, there = two_cpus()
    step = ["cpu", here, "first", 3, "cpu", there, "exec"]
    file = repeated([steps(), *step, "second", 3, *step, "second", 3, *step, "second", 3])
    counts = by_function(file)
    print(f"# {counts}")
    assert set(counts) == {("exe", "first"), ("exe", "second"), ("steps", "first")}, counts


def is_a_process_named(file, name, thread):
    """In all that shows processes, though a thread of another name did the work."""
    told = gosym("report", file).out
    assert re.search(rf"^processes +{name} \(\d+\) 100.0 %$", told, re.MULTILINE), told
    rows = [line.split(",") for line in gosym("report", file, "--csv", "--by", "process").out.splitlines()]
    assert re.fullmatch(rf"{name} \(\d+\)", rows[1][rows[0].index("process")]), rows
    both = gosym("report", file, "--by", "process,thread").out
    assert re.search(rf"{name} \(\d+\)[\s\S]* {thread} \(\d+\)", both), both
    labels = [sample.labels for sample in pprof(file, "--comm", thread).samples]
    assert {(each["process"], each["thread"]) for each in labels} == {(name, thread)}, labels
    page = file.with_suffix(".html")
    gosym("report", file, "--html", page)
    assert f"{name} (" in gosym("report", page).out.splitlines()[2]
    assert thread in {stack.comm for stack in folded(file, "--comm", name)}
    assert {stack.comm for stack in folded(file, "--comm", thread)} == {thread}


def process_of_a_worker():
    """Its first thread does nothing, or has ended."""
    for step in ("thread", "leave"):
        program = steps("server")
        file = new_place("cpu.raw")
        gosym("record", "-q", "-F", RATE, "-o", file, "--", program, step, "name", "worker-7", "first", 200)
        file_of_all = new_place("cpu.raw")
        gosym("record", "-q", "-a", "-F", RATE, "-o", file_of_all, "--",
              program, step, "name", "worker-7", "first", 200)
        is_a_process_named(file, "server", "worker-7")
        told = gosym("report", file_of_all, "--by", "process", "--comm", "server").out
        assert re.search(r" server \(\d+\)", told) and "worker-7 (" not in told, told


def java():
    """Its first thread waits for the others."""
    if not shutil.which("java"):
        raise Skip("no java")
    place = new_place("Work.java")
    place.write_text(JAVA)
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", RATE, "-o", file, "--", "java", "-Xint", place)
    told = gosym("report", file, "--by", "process").out
    assert re.search(r"^processes +java \(\d+\) 100.0 %$", told, re.MULTILINE), told
    by_thread = gosym("report", file, "--by", "thread").out
    assert "cruncher-1 (" in by_thread, by_thread
    assert "cruncher-1" in {stack.comm for stack in folded(file, "--comm", "java")}


def python_that_executes():
    """Its code is none of ours: it has to lie in files."""
    here, there = two_cpus()
    program = ("import os; os.sched_setaffinity(0, [%d]); sum(range(300000)); "
               "os.sched_setaffinity(0, [%d]); os.execv('/usr/bin/perl', "
               "['perl', '-e', 'my $s = 0; $s += $_ for 1 .. 200000'])" % (there, here))
    file = repeated(["/usr/bin/python3", "-I", "-c", f'"{program}"'])
    stacks = [stack for stack in folded(file) if stack.comm in ("python3", "perl")]
    for name in ("python3", "perl"):
        assert sum(stack.count for stack in stacks if stack.comm == name) > TURNS, stacks
    lost = sum(stack.count for stack in stacks if "[no mapping]" in stack.frames)
    assert lost == 0, f"{lost} of {sum(stack.count for stack in stacks)}"


def thread_that_renames_itself():
    """It has the name of the time of each sample, also before anything else is known of it."""
    file = repeated([steps(), "fork", "thread", "name", "one", "first", 10, "name", "two", "second", 10])
    counts = by_function(file)
    print(f"# {counts}")
    right = counts.get(("one", "first"), 0) + counts.get(("two", "second"), 0)
    assert right >= 0.98 * sum(counts.values()), counts


def library_of(name):
    """A library that works in a local function of this name for about a millisecond."""
    library = new_place(f"lib{name}.so")
    code = library.with_suffix(".c")
    code.write_text(f"""
        __attribute__((noinline)) static void {name}(void) {{ for (volatile int i = 0; i < 300000; i++) {{}} }}
        void work(void) {{ {name}(); __asm__(""); }}
        """)
    call("gcc", "-shared", "-fPIC", "-g", "-O1", code, "-o", library)
    return library


def code_that_another_process_maps(*options):
    """A child that has its parent's memory runs what the parent loads: no event of its own tells of it."""
    program = new_place("shared_memory")
    call("gcc", "-O1", "-g", "-D_GNU_SOURCE", FIXTURES / "shared_memory.c", "-ldl", "-o", program)
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", RATE, "-o", file, *options, "--", program, 300,
          library_of("of_library"))
    counts = {name: sum(stack.count for stack in folded(file) if name in stack.frames)
              for name in ("child_works", "of_library", "[no mapping]")}
    print(f"# {counts}")
    assert counts.pop("[no mapping]") <= 0.01 * sum(counts.values()), counts
    assert min(counts.values()) > 0.2 * sum(counts.values()), counts


def in_time_namespace(shift, *command):
    """Its monotonic clock is not the kernel's, by so many seconds."""
    return call("unshare", "--time", "--monotonic", shift, *command)


def clocks_of_others():
    """One ahead of the kernel's, and one behind, which no clock is before it was started."""
    probe = call("unshare", "--time", "--monotonic", 1, "true", check=False)
    if probe.status != 0:
        raise Skip("no time namespaces")
    return 3600, -int(time.monotonic() / 2)


def recorder_in_time_namespace(*options):
    program = steps()
    for shift in clocks_of_others():
        file = new_place("cpu.raw")
        in_time_namespace(shift, GOSYM, "record", "-q", "-F", RATE, "-o", file, *options, "--",
                          program, "first", 100, "fork", "second", 100)
        counts = by_function(file)
        print(f"# {shift} s: {counts}")
        assert set(counts) == {("steps", "first"), ("steps", "second")}, counts
        assert min(counts.values()) > 0.3 * sum(counts.values()), counts


def waits_in_time_namespace():
    for shift in clocks_of_others():
        file = new_place("cpu.raw")
        begin = time.monotonic_ns()
        in_time_namespace(shift, GOSYM, "record", "-q", "-e", "off-cpu", "-o", file, "--", "/bin/sleep", "0.3")
        end = time.monotonic_ns()
        waits = [stack for stack in folded(file, "--event", "off-cpu") if stack.comm == "sleep"]
        waited = sum(stack.count for stack in waits if any("nanosleep" in frame for frame in stack.frames))
        assert 300_000_000 <= waited <= end - begin, (shift, waits)
        assert not any("[no mapping]" in stack.frames for stack in waits), waits


def other_clocks_in_time_namespace():
    """The screen is due, goroutines are looked at, and maps of JIT code are as old as they are."""
    for shift in clocks_of_others():
        told = in_time_namespace(shift, GOSYM, "doctor").out
        side = "ahead of" if shift > 0 else "behind"
        assert re.search(f"^monotonic clock +{abs(shift)} s {side} the kernel's", told, re.MULTILINE), told
        with running(build_spin()) as pid:
            told = in_time_namespace(shift, GOSYM, "top", "-p", pid, "-d", "1s", "-b").out
            assert "busy" in told, told
        file = new_place("cpu.raw")
        with running_jit("anon", FOREVER, "made") as pid:
            in_time_namespace(shift, GOSYM, "record", "-q", "-F", RATE, "-o", file, "-p", pid, "-d", "1s")
        assert "made" in {frame for stack in folded(file) for frame in stack.frames}, gosym("report", file)
    assert re.search("^monotonic clock +the kernel's$", gosym("doctor").out, re.MULTILINE)


run([("a program that goes to another CPU and executes", exec_on_another_cpu),
     ("the same by perf_event's call chains", lambda: exec_on_another_cpu("--sampler", "perf")),
     ("the same of all processes", lambda: exec_on_another_cpu("-a")),
     ("programs that execute one after the other", execs_in_a_row),
     ("python that executes perl", python_that_executes),
     ("a process whose worker has a name", process_of_a_worker),
     ("java", java),
     ("a thread that renames itself", thread_that_renames_itself),
     ("code that another process with the same memory maps", code_that_another_process_maps),
     ("the same by perf_event", lambda: code_that_another_process_maps("--sampler", "perf")),
     ("a recorder in a time namespace", recorder_in_time_namespace),
     ("one by perf_event's call chains", lambda: recorder_in_time_namespace("--sampler", "perf")),
     ("waits that it records", waits_in_time_namespace),
     ("what else it reads a clock for", other_clocks_in_time_namespace)])
