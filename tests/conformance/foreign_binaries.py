#!/usr/bin/python3
"""Go programs that nobody here built, against a judge that nobody here wrote: debug/gosym.

    foreign_binaries.py GOSYM [--all]

takes those of foreign_binaries.txt that run always, or all, as they are and without their section
headers. Each function of the table has to be listed with the same entry and name, and each of many
addresses has to be in the same function and, innermost, at the same file and line. The table has to
pass `gosym inspect --check`.
"""
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from common import GO_ENVIRONMENT, GOSYM, WORK, call, fetched, go, gosym, run  # noqa: E402

# As many addresses in one program, beside the first of each function.
PLACES = 100000 if "--all" in sys.argv else 20000


@functools.cache
def judge():
    program = WORK / "judge"
    call(go("newest"), "build", "-buildvcs=false", "-o", program, cwd=HERE / "judge",
         env=GO_ENVIRONMENT)
    return program


def judgement(program):
    """Functions as pairs of address and name; places as address, name, file and line."""
    functions, places = [], []
    for line in call(judge(), program, PLACES).out.splitlines():
        kind, *words = line.split("\t")
        (functions if kind == "function" else places).append(tuple(words))
    return functions, places


def resolve(program, addresses):
    done = subprocess.run([GOSYM, "resolve", "--wrappers", "--json", program], timeout=300,
                          input="\n".join(addresses), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_of_table(answer):
    return any(frame["source"].startswith("pclntab") for frame in answer["frames"])


def our_functions(program):
    """Those of the table; `inspect` also lists what only symbols name."""
    lines = gosym("inspect", "--functions", "--json", program).out.splitlines()
    functions = [json.loads(line) for line in lines]
    answers = resolve(program, [function["address"] for function in functions])
    return [(function["address"], function["name"])
            for function, answer in zip(functions, answers) if is_of_table(answer)]


def our_place(answer):
    if not is_of_table(answer):
        return answer["address"], "", "", "0"
    innermost, function = answer["frames"][0], answer["frames"][-1]
    return (answer["address"], function["function"], innermost.get("file", ""),
            str(innermost.get("line", 0)))


def without_last_file(theirs, ours):
    """Our places as debug/gosym sees them: up to Go 1.7 the table's count leaves its last file out, so
    that it has no name for that one, and for no other.
    """
    unnamed = {our[2] for their, our in zip(theirs, ours) if not their[2] and our[2]}
    if len(unnamed) != 1:
        return ours
    return [(address, name, "" if file in unnamed else file, line)
            for address, name, file, line in ours]


def assert_equal(theirs, ours, what):
    different = [pair for pair in zip(theirs, ours) if pair[0] != pair[1]]
    assert not different, (f"{len(different)} of {len(theirs)} {what} differ: debug/gosym has "
                           f"{different[0][0]}, gosym {different[0][1]}")
    assert len(theirs) == len(ours), f"{len(ours)} {what} in place of {len(theirs)}"


def without_sections(program):
    """A copy whose header knows of no sections: the table has to be found by its looks."""
    data = bytearray(pathlib.Path(program).read_bytes())
    is_64 = data[4] == 2
    for field in (slice(40, 48), slice(60, 64)) if is_64 else (slice(32, 36), slice(48, 52)):
        data[field] = bytes(len(data[field]))  # e_shoff; e_shnum and e_shstrndx
    copy = WORK / "without_sections"
    copy.write_bytes(data)
    return copy


def agrees_with_judge(words):
    program = fetched(*words)
    functions, places = judgement(program)
    addresses = [place[0] for place in places]
    summary = json.loads(gosym("inspect", "--json", program).out)
    version = summary.get("go", {}).get("version") or summary["pclntab"]["releases"]
    lacks_last_file = int(re.search(r"1\.(\d+)", version)[1]) < 8
    for image in program, without_sections(program):
        assert_equal(functions, our_functions(image), "functions")
        ours = [our_place(answer) for answer in resolve(image, addresses)]
        assert_equal(places, without_last_file(places, ours) if lacks_last_file else ours, "places")
        gosym("inspect", "--check", image)
    print(f"# {version}, {summary['machine']}, {summary['type']}, {summary['linking']}: "
          f"{len(functions)} functions, {len(places)} addresses")


def cases():
    for line in (HERE / "foreign_binaries.txt").read_text().splitlines():
        when, *words = line.partition("#")[0].split() or [""]
        if not words or (when == "all" and "--all" not in sys.argv):
            continue
        if words[0] == "npm" and not shutil.which("npm"):
            yield f"{' '.join(words)} # SKIP npm is not installed", lambda: None
        else:
            yield " ".join(words), functools.partial(agrees_with_judge, words)


run(list(cases()), root=False)
