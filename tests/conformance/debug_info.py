#!/usr/bin/python3
"""What debugging information says of native code, against another reader: llvm-symbolizer.

Random code addresses of real programs are asked of both; function, file and line of the whole
chain of inlined calls must be equal. With GOSYM_TEST_ALL also each instruction of some sixty builds,
of which none may be wrong, by the newest LLVM that Debian has for its stable release.
"""
import bisect
import functools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import (FIXTURES, GOSYM, GO_ENVIRONMENT, WORK, Skip, build_templates, call, compiled,  # noqa: E402
                    fetched, go, run)

ADDRESSES = 20000
SEED = 1


def code_addresses(program):
    """Random addresses in functions of the symbol table."""
    ranges = []
    for line in call("nm", "-S", "--defined-only", program).out.splitlines():
        words = line.split()
        if len(words) >= 4 and words[2] in "tTwWi" and int(words[1], 16) > 0:
            ranges.append((int(words[0], 16), int(words[1], 16)))
    ranges = sorted(set(ranges))
    chooser = random.Random(SEED)
    chosen = chooser.choices(ranges, weights=[size for _, size in ranges], k=ADDRESSES)
    return sorted(start + chooser.randrange(size) for start, size in chosen)


def ask(command, addresses):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          input="".join(f"{address:#x}\n" for address in addresses))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def theirs(program, addresses):
    lines = ask(["llvm-symbolizer", f"--obj={program}", "--inlines", "--no-demangle",
                 "--output-style=JSON"], addresses)
    return [[(f["FunctionName"], f["FileName"], f["Line"]) for f in json.loads(line)["Symbol"]]
            for line in lines]


def ours(program, addresses, *options):
    return [[(f["function"], f.get("file", ""), f.get("line", 0))
             for f in json.loads(line)["frames"]]
            for line in ask([GOSYM, "resolve", "--json", "--demangle=none", *options,
                             program], addresses)]


def aliases(program):
    """All names that the linker has for an address."""
    names = {}
    for line in call("nm", "--defined-only", program).out.splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWiu":
            names.setdefault(int(address, 16), set()).add(name.split("@")[0])
    same = {}
    for group in names.values():
        for name in group:
            same.setdefault(name, set()).update(group)
    return same


normal_path = functools.cache(os.path.normpath)


def plain(frames):
    """Names without versions, paths without detours; a line of 0 is unknown, and so is its file."""
    return [(name.split("@")[0], normal_path(file) if line else "", line)
            for name, file, line in frames]


def unscoped(mine, other):
    """Our frames, but functions without a linker's name as the other has them: `f` of `app::f`."""
    return [(theirs[0] if name.endswith("::" + theirs[0]) else name, file, line)
            for (name, file, line), theirs in zip(mine, other)]


def is_equal(mine, other, same):
    """Equal, but that one place may have more than one name in the symbol table."""
    mine, other = plain(mine), plain(other)
    if not mine or len(mine) != len(other):
        return mine == other
    mine = unscoped(mine, other)
    if mine[:-1] != other[:-1]:
        return False
    mine, other = mine[-1], other[-1]
    return mine[1:] == other[1:] and (mine[0] == other[0] or
                                      mine[0] in same.get(other[0], set()))


def compare(program, debug_file, *options):
    """`debug_file` has what `program` itself may not have, and the other reader reads it. Of a
    thousand answers one may differ, as told."""
    addresses = code_addresses(debug_file)
    same = aliases(debug_file)
    answers = list(zip(addresses, ours(program, addresses, *options),
                       theirs(debug_file, addresses)))
    different = [(hex(address), mine, other) for address, mine, other in answers
                 if not is_equal(mine, other, same)]
    inlined = sum(len(mine) > 1 for _, mine, _ in answers)
    print(f"# {len(answers)} addresses, {inlined} in inlined calls, {len(different)} different")
    for row in different[:20]:
        print(f"# {row}")
    assert len(different) <= len(answers) / 1000, f"such as {different[:3]}"


def cpp(compiler, *flags):
    program = build_templates(compiler, *flags)
    compare(program, program)


def stripped():
    """The same answers from a separate file, by debug link and by build id."""
    whole = build_templates("g++", "-gdwarf-5")
    program, debug_file = WORK / "stripped", WORK / "stripped.debug"
    call("objcopy", "--only-keep-debug", whole, debug_file)
    call("strip", "-o", program, whole)
    build_id = re.search(r"Build ID: (\w+)", call("readelf", "-n", whole).out)[1]
    by_id = WORK / "debug" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    by_id.parent.mkdir(parents=True)
    shutil.copy(debug_file, by_id)
    addresses = code_addresses(whole)
    expected = ours(whole, addresses)
    assert ours(program, addresses, "--debug-dir", WORK / "debug") == expected
    by_id.unlink()
    assert ours(program, addresses) != expected
    call("objcopy", f"--add-gnu-debuglink={debug_file}", program)
    assert ours(program, addresses) == expected


def lambdas():
    """The name of the function that a lambda is compiled into has its number."""
    program = compiled("g++", "-std=c++20", "-O1", "-g", FIXTURES / "lambdas.cpp",
                       output=WORK / "lambdas")

    def names_in(scope, number):
        place = re.escape(f"{scope}::{{lambda(int)#{number}}}>::_M_invoke")
        line = re.search(rf"(?m)^(\w+) (\w+) . .*{place}", call("nm", "-C", "-S", program).out)
        begin, size = int(line[1], 16), int(line[2], 16)
        return {name for frames in ours(program, range(begin, begin + size))
                for name, *_ in frames if "_M_invoke" not in name and not name.startswith("std::")}

    for number in "12":
        names = names_in("main", number)
        assert names == {f"main::{{lambda#{number}}}::operator()",
                         "main::{unnamed type#1}::plus"}, names
    for type_name in ("First", "Second"):
        names = names_in(f"(anonymous namespace)::{type_name}::work(int)", "1")
        expected = f"(anonymous namespace)::{type_name}::work::{{lambda#1}}::operator()"
        assert names == {expected}, names


def rust():
    program = compiled("rustc", "--edition", "2021", "-O", "-g", FIXTURES / "shapes.rs",
                       output=WORK / "rust")
    compare(program, program)


def go_program(version):
    """A Go program whose function table is not found, so that DWARF answers."""
    program, bare = WORK / f"go{version}", WORK / f"go{version}-without-table"
    compiled(go(version), "build", "-buildvcs=false", output=program, cwd=FIXTURES / "demo",
             env=GO_ENVIRONMENT)
    section = re.search(r" \.gopclntab +PROGBITS +\w+ (\w+)", call("readelf", "-SW", program).out)
    contents = bytearray(program.read_bytes())
    offset = int(section[1], 16)
    contents[offset:offset + 8] = bytes(8)
    bare.write_bytes(contents)
    compare(bare, program)


def libc():
    """Debian's C library, whose debug file is in a package of its own, made smaller by dwz."""
    library = fetched("debian", "libc6", "lib/x86_64-linux-gnu/libc.so.6")
    notes = call("readelf", "-n", library).out
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    folder = "usr/lib/debug/.build-id"
    debug_file = fetched("debian", "libc6-dbg", f"{folder}/{build_id[:2]}/{build_id[2:]}.debug")
    compare(library, debug_file, "--debug-dir", debug_file[:debug_file.index("/.build-id")])


def constraints():
    """Names as Clang 18 mangles what C++20 constrains, which older demanglers do not read: the source's."""
    source, program = WORK / "constraints.cpp", WORK / "constraints"
    source.write_text("""namespace my {
__attribute__((noinline)) int twice(int v) __asm__("_ZN2my5twiceITkSt8integraliEET_S1_");
int twice(int v) { return v * 2; }
struct Box { int get(int v) __asm__("_ZN2my3Box3getIdEEDaT_Qsr3stdE14floating_pointIS1_E"); };
__attribute__((noinline)) int Box::get(int v) { return v / 2; }
}
int main(int count, char**) { return my::twice(count) + my::Box().get(count); }
""")
    for compiler in ("g++", "clang++"):
        compiled(compiler, "-g", "-O1", source, output=program)
        addresses = [int(line.split()[0], 16) for line in call("nm", program).out.splitlines() if " _ZN2my" in line]
        told = [answer[0][0] for answer in ours(program, addresses)]
        assert sorted(told) == ["my::Box::get", "my::twice"], told


LLVM = "usr/lib/llvm-19"


@functools.cache
def newer_llvm():
    """The words that start a program of an LLVM that is not installed."""
    if os.uname().machine != "x86_64":
        raise Skip("its libraries are fetched for x86-64")
    libraries = [pathlib.Path(fetched("debian", package, f"usr/lib/x86_64-linux-gnu/{name}")).parent
                 for package, name in [("libllvm19", "libLLVM.so.19.1"), ("libclang-cpp19", "libclang-cpp.so.19.1")]]
    return ["env", f"LD_LIBRARY_PATH={':'.join(map(str, libraries))}"]


@functools.cache
def newer_clang():
    """It looks for the linker of its own release beside itself."""
    include = pathlib.Path(fetched("debian", "libclang-common-19-dev", f"{LLVM}/lib/clang/19/include"))
    linker = WORK / "ld.lld"
    linker.symlink_to(fetched("debian", "lld-19", f"{LLVM}/bin/lld"))
    return [*newer_llvm(), fetched("debian", "clang-19", f"{LLVM}/bin/clang"), "--driver-mode=g++",
            f"-resource-dir={include.parent}"], f"--ld-path={linker}"


COMPILERS = {"gcc": lambda: (["g++"], "-fuse-ld=bfd"), "clang 14": lambda: (["clang++-14"], "-fuse-ld=lld"),
             "clang 19": newer_clang}
# Options of the compiler, those that the linker has beside them, and the tool that changes the program then.
KINDS = {"-O2": ("-O2", "", None), "-O0": ("-O0", "", None), "-g1": ("-O2 -g1", "", None),
         "split": ("-O2 -gsplit-dwarf", "", None), "packed": ("-O2 -gsplit-dwarf", "", "llvm-dwp"),
         "LTO": ("-O2 -flto", "-flto -O2", None), "zlib": ("-O2 -gz=zlib", "", None), "zstd": ("-O2", "", "objcopy"),
         "dwz": ("-O2", "", "dwz"), "simple template names": ("-O2 -gsimple-template-names", "", None)}
RUST_KINDS = {"-O": "-O -g", "debug": "-g", "split": "-O -g -Csplit-debuginfo=unpacked",
              "packed": "-O -g -Csplit-debuginfo=packed", "LTO": "-O -g -Clto=fat",
              "lines": "-O -Cdebuginfo=1", "zstd": "-O -g"}


def after_linking(program, tool):
    """The program that the other reader is asked of: it does not read what dwz makes of all versions."""
    whole = program.with_name("whole")
    shutil.copy(program, whole)
    if tool == "llvm-dwp":
        call("llvm-dwp-14", "-e", program, "-o", f"{program}.dwp", cwd=program.parent)
        for split in program.parent.glob("*.dwo"):
            split.unlink()
        return program
    call(*(["dwz", program] if tool == "dwz" else ["objcopy", "--compress-debug-sections=zstd", program]))
    return whole


def instructions(program):
    """Instructions in functions of the symbol table: elsewhere the other reader names the nearest before."""
    ranges = sorted({(int(line.split()[0], 16), int(line.split()[1], 16))
                     for line in call("nm", "-S", "--defined-only", program).out.splitlines()
                     if len(line.split()) >= 4 and line.split()[2] in "tTwWi"})

    def is_in_function(address):
        index = bisect.bisect_right(ranges, (address, 1 << 64))
        return any(begin <= address < begin + size for begin, size in ranges[max(0, index - 4):index])
    code = call("objdump", "-d", "--no-show-raw-insn", program).out
    return [address for address in (int(found, 16) for found in re.findall(r"(?m)^ +([0-9a-f]+):\t", code))
            if is_in_function(address)]


def demangled(names, command):
    names = sorted(names)
    return dict(zip(names, subprocess.run([*map(str, command)], input="\n".join(names), text=True,
                                          capture_output=True, check=True).stdout.splitlines()))


def without_parameters(name):
    """`std::tuple::tuple` of `std::tuple<int>::tuple<true>(int)`."""
    name = name.replace("(anonymous namespace)", "anonymous")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name.partition("(")[0].rpartition(" ")[2]


def by_source(mine, other, readable):
    """Names that older demanglers do not read are the source's on both sides: see constraints()."""
    if len(mine) != len(other):
        return mine, other
    pairs = [((without_parameters(ours[0]), *ours[1:]), (without_parameters(readable[theirs[0]]), *theirs[1:]))
             if theirs[0] in readable else (ours, theirs) for ours, theirs in zip(mine, other)]
    return [one for one, _ in pairs], [one for _, one in pairs]


def none_is_wrong(program, judged):
    addresses = instructions(judged)
    symbolizer = [*newer_llvm(), fetched("debian", "llvm-19", f"{LLVM}/bin/llvm-symbolizer")]
    lines = ask([*symbolizer, f"--obj={judged}", "--inlines", "--no-demangle", "--output-style=JSON"], addresses)
    others = [[(f["FunctionName"], f["FileName"], f["Line"]) for f in json.loads(line)["Symbol"]] for line in lines]
    mangled = {name for frames in others for name, *_ in frames if name.startswith("_Z")}
    unread = {name for name, shown in demangled(mangled, ["c++filt"]).items() if shown == name}
    readable = demangled(unread, [*newer_llvm(), fetched("debian", "llvm-19", f"{LLVM}/bin/llvm-cxxfilt")])
    same = aliases(judged)
    wrong = [(hex(address), mine, other) for address, mine, other in zip(addresses, ours(program, addresses), others)
             if not is_equal(*by_source(mine, other, readable), same)]
    print(f"# {len(addresses)} instructions, {len(wrong)} wrong")
    assert addresses and not wrong, wrong[0]


def build(compiler, version, kind):
    command, link = COMPILERS[compiler]()
    flags, link_flags, tool = KINDS[kind]
    place = WORK / f"{compiler}-{version}-{kind}".replace(" ", "-")
    place.mkdir()
    call(*command, "-std=c++17", f"-gdwarf-{version}", *flags.split(), "-c", FIXTURES / "inlined.cpp", "-o",
         "inlined.o", cwd=place)
    link = [link] if "-flto" in flags and compiler != "gcc" else []
    call(*command, *link_flags.split(), *link, "inlined.o", "-o", "program", cwd=place)
    judged = after_linking(place / "program", tool) if tool else place / "program"
    none_is_wrong(place / "program", judged)


def build_rust(version, kind):
    place = WORK / f"rust-{version}-{kind}"
    place.mkdir()
    done = call("rustc", "--edition", "2021", *RUST_KINDS[kind].split(), f"-Cllvm-args=-dwarf-version={version}",
                FIXTURES / "shapes.rs", "-o", "program", cwd=place, check=False)
    if "unstable on this platform" in done.err:
        raise Skip("older than Rust 1.65")
    assert done.status == 0, done.err
    judged = after_linking(place / "program", "objcopy") if kind == "zstd" else place / "program"
    none_is_wrong(place / "program", judged)


def builds():
    for version in (4, 5):
        for compiler in COMPILERS:
            for kind in KINDS:
                # dwz does not know the section .debug_addr of clang's DWARF 5.
                if (kind != "simple template names" if compiler == "gcc" else version == 4 or kind != "dwz"):
                    yield f"{compiler}, DWARF {version}, {kind}", functools.partial(build, compiler, version, kind)
        for kind in RUST_KINDS if shutil.which("rustc") else []:
            yield f"rustc, DWARF {version}, {kind}", functools.partial(build_rust, version, kind)


run([(f"C++ by {compiler}, DWARF {version}: as llvm-symbolizer has it",
      lambda compiler=compiler, version=version: cpp(compiler, f"-gdwarf-{version}"))
     for compiler in ("g++", "clang++") for version in (4, 5)] +
    [("libc with its debug file: as llvm-symbolizer has it", libc),
     ("C++ stripped, with a separate debug file: as before", stripped),
     ("lambdas of g++: as the symbol table tells them apart", lambdas),
     ("names with constraints of C++20: as the source has them", constraints)] +
    [("Rust: as llvm-symbolizer has it", rust)] * (shutil.which("rustc") is not None) +
    [(f"Go {version} without its function table: as llvm-symbolizer has it",
      lambda version=version: go_program(version)) for version in ("1.19", "1.27")] +
    (list(builds()) if "GOSYM_TEST_ALL" in os.environ else []), root=False)
