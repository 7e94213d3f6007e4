"""Reads what the tools answer, so that it can be compared.

An answer to an address is a chain of (function, file, line), the innermost call first.
"""
import json
import os
import re


def plain(name):
    """Names without what the tools tell in their own ways: types of instances, and the endings of
    parts that a compiler split off."""
    name = re.sub(r"\[.*\]", "[...]", name)
    return re.sub(r"\.(cold|constprop|isra|part)\b.*", "", name)


def path(text):
    return os.path.normpath(text) if text else ""


def read_gosym(text):
    return [[(plain(f["function"]), path(f.get("file", "")), f.get("line", 0))
             for f in json.loads(line)["frames"]] for line in text.splitlines()]


def read_gosym_text(text):
    """`0xADDRESS function file:line`, then a line `  (inlined by) ...` for each caller."""
    chains = []
    for line in text.splitlines():
        if not line.startswith("  (inlined by) "):
            chains.append([])
        found = re.fullmatch(r"(?:0x\w+|  \(inlined by\)) (.*?)(?: (\S+?)(?::(\d+))?)?", line)
        if not found[1].startswith("?? "):
            chains[-1].append((plain(found[1]), path(found[2]), int(found[3] or 0)))
    return chains


def read_llvm(text):
    return [[(plain(f["FunctionName"]), path(f["FileName"]), f["Line"])
             for f in json.loads(line)["Symbol"]] for line in text.splitlines()]


def read_elfutils(text):
    """`0xADDRESS`, then pairs of lines: a function (which may tell more) and `file:line:column`."""
    chains = []
    for block in re.split(r"^0x\w+\n", text, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        chains.append([(plain(function.split(" inlined at ")[0]), *place(line))
                       for function, line in zip(lines[::2], lines[1::2])])
    return chains


def place(text):
    """`file:line`, with `:column` or ` (discriminator 3)` behind."""
    found = re.match(r"(.*?):(\d+|\?)", text)
    if not found or found[1] == "??":
        return "", 0
    return path(found[1]), int(found[2].replace("?", "0"))


def read_go(text):
    """Pairs of lines: the function that holds the code, and where the innermost call is."""
    lines = text.splitlines()
    return [(plain(function), *place(line)) for function, line in zip(lines[::2], lines[1::2])]


def read_functions(text):
    """Start and name of each function: `address size name file:line`."""
    return {(int(words[0], 16), plain(words[2]))
            for words in map(str.split, text.splitlines())}


def read_go_nm(text):
    """`address size type name`."""
    return {(int(words[0], 16), plain(words[3]))
            for words in map(str.split, text.splitlines()) if words[2] in "tT"}


# What of our answer others are to agree with.

def innermost(chain):
    return chain[0] if chain else ("", "", 0)


def as_go(chain):
    return (chain[-1][0], *chain[0][1:]) if chain else ("?", "", 0)


def names(chain):
    return [name for name, _, _ in chain]


def share(ours, theirs, view_ours, view_theirs):
    """Which share of the answers are the same, looked at like that."""
    same = sum(view_ours(our) == view_theirs(their)
               for our, their in zip(ours, theirs, strict=True))
    return same / max(len(ours), 1)
