#!/usr/bin/python3
"""The unwind rules of Go's functions at each of their instructions, against a simulation of what the
instructions do: how far the stack pointer has been moved, and where the caller's frame pointer is.

    go_prologues.py GOSYM UNWIND_RULES [GO-PROGRAM...]
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import call, go, run  # noqa: E402
from machine_code import read_go_table  # noqa: E402

RULES = os.path.abspath(sys.argv[2])

# One instruction, and where the next one lies.
Instruction = collections.namedtuple("Instruction", "mnemonic operands end")

CALLERS = "the frame pointer of the caller"


class State(collections.namedtuple("State", "depth rbp saved")):
    """Bytes that the stack pointer was moved by; what rbp holds: the caller's, a place on the stack
    as its distance below the return address, or None; and what is saved at such places."""

    def push(self, value):
        depth = self.depth + 8
        return State(depth, self.rbp, {**self.saved, depth: value})

    def load(self, place):
        return self.saved.get(place)


BEGIN = State(0, CALLERS, {})


def disassembled(file):
    """The instructions by address."""
    listing = call("objdump", "--disassemble", "--no-show-raw-insn", "--wide", "--section=.text", file)
    found = re.findall(r"^ *([0-9a-f]+):\t(?:(?:rep[nz]*|lock|bnd|notrack|data16|cs|ds) )*(\S+) *(.*)$",
                       listing.out, re.MULTILINE)
    ends = [int(address, 16) for address, _, _ in found[1:]] + [0]
    return {int(address, 16): Instruction(mnemonic, operands.partition(" #")[0].partition(" <")[0], end)
            for (address, mnemonic, operands), end in zip(found, ends)}


def number(text):
    return int(text, 16) if text else 0


def place_of(operand, state):
    """Of a place that is told from rsp or rbp; None if it is another one."""
    found = re.fullmatch(r"(-?(?:0x)?[0-9a-f]*)\((%rsp|%rbp)\)", operand)
    if not found:
        return None
    base = state.depth if found[2] == "%rsp" else state.rbp
    return base - number(found[1]) if isinstance(base, int) else None


def step(code, state):
    """The state after an instruction; None if nothing can be told any more."""
    mnemonic, operands, _ = code
    *sources, target = re.findall(r"[^,(]*\([^)]*\)|[^,]+", operands) or [""]
    source = sources[0] if sources else ""
    if mnemonic in ("push", "pushf"):
        return state.push(state.rbp if target == "%rbp" else None)
    if mnemonic in ("pop", "popf"):
        rbp = state.load(state.depth) if target == "%rbp" else state.rbp
        return State(state.depth - 8, rbp, state.saved) if target != "%rsp" else None
    if target == "%rsp":
        if mnemonic in ("sub", "add") and source.startswith("$"):
            amount = number(source[1:])
            amount -= (amount >> 63) << 64  # objdump writes 64 bits
            return state._replace(depth=state.depth + (amount if mnemonic == "sub" else -amount))
        if mnemonic == "lea" and "(%rsp)" in source:
            return state._replace(depth=place_of(source, state))
        return state if mnemonic in ("cmp", "test") else None
    if target in ("%rbp", "%ebp", "%bp", "%bpl"):
        if mnemonic in ("cmp", "test", "bt", "ucomisd"):
            return state
        if mnemonic == "mov" and source == "%rsp":
            return state._replace(rbp=state.depth)
        if mnemonic == "lea":
            return state._replace(rbp=place_of(source, state))
        place = place_of(source, state) if mnemonic == "mov" else None
        return state._replace(rbp=state.load(place) if place is not None else None)
    if mnemonic == "xchg" and "%rbp" in operands:
        return state._replace(rbp=None)
    place = place_of(target, state)
    if place is not None and mnemonic not in ("cmp", "test"):
        value = state.rbp if mnemonic == "mov" and source == "%rbp" else None
        return state._replace(saved={**state.saved, place: value})
    return state


def successors(code):
    """Where it goes on in the function, the likeliest last: behind the call of a function that does
    not return may lie code that only a jump leads to."""
    mnemonic, operands, end = code
    if mnemonic.startswith(("ret", "ud", "int3", "hlt", "(bad)")):
        return []
    if mnemonic.startswith("j"):
        target = [number(operands)] if re.fullmatch(r"(?:0x)?[0-9a-f]+", operands) else []
        return target if mnemonic == "jmp" else [end] + target
    return [end]


def simulate(code, begin, end):
    """What holds before each instruction that can be reached from the begin of a function."""
    states = {}
    ahead = [(begin, BEGIN)]
    while ahead:
        address, state = ahead.pop()
        if address in states or address not in code or not begin <= address < end:
            continue
        states[address] = state
        after = step(code[address], state)
        if after:
            ahead += [(following, after) for following in successors(code[address])]
    return states


def rules_at(file, addresses):
    asked = "".join(f"{address:x}\n" for address in addresses)
    done = subprocess.run([RULES, "go", file], input=asked, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def expected(state):
    frame = "same" if state.rbp == CALLERS else "cfa-16" if state.load(8) == CALLERS else "lost"
    return f"sp{state.depth + 8:+} cfa-8 {frame}"


def is_no_work(code):
    """What stands where a function that does not return would go on."""
    return code.mnemonic.startswith("nop") or (code.mnemonic, code.operands) == ("xchg", "%ax,%ax")


def simulate_all(file, names):
    """By address: the name of the function, and what holds before the instruction."""
    code = disassembled(file)
    entries = sorted(names) + [1 << 64]
    return {address: (names[begin], state) for begin, end in zip(entries, entries[1:])
            for address, state in simulate(code, begin, end).items()
            if not is_no_work(code[address])}


def is_right(rule, state, has_frame):
    """A function without a frame may use rbp for data, in assembly and in wrappers up to Go 1.10: the
    rule has it as it was, for such a register is looked at before it is believed. Where the stack
    pointer may be that of another stack, the rule counts from rbp, which then must be a place."""
    wanted = expected(state)
    if rule.startswith("fp") and isinstance(state.rbp, int):
        return rule == wanted.replace(f"sp{state.depth + 8:+}", f"fp{state.rbp + 8:+}")
    return rule == wanted or (not has_frame and rule == wanted.replace("lost", "same"))


def compare(file):
    states = simulate_all(file, read_go_table(file))
    framed = {name for name, state in states.values() if state.depth > 0}
    compared, wrong, examples = 0, collections.Counter(), {}
    for (address, (name, state)), rule in zip(states.items(), rules_at(file, states)):
        rule = rule.removesuffix(" signal")
        if rule in ("none", "root") or rule.startswith("["):
            continue
        compared += 1
        if not is_right(rule, state, name in framed):
            wrong[name] += 1
            examples.setdefault(name, f"{address:x} {name}: {rule}, not {expected(state)}")
    print(f"# {file}: {wrong.total()} of {compared} instructions wrong", flush=True)
    assert compared > 100000, f"only {compared} instructions compared"
    assert wrong.total() == 0, "\n".join(examples[name] for name, _ in wrong.most_common(40))


def debian(version):
    return pathlib.Path(go(version)).with_name("gofmt")


run([(f"{file}: the rule at each instruction", lambda file=file: compare(file))
     for file in sys.argv[3:]] or
    [(f"Go {version}: the rule at each instruction", lambda version=version: compare(debian(version)))
     for version in ("1.15", "1.19", "1.23", "1.27")], root=False)
