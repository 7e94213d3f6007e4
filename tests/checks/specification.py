#!/usr/bin/python3
"""Whether src/raw/raw.proto is what gosym writes and reads: specification.py FIXTURES [RECORDING]

Takes recordings apart as man/gosym-raw.5 says, lets protoc decode the chunks, puts samples together
as raw.proto says, and compares the outcome with what gosym reads. Without RECORDING it is of the one
that has every field, and asks that raw.proto has no other.
"""
import itertools
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PROTO = pathlib.Path(__file__).resolve().parents[2] / "src" / "raw" / "raw.proto"
MESSAGES = {1: "Info", 2: "Image", 3: "Events", 4: "Samples", 5: "KernelSymbols", 6: "PerfMap",
            7: "Stats", 8: "ImageContents", 9: "End", 10: "Vdso"}
# The recording that tests/fixtures/every_field wrote while recordings had version 1: the last commit
# before `raw: format version 2` makes it again, with an id of its own.
OLD = pathlib.Path(__file__).resolve().parent / "version_1.raw"
NUMBER = 1 << 63
MODULUS = 1 << 64
REGISTERS_AT = 524288
MAX_PLACE = 32768


def run(*command, data=None):
    done = subprocess.run([str(word) for word in command], input=data, capture_output=True, check=False)
    assert done.returncode == 0, f"{command} gave {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def chunks(file):
    """The type and the payload of each."""
    size, = struct.unpack_from("<I", file, 16)
    offset = size
    while offset < len(file):
        magic, kind, flags, stored, raw = struct.unpack_from("<4sHHII", file, offset)
        assert magic == b"CHNK", f"at byte {offset}: {magic}"
        payload = file[offset + 32:offset + 32 + stored]
        if flags & 1:
            payload = run("zstd", "-dc", data=payload)
        assert len(payload) == raw, f"chunk at byte {offset}: {len(payload)} bytes, not {raw}"
        yield kind, payload
        offset += (32 + stored + 7) // 8 * 8


class Message(dict):
    """Of each field its values; those that are absent are none."""
    def all(self, name):
        return self.get(name, [])

    def one(self, name, absent=0):
        values = self.get(name, [absent])
        assert len(values) == 1, f"{name}: {values}"
        return values[0]

    def text(self, name):
        return self.one(name, b"").hex()

    def flag(self, name):
        return self.one(name, "false") == "true"


def decoded(name, payload):
    """What protoc prints, as a Message. A field that raw.proto has not is an error."""
    text = run("protoc", f"--decode=gosym.raw.{name}", f"--proto_path={PROTO.parent}", PROTO.name,
               data=payload).decode("latin-1")
    stack = [Message()]
    for line in text.splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
            continue
        opened = re.fullmatch(r"(\w+) \{", line)
        key, value = (opened[1], Message()) if opened else line.split(": ", 1)
        assert not key[0].isdigit(), f"{name} has a field {key} that raw.proto has not"
        if opened:
            stack[-1].setdefault(key, []).append(value)
            stack.append(value)
            continue
        if value[0] == '"':
            value = value[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1")
        elif value not in ("true", "false"):
            value = int(value)
        stack[-1].setdefault(key, []).append(value)
    return stack[0]


def sums(differences):
    """The numbers of which these are the differences."""
    number = 0
    for difference in differences:
        number = (number + difference) % MODULUS
        yield number


class Tree:
    """The stacks of a recording, over its chunks."""
    def __init__(self):
        self.number = None
        self.nodes = {}

    def stacks(self, samples):
        if samples.one("tree") != self.number:
            self.number, self.nodes = samples.one("tree"), {}
        node = samples.one("first_node")
        for distance, address in zip(samples.all("callers"), sums(samples.all("node_addresses")),
                                     strict=True):
            self.nodes[node] = (node - distance, address)
            node += 1
        newest = node - 1
        nodes = [newest - end for end in samples.all("stack_ends")]
        return [[]] + [self.stack(node) for node in samples.all("stack_nodes") + nodes]

    def stack(self, node):
        addresses = []
        while node:
            node, address = self.nodes[node]
            addresses.append(address)
        return addresses


def dumps(samples):
    """What is left of each stack: offsets with values."""
    addresses = iter(list(sums(samples.all("word_addresses"))))
    places = iter(samples.all("word_places"))
    words = [[code & ~1, next(places if code & 1 else addresses)]
             for code in samples.all("word_offsets")]
    steps, heights = iter(samples.all("word_steps")), iter(samples.all("word_heights"))
    registers = [[REGISTERS_AT + 8 * (code // 4), value + (NUMBER if code % 4 == 2 else 0)]
                 for code, value in zip(samples.all("registers"), samples.all("register_values"),
                                        strict=True)]
    counts = samples.all("dump_words")
    register_counts = samples.all("dump_registers") or [0] * len(counts)
    result = [[]]
    outermost = samples.all("dump_outermost")
    if outermost:
        bases, shared = samples.all("dump_bases"), samples.all("dump_shared")
        for count, base, common, outer in zip(counts, bases, shared, outermost, strict=True):
            own = words_from(result[len(result) - base] if common else [], common, 8 * outer)
            for _ in range(count):
                code = next(steps)
                offset = (own[-1][0] if own else 8 * outer) - 4 * (code & ~1)
                own.append([offset, place_of(offset, next(heights)) if code & 1 else next(addresses)])
            result.append(own[::-1])
        counts = [0] * len(counts)
    else:
        result += [[] for _ in counts]
    for i, (count, register_count) in enumerate(zip(counts, register_counts, strict=True)):
        result[i + 1] += words[:count] + registers[:register_count]
        words, registers = words[count:], registers[register_count:]
    assert not words and not registers and not list(steps) and not list(heights), "words or registers of no dump"
    return result


def words_from(base, count, outermost):
    """The outermost words of another dump, outermost first, where they are in this one."""
    words = [word for word in base if word[0] < REGISTERS_AT]
    shift = outermost - words[-1][0] if words else 0
    return [[offset + shift, value + shift if 0 < value <= MAX_PLACE else value]
            for offset, value in words[::-1][:count]]


def place_of(offset, height):
    return (offset + ((height << 3 | height >> 29) & 0xffffffff)) & 0xffffffff


def lists_of_switches(samples):
    places = iter(zip(samples.all("switch_starts"), samples.all("switch_words"),
                      samples.all("switch_frames"), strict=True))
    lists = [[]] + [[[start, (word - 1) % MODULUS, (frame - 1) % MODULUS]
                     for start, word, frame in itertools.islice(places, count)]
                    for count in samples.all("list_switches")]
    assert not list(places), "switches of no list"
    return lists


def numbers_by_newest(codes):
    newest = 0
    for code in codes:
        number = newest - ((code - 1 >> 1) ^ -(code - 1 & 1)) if code else 0
        newest = max(newest, number)
        yield number


def samples_of(message, tree):
    stacks = tree.stacks(message)
    tops = dumps(message)
    switch_lists = lists_of_switches(message)
    texts = [""] + [text.hex() for text in message.all("texts")]
    label_sets = [[]] + [[[label.text("key"), label.text("value")] for label in of.all("labels")]
                         for of in message.all("label_sets")]
    count = len(message.all("time"))

    def column(name):
        return message.all(name) or [0] * count

    def stack_column(name):
        return list(numbers_by_newest(message.all(f"{name}_code"))) or column(name)

    columns = [[time << message.one("time_shift") for time in sums(message.all("time"))]]
    columns += [column(name) for name in ("pid", "tid", "cpu", "user_end")]
    columns += [stack_column("kernel_stack"), stack_column("user_stack")]
    columns += [column(name) for name in ("frame", "dump", "label_set", "goroutine_start", "gap",
                                          "missing", "event", "state", "waker", "switches", "creator", "doublings",
                                          "objects", "bytes", "chance")]
    columns += [list(sums(column(name))) for name in ("goid", "weight", "cgroup")]
    for (time, pid, tid, cpu, end, kernel, user, frame, dump, labels, start, gap, missing, event, state,
         waker, switches, creator, doublings, objects, size, chance, goid, weight, cgroup) in zip(*columns, strict=True):
        yield {"kind": "sample", "time": time, "pid": pid, "tid": tid, "cpu": cpu, "user_end": end,
               "kernel_stack": stacks[kernel], "user_stack": stacks[user],
               "frame_offset": (frame - 1) % MODULUS, "words": tops[dump], "goid": goid,
               "labels": label_sets[labels], "goroutine_start": start,
               "switches": switch_lists[switches], "gap": gap,
               "missing": missing, "event": event, "weight": weight, "cgroup": cgroup,
               "state": texts[state], "waker": texts[waker],
               "creator": stacks[creator][0] if creator else 0, "doublings": doublings,
               "objects": objects, "bytes": size, "chance": chance}


EVENTS = {"map": (["time", "pid", "start", "length", "file_offset", "image"], ["path"], []),
          "comm": (["time", "pid", "tid"], ["comm"], ["is_exec"]),
          "fork": (["time", "pid", "tid", "parent_pid", "parent_tid"], [], []),
          "exit": (["time", "pid", "tid"], [], []),
          "kernel_code": (["time", "address", "length"], ["name"], ["is_removed"]),
          "cgroup": (["time", "id"], ["path"], [])}


def plain(kind, message, numbers, texts=(), flags=(), **others):
    return {"kind": kind, **{name: message.one(name) for name in numbers},
            **{name: message.text(name) for name in texts},
            **{name: message.flag(name) for name in flags}, **others}


def events_of(message):
    for name, (numbers, texts, flags) in EVENTS.items():
        for event in message.all(name):
            yield plain(name, event, numbers, texts, flags)


def info_of(message):
    events = [[e.text("name"), e.one("frequency"), e.one("period"), e.text("unit")]
              for e in message.all("events")]
    return plain("info", message, ["cpu_count"],
                 ["gosym_version", "host", "kernel_release", "machine", "command_line", "sampler"],
                 ["has_user", "has_kernel", "is_system_wide"], events=events,
                 targets=message.all("targets"))


def image_of(message):
    names = ("file_offset", "file_size", "address", "memory_size", "flags")
    segments = [[segment.one(name) for name in names] for segment in message.all("segments")]
    return plain("image", message, ["id", "device", "inode", "size", "mtime_ns"],
                 ["path", "gnu_build_id", "go_build_id", "problem"], ["is_deleted"],
                 segments=segments)


def stats_of(message):
    names = ("cpu", "samples", "lost_samples", "lost_events", "throttled_ns", "skipped", "lost_ns",
             "event")
    return plain("stats", message, ["time", "samples", "lost_samples", "lost_events", "charged_ns"],
                 cpus=[[cpu.one(name) for name in names] for cpu in message.all("cpus")])


def specified(path):
    """What is in a recording as raw.proto has it, and the messages."""
    file = path.read_bytes()
    messages = [(MESSAGES[kind], decoded(MESSAGES[kind], payload)) for kind, payload in chunks(file)]
    major, minor = struct.unpack_from("<HH", file, 8)
    monotonic, realtime = struct.unpack_from("<QQ", file, 24)
    rest = {"kind": "rest", "kernel_symbols": "", "vdso": "", "end": 0, "major": major, "minor": minor,
            "monotonic_ns": monotonic, "realtime_ns": realtime}
    things, tree = [], Tree()
    for name, message in messages:
        if name == "Info":
            things.append(info_of(message))
        elif name == "Image":
            things.append(image_of(message))
        elif name == "Events":
            things += events_of(message)
        elif name == "Samples":
            things += samples_of(message, tree)
        elif name == "PerfMap":
            marks = [[mark.one("time"), mark.one("size")] for mark in message.all("marks")]
            things.append(plain("perf_map", message, ["time", "pid"], ["path", "text", "problem"], marks=marks))
        elif name == "ImageContents":
            things.append(plain("piece", message, ["image", "offset", "total"], ["bytes", "problem", "stored_as"]))
        elif name == "Stats":
            things = [thing for thing in things if thing["kind"] != "stats"] + [stats_of(message)]
        elif name == "KernelSymbols":
            rest["kernel_symbols"] += message.text("text")
        elif name == "Vdso":
            rest["vdso"] = message.text("contents")
        else:
            rest["end"] = message.one("time")
    return things + [rest], messages


def of_kinds(things):
    """By kind, in order; chunks of events have theirs by kind as well."""
    kinds = {}
    for thing in things:
        kinds.setdefault(thing["kind"], []).append(thing)
    return kinds


def compare(path, fixtures):
    read = [json.loads(line) for line in run(fixtures / "dump_recording", path).splitlines()]
    told, messages = specified(path)
    read, told = of_kinds(read), of_kinds(told)
    assert read.keys() == told.keys(), f"{read.keys()} were read of {told.keys()}"
    for kind, things in told.items():
        assert len(read[kind]) == len(things), f"{len(read[kind])} of {len(things)} {kind}"
        for ours, theirs in zip(read[kind], things, strict=True):
            assert ours == theirs, f"gosym reads\n# {ours}\n# where raw.proto has\n# {theirs}"
    print("#", ", ".join(f"{len(things)} {kind}" for kind, things in told.items()))
    return messages


def fields_of_proto():
    """Each field as (message, field)."""
    found, message = set(), None
    for line in PROTO.read_text().splitlines():
        if opened := re.match(r"message (\w+) {", line):
            message = opened[1]
        elif field := re.match(r"  (?:repeated )?(\w+) (\w+) = \d+;", line):
            found.add((message, field[2], field[1]))
    return found


def all_fields_occur(messages):
    types = {(message, field): kind for message, field, kind in fields_of_proto()}
    missing = set(types)

    def visit(name, message):
        for field, values in message.items():
            missing.discard((name, field))
            for value in values:
                if isinstance(value, Message):
                    visit(types[name, field], value)

    for name, message in messages:
        visit(name, message)
    assert types and not missing, f"raw.proto has what no recording has: {sorted(missing)}"
    print(f"# {len(types)} fields")


def check(number, title, case):
    try:
        case()
        print(f"ok {number} - {title}")
    except AssertionError as problem:
        print(f"not ok {number} - {title}\n# {problem}")


def main():
    fixtures = pathlib.Path(sys.argv[1])
    if not shutil.which("protoc") or not shutil.which("zstd"):
        print("1..0 # SKIP protoc or zstd is not installed")
        return
    if len(sys.argv) > 2:
        check(1, "what gosym reads is what raw.proto has", lambda: compare(pathlib.Path(sys.argv[2]), fixtures))
        print("1..1")
        return
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "every_field.raw"
        run(fixtures / "every_field", file)
        check(1, "what gosym reads is what raw.proto has, of each field", lambda: compare(file, fixtures))
        check(2, "what gosym reads of version 1 is what raw.proto has, of each field",
              lambda: compare(OLD, fixtures))
        check(3, "raw.proto has no field that no recording has",
              lambda: all_fields_occur(specified(file)[1] + specified(OLD)[1]))
    print("1..3")


main()
