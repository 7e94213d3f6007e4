#!/usr/bin/python3
"""Unwind rules against readelf: those of native code, from .eh_frame, at random addresses; those of
Go, from its stack depths, at every row of the .debug_frame that Go's linker wrote. And those told
from code without tables against the tables of code that has them.
"""
import bisect
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import FIXTURES, GO_ENVIRONMENT, GOSYM, WORK, call, go, run  # noqa: E402

RULES = os.path.abspath(sys.argv[2])
ADDRESSES = 20000
SEED = 1

# readelf's names of the stack pointer and the frame pointer; that of the return address is "ra".
# `has_link`: it is in a register where nothing else is said.
Machine = collections.namedtuple("Machine", "names has_link", defaults=[False])
X86_64 = Machine({"rsp": "sp", "rbp": "fp", "c": "cfa"})
ARM64 = Machine({"sp": "sp", "x29": "fp", "c": "cfa"}, has_link=True)

# Functions of Go that switch stacks or leave their return address in a register (none), end a stack
# (root), or have a frame of their own making (lost), with the suffixes of their names taken off.
SPECIAL = {
    "none": """gogo runtime.asmcgocall runtime.asyncPreempt runtime.call1073741824
        runtime.callCgoMmap runtime.callCgoMunmap runtime.callCgoSigaction runtime.clone
        runtime.debugCallV2 runtime.mcall runtime.morestack runtime.morestack_noctxt
        runtime.nanotime1 runtime.sigfwd runtime.switchToCrashStack0 runtime.systemstack
        runtime.vgetrandom1 runtime.walltime syscall.rawVforkSyscall time.now""".split(),
    "root": """gogo runtime.goexit runtime.mcall runtime.morestack runtime.mstart runtime.rt0_go
        runtime.sigtramp""".split(),
    "lost": ["runtime.debugCallV2"],
}

Row = collections.namedtuple("Row", "begin end cells entry is_signal")

STUB = ("DW_OP_breg7 (rsp): 8; DW_OP_breg16 (rip): 0; DW_OP_lit15; DW_OP_and; DW_OP_lit11; "
        "DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus")


def readelf(option, file, section):
    """The lines of a section, with the offset of the entry that each is of."""
    entry = None
    is_wanted = False
    dump = call("readelf", f"--debug-dump={option}", "--debug-dump=no-follow-links", file)
    for line in dump.out.splitlines():
        if found := re.match(r"Contents of the (\S+) section", line):
            is_wanted = found[1] == section
        elif is_wanted:
            if found := re.match(r"(\w+) \w+ \w+ (?:CIE|FDE)", line):
                entry = found[1]
            yield entry, line


def read_expressions(file, section):
    """By entry and name of the register. No entry of a compiler has two of one."""
    found = re.compile(r"  DW_CFA_(?:def_cfa_expression|expression: r\d+ \((\w+)\)) \((.*)\)")
    return {(entry, match[1] or "CFA"): match[2]
            for entry, line in readelf("frames", file, section) if (match := found.match(line))}


def read_rows(file, section):
    """All rows of a section, by address."""
    rows = []
    setups = {}
    names = []
    for entry, line in readelf("frames-interp", file, section):
        words = re.sub(r"(r\d+) \(\w+\)", r"\1", line).split()
        if "CIE" in words:
            setups[entry] = [{}, "S" in words[4]]
            setup, end = setups[entry], None
        elif "FDE" in words:
            setup = setups[words[4].removeprefix("cie=")]
            begin, end = (int(word, 16) for word in words[5].removeprefix("pc=").split(".."))
            rows.append(Row(begin, end, setup[0], entry, setup[1]))
        elif words[:1] == ["LOC"]:
            names = words[1:]
        elif words and re.fullmatch(r"\w{16}", words[0]):
            begin, cells = int(words[0], 16), dict(zip(names, words[1:], strict=True))
            if end is None:
                setup[0] = cells
                continue
            last = rows.pop()
            if last.begin < begin:
                rows.append(last._replace(end=begin))
            rows.append(Row(begin, end, cells, entry, setup[1]))
    assert rows, f"{file}: no rows"
    return sorted(rows, key=lambda row: row.begin)


def place(text, machine):
    """A place as ours is printed; None if it is none that a rule can have."""
    found = re.fullmatch(r"(?:DW_OP_breg\d+ )?\(?(\w+?)\)?(?:: )?([+-]?\d+)", text)
    anchor = found and machine.names.get(found[1])
    return anchor and f"{anchor}{int(found[2]):+}"


def expected_cfa(text, address, machine):
    if text == STUB:
        return f"sp+{16 if address % 16 >= 11 else 8}"
    loaded = text.removesuffix("; DW_OP_deref")
    found = place(loaded, machine)
    return f"[{found}]" if found and loaded != text else found


def expected(row, address, expressions, machine):
    """The rule of a row as ours is printed."""
    def cell(name, alias):
        text = row.cells.get(name, "u")
        return expressions[row.entry, alias] if text == "exp" else text

    cfa = expected_cfa(cell("CFA", "CFA"), address, machine)
    return_address = cell("ra", "rip")
    frame_name = next(name for name, anchor in machine.names.items() if anchor == "fp")
    frame = cell(frame_name, frame_name)
    if return_address in ("u", "s") and machine.has_link:
        return_address = "link"
    elif return_address == "u":
        return "root"
    else:
        return_address = place(return_address, machine)
    if not cfa or not return_address:
        return "evaluated"
    frame = "same" if frame in ("u", "s") else place(frame, machine) or "lost"
    return f"{cfa} {return_address} {frame}" + " signal" * row.is_signal


def ask(kind, file, addresses):
    done = subprocess.run([RULES, kind, str(file)], capture_output=True, text=True,
                          input="".join(f"{address:x}\n" for address in addresses))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def agrees(file, machine=X86_64):
    expressions = read_expressions(file, ".eh_frame")
    rows = read_rows(file, ".eh_frame")
    begins = [row.begin for row in rows]
    end = max(row.end for row in rows)
    chooser = random.Random(SEED)
    addresses = [chooser.randrange(begins[0], end) for _ in range(ADDRESSES)]
    different = []
    kinds = collections.Counter()
    for address, answer in zip(addresses, ask("dwarf", file, addresses), strict=True):
        row = rows[bisect.bisect(begins, address) - 1]
        has_row = address < row.end
        judged = expected(row, address, expressions, machine) if has_row else "none"
        kinds["outside" if not has_row else
              judged if judged in ("none", "root") else "rule"] += 1
        if answer != judged:
            different.append((hex(address), answer, judged))
    print(f"# {pathlib.Path(file).name}: {dict(kinds)}, {len(different)} different")
    assert not different, f"such as {different[:3]}"


def sampled_instructions(file):
    """The addresses of some, without what aligns functions and what is never returned from."""
    listing = call("objdump", "--disassemble", "--wide", "--no-show-raw-insn", "--section=.text", file)
    found = re.findall(r"^ *([0-9a-f]+):\t(?!nop|data16|cs nop|xchg +%ax|int3|hlt|ud2)", listing.out,
                       re.MULTILINE)
    return [int(address, 16) for address in random.Random(SEED).sample(found, ADDRESSES)]


def code_agrees(file):
    """The compiler's tables say where the caller is from the stack pointer, the code must say the
    same, or from rbp. Hand-written code of the C library has tables that leave pushes out."""
    addresses = sampled_instructions(file)
    kinds = collections.Counter()
    different = []
    for address, table, code in zip(addresses, ask("dwarf", file, addresses),
                                    ask("code", file, addresses), strict=True):
        is_judged = table not in ("none", "root", "evaluated") and not table.startswith("[")
        if not is_judged or code == "none":
            kinds["not judged" if not is_judged else "no answer"] += 1
            continue
        is_same = table.split()[:2] == code.split()[:2]
        # The same place from two registers cannot be compared here.
        is_open = not is_same and table[:2] != code[:2]
        kinds["same" if is_same else "of another register" if is_open else "different"] += 1
        if not is_same and not is_open:
            different.append((hex(address), table, code))
    print(f"# {pathlib.Path(file).name}: {dict(kinds)}, such as {different[:3]}")
    total = kinds.total() - kinds["not judged"]
    assert len(different) <= 0.002 * total, f"{len(different)} of {total}"
    assert kinds["same"] >= 0.88 * total, "too few are answered"


def symbol_names(file):
    """Of functions, by address."""
    lines = call("nm", file).out
    return {int(address, 16): name
            for address, name in re.findall(r"^(\w+) [tT] (\S+)$", lines, re.MULTILINE)}


def from_cfa(rule):
    """Places counted from the CFA, without the frame pointer, which Go's linker does not describe."""
    cfa, return_address, *_ = rule.split()
    if return_address.startswith("sp"):
        return_address = f"cfa{int(return_address[2:]) - int(cfa[2:]):+}"
    return cfa, return_address


def moved_up(rule, distance):
    """What from_cfa() gives, of a CFA that lies so much higher."""
    cfa, return_address = rule
    if return_address.startswith("cfa"):
        return_address = f"cfa{int(return_address[3:]) - distance:+}"
    return f"sp{int(cfa[2:]) + distance:+}", return_address


def build_go(version, architecture):
    program = pathlib.Path(tempfile.mkdtemp(dir=WORK)) / "demo"
    call(go(version), "build", "-buildvcs=false", "-o", program, cwd=FIXTURES / "demo",
         env={**GO_ENVIRONMENT, "GOARCH": architecture})
    return program


def go_agrees(program, machine=X86_64):
    """Both ends of every row are asked of a stripped copy."""
    stripped = program.with_suffix(".stripped")
    call("llvm-objcopy", "--strip-all", program, stripped)

    names = symbol_names(program)
    begins = sorted(names)
    rows = read_rows(program, ".debug_frame")
    questions = [(row, address) for row in rows for address in (row.begin, row.end - 1)]
    answers = ask("go", stripped, [address for _, address in questions])
    different = []
    for (row, address), answer in zip(questions, answers, strict=True):
        function = names[begins[bisect.bisect(begins, address) - 1]].removesuffix(".abi0")
        kind = answer.split()[-1]
        if kind in SPECIAL:
            assert function in SPECIAL[kind], f"{address:#x}, {function}: {answer}"
        # What a signal handler returns to lies in the registers that were saved.
        is_handler = function.startswith("runtime.sigreturn") and kind == "signal"
        if kind in ("none", "root") or is_handler:
            continue
        judged = from_cfa(expected(row, address, {}, machine))
        # The linker does not tell that a handler has saved the link register above what is called in
        # place of the interrupted code (preparePanic() and pushCall() of signal_arm64.go).
        if kind == "signal" and machine.has_link:
            judged = moved_up(judged, 16)
        if from_cfa(answer) != judged:
            different.append((hex(address), function, answer, row))
    print(f"# {len(questions)} addresses, {len(different)} different")
    assert not different, f"such as {different[:3]}"


def build(compiler, *flags):
    file = WORK / f"frames-{compiler}{''.join(flags)}.so"
    call(compiler, "-fPIC", "-shared", "-nostdlib", "-fomit-frame-pointer",
         "-fasynchronous-unwind-tables", *flags, HERE / "frames.c", "-o", file)
    return file


def small_programs():
    for compiler in ("gcc", "clang"):
        for level in ("-O0", "-O2"):
            agrees(build(compiler, level))
    for level in ("-O0", "-O2"):
        agrees(build("clang", level, "--target=aarch64-linux-gnu", "-fuse-ld=lld"), ARM64)


run([
    *((f"{name}: as readelf has it",
       lambda name=name: agrees(call("gcc", f"-print-file-name={name}").out.strip()))
      for name in ("libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "/usr/bin/python3")),
    *((f"{name}: what its code says is as its tables have it",
       lambda name=name: code_agrees(call("gcc", f"-print-file-name={name}").out.strip()))
      for name in ("libc.so.6", "libstdc++.so.6", "libcrypto.so.3")),
    ("C without frame pointers, by gcc and clang: as readelf has it", small_programs),
    *((f"Go {version}: as its linker has it",
       lambda version=version: go_agrees(build_go(version, "amd64")))
      for version in ("1.19", "1.25", "1.27")),
    ("Go 1.27 for 64-bit ARM: as its linker has it",
     lambda: go_agrees(build_go("1.27", "arm64"), ARM64)),
], root=False)
