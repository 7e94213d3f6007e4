#!/usr/bin/python3
"""Other programs take what report writes, and count the same."""
import base64
import collections
import functools
import gzip
import hashlib
import json
import pathlib
import re
import shutil
import xml.etree.ElementTree

import jsonschema

from common import (FIXTURES, GO_ENVIRONMENT, GOSYM, SLOW, WORK, Skip, build_demo, call, fetched, folded,
                    go, gosym, new_place, pprof, pprof_file, record, run, running)


@functools.cache
def recording():
    with running(build_demo("newest", "-ldflags=-s -w"), 600) as pid:
        return record("-p", pid, seconds=3, hertz=499)


def go_pprof(*options):
    return call("/usr/bin/go", "tool", "pprof", *options, pprof_file(recording()),
                env=GO_ENVIRONMENT).out


def every_view_of_pprof():
    assert "main.fetchData" in go_pprof("-top")
    assert re.search(r"main\.processRequest", go_pprof("-peek", r"main\.fetchData"))
    assert "samples/count cpu/nanoseconds" in go_pprof("-raw")


def period_of(profile):
    return min(sample.nanoseconds / sample.count for sample in profile.samples)


def totals_are_equal():
    """Folded stacks count ticks of the clock: a sample stands for those that were skipped before it."""
    profile = pprof(recording())
    samples = sum(sample.count for sample in profile.samples)
    ticks = round(sum(sample.nanoseconds for sample in profile.samples) / period_of(profile))
    assert samples > 0
    told = re.search(r"([\d,]+) samples", gosym("report", recording()).out)
    assert told and int(told[1].replace(",", "")) == samples, f"{told} in the text, {samples} in pprof"
    assert sum(stack.count for stack in folded(recording())) == ticks >= samples
    of = re.search(r"of (\d+) total", go_pprof("-top", "-sample_index=samples"))
    assert of and int(of[1]) == samples, f"{of} in pprof -top, {samples} in pprof -raw"


def nanoseconds_are_counts():
    profile = pprof(recording())
    period = period_of(profile)
    for sample in profile.samples:
        ticks = sample.nanoseconds / period
        assert abs(ticks - round(ticks)) <= 0.01 and round(ticks) >= sample.count, sample


def go_build_optimises_by_it():
    if SLOW:
        raise Skip("Go's library is built anew")
    program = WORK / "optimised"
    call(go("newest"), "build", "-buildvcs=false", f"-pgo={pprof_file(recording())}", "-o", program,
         cwd=FIXTURES / "demo", env=GO_ENVIRONMENT)
    told = call(go("newest"), "version", "-m", program).out
    assert re.search(r"build\s+-pgo=.*cpu\.pb\.gz", told), told


def without_file(text):
    """What -top says, but for the file's name and what it was made of."""
    return [line for line in text.splitlines() if not line.startswith(("File:", "Build ID:", "event:"))]


def profiles_are_read_again():
    """What was written is read: go tool pprof sees no difference, and report shows the same."""
    file = pprof_file(recording())
    again = file.with_name("again.pb.gz")
    gosym("report", "-q", file, "--pprof", again)
    for options in (["-top"], ["-top", "-cum", "-sample_index=samples"], ["-tags"], ["-traces"]):
        before, after = (call("/usr/bin/go", "tool", "pprof", *options, one, env=GO_ENVIRONMENT).out
                         for one in (file, again))
        assert without_file(before) == without_file(after), (options, before, after)
    # The profile has nanoseconds, the recording ticks: they are told apart from those of others.
    assert gosym("report", "-q", file, "--folded").out == gosym("report", "-q", recording(), "--folded").out


def raw_profile(file):
    """As go tool pprof has it, but for who made the file, which type it begins with, and whether places in it
    have files and lines, which Go's own do not say."""
    raw = call("/usr/bin/go", "tool", "pprof", "-raw", file, env=GO_ENVIRONMENT).out
    raw = re.sub(r"Comment: .*\n", "", raw).replace("[dflt]", "")
    return re.sub(r"\[FN\](\[..\])+", "[FN]", raw)


def heap_profile():
    """Of Go's own: each sample type is shown as an event, and has what go tool pprof says of it. Written again,
    a sample has the values that it had."""
    source = new_place("heap.go")
    source.write_text("""package main

import ("os"; "runtime"; "runtime/pprof"; "time")

var kept [][]byte

//go:noinline
func keep() { for i := 0; i < 1000; i++ { kept = append(kept, make([]byte, 10000)) } }

func main() {
	runtime.MemProfileRate = 1
	keep()
	file, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(file, 0)
	runtime.SetBlockProfileRate(1)
	for i := 0; i < 3; i++ {
		done := make(chan bool)
		go func() { time.Sleep(time.Millisecond); close(done) }()
		<-done
	}
	file, _ = os.Create(os.Args[2])
	pprof.Lookup("block").WriteTo(file, 0)
}
""")
    program, file, blocks = source.with_suffix(""), source.with_suffix(".pb.gz"), source.with_suffix(".block.pb.gz")
    call(go("newest"), "build", "-o", program, source, env=GO_ENVIRONMENT)
    call(program, file, blocks)
    for given in (file, blocks):
        written = given.with_suffix(".again")
        gosym("report", "-q", given, "--pprof", written)
        assert raw_profile(written) == raw_profile(given), (raw_profile(given), raw_profile(written))
    # So they are by any other name.
    other = source.with_suffix(".other")
    other.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"alloc_", b"asked_")))
    gosym("report", "-q", other, "--pprof", written)
    given, written = (raw_profile(one).split("Samples:")[1] for one in (other, written))
    assert written == given and "asked_space" in given, (given, written)
    for index in ("inuse_space", "alloc_objects"):
        raw = call("/usr/bin/go", "tool", "pprof", "-raw", f"-sample_index={index}", file, env=GO_ENVIRONMENT).out
        types = re.search(r"Samples:\n(.*)", raw)[1].split()
        column = [name.split("/")[0] for name in types].index(index)
        sum_of_go = sum(int(line.split(":")[0].split()[column])
                        for line in raw.split("Samples:\n")[1].split("Locations")[0].splitlines()[1:]
                        if re.match(r"\s*-?\d+\s+-?\d+", line))
        told = json.loads(gosym("report", "-q", file, "--event", index, "--json").out)
        assert told["totals"]["value"] == sum_of_go, (index, told["totals"], sum_of_go)
        names = [function["name"] for function in told["functions"]]
        assert "main.keep" in names, names
    # A value that is chosen is all that is written.
    one = source.with_suffix(".one")
    gosym("report", "-q", file, "--event", "alloc_space", "--pprof", one)
    assert re.search(r"Samples:\nalloc_space/bytes\n", raw_profile(one)), raw_profile(one)


def profiles_come_through_pipes():
    """Whole, though a pipe gives 64 KiB at once and may begin with little."""
    text = new_place("text")
    text.write_text("".join(f"main;f{number};g{number % 100} {number + 1}\n" for number in range(10000)))
    for file in (text, page(), recording(), pprof_file(recording())):
        expected = gosym("report", "-q", "--folded", file).out
        script = '(head -c 5; sleep 0.1; cat) <"$1" | "$0" report -q --folded -'
        assert call("sh", "-c", script, GOSYM, file).out == expected, file
    endless = call("sh", "-c", 'yes "" | "$0" report -', GOSYM, check=False)
    assert endless.status == 1 and "standard input" in endless.err, endless


@functools.cache
def page():
    file = recording().with_suffix(".html")
    gosym("report", "-q", recording(), "--html", file)
    return file


def without_stacks(report):
    """The order of what is equal is that of the stacks, which a page has in its own."""
    del report["tree"]
    del report["quality"]["charged_ns"]  # pages do not have what the kernel charged
    report["functions"] = sorted(((one["name"], one["self"], one["total"], one.get("file"), one.get("package"))
                                  for one in report["functions"]), key=str)
    return report


def pages_are_profiles():
    """What is made of a page is what is made of the recording."""
    for options in ([], ["--focus", "processRequest"], ["--no-inlines"], ["--hide", "^main.main$"],
                    ["--demangle", "full"], ["--no-kernel"], ["--comm", "demo"], ["--time", "0.2,0.6"]):
        of_page, of_recording = (gosym("report", "-q", one, "--folded", *options).out
                                 for one in (page(), recording()))
        assert of_page == of_recording and of_page, options
    of_page, of_recording = (without_stacks(json.loads(gosym("report", "-q", one, "--json").out))
                             for one in (page(), recording()))
    assert of_page == of_recording
    of_page, of_recording = (re.search(r"^load .*", gosym("report", one).out, re.M)[0]
                             for one in (page(), recording()))
    assert of_page == of_recording
    again = page().with_name("page.pb.gz")
    gosym("report", "-q", page(), "--pprof", again)
    for options in (["-top"], ["-tags"]):
        of_page, of_recording = (call("/usr/bin/go", "tool", "pprof", *options, one, env=GO_ENVIRONMENT).out
                                 for one in (again, pprof_file(recording())))
        assert without_file(of_page) == without_file(of_recording), (options, of_page, of_recording)
    same = page().with_name("again.html")
    gosym("report", "-q", page(), "--html", same)
    assert gosym("report", "-q", same, "--folded").out == gosym("report", "-q", recording(), "--folded").out


def pages_load_nothing():
    text = page().read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'"), policy
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy, policy
    assert not re.search(r"(src|href)=|@import|url\(", text), "the page names another file"


def picture_is_xml():
    file = recording().with_suffix(".svg")
    gosym("report", "-q", recording(), "--svg", file)
    root = xml.etree.ElementTree.parse(file).getroot()
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("main.fetchData: ") for title in titles), titles


def kernel_addresses_are_the_owners():
    """A pprof file with the kernel's addresses is for its owner; without them it is for whom the umask lets."""
    spins = "for i in $(seq 200); do cat /proc/self/stat; done"
    recorded = new_place("cpu.raw")
    gosym("record", "-q", "-F", "997", "-o", recorded, "--", "sh", "-c", spins)
    for options, expected in ((["-o"], 0o600), (["--no-kernel", "-o"], 0o644)):
        file = new_place("cpu.pb.gz")
        gosym("report", "-q", recorded, "--format", "pprof", *options, file, umask=0o22)
        kernel = [location for location in read_locations(file) if location >= 1 << 63]
        assert file.stat().st_mode & 0o777 == expected and bool(kernel) == (expected == 0o600), (options, kernel)
    file = new_place("diff.pb.gz")
    gosym("diff", recorded, recorded, "--pprof", file, umask=0o22)
    assert file.stat().st_mode & 0o777 == 0o600
    file = new_place("cpu.folded")
    gosym("report", "-q", recorded, "--folded", "-o", file, umask=0o22)
    assert file.stat().st_mode & 0o777 == 0o644


def read_locations(file):
    """The addresses in a pprof file."""
    text = call("/usr/bin/go", "tool", "pprof", "-raw", file, env=GO_ENVIRONMENT).out
    return [int(address, 16) for address in re.findall(r"^ +\d+: (0x[0-9a-f]+) ", text, re.M)]


def flame_graph():
    file = recording().with_suffix(".folded")
    gosym("report", recording(), "--folded", "-o", file)
    picture = call("perl", fetched("flamegraph"), file)
    assert not picture.err, picture.err
    assert picture.out.rstrip().endswith("</svg>")
    assert "main.fetchData (" in picture.out


def functions_of(recording):
    """Name -> [self, total] in nanoseconds, as report has it."""
    report = json.loads(gosym("report", "-q", "--json", "--top", 0, recording).out)
    return {function["name"]: [function["self"], function["total"]] for function in report["functions"]}


def are_those(found, recording):
    """Functions counted in another form are those of the report."""
    expected = functions_of(recording)
    assert set(found) == set(expected), set(found) ^ set(expected)
    for name, amounts in expected.items():
        assert all(abs(a - b) < 1000 for a, b in zip(found[name], amounts)), (name, found[name], amounts)


def add_stack(found, names, amount):
    """`names` are the outermost first."""
    found[names[-1]][0] += amount
    for name in set(names):
        found[name][1] += amount


def columns_of(table):
    """All columns have the length that the table tells."""
    columns = {name: column for name, column in table.items() if isinstance(column, list)}
    assert {len(column) for column in columns.values()} == {table["length"]}, table.keys()
    return columns


def firefox_profile():
    """Its tables say what report says, as the format's readers put them together."""
    profile = json.loads(gosym("report", "-q", "-f", "firefox", recording()).out)
    found, colours = collections.defaultdict(lambda: [0, 0]), {one["color"] for one in profile["meta"]["categories"]}
    assert profile["meta"]["preprocessedProfileVersion"] == 48 and "grey" in colours, profile["meta"]
    for thread in profile["threads"]:
        samples = {name: column for name, column in thread["samples"].items() if isinstance(column, list)}
        stacks, frames, functions, resources = (columns_of(thread[name]) for name in (
            "stackTable", "frameTable", "funcTable", "resourceTable"))
        assert samples["time"] == sorted(samples["time"]) and thread["samples"]["weightType"] == "tracing-ms"
        assert max(stacks["category"]) < len(profile["meta"]["categories"])
        for stack, weight in zip(samples["stack"], samples["weight"]):
            names = []
            while stack is not None:
                function = frames["func"][stacks["frame"][stack]]
                names.insert(0, thread["stringArray"][functions["name"][function]])
                resource = functions["resource"][function]
                assert resource == -1 or profile["libs"][resources["lib"][resource]]["name"], resource
                assert stacks["prefix"][stack] is None or stacks["prefix"][stack] < stack
                stack = stacks["prefix"][stack]
            add_stack(found, names, weight * 1e6)
        assert {thread["pid"]} == {str(profile["threads"][0]["pid"])} and "demo" in thread["name"], thread["name"]
    are_those(found, recording())
    assert any(depth > 0 for thread in profile["threads"] for depth in thread["frameTable"]["inlineDepth"])


def speedscope_profile():
    """Its amounts are the report's."""
    profile = json.loads(gosym("report", "-q", "-f", "speedscope", recording()).out)
    found = collections.defaultdict(lambda: [0, 0])
    for thread in profile["profiles"]:
        assert len(thread["samples"]) == len(thread["weights"]) and sum(thread["weights"]) == thread["endValue"]
        for stack, weight in zip(thread["samples"], thread["weights"]):
            add_stack(found, [profile["shared"]["frames"][frame]["name"] for frame in stack], weight)
    are_those(found, recording())


def speedscope_schema():
    """That of its package, for one event and for two."""
    if not shutil.which("npm"):
        raise Skip("no npm")
    schema = pathlib.Path(fetched("npm", "speedscope", "1.25.0", "dist/release/file-format-schema.json"))
    with running(build_demo("newest"), 600) as pid:
        two = record("--off-cpu", "-p", pid, seconds=0.5, hertz=499)
    for file in (recording(), two):
        jsonschema.validate(json.loads(gosym("report", "-q", "-f", "speedscope", file).out),
                            json.loads(schema.read_text()))



def script_text():
    """Read as stackcollapse-perf.pl does, it is the folded text."""
    counts, frames, head = collections.Counter(), None, None
    for line in gosym("report", "-q", "--script", recording()).out.splitlines():
        if found := re.match(r"(\S.+?)\s+(\d+)/(\d+)\s+([\d.]+):\s+(\d+)\s+(\S+):\s*$", line):
            frames, head = [], found
            assert found[6] == "cpu-clock", line
        elif not line:
            counts[";".join([head[1], *frames])] += round(int(head[5]) * 499 / 1e9)
        else:
            address, name, file = re.match(r"\s*(\w+)\s*(.+) \((\S*)\)$", line).groups()
            is_kernel = file == "[kernel.kallsyms]"
            assert int(address, 16) == 0 if is_kernel else int(address, 16) != 0, line
            frames.insert(0, name.replace(";", ":") + "_[k]" * is_kernel)
    folded_text = dict(line.rsplit(" ", 1) for line in gosym("report", "-q", "--folded", recording()).out.splitlines())
    assert counts == {stack: int(count) for stack, count in folded_text.items()}, (counts, folded_text)


run([("go tool pprof takes the profile", every_view_of_pprof),
     ("the totals of all formats are equal", totals_are_equal),
     ("CPU time is the number of samples times the period", nanoseconds_are_counts),
     ("go build -pgo takes the profile", go_build_optimises_by_it),
     ("a profile that was written is read", profiles_are_read_again),
     ("profiles of Go's heap are read", heap_profile),
     ("a page is read as the recording is", pages_are_profiles),
     ("profiles are read from a pipe as from a file", profiles_come_through_pipes),
     ("a page loads nothing, and runs one script", pages_load_nothing),
     ("a picture is XML", picture_is_xml),
     ("kernel addresses are for the owner", kernel_addresses_are_the_owners),
     ("flamegraph.pl takes the folded stacks", flame_graph),
     ("a profile for Firefox has the report's functions", firefox_profile),
     ("a profile for speedscope has them as well", speedscope_profile),
     ("its form is that of the schema", speedscope_schema),
     ("perf script's text collapses to the folded stacks", script_text)])
