#!/usr/bin/python3
"""The views of report against `go tool pprof` on the same profile, and against each other."""
import collections
import csv
import functools
import io
import itertools
import json
import os
import pathlib
import re
import shlex

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, ROOT, call, folded, go, gosym, new_place, pprof_file,
                    run, wait_for)

MILLISECONDS = 4000


@functools.cache
def recording():
    """A program of recursion, closures, interfaces, defer, goroutines and hot leaves."""
    program = new_place("go_stacks")
    call(go("newest"), "build", "-ldflags=-s -w", "-o", program, FIXTURES / "go_stacks" / "main.go",
         env=GO_ENVIRONMENT)
    file = new_place("cpu.raw")
    gosym("record", "-q", "-F", 499, "-o", file, "--", program, "all", MILLISECONDS)
    return file


@functools.cache
def go_pprof(*options):
    return call("/usr/bin/go", "tool", "pprof", "-sample_index=cpu", "-unit=ns", "-nodefraction=0",
                "-edgefraction=0", "-nodecount=100000", *options, pprof_file(recording()),
                env=GO_ENVIRONMENT).out


def nanoseconds(text):
    return round(float(text.removesuffix("ns")))


@functools.cache
def document(*options):
    return json.loads(gosym("report", "-q", recording(), "--json", "--demangle", "none", "--min", 0,
                            *options).out)


def rows(*options):
    """Of a view as CSV: name -> (self, total), in nanoseconds, names that occur twice added up."""
    text = gosym("report", "-q", recording(), "--csv", "--demangle", "none", *options).out
    titles, *table = csv.reader(io.StringIO(text))
    assert titles[1] == "self ns", titles
    result = {}
    for row in table:
        before = result.get(row[4], (0, 0))
        result[row[4]] = (before[0] + int(row[1]), before[1] + int(row[3]))
    return result


def nested_csv():
    """A column a key; times and numbers of samples add up to all, at each depth."""
    for keys in (["comm"], ["comm", "module"], ["process", "module", "function"]):
        text = gosym("report", "-q", recording(), "--csv", "-n", "--by", ",".join(keys)).out
        table = list(csv.DictReader(io.StringIO(text)))
        assert all(row[key] == row[key].strip() != "" for row in table for key in keys), table[:3]
        assert sum(int(row["samples"]) for row in table) == document()["totals"]["samples"]
        assert sum(int(row["self ns"]) for row in table) == document()["totals"]["value"]
        assert len({tuple(row[key] for key in keys) for row in table}) == len(table) > 0


def functions_are_those_of_top():
    """But for C++, whose names pprof shortens: gosym is sampled before it executes the program."""
    told = {}
    for line in go_pprof("-top", "-functions").splitlines():
        if row := re.match(r" *(\S+ns|0) +\S+% +\S+% +(\S+ns|0) +\S+%  (.*?)(?: \((?:partial-)?inline\))?$", line):
            told[row[3]] = (nanoseconds(row[1]), nanoseconds(row[2]))
    assert len(told) > 20, told
    found = {}
    for function in document()["functions"]:
        if "unnamed" not in function:
            found.setdefault(function["name"], []).append((function["self"], function["total"]))
    wrong = [(name, amounts, found.get(name)) for name, amounts in told.items()
             if not name.startswith("[") and "::" not in name and amounts not in found.get(name, [])]
    assert not wrong, wrong[:5]


def peek(function, *filters):
    """What -peek shows above and below the function: name -> nanoseconds."""
    callers, callees, side = {}, {}, None
    for line in go_pprof("-peek", f"^{re.escape(function)}$", "-functions", *filters).splitlines():
        if line.startswith("-----"):
            side = callers
        elif row := re.match(r" +(\S+ns) +\S+% \|   (.*?)(?: \((?:partial-)?inline\))?$", line):
            side[row[2]] = nanoseconds(row[1])
        elif re.match(r" *\S+ +\S+% +\S+% +\S+ +\S+% +\| (?! )", line):
            side = callees
    return callers, callees


def neighbours_are_those_of_peek(function, ours=(), theirs=()):
    for option, wanted in zip(("--callers", "--callees"), peek(function, *theirs)):
        found = rows(option, f"^{re.escape(function)}$", "--depth", 1, "--min", 0, *ours)
        found.pop(function, None)  # pprof has no edges from a node to itself
        assert found.keys() == wanted.keys(), (option, found, wanted)
        wrong = [(name, found[name], wanted[name]) for name in wanted
                 if found[name][1] != wanted[name]]
        assert not wrong, wrong
    return bool(wanted)


def lines_are_those_of_pprof():
    function = "main.fib"
    told = {}
    for line in go_pprof("-top", "-lines").splitlines():
        row = re.match(r" *(\S+ns|0) +\S+% +\S+% +(\S+ns|0) +\S+%  (\S+) \S*?([^/]*:\d+)", line)
        if row and row[3] == function:
            told[f"{function} {row[4]}"] = (nanoseconds(row[1]), nanoseconds(row[2]))
    assert len(told) > 1, told
    found = rows("--lines", f"^{re.escape(function)}$")
    assert found.keys() == told.keys(), (found, told)
    wrong = [(name, found[name], told[name]) for name in told
             if found[name] != told[name]]
    assert not wrong, wrong


def lines_are_those_of_list(ours=(), theirs=()):
    """Of a function that calls itself and one that only calls, with the lines of the source."""
    for function in ("main.fib", "main.recursion"):
        listed = {}
        for line in go_pprof("-list", f"^{re.escape(function)}$", f"-source_path={ROOT}", *theirs).splitlines():
            if row := re.match(r" *(\S+ns|\.) +(\S+ns|\.) +(\d+):", line):
                amounts = tuple(nanoseconds(text) if text != "." else 0 for text in row.groups()[:2])
                if any(amounts):
                    listed[f"{function} main.go:{row[3]}"] = amounts
        assert listed, function
        found = rows("--lines", f"^{re.escape(function)}$", *ours)
        assert found == listed, (found, listed)


def lines_have_their_source():
    """As text, in the order of the source: each with its text, the hottest marked, sums as in the table."""
    function = "main.recursion"
    source = (FIXTURES / "go_stacks" / "main.go").read_text().splitlines()
    found = rows("--lines", f"^{re.escape(function)}$")
    text = gosym("report", "-q", "--lines", f"^{re.escape(function)}$", "--demangle", "none", recording()).out
    shown = re.findall(r"^(.{34})([ >]) *(\d+)(?:  (.*))?$", text, re.MULTILINE)
    numbers = [int(number) for _, _, number, _ in shown]
    assert numbers == sorted(set(numbers)) and len(numbers) >= len(found) > 0, text
    for amounts, mark, number, line in shown:
        assert line.rstrip() == source[int(number) - 1].replace("\t", "    ").rstrip(), (number, line)
        own, total = found.get(f"{function} main.go:{number}", (0, 0))
        told = [float(amount or 0) for amount in (amounts[:9].strip(), amounts[16:25].strip())]
        assert abs(told[0] - own / 1e9) <= 0.005 and abs(told[1] - total / 1e9) <= 0.005, (number, told)
        assert (mark == ">") == (total == max(other for _, other in found.values())), (number, mark)


def tree_of_pprof(*filters):
    """The nodes and edges of -tree: name -> (self, total), (caller, callee) -> nanoseconds."""
    nodes, edges, above, name = {}, {}, [], None
    for line in go_pprof("-tree", "-functions", *filters).splitlines():
        if line.startswith("-----"):
            above, name = [], None
        elif row := re.match(r" +(\S+ns) +\S+% \|   (.*?)(?: \((?:partial-)?inline\))?$", line):
            if name is None:
                above.append((row[2], nanoseconds(row[1])))
            else:
                edges[name, row[2]] = nanoseconds(row[1])
        elif row := re.match(r" *(\S+ns|0) +\S+% +\S+% +(\S+ns|0) +\S+% +\| (\S.*?)(?: \((?:partial-)?inline\))?$",
                             line):
            name = row[3]
            nodes[name] = (nanoseconds(row[1]), nanoseconds(row[2]))
            edges.update({(caller, name): amount for caller, amount in above})
    return nodes, edges


def tree_of_gosym(*options):
    """The same of the tree in JSON: on each path a function, and a call, counts once."""
    nodes, edges = {}, {}

    def add(table, key, amounts):
        table[key] = tuple(map(sum, zip(table.get(key, (0, 0)), amounts)))

    def visit(node, caller, functions, calls):
        name, call_ = node["name"], (caller, node["name"])
        add(nodes, name, (node["self"], node["total"] if name not in functions else 0))
        if caller not in (None, name) and call_ not in calls:
            add(edges, call_, (0, node["total"]))
        for child in node["children"]:
            visit(child, name, functions | {name}, calls | {call_})

    for child in document(*options)["tree"]["children"]:
        visit(child, None, frozenset(), frozenset())
    return nodes, {call_: amounts[1] for call_, amounts in edges.items()}


def tree_is_that_of_pprof(ours=(), theirs=()):
    """But for C++, whose names pprof shortens, and code without a name, which pprof tells apart by address."""
    def comparable(name):
        return not name.startswith("[") and "::" not in name and "!fun_" not in name

    told, found = tree_of_pprof(*theirs), tree_of_gosym(*ours)
    assert len(told[0]) > 3 and len(told[1]) > 3, told
    nodes = {name: amounts for name, amounts in told[0].items() if comparable(name)}
    wrong = [(name, amounts, found[0].get(name)) for name, amounts in nodes.items() if found[0].get(name) != amounts]
    assert not wrong, wrong[:5]
    calls = {call_: amount for call_, amount in told[1].items() if all(map(comparable, call_))}
    wrong = [(call_, amount, found[1].get(call_)) for call_, amount in calls.items() if found[1].get(call_) != amount]
    assert not wrong, wrong[:5]


def tree_adds_up():
    """Each node has what its children have and what ends at it; totals by function are the table's."""
    self_by_name = {}

    def visit(node):
        assert node["total"] == node["self"] + sum(child["total"] for child in node["children"]), node
        self_by_name[node["name"]] = self_by_name.get(node["name"], 0) + node["self"]
        for child in node["children"]:
            visit(child)

    visit(document()["tree"])
    by_name = {}
    for function in document()["functions"]:
        by_name[function["name"]] = by_name.get(function["name"], 0) + function["self"]
    for name, amount in by_name.items():
        assert self_by_name.get(name, 0) == amount, (name, amount, self_by_name.get(name))


def screen(size):
    """What a terminal of this size shows after a report."""
    width, height = size
    server = ["tmux", "-L", f"gosym-{os.getpid()}-{width}"]
    shown = f"{GOSYM} report --stdio -q {recording()}; touch {recording()}.shown; exec sleep 600"
    done = pathlib.Path(f"{recording()}.shown")
    done.unlink(missing_ok=True)
    call(*server, "-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height,
         f"LC_ALL=C.UTF-8 sh -c {shlex.quote(shown)}")
    try:
        wait_for(done.exists, "report on a terminal")
        return call(*server, "capture-pane", "-p").out.splitlines()
    finally:
        call(*server, "kill-server")


def answer_is_on_the_first_screen(size):
    """The header's first line, the hottest function and the largest path, none of them wrapped."""
    lines = screen(size)
    text = "\n".join(lines)
    assert re.match(r"[\d,]+ samples( of cpu-clock at 499 Hz)?: .* CPUs$", lines[0]), text
    table = lines.index(next(line for line in lines if line.startswith("self %")))
    tree = lines.index(next(line for line in lines if line.startswith("total %")))
    hottest = max((function for function in document()["functions"]), key=lambda f: f["self"])
    assert hottest["name"][-10:] in lines[table + 1], text
    assert all(re.match(r" *\d+\.\d\d +\d+\.\d\d  \S", line) for line in lines[tree + 1:tree + 4]), text
    assert max(map(len, lines)) <= size[0], text


SELECTIONS = [["--focus", "fib"], ["--ignore", "fib"], ["--hide", "^main\\.f"], ["--show", "^main"],
              ["--module", "go_stacks"], ["--no-kernel"], ["--no-inlines"], ["--min", "0"]]


def totals_agree(selection):
    """In all formats and views, whatever was selected."""
    found = document(*selection)
    total = found["totals"]["value"]
    assert 0 < total <= document()["totals"]["value"]
    assert found["tree"]["total"] == total
    assert sum(function["self"] for function in found["functions"]) == total
    period = 1e9 / found["recording"]["frequency"]
    assert sum(stack.count for stack in folded(recording(), *selection)) == round(total / period)
    told = call("/usr/bin/go", "tool", "pprof", "-top", "-sample_index=cpu", "-unit=ns",
                pprof_file(recording(), *selection), env=GO_ENVIRONMENT).out
    assert nanoseconds(re.search(r"of (\S+) total", told)[1]) == total, told
    for key in ("module", "package", "category", "file", "process", "thread", "comm", "goroutine"):
        of_rows = rows(*selection, "--by", key)
        assert sum(amounts[0] for amounts in of_rows.values()) == total, (key, of_rows, total)


def nested_frames_have_own_totals():
    """A function has within its package, in each process, what it has in all: each is of one package."""
    def functions(*keys):
        text = gosym("report", "-q", recording(), "--csv", "--top", 0, "--by", ",".join(keys)).out
        found = collections.Counter()
        for row in csv.DictReader(io.StringIO(text)):
            for column in ("self ns", "total ns"):
                found[row["function"], column] += int(row[column])
        return found
    expected = functions("function")
    for outer in (["package"], ["module", "package"], ["process", "module"]):
        assert functions(*outer, "function") == expected, outer


def most_has_a_category():
    found = rows("--by", "category")
    total = sum(amounts[0] for amounts in found.values())
    other = sum(amounts[0] for name, amounts in found.items() if "other" in name)
    assert other <= 0.05 * total, found


FUNCTIONS = ["main.fib", "runtime.mallocgc", "main.main", "runtime.systemstack", "sort.Ints",
             "runtime.schedule"]


def all_that_were_sampled():
    names = {function["name"] for function in document()["functions"]}
    shown = [name for name in FUNCTIONS if name in names]
    assert "main.fib" in shown and len(shown) > 2, names
    for function in shown:
        neighbours_are_those_of_peek(function)


# The same stacks and frames as pprof selects by its own options of a profile of all.
FILTERS = [[["--focus", "main.fib"], ["-focus=main.fib"]], [["--ignore", "main.methods"], ["-ignore=main.methods"]],
           [["--hide", "^runtime\\."], ["-hide=^runtime\\."]], [["--show", "^main\\."], ["-show=^main\\."]],
           [["--focus", "main.fib", "--hide", "^runtime\\."], ["-focus=main.fib", "-hide=^runtime\\."]],
           [["--focus", "main.main", "--ignore", "main.fib", "--show", "^main\\."],
            ["-focus=main.main", "-ignore=main.fib", "-show=^main\\."]]]


def views_agree_with_filters(ours, theirs):
    """Of callers and callees, of the tree, and of lines where the function is left."""
    tree_is_that_of_pprof(ours, theirs)
    neighbours_are_those_of_peek("main.main", ours, theirs)
    if ["--ignore", "main.fib"] != ours[2:4]:
        assert neighbours_are_those_of_peek("main.recursion", ours, theirs)
        lines_are_those_of_list(ours, theirs)


# Each with one of another kind; of those that --focus and --ignore select nothing is left.
PAIRS = [sum(pair, []) for pair in itertools.combinations(SELECTIONS[1:-1], 2)]

run([("keys within each other are columns of CSV", nested_csv),
     ("functions have the self and total of pprof -top", functions_are_those_of_top),
     ("callers and callees are those of pprof -peek", all_that_were_sampled),
     ("lines are those of pprof -lines", lines_are_those_of_pprof),
     ("lines are those of pprof -list", lines_are_those_of_list),
     ("lines have their source", lines_have_their_source),
     ("the tree adds up", tree_adds_up),
     ("the tree has the nodes and calls of pprof -tree", tree_is_that_of_pprof),
     ("frames within frames have their own totals", nested_frames_have_own_totals),
     ("95 % of the time has a category", most_has_a_category)] +
    [(f"the answer is on the first screen of {width}x{height}",
      functools.partial(answer_is_on_the_first_screen, (width, height)))
     for width, height in [(80, 24), (120, 40), (200, 50)]] +
    [(f"views agree with pprof {' '.join(theirs)}", functools.partial(views_agree_with_filters, ours, theirs))
     for ours, theirs in FILTERS] +
    [(f"totals agree with {' '.join(selection)}", functools.partial(totals_agree, selection))
     for selection in SELECTIONS + PAIRS[::5]])
