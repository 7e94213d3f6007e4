#!/usr/bin/python3
"""gosym resolve --pid: addresses of running processes and of the kernel, and what has no name."""
import json
import pathlib
import re
import subprocess

from common import (GOSYM, WITHOUT_RIGHTS, WORK, build_demo, build_fib, call, code_of, gosym, run,
                    running, running_jit)

FOREVER = 1 << 62
LIBC = "/libc.so.6"

def load_bias(mapping):
    """What is to be added to an address of the file."""
    for line in call("readelf", "-lW", mapping.file).out.splitlines():
        if found := re.match(r" *LOAD +(0x\w+) (0x\w+) .* R E ", line):
            offset, address = int(found[1], 16), int(found[2], 16)
            return mapping.start - mapping.offset + offset - address
    raise AssertionError(f"no code in {mapping.file}")


def symbols(file, *options):
    """Address and size of each function, by name without its version."""
    found = {}
    for line in call("nm", "-S", *options, file).out.splitlines():
        match line.split():
            case [address, size, "T" | "t" | "i" | "W", name]:
                found[name.partition("@")[0]] = range(int(address, 16),
                                                      int(address, 16) + int(size, 16))
    return found


def resolve(pid, *addresses, options=()):
    done = gosym("resolve", "--pid", pid, *options, *(f"{a:x}" for a in addresses))
    assert not done.err, done.err
    return done.out.splitlines()


def answers(pid, *addresses):
    return [json.loads(line) for line in resolve(pid, *addresses, options=["--json"])]


def functions(answer):
    return [frame["function"] for frame in answer["frames"]]


def every_byte_of_a_function():
    for flags in [["-fno-pie", "-no-pie"], ["-fpie", "-pie"]]:
        program = build_fib(*flags)
        with running(program) as pid:
            bias = load_bias(code_of(pid, "/fib")) if "-pie" in flags else 0
            function = symbols(program)["fibNaive"]
            asked = [bias + address for address in range(function[0] - 1, function[-1] + 2)]
            got = answers(pid, *asked)
        assert [int(a["address"], 16) for a in got] == asked
        assert [int(a["image_address"], 16) for a in got] == [a - bias for a in asked]
        assert {a["image"] for a in got} == {str(program)}
        assert all(functions(a) == ["fibNaive"] for a in got[1:-1]), got
        assert functions(got[0]) != ["fibNaive"] != functions(got[-1]), got


def as_in_the_binary():
    """With inlined calls and lines, at random places of Go's code."""
    program = build_demo("debian", "-ldflags=-s -w", "-buildmode=pie")
    with running(program, 600) as pid:
        code = code_of(pid, "/demo")
        bias = load_bias(code)
        # The last page holds more than the segment.
        places = range(code.start, code.limit - 4096, (code.limit - code.start) // 2000)
        got = answers(pid, *places)
    wanted = [json.loads(line) for line in
              gosym("resolve", "--json", program, *(f"{p - bias:x}" for p in places)).out.splitlines()]
    assert sum(len(answer["frames"]) > 1 for answer in got) > 10
    for one, other in zip(got, wanted, strict=True):
        assert one["image_address"] == other["address"], f"{one}, not {other}"
        assert one["frames"] == other["frames"], f"{one}, not {other}"


def libraries_vdso_and_kernel():
    program = build_fib()
    kernel = {name: int(address, 16) for address, kind, name, *module in
              map(str.split, pathlib.Path("/proc/kallsyms").read_text().splitlines())
              if kind == "T" and not module}
    with running(program) as pid:
        libc = code_of(pid, LIBC)
        printf = load_bias(libc) + symbols(libc.file, "-D")["printf"][0]
        vdso = code_of(pid, "[vdso]")
        got = answers(pid, printf + 1, kernel["vfs_read"] + 4, *range(vdso.start, vdso.limit, 64))
    assert functions(got[0]) == ["printf"] and got[0]["image"] == libc.file, got[0]
    assert functions(got[1]) == ["vfs_read"] and got[1]["frames"][0]["source"] == "kallsyms", got[1]
    assert ["__vdso_clock_gettime"] in map(functions, got[2:]), got[2:]
    assert {frame["source"] for answer in got[2:] for frame in answer["frames"]} == {"vdso"}


def code_made_at_run_time():
    with running_jit("anon", FOREVER, "made here") as pid:
        got = resolve(pid, 0x100000000, 0x100000006)
    assert got == ["0x100000000 made here",
                   "0x100000006 ?? (made at run time, and not in the perf map)"], got
    with running_jit("memfd", FOREVER) as pid:
        got = resolve(pid, 0x100000000)
    assert got == ["0x100000000 ?? (made at run time, and the process has no perf map) "
                   "/memfd:code"], got


def a_conversation_until_the_process_ends():
    with running(build_fib("-fno-pie", "-no-pie")) as pid:
        asked = f"{symbols(f'/proc/{pid}/exe')['fibNaive'][0]:x}"
        resolver = subprocess.Popen([GOSYM, "resolve", "-p", str(pid)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3):
            resolver.stdin.write(asked + "\n")
            resolver.stdin.flush()
            assert resolver.stdout.readline() == f"0x{asked} fibNaive\n"
    out, err = resolver.communicate(asked + "\n", timeout=60)
    assert (resolver.returncode, out, err) == \
        (5, "", f"gosym: error: process {pid} has ended\n"), (resolver.returncode, out, err)


def missing_rights_are_told():
    with running(build_fib()) as pid:
        done = call(*WITHOUT_RIGHTS, "resolve", "-p", pid, "1000", check=False)
    assert done.status == 4, done
    assert done.err.startswith(f"gosym: error: cannot look into process {pid}: "), done.err
    assert "gosym: hint: " in done.err, done.err


def own_processes_need_no_rights():
    program = build_fib("-fno-pie", "-no-pie")
    WORK.chmod(0o777)
    program.parent.chmod(0o755)
    asked = symbols(program)["fibNaive"][0]
    with running(program, user=65534) as pid:
        done = call(*WITHOUT_RIGHTS, "resolve", "-p", pid, f"{asked:x}", "ffffffff81000000")
    assert done.out == f"0x{asked:x} fibNaive\n0xffffffff81000000 ?? (/proc/kallsyms hides " \
        "addresses: it takes CAP_SYSLOG) [kernel.kallsyms]\n", done


run([("every byte of a function, and none beside it", every_byte_of_a_function),
     ("the same answers as for the binary", as_in_the_binary),
     ("libraries, the vdso and the kernel", libraries_vdso_and_kernel),
     ("code that was made at run time", code_made_at_run_time),
     ("a conversation, until the process ends", a_conversation_until_the_process_ends),
     ("missing rights are told", missing_rights_are_told),
     ("one's own processes take no rights", own_processes_need_no_rights)])
