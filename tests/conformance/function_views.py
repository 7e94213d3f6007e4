#!/usr/bin/python3
"""What `gosym inspect --function` has of functions of C++, against readelf, nm and addr2line."""
import functools
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import FIXTURES, GOSYM, WORK, build_templates, call, run  # noqa: E402


def of_readelf(program):
    """address -> (CFA, caller's rbp, return address), at the begin of each row."""
    found, first, columns, of_cie = {}, {}, [], None
    for line in call("readelf", "-wFW", program).out.splitlines():
        words = line.split()
        if " CIE " in line:
            of_cie = words[0]
        elif entry := re.search(r" FDE cie=(\w+) pc=(\w+)\.\.", line):
            of_cie = None
            found[int(entry[2], 16)] = first[entry[1]]
        elif words[:1] == ["LOC"]:
            columns = words
        elif len(words) == len(columns) and re.match(r"[0-9a-f]{16} ", line):
            row = dict(zip(columns, words))
            told = (row["CFA"], row.get("rbp", "u"), row["ra"])
            if of_cie:
                first[of_cie] = told
            else:
                found[int(row["LOC"], 16)] = told
    return found


def ours(text):
    return text.replace("[", "").replace("]", "").replace("cfa", "c").replace("unchanged", "u") \
        .replace("sp", "rsp").replace("fp", "rbp")


def listed(program):
    return [json.loads(line) for line in
            call(GOSYM, "inspect", "--functions", "--json", program).out.splitlines()]


def view(program, name):
    found = call(GOSYM, "inspect", "--function", name, "--json", program).out.splitlines()
    return json.loads(found[0])


def cpp():
    program = build_templates("g++", "-gdwarf-4")
    rows = of_readelf(program)
    sizes = {int(line.split()[0], 16): int(line.split()[1], 16)
             for line in call("nm", "-S", program).out.splitlines() if len(line.split()) == 4}
    frames, asked = 0, []
    for function in listed(program):
        seen = view(program, function["address"])
        assert seen["size"] == sizes[int(function["address"], 16)], seen
        previous = None
        for row in seen["call_frames"]:
            begin = int(row["begin"], 16)
            assert previous is None or previous == begin, f"a gap before {begin:#x}"
            previous = int(row["end"], 16)
            if row["return_address"] == "none":
                continue
            wanted = rows[max(at for at in rows if at <= begin)]
            got = tuple(ours(row[key]) for key in ("cfa", "frame_pointer", "return_address"))
            assert got == wanted, f"{begin:#x}: {got}, not {wanted}"
            frames += 1
        asked += seen["lines"]
    # In one call: it reads all of the debugging information.
    judge = call("addr2line", "-e", program, *(row["begin"] for row in asked)).out.splitlines()
    for row, place in zip(asked, judge, strict=True):
        place = re.sub(r" \(discriminator \d+\)", "", place)
        assert f"{row['file']}:{row['line']}".rpartition("/")[2] == place.rpartition("/")[2], (row, place)
    print(f"# {frames} rows of call frames, {len(asked)} of lines")
    assert frames > 100 and len(asked) > 500


@functools.cache
def without_debug_info():
    program = WORK / "with-symbols"
    call("strip", "--strip-debug", "-o", program, build_templates("g++", "-gdwarf-4"))
    return program


def searches():
    """By name, by a part of one, and by a regular expression."""
    program = without_debug_info()
    shown = [line.split(None, 2)[2] for line in
             call("nm", "-C", program).out.splitlines() if line.split()[1:2] in (["t"], ["T"], ["W"])]
    assert "main" in shown
    found = call(GOSYM, "inspect", "--function", "main", program).out
    assert found.startswith("function        main\n"), found
    every = {line.split()[2] for line in call(GOSYM, "inspect", "--functions", program).out.splitlines()}
    assert len(every) > 10
    for pattern in ("_", "^_start$|^main$"):
        wanted = {name for name in every if "_" in name} if pattern == "_" else {"_start", "main"}
        got = {line.split()[2] for line in
               call(GOSYM, "inspect", "--function", pattern, program).out.splitlines()}
        assert got & wanted == got and len(got) > 1, (pattern, got ^ wanted)
    assert call(GOSYM, "inspect", "--function", "(", program, check=False).status in (0, 2)
    assert call(GOSYM, "inspect", "--function", "no such", program, check=False).status == 5


def nameless():
    """Functions of a stripped program are told from one another, each where nm has one."""
    program, stripped = without_debug_info(), WORK / "stripped"
    call("strip", "-o", stripped, program)
    known = {}
    for line in call("nm", "-S", program).out.splitlines():
        if len(words := line.split()) == 4 and words[2] in "tTwW":
            known[int(words[0], 16)] = int(words[1], 16)
    plt = [range(int(words[2], 16), int(words[2], 16) + int(words[4], 16)) for words in
           (line.split("]")[1].split() for line in call("readelf", "-SW", stripped).out.splitlines() if "] ." in line)
           for words in [[words[0], words[1], words[2], words[3], words[4]]] if words[0].startswith(".plt")]
    found = {int(f["address"], 16): f for f in listed(stripped)}
    assert plt and not any(address in section for address in found for section in plt), plt
    for address, function in found.items():
        assert known.get(address) == function["size"], (hex(address), function, known.get(address))
        if "!" in function["name"]:
            assert function["name"] == f"stripped!fun_{address:x}", function
    framed = {at for at in of_readelf(program) if at in known}
    print(f"# {len(found)} functions of {len(known)} that nm has, {len(framed)} of them with call frames")
    assert len(found) > 50 and framed <= set(found), framed - set(found)
    whole = view(program, hex(max(found)))
    alone = view(stripped, f"stripped!fun_{max(found):x}")
    assert alone["source"] == "call frames, no name" and whole["source"] == "symtab", alone
    assert alone["call_frames"] == whole["call_frames"], alone


def debug_file():
    """Which one it found, by whatever was looked for; or where it looked."""
    program, folder = WORK / "separate", WORK / "debug"
    call("gcc", "-O1", "-g", "-Wl,--build-id", FIXTURES / "fib.c", "-o", program)
    note = call("readelf", "-n", program).out
    build_id = re.search(r"Build ID: (\w+)", note)[1]
    kept = folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    kept.parent.mkdir(parents=True)
    call("objcopy", "--only-keep-debug", program, kept)
    call("strip", program)
    missing = call(GOSYM, "inspect", program).out
    assert f"debug file     none; looked for were\n               /usr/lib/debug/.build-id/{build_id[:2]}/" in missing
    assert "nothing here names a function" in missing, missing
    found = call(GOSYM, "inspect", "--debug-dir", folder, program).out
    assert f"debug file     {kept}, " in found and "with DWARF" in found, found
    assert "gosym uses     debugging information names" in found, found
    facts = json.loads(call(GOSYM, "inspect", "--json", "--debug-dir", folder, program).out)
    assert facts["debug_file"]["path"] == str(kept) and facts["debug_file"]["dwarf"], facts
    assert "debug_file_looked_for" not in facts
    assert view_of_separate(program, folder)["lines"]


def view_of_separate(program, folder):
    return json.loads(call(GOSYM, "inspect", "--debug-dir", folder, "--function", "fibNaive", "--json",
                           program).out)


run([("call frames, lines and sizes of a C++ program", cpp),
     ("functions are found by parts of names and by expressions", searches),
     ("functions of a stripped program, without names", nameless),
     ("the debug file that is used, or where it was looked for", debug_file)], root=False)
