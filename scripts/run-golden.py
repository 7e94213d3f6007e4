#!/usr/bin/python3
"""Runs transcripts of the command line and compares what the commands say with what is written.

A transcript, tests/golden/NAME.t, is text in which an indent of two spaces marks what counts:

    Commentary, up to the next command.
      $ gosym resolve demo 0x1
      0x1 ??
      $ gosym resolve nowhere 0x1 |
      >   sort
      gosym: error: 'nowhere': No such file or directory
      [1]

`$` starts a command for bash and `>` continues it; its output follows, standard error included, in
the order written; `[N]` gives an exit status other than 0. Blank lines at the end of an output are
not compared. The commands of a transcript share one new directory, with the fixtures in it.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def parse(text):
    """The transcript as a list of comments (str) and steps (dict of line, command, expected)."""
    parts = []
    for number, line in enumerate(text.splitlines(), 1):
        step = parts[-1] if parts and isinstance(parts[-1], dict) else None
        if line.startswith("  $ "):
            parts.append({"line": number, "command": line[4:], "expected": []})
        elif step and line.startswith("  > ") and not step["expected"]:
            step["command"] += "\n" + line[4:]
        elif step and (line.startswith("  ") or not line):
            step["expected"].append(line[2:])
        else:
            parts.append(line)
    return parts


def without_blank_end(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def run(command, folder, path):
    """What the command printed, as lines, with its exit status as the last of them."""
    environment = {"PATH": path, "HOME": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="backslashreplace").replace(folder, "$PWD")
    status = [f"[{done.returncode}]"] if done.returncode else []
    return without_blank_end(output.splitlines()) + status


def render(parts):
    """The inverse of parse, with what was printed in place of what was expected."""
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        first, *rest = part["command"].splitlines()
        blank_end = part["expected"][len(without_blank_end(part["expected"])):]
        lines += ["  $ " + first, *("  > " + line for line in rest)]
        lines += [("  " + line).rstrip() if not line.strip() else "  " + line
                  for line in part["printed"]] + blank_end
    return "\n".join(lines) + "\n"


def run_transcript(file, fixtures, path):
    parts = parse(file.read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        for fixture in fixtures:
            os.symlink(fixture.resolve(), os.path.join(folder, fixture.name))
        for step in parts:
            if isinstance(step, dict):
                step["printed"] = run(step["command"], folder, path)
    return parts


def report(number, file, step):
    expected = without_blank_end(step["expected"])
    passed = step["printed"] == expected
    title = re.sub(r"\s+", " ", step["command"]).replace("#", "")
    print(f"{'ok' if passed else 'not ok'} {number} - {file.name}:{step['line']} {title}")
    if not passed:
        for line in difflib.unified_diff(expected, step["printed"], "expected", "printed",
                                         lineterm=""):
            print("# " + line)
    return passed


def names_file(transcript, name):
    return any(re.search(rf"(?<![\w-]){name}(?![\w-])", step["command"])
               for step in parse(transcript.read_text()) if isinstance(step, dict))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--gosym", required=True, type=pathlib.Path, help="the program to run")
    options.add_argument("--fixture", action="append", default=[], type=pathlib.Path,
                         help="a file that the transcripts find in their directory")
    options.add_argument("--absent", action="append", default=[],
                         help="a file that is not there: transcripts that name it are left out")
    options.add_argument("--update", action="store_true",
                         help="write down what the commands print now")
    options.add_argument("transcript", nargs="+", type=pathlib.Path)
    given = options.parse_args()

    # A folder of its own: the program may have another name where it lies, beside another `gosym`.
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(given.gosym.resolve(strict=True), os.path.join(folder, "gosym"))
        failed = run_transcripts(given, f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")
    sys.exit(failed > 0 and not given.update)


def run_transcripts(given, path):
    """How many steps printed something else than what is written."""
    number = failed = 0
    for file in given.transcript:
        if lacks := [name for name in given.absent if names_file(file, name)]:
            number += 1
            print(f"ok {number} - {file.name} # SKIP there is no {' and no '.join(lacks)}")
            continue
        parts = run_transcript(file, given.fixture, path)
        for step in (part for part in parts if isinstance(part, dict)):
            number += 1
            failed += not report(number, file, step)
        if given.update:
            file.write_text(render(parts))
    print(f"1..{number}")
    return failed


main()
