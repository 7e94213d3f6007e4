#!/usr/bin/python3
"""The names of stripped code against nm and objdump: what is in a symbol, what is in none, and the
stubs through which libraries are called.
"""
import bisect
import collections
import json
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import FIXTURES, GOSYM, WORK, build_fib, call, run  # noqa: E402

ADDRESSES = 20000
SEED = 1

# Sources that answer where no symbol with a size lies.
BESIDE_SYMBOLS = {"plt", "label, guess"}

CALLS = HERE / "library_calls.c"

Symbol = collections.namedtuple("Symbol", "start size type name")
Answer = collections.namedtuple("Answer", "name source")


def library(name):
    return pathlib.Path(call("gcc", f"-print-file-name={name}").out.strip())


def without_debug_file(file):
    """A copy that does not lead to it. Not for nm: objcopy gives symbols the wrong sections."""
    copy = WORK / file.name
    call("objcopy", "-R", ".note.gnu.build-id", "-R", ".gnu_debuglink", file, copy)
    return copy


def ask(file, addresses):
    done = subprocess.run([GOSYM, "resolve", "--json", "--demangle", "none", str(file)],
                          capture_output=True, text=True,
                          input="".join(f"{address:x}\n" for address in addresses))
    assert done.returncode == 0, done.stderr
    frames = [json.loads(line)["frames"] for line in done.stdout.splitlines()]
    assert len(frames) == len(addresses)
    return [Answer(found[0]["function"], found[0]["source"]) if found else None
            for found in frames]


def code_ranges(file):
    """Executable sections: address and size."""
    sections = call("readelf", "-SW", file).out
    return [(int(address, 16), int(size, 16)) for address, size in
            re.findall(r"^ *\[.*?(\w{16}) \w+ (\w+) \w+ +AX ", sections, re.MULTILINE)]


def pick_addresses(file):
    ranges = code_ranges(file)
    chooser = random.Random(SEED)
    chosen = chooser.choices(ranges, weights=[size for _, size in ranges], k=ADDRESSES)
    return [start + chooser.randrange(size) for start, size in chosen]


def read_symbols(file):
    """Of functions, without versions, by address."""
    lines = call("nm", "-DS", "--defined-only", file).out
    return sorted(Symbol(int(start, 16), int(size, 16), type, name.partition("@")[0])
                  for start, size, type, name in
                  re.findall(r"^(\w+) (\w+) ([TtWwi]) (\S+)$", lines, re.MULTILINE))


def find_aliases(symbols, longest, address):
    """Those that hold the address and begin last, where no symbol is larger than `longest`."""
    end = bisect.bisect(symbols, address, key=lambda symbol: symbol.start)
    begin = bisect.bisect(symbols, address - longest, key=lambda symbol: symbol.start)
    holders = [symbol for symbol in symbols[begin:end] if address < symbol.start + symbol.size]
    last = max((symbol.start for symbol in holders), default=0)
    return [symbol for symbol in holders if symbol.start == last]


def expected_names(aliases):
    """The one by the rule; nm shows no binding of IFUNCs ('i'), so there it may be any."""
    if any(symbol.type == "i" for symbol in aliases):
        return {symbol.name for symbol in aliases}
    best = min(aliases, key=lambda symbol: ("TWt".find(symbol.type.replace("w", "W")),
                                            -symbol.size, len(symbol.name), symbol.name))
    return {best.name}


def agrees_with_nm(name):
    file = library(name)
    symbols = read_symbols(file)
    longest = max(symbol.size for symbol in symbols)
    addresses = pick_addresses(file)
    inside = guessed = 0
    for address, answer in zip(addresses, ask(without_debug_file(file), addresses)):
        aliases = find_aliases(symbols, longest, address)
        inside += bool(aliases)
        guessed += not aliases and answer is not None
        if aliases:
            assert answer and answer.source == "dynsym" and \
                answer.name in expected_names(aliases), f"{address:#x}: {answer}, not {aliases}"
        else:
            assert answer is None or answer.source in BESIDE_SYMBOLS, f"{address:#x}: {answer}"
    assert inside > ADDRESSES / 20
    print(f"# {name}: {inside} of {ADDRESSES} in symbols, {guessed} in stubs and after labels")


def objdump_stubs(objdump, file):
    """Each instruction of a stub, with its name."""
    sections = re.findall(r"\] (\.plt\S*)", call("readelf", "-SW", file).out)
    chosen = [word for section in sections for word in ("-j", section)]
    stubs = {}
    name = None
    for line in call(objdump, "-d", "--no-show-raw-insn", *chosen, file).out.splitlines():
        if found := re.match(r"\w+ <(.*)>:$", line):
            name = found[1] if found[1].endswith("@plt") else None
        elif name and (found := re.match(r" *(\w+):", line)):
            stubs[int(found[1], 16)] = name
    return stubs


def stubs_agree(file, asked=None, objdump="objdump"):
    """objdump gives an IFUNC of the library itself by its address, we by its name."""
    stubs = objdump_stubs(objdump, file)
    assert stubs, f"{file}: no stubs"
    addresses = list(stubs)
    symbols = read_symbols(file)
    longest = max((symbol.size for symbol in symbols), default=0)
    for address, answer in zip(addresses, ask(asked or file, addresses)):
        found = re.match(r"\*ABS\*\+0x(\w+)@plt$", stubs[address])
        names = {stubs[address]}
        if found:
            names |= {symbol.name + "@plt"
                      for symbol in find_aliases(symbols, longest, int(found[1], 16))}
        assert answer and answer.source == "plt" and answer.name in names, \
            f"{file}: {address:#x}: {answer}, not {names}"
    return len(set(stubs.values()))


def build_calls(*flags, compiler="gcc"):
    file = WORK / ("calls" + "".join(flags).replace("/", "-") + ".so")
    call(compiler, "-O1", "-fPIC", "-shared", "-nostdlib", *flags, CALLS, "-o", file)
    return file


def stubs_of_linkers():
    for linker in ("bfd", "lld"):
        for bind in ("lazy", "now"):
            for protection in ("-fcf-protection=none", "-fcf-protection=full"):
                kind = {"bfd": "ibtplt", "lld": "force-ibt"}[linker]
                branch = [f"-Wl,-z,{kind}"] if protection.endswith("full") else []
                file = build_calls(f"-fuse-ld={linker}", f"-Wl,-z,{bind}", protection, *branch)
                assert stubs_agree(file) == 3


def stubs_of_arm():
    for bind in ("lazy", "now"):
        for protection in ([], ["-mbranch-protection=standard", "-Wl,-z,force-bti,-z,pac-plt"]):
            file = build_calls("--target=aarch64-linux-gnu", "-fuse-ld=lld", f"-Wl,-z,{bind}",
                               *protection, compiler="clang")
            assert stubs_agree(file, objdump="llvm-objdump") == 3


def stubs_of_libraries():
    for name in ("libc.so.6", "libstdc++.so.6", "libcrypto.so.3"):
        file = library(name)
        print(f"# {name}: {stubs_agree(file, without_debug_file(file))} stubs")


def names(file, *flags):
    """nm's table: name to type."""
    return dict(re.findall(r"^(\S+) (\S) ", call("nm", "--format=posix", *flags, file).out,
                           re.MULTILINE))


def minidebuginfo():
    """Made as find-debuginfo of RPM does."""
    program = build_fib("-Wl,--export-dynamic-symbol=main", "-Wl,--build-id=none")
    exported = names(program, "-D", "--defined-only")
    keep = WORK / "keep"
    keep.write_text("".join(name + "\n" for name, type in names(program).items()
                            if type in "TtD" and name not in exported))
    debug, small, stripped = WORK / "debug", WORK / "small", WORK / "stripped"
    call("objcopy", "--only-keep-debug", program, debug)
    call("objcopy", "-S", "--remove-section", ".comment", f"--keep-symbols={keep}", debug, small)
    call("xz", "-f", small)
    call("strip", "-o", stripped, program)
    call("objcopy", f"--add-section=.gnu_debugdata={small}.xz", stripped)

    start, size = code_ranges(program)[-2]  # .text
    addresses = range(start, start + size)
    sources = collections.Counter()
    for address, before, after in zip(addresses, ask(program, addresses),
                                      ask(stripped, addresses)):
        assert (before and before.name) == (after and after.name), \
            f"{address:#x}: {after}, not {before}"
        if after:
            sources[after.source] += 1
    assert sources["dynsym"] and sources["gnu_debugdata"] and sources["label, guess"], sources


run([
    *((f"{name}: 20,000 addresses as nm has them", lambda name=name: agrees_with_nm(name))
      for name in ("libc.so.6", "libstdc++.so.6", "libcrypto.so.3")),
    ("stubs by two linkers, lazy or not, with and without endbr64, as objdump has them",
     stubs_of_linkers),
    ("stubs of 64-bit ARM, with and without landing pads, as llvm-objdump has them", stubs_of_arm),
    ("stubs of Debian's libraries as objdump has them", stubs_of_libraries),
    ("MiniDebugInfo: the names that were stripped", minidebuginfo),
], root=False)
