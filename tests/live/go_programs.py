#!/usr/bin/python3
"""Go programs as people build them: every name, line and chain right, whatever was stripped."""
import functools
import itertools
import json
import re
import subprocess

from common import (FIXTURES, GO_ENVIRONMENT, SLOW, build_demo, call, folded, go, gosym, is_kernel, is_unnamed,
                    new_place, pprof, record, run, running, user_frames)

LEAVES = {"main.fetchData", "main.computeResult"}
INLINING = {"inlined": [], "not inlined": ["-gcflags=all=-N -l"]}
STRIPPING = {"with symbols": [], "-s -w": ["-ldflags=-s -w"]}


@functools.cache
def recording(which, inlining, stripping):
    demo = build_demo(which, *INLINING[inlining], *STRIPPING[stripping])
    with running(demo, 600) as pid:
        return record("-p", pid, samples=1500)


def source_ranges():
    """The lines of each function of the demo."""
    ranges, name = {}, None
    for number, line in enumerate((FIXTURES / "demo/main.go").read_text().splitlines(), 1):
        if found := re.match(r"func (\w+)", line):
            name, first = "main." + found[1], number
        elif line == "}" and name:
            ranges[name] = range(first, number + 1)
    return ranges


def most_of(share, part, whole, what):
    assert whole > 0, "no samples"
    assert part >= share * whole, f"{part} of {whole} samples: {what}"


def top_functions(variant):
    stacks = folded(recording(*variant))
    user = [stack for stack in stacks if not is_kernel(stack.frames[-1])]
    hot = sum(stack.count for stack in user if stack.frames[-1] in LEAVES)
    # Go's runtime looks around by the clock, which passes fast on a slow machine.
    most_of(0.9 if SLOW else 0.95, hot, sum(stack.count for stack in user), "in the two busy functions")
    for leaf in LEAVES:
        most_of(0.1, sum(s.count for s in user if s.frames[-1] == leaf), hot, leaf)


def chains(variant):
    caller = ["runtime.main", "main.main", "main.processRequest"]
    ours = [s for s in folded(recording(*variant)) if s.frames[-1] in LEAVES]
    complete = sum(s.count for s in ours if s.frames[-4:-1] == caller)
    most_of(0.99, complete, sum(s.count for s in ours), f"called by {' '.join(caller)}")


def no_hex(variant):
    # The vdso of some kernels has functions that its symbol table leaves out.
    unnamed = {frame for frame, _ in user_frames(folded(recording(*variant)))
               if is_unnamed(frame) and not frame.startswith("[vdso+")}
    assert not unnamed, f"unnamed: {' '.join(sorted(unnamed))}"


def lines(variant):
    """Within their function, and where Go's own addr2line sees them in the unstripped twin."""
    which, inlining, _ = variant
    profile = pprof(recording(*variant))
    ours = [location for location in profile.locations.values()
            if location.lines and location.lines[-1].function.startswith("main.")]
    assert ours, "no location in main"
    ranges = source_ranges()
    for line in (line for location in ours for line in location.lines):
        assert line.file == str(FIXTURES / "demo/main.go"), f"{line} in another file"
        assert line.line in ranges[line.function], f"{line}, which is not {ranges[line.function]}"

    twin = build_demo(which, *INLINING[inlining])
    addresses = "\n".join(hex(location.address) for location in ours)
    answer = subprocess.run([go(which), "tool", "addr2line", twin], input=addresses, text=True,
                            capture_output=True, check=True, env=GO_ENVIRONMENT).stdout.splitlines()
    for location, function, where in zip(ours, answer[::2], answer[1::2], strict=True):
        innermost = location.lines[0]
        assert location.lines[-1].function == function, f"{location} is {function}"
        assert f"{innermost.file}:{innermost.line}" == where, f"{location} is {where}"


CHECKS = {"the busy functions are on top": top_functions, "chains reach runtime.main": chains,
          "files and lines are right": lines, "no frame is without a name": no_hex}

OBFUSCATED = [f"main.{name}" for name in ("fetchData", "computeResult", "processRequest")]


@functools.cache
def obfuscated(magic=None):
    """As garble -tiny leaves a program: names are empty, and with `magic` that of the table is another and
    there are no section headers. Gives also where the functions begin, by `go tool nm`."""
    flags = ["-gcflags=-N -l"]
    data = bytearray(build_demo("newest", *flags, "-ldflags=-s -w").read_bytes())
    for name in OBFUSCATED:
        at = data.index(name.encode() + b"\0")
        data[at:at + len(name)] = bytes(len(name))
    if magic:
        table = data.index(bytes.fromhex("f1ffffff00000108"))
        data[table:table + 4] = magic
        for field in (slice(40, 48), slice(60, 64)):  # e_shoff; e_shnum and e_shstrndx
            data[field] = bytes(len(data[field]))
    program = new_place("t")
    program.write_bytes(data)
    program.chmod(0o755)
    symbols = call(go("newest"), "tool", "nm", build_demo("newest", *flags), env=GO_ENVIRONMENT).out
    entries = {words[2]: int(words[0], 16) for words in map(str.split, symbols.splitlines()) if len(words) == 3}
    return program, entries


def emptied_names():
    program, entries = obfuscated()
    names = [f"t!fun_{entries[name]:x}" for name in OBFUSCATED]
    recorded = record("-F", 499, "--", program, 1)
    stacks = folded(recorded)
    chain = ["runtime.main", "main.main", names[2]]
    ours = [stack for stack in stacks if stack.frames[-1] in names[:2]]
    most_of(0.9, sum(stack.count for stack in ours if stack.frames[-4:-1] == chain),
            sum(stack.count for stack in ours), "called by " + " ".join(chain))
    most_of(0.8, sum(stack.count for stack in ours), sum(stack.count for stack in stacks), "in the busy functions")
    for name in names[:2]:
        most_of(0.05, sum(s.count for s in ours if s.frames[-1] == name), sum(s.count for s in ours), name)
        told = gosym("annotate", recorded, name).out
        assert name in told, told
        told = gosym("diff", recorded, recorded).out
        assert name in told, told


def table_by_its_shape():
    """Each function of the table, and many addresses, as in the program with its sections and names."""
    program, entries = obfuscated(bytes.fromhex("e1a8d7c3"))
    plain, _ = obfuscated()
    listed = [[json.loads(line) for line in gosym("inspect", "--functions", "--json", image).out.splitlines()]
              for image in (program, plain)]
    assert listed[0] == listed[1] and len(listed[0]) > 1000, [len(functions) for functions in listed]
    known = {function["address"]: function["name"] for function in listed[0]}
    for name, entry in entries.items():
        if name.startswith("main."):
            wanted = f"t!fun_{entry:x}" if name in OBFUSCATED else name
            assert known[f"{entry:#x}"] == wanted, (name, known[f"{entry:#x}"])
    told = json.loads(gosym("resolve", "--json", program, hex(entries[OBFUSCATED[0]] + 3)).out)
    assert f"t!fun_{entries[OBFUSCATED[0]]:x}" in json.dumps(told), told


OBFUSCATION = [("functions whose names are emptied are told by their entries", emptied_names),
               ("a table of another magic without sections is found by its shape", table_by_its_shape)]

run(OBFUSCATION + [(f"{', '.join(variant)}: {title}", functools.partial(check, variant))
     for variant in itertools.product(("debian", "newest"), INLINING, STRIPPING)
     for title, check in CHECKS.items()])
