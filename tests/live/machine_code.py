"""Machine code of x86-64 programs as far as stacks show it: functions, and the calls and jumps
from one to the next."""
import bisect
import collections
import functools
import json
import pathlib
import re
import tempfile

from common import WORK, call, gosym

Segment = collections.namedtuple("Segment", "offset address size")
Call = collections.namedtuple("Call", "target")  # None: through a register or memory

MAX_JUMPS = 4  # Go's longest: runtime.strhash, memhash, aeshashbody

# They jump to what a register says. Others do as well, but only to places of their own.
JUMPS_ANYWHERE = re.compile(r"(runtime\.(systemstack|reflectcall)|reflect\.call)(\.abi0)?$")


class Program:
    """An ELF file. Its functions are those of the symbol table, or else of Go's table."""

    def __init__(self, file):
        self.file = file
        self.content = pathlib.Path(file).read_bytes()
        headers = call("readelf", "--wide", "--program-headers", "--section-headers", file).out
        self.segments = [Segment(*(int(word, 16) for word in found)) for found in
                         re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", headers)]
        self.stubs = [range(int(address, 16), int(address, 16) + int(size, 16))
                      for address, size in re.findall(
                          r"\] \.(?:plt\S*|iplt) +PROGBITS +(\w+) \w+ (\w+)", headers)]
        self.names = read_symbols(file) or read_go_table(file)
        self.entries = sorted(self.names)

    def address_of(self, offset):
        """Of a place in the file; None if it is not loaded."""
        for segment in self.segments:
            if segment.offset <= offset < segment.offset + segment.size:
                return offset - segment.offset + segment.address

    def read(self, address, size):
        for segment in self.segments:
            if segment.address <= address < segment.address + segment.size:
                start = address - segment.address + segment.offset
                return self.content[start:start + size]
        return b""

    def function(self, address):
        """The addresses of the function there."""
        index = bisect.bisect_right(self.entries, address)
        if index == 0:
            return range(0)
        end = self.entries[index] if index < len(self.entries) else self.entries[-1] + 4096
        return range(self.entries[index - 1], end)

    def name(self, address):
        function = self.function(address)
        return self.names[function.start] if function else ""

    def call_before(self, address):
        """The call instruction that ends at the address, if one does. What lies before it could
        be read as several instructions; a direct call that leads to a function is no accident."""
        code = self.read(address - 8, 8)
        if len(code) < 8:
            return None
        target = address + int.from_bytes(code[4:], "little", signed=True)
        is_direct = code[3] == 0xE8
        if is_direct and (target in self.names or self.is_stub(target)):
            return Call(target)
        if any(is_indirect_call(code[-size:]) for size in (2, 3, 4, 6, 7)):
            return Call(None)
        return Call(target) if is_direct and self.function(target) else None

    def is_stub(self, address):
        return any(address in stub for stub in self.stubs)

    def is_open(self, address):
        """Whether the code there may jump anywhere."""
        return self.is_stub(address) or JUMPS_ANYWHERE.match(self.name(address))

    def leads_to(self, target, function):
        """Whether a call of the target may end in the function, by jumps at the end of others."""
        reached = {target}
        for _ in range(MAX_JUMPS):
            if any(address in function or self.is_open(address) for address in reached):
                return True
            reached = {jump for address in reached for jump in self.jumps_from(address)}
        return False

    @functools.cache
    def jumps_from(self, address):
        """Where the function jumps to, out of itself."""
        function = self.function(address)
        targets = {int(found, 16) for found in
                   re.findall(r"\tj\w+ +(?:0x)?([0-9a-f]+)\b", self.listing(function))}
        return frozenset(target for target in targets if target not in function)

    @functools.cache
    def listing(self, function):
        # Of the program itself objdump would read all of its code to show this.
        with tempfile.NamedTemporaryFile(dir=WORK) as code:
            code.write(self.read(function.start, len(function)))
            code.flush()
            return call("objdump", "--disassemble-all", "--target=binary",
                        "--architecture=i386:x86-64", f"--adjust-vma={function.start:#x}",
                        "--no-show-raw-insn", "--wide", code.name).out


def is_indirect_call(code):
    """Whether it is `FF /2` of just that size. A prefix may come before it."""
    if code[0] != 0xFF or code[1] >> 3 & 7 != 2:
        return False
    mode, register = code[1] >> 6, code[1] & 7
    has_scale = mode != 3 and register == 4
    base = code[2] & 7 if has_scale and len(code) > 2 else register
    displacement = {0: 4 if base == 5 else 0, 1: 1, 2: 4, 3: 0}[mode]
    return len(code) == 2 + has_scale + displacement


def read_symbols(file):
    names = {}
    for line in call("nm", "--defined-only", file, check=False).out.splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWi" and name not in ("runtime.text", "runtime.etext"):
            names.setdefault(int(address, 16), name)
    return names


def read_go_table(file):
    lines = gosym("inspect", "--functions", "--json", file).out.splitlines()
    functions = [json.loads(line) for line in lines]
    return {int(function["address"], 16): function["name"] for function in functions}
