#!/usr/bin/python3
"""inspect and resolve on Go binaries, against readelf, nm and Go's addr2line. Needs no root."""
import functools
import itertools
import json
import re
import subprocess

from common import GO_ENVIRONMENT, GOSYM, WORK, build_demo, call, go, gosym, new_place, run


@functools.cache
def stripped(which):
    file = WORK / f"demo-{which}"
    call("strip", "-o", file, build_demo(which))
    return file


def inspect(program):
    return json.loads(gosym("inspect", "--json", program).out)


def functions(program):
    """name: address, as `inspect --functions` lists them."""
    lines = (line.split() for line in gosym("inspect", "--functions", program).out.splitlines())
    return {words[2]: int(words[0], 16) for words in lines if len(words) > 2}


def strip_changes_nothing(which):
    whole, bare = functions(build_demo(which)), functions(stripped(which))
    assert whole == bare and len(whole) > 1000, f"{len(whole)} and {len(bare)} functions"


def sizes_are_those_of_readelf(which):
    told = call("readelf", "-SW", stripped(which)).out
    found = re.search(r"\.gopclntab\s+PROGBITS\s+\w+ \w+ (\w+)", told)
    size = int(found[1], 16)
    share = 100 * size / stripped(which).stat().st_size
    answer = gosym("inspect", stripped(which)).out
    assert re.search(rf"\.gopclntab +{size:#x} .* {share:.1f} % of the file", answer), answer


def addresses_are_those_of_nm(which):
    program = build_demo(which, "-gcflags=-l")  # inlined everywhere, a function has no address
    ours, count = functions(program), 0
    for line in call("nm", program).out.splitlines():
        address, kind, name = (line.split(maxsplit=2) + [""] * 3)[:3]
        if kind in "tT" and name.startswith("main."):
            assert ours.get(name) == int(address, 16), f"{name} is at {address}"
            count += 1
    assert count >= 4, f"only {count} functions of main"


def names_are_those_of_addr2line(which):
    """At some addresses of each function, standard input to standard output."""
    starts = sorted(functions(stripped(which)).values())
    addresses = [a + d for a, b in itertools.pairwise(starts) for d in (0, 5, 9) if a + d < b]
    text = "\n".join(map(hex, addresses)) + "\n"
    ask = functools.partial(subprocess.run, input=text, text=True, capture_output=True, check=True)
    expected = ask([go(which), "tool", "addr2line", build_demo(which)],
                   env=GO_ENVIRONMENT).stdout
    expected = re.sub(r":-\d+$", ":-1", expected, flags=re.M).splitlines()  # no line there
    ours = ask([GOSYM, "resolve", "--json", "--wrappers", stripped(which)]).stdout
    wrong = []
    for line, function, where in zip(ours.splitlines(), expected[::2], expected[1::2], strict=True):
        answer = json.loads(line)
        frames = answer["frames"]
        got = (frames[-1]["function"], f"{frames[0].get('file', '')}:{frames[0].get('line', -1)}") \
            if frames else ("?", "?:0")
        if got != (function, where):
            wrong.append(f"{answer['address']}: {got}, not {(function, where)}")
    assert not wrong, f"{len(wrong)} of {len(addresses)}\n" + "\n".join(wrong[:10])


# A unit of C++ with inlined calls, scopes and a template.
UNIT = """#include <algorithm>
#include <string>
#include <vector>
namespace partNUMBER {
struct Box { std::vector<std::string> held; size_t count(char c) const; };
size_t Box::count(char c) const {
  size_t all = 0;
  for (auto& text : held)
    all += std::count_if(text.begin(), text.end(), [&](char other) { return c == other; });
  return all;
}
size_t run(int times) {
  Box box;
  for (int i = 0; i < times; i++) box.held.push_back(std::to_string(i * NUMBER));
  std::sort(box.held.begin(), box.held.end());
  return box.count('1');
}
}
"""


def program_of_units(count):
    folder = new_place("units")
    folder.mkdir()
    main, calls = "", []
    for number in range(1, count + 1):
        (folder / f"{number}.cpp").write_text(UNIT.replace("NUMBER", str(number)))
        main += f"namespace part{number} {{ unsigned long run(int); }}\n"
        calls.append(f"part{number}::run(count)")
    main += f"int main(int count, char**) {{ return int({' + '.join(calls)}); }}\n"
    (folder / "main.cpp").write_text(main)
    program = folder / "program"
    call("g++", "-O2", "-g", *sorted(folder.glob("*.cpp")), "-o", program)
    return program


def jobs_change_no_answer():
    """Threads share addresses, where units of debugging information name them."""
    program = program_of_units(3)
    packed = new_place("packed")
    call("objcopy", "--compress-debug-sections", program, packed)
    sections = call("readelf", "-SW", program).out
    begin, size = (int(word, 16)
                   for word in re.search(r" \.text +PROGBITS +(\w+) \w+ (\w+)", sections).groups())
    # Some lie outside, and they are in no order: each is answered where it was asked for. Five threads
    # have enough to do.
    places = range(begin - 64, begin + size + 64)
    addresses = sorted(places[::len(places) // 1500], key=lambda address: address * 40503 % 65537)
    asked = "\n".join(map(hex, addresses))
    for file, options in itertools.product((program, packed), ([], ["--json"])):
        alone, *shared = (subprocess.run([GOSYM, "resolve", "-j", str(jobs), *options, file], input=asked,
                                         text=True, capture_output=True, check=True) for jobs in (1, 2, 5))
        assert "part3::run" in alone.stdout or options, alone.stdout[:1000]
        assert all((done.stdout, done.stderr) == (alone.stdout, "") for done in shared), options


CHECKS = {"inspect: strip takes no function away": strip_changes_nothing,
          "inspect: the size of .gopclntab is readelf's": sizes_are_those_of_readelf,
          "inspect: main.* lie where nm sees them": addresses_are_those_of_nm,
          "resolve: names and lines are those of go tool addr2line": names_are_those_of_addr2line}

run([(f"{which}: {title}", functools.partial(check, which))
     for which in ("debian", "newest") for title, check in CHECKS.items()]
    + [("resolve: answers are the same on several CPUs", jobs_change_no_answer)], root=False)
