#!/usr/bin/python3
"""Holds what is said of the options together: for the program and each of its commands, the man page names the
options of --help and has its usage line, word for word, and the three shells complete the same. Prints TAP.

    check-docs.py GOSYM
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = ["", "record", "report", "top", "diff", "goroutines", "heap", "archive", "index", "inspect", "resolve", "annotate", "snapshot", "push",
            "doctor", "completion"]
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def output(*command):
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    return done.stdout + done.stderr


def usage(gosym, command):
    """In one line, in small letters."""
    lines = re.search(r"^Usage: (.*?)\n\n", help_text(gosym, command), re.MULTILINE | re.DOTALL)[1]
    return " ".join(lines.lower().split())


def help_text(gosym, command):
    return output(gosym, *command.split(), "--help")


def help_options(gosym, command):
    """An option starts its line: `  -p, --pid PID  what it does`."""
    lines = re.findall(r"^  (-.*)", help_text(gosym, command), re.MULTILINE)
    return {option for line in lines for option in OPTION.findall(line.split("  ")[0])}


def page(command):
    return ROOT / "man" / ("-".join(["gosym", *command.split()]) + ".1")


def rendered(command, width=200):
    return re.sub(".\b", "", output("mandoc", "-T", "ascii", "-O", f"width={width}", str(page(command))))


def synopsis(command):
    """The forms of the rendered page as the usage line has them, with bars between."""
    text = re.search(r"^SYNOPSIS\n(.*?)\n\n", rendered(command, 500), re.MULTILINE | re.DOTALL)[1]
    forms = [" ".join(line.lower().split()).replace(" ...", "...") for line in text.splitlines()]
    start = f"gosym {command} [options] "
    return " | ".join([forms[0], *(form.removeprefix(start) for form in forms[1:])])


def man_options(command):
    """A tag of the rendered page: an indented line that starts with an option."""
    text = rendered(command)
    tags = re.findall(r"^ {3,8}(-.*?)(?:   |$)", text, re.MULTILINE)
    return {option for tag in tags for option in OPTION.findall(tag)}


def bash_options(command):
    words = " ".join(["gosym", *command.split(), "-"])
    script = f"""source completions/gosym.bash
        COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _gosym; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return set(OPTION.findall(output("bash", "--norc", "-c", script)))


def zsh_options(command):
    """What the function hands to zsh's own `_arguments`, e.g. `(-p --pid)--pid[...]:pid:_pids`."""
    words = " ".join(["gosym", *command.split(), "-"])
    script = f"""_arguments() {{ print -rl -- "$@" }}; _describe() {{ }}
        words=({words}); CURRENT=$#words; source completions/_gosym"""
    specs = output("zsh", "-f", "-c", script).splitlines()
    flags = {"-S"}  # of _arguments itself
    bare = [re.sub(r"^\(.*?\)\*?|^\*|[\[:=].*", "", spec) for spec in specs if spec not in flags]
    return {spec for spec in bare if OPTION.fullmatch(spec)}


def fish_options(command):
    words = " ".join(["gosym", *command.split()])
    script = f"source completions/gosym.fish; complete -C '{words} -'; complete -C '{words} --'"
    return {line.split("\t")[0] for line in output("fish", "--no-config", "-c", script).splitlines()}


def difference(wanted, found):
    return " ".join([*(f"missing {o}" for o in sorted(wanted - found)),
                     *(f"unknown {o}" for o in sorted(found - wanted))])


def checks(gosym):
    """Yields what is checked and what is wrong with it, empty if nothing is."""
    for command in COMMANDS:
        name = f"gosym {command}".strip()
        wanted = help_options(gosym, command)
        yield f"{name} --help: options", "" if wanted else "none found"
        yield f"{name} --help: a heading is a line of words with a colon behind it", \
            " | ".join(re.findall(r"^\S*:$\n^$", help_text(gosym, command), re.M))
        yield f"{name} --help: examples", \
            "" if re.search(r"^Examples:\n +gosym ", help_text(gosym, command), re.M) else "none"
        said, known = usage(gosym, command), synopsis(command)
        yield f"{page(command).name}: usage of --help", "" if said == known else f"{said}\n{known}"
        yield f"{page(command).name}: options of --help", difference(wanted, man_options(command))
        yield f"{page(command).name}: examples", \
            "" if re.search(r"^\.Sh EXAMPLES|^\.SH EXAMPLES", page_text(command), re.M) else "none"
        yield f"bash: {name}", difference(wanted, bash_options(command))
        yield f"zsh: {name}", difference(wanted, zsh_options(command))
        yield f"fish: {name}", difference(wanted, fish_options(command))
    for file in sorted((ROOT / "man").glob("*.[15]")):
        yield f"mandoc: {file.name}", output("mandoc", "-T", "lint", "-W", "warning", str(file))


def page_text(command):
    return page(command).read_text() if page(command).exists() else ""


def main():
    gosym = os.path.abspath(sys.argv[1])
    # The completions call it by its name.
    os.environ["PATH"] = f"{os.path.dirname(gosym)}:{os.environ['PATH']}"
    number = failed = 0
    for title, problem in checks(gosym):
        number += 1
        failed += bool(problem)
        print(f"{'not ok' if problem else 'ok'} {number} - {title}")
        for line in problem.splitlines():
            print("# " + line)
    print(f"1..{number}")
    sys.exit(failed > 0)


main()
