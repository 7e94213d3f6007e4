#!/usr/bin/python3
"""What a file asks for is bounded by its size, and one that asks for more is refused.

    bounds.py GOSYM            tests
    bounds.py GOSYM --table    the most memory for each of them, from 448 bytes to 1 GB

The recordings are those of tests/fixtures/make_bombs.cpp. None of them needs rights.
"""
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys

from common import GOSYM, WORK, call, run

# It fills what is reserved and may never be used.
os.environ.pop("MALLOC_PERTURB_", None)

MAKE_BOMBS = pathlib.Path(GOSYM).parent.parent / "tests" / "fixtures" / "make_bombs"
# The chunk at work, and the program itself.
APART = 256 << 20


def budget(size):
    """As man/gosym-raw.5 has it."""
    return min((256 << 20) + 1024 * size, (4 << 30) + 8 * size)


def bomb(name, count):
    file = WORK / f"{name}.raw"
    call(MAKE_BOMBS, name, count, file)
    return file


def report(file, *options):
    """Its status, what it said, the size of its output and the most memory that it had."""
    with open(WORK / "out", "wb") as out, open(WORK / "err", "wb") as err:
        process = subprocess.Popen([GOSYM, "report", file, *options], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return (process.returncode, (WORK / "err").read_text(), (WORK / "out").stat().st_size,
            usage.ru_maxrss << 10)


def bounded(name, count, *options, refused=None, most=None):
    file = bomb(name, count)
    size = file.stat().st_size
    status, said, written, memory = report(file, *options)
    print(f"# {name} {count}: {size:,} bytes, status {status}, {memory >> 20} MiB, "
          f"{written:,} bytes written; {said.strip().splitlines()[-1:]}")
    assert memory <= (most or budget(size) + APART), f"{memory >> 20} MiB for {size} bytes"
    if refused is not None:
        assert status == (1 if refused else 0), f"status {status}: {said}"
        assert not refused or "of memory, which no recording of" in said, said
    file.unlink()
    return said


def image():
    said = bounded("image", 4 << 30, refused=False)
    assert "larger than a recording of this size may ask for" in said, said


def long_name():
    said = bounded("name", 100, "--folded", refused=False, most=300 << 20)
    assert "2 names were too long and have been shortened" in said, said
    line = max((WORK / "out").read_text().splitlines(), key=len)
    assert len(line) < 2001 * 4200, len(line)
    assert re.search(r"a{4096}\.\.\.\[60000 bytes, [0-9a-f]{8}\]", line), line[:5000]


def many_stacks():
    bounded("stacks", 5_000, "--folded", refused=False)
    counts = [int(line.rpartition(" ")[2]) for line in (WORK / "out").read_text().splitlines()]
    assert sum(counts) == 5_000, counts  # code without a name is one entry, so lines are few


def different_stacks():
    """A tree of them has as many nodes as they have frames."""
    for options in ([], ["--tree", "--top", "0"], ["--json"], ["--folded"], ["--html", WORK / "o"],
                    ["--svg", WORK / "o"]):
        bounded("tree", 12_000, *options, refused=False)


def varint(number):
    text = b""
    while number > 0x7f:
        text += bytes([number & 0x7f | 0x80])
        number >>= 7
    return text + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof_bomb(calls, locations, stacks):
    """Stacks of locations that have many inlined calls each."""
    lines = b"".join(field(4, field(1, i % 2 + 1)) for i in range(calls))
    profile = field(1, field(1, 1) + field(2, 2))
    for text in (b"", b"cpu", b"nanoseconds", b"f", b"g"):
        profile += field(6, text)
    for i in (1, 2):
        profile += field(5, field(1, i) + field(2, 2 + i)) + field(4, field(1, i) + lines)
    for stack in range(stacks):
        ids = bytes((stack * 7919 >> bit % 12 & 1) + 1 for bit in range(locations))
        profile += field(2, field(1, ids) + field(2, varint(1)))
    return gzip.compress(profile)


def inlined_calls():
    file = WORK / "bomb.pb.gz"
    for shape in ((2000, 40, 400), (3000, 7000, 1), (100, 40, 4000), (1, 20_000_000, 1)):
        file.write_bytes(pprof_bomb(*shape))
        size = file.stat().st_size
        for options in (["--stdio"], ["--html", WORK / "o"], ["--json"]):
            status, said, _, memory = report(file, *options)
            print(f"# {shape} {options[0]}: {size:,} bytes, status {status}, {memory >> 20} MiB")
            assert memory <= budget(size) + APART, f"{memory >> 20} MiB for {size} bytes"


def many_recordings():
    """Together they take what one of their size may."""
    first = bomb("maps", 3)
    folder = WORK / "many"
    folder.mkdir()
    for i in range(20):
        (folder / f"{i}.raw").write_bytes(first.read_bytes())
    size = 20 * first.stat().st_size
    status, said, _, memory = report(folder)
    print(f"# {size:,} bytes in 20 files, status {status}, {memory >> 20} MiB; {said.strip()}")
    assert memory <= budget(size) + APART, memory
    assert status == 1 and "of memory, which no recording of" in said, said


def processes():
    bounded("processes", 200_000, refused=False, most=128 << 20)


def concatenated():
    first, second = bomb("equal", 1), bomb("threads", 1)
    both = WORK / "both.raw"
    both.write_bytes(first.read_bytes() + second.read_bytes())
    status, said, written, _ = report(both)
    assert (status, written) == (1, 0), (status, written)
    parts = re.search(r"head -c (\d+) FILE > a.raw; tail -c \+(\d+) FILE > b.raw", said)
    assert parts, said
    assert int(parts[1]) == first.stat().st_size and int(parts[2]) == int(parts[1]) + 1, said
    assert both.read_bytes()[int(parts[1]):] == second.read_bytes()


def names_of_files():
    name = "evil\x1b]0;x\x07\u202e\u200b\n.raw"
    (WORK / name).write_text("no recording")
    for arguments in (["report", name], ["archive", name], ["inspect", name],
                      ["resolve", name, "1"], ["record", "-o", f"{name}/{name}", "--", "true"],
                      ["report", "--time", name], ["report", "--demangle", name],
                      ["report", "-f", name], ["record", "-o", name + "\x1b", "-p", "x" + name],
                      [name], [f"--{name}"]):
        done = call(GOSYM, *arguments, check=False, cwd=WORK)
        assert done.status != 0, arguments
        text = done.out + done.err
        unsafe = [c for c in text if c not in "\n" and not c.isprintable() or c in "\u200b\u202e"]
        assert not unsafe, (arguments, unsafe, text)
        assert all(line.startswith("gosym: ") for line in text.splitlines()), (arguments, text)


def next_command():
    file = bomb("equal", 1)
    output = WORK / "a b;$(touch gone)'.pb.gz"
    said = call(GOSYM, "report", file, "--pprof", output).err
    shown = re.search(r"^next: go tool pprof -http=: (.*)$", said, re.M)[1]
    words = call("bash", "-c", f"printf '%s\\0' {shown}", cwd=WORK).out.split("\0")
    assert words == [str(output), ""], words
    assert not (WORK / "gone").exists()


def number(field_number, value):
    return bytes([field_number << 3]) + varint(value)


def foreign_profiles():
    """Profiles of other tools, which would take gigabytes: each stays in the budget of its size."""
    letters = "abcdefghij"
    lines = {
        "deep.folded": [";".join(["a", "b"] * 3_000_000) + " 1\n"],
        "stacks.folded": (";".join(letters[i * n % 10] for n in range(1, 2000)) + f";{i} 1\n" for i in range(3_000)),
        "names.folded": (f"{i:x} 1\n" for i in range(600_000)),
    }
    texts = b"".join(field(6, text) for text in [b"", b"samples", b"count", b"f"])
    head = field(1, number(1, 1) + number(2, 2)) + texts + field(5, number(1, 1) + number(2, 3)) + \
        field(4, number(1, 1) + field(4, number(1, 1)))
    messages = {
        "texts.pb.gz": (field(6, b"") * 1000 for _ in range(100_000)),
        "functions.pb.gz": (field(5, number(1, i) + number(2, 3)) for i in range(2, 1_000_000)),
        "locations.pb.gz": (field(4, number(1, i) + field(4, number(1, 1))) for i in range(2, 1_000_000)),
        "labels.pb.gz": (field(2, number(1, 1) + number(2, 1) + field(3, number(1, 3) + number(3, i)))
                         for i in range(500_000)),
        "one_stack.pb.gz": [field(2, field(1, b"\x01" * 50_000_000) + number(2, 1))],
    }
    for name, parts in {**lines, **messages}.items():
        file = WORK / name
        # Piece by piece: what this process takes counts as that of its child.
        if name in lines:
            with open(file, "w") as text:
                text.writelines(parts)
        else:
            with gzip.open(file, "wb", 1) as packed, io.BufferedWriter(packed, 1 << 20) as message:
                message.write(head)
                message.writelines(parts)
        size = file.stat().st_size
        most = (256 << 20) + size * (8 if name in lines else 16)
        status, said, _, memory = report(file, "--stdio")
        print(f"# {name}: {size:,} bytes, status {status}, {memory >> 20} of {most >> 20} MiB; {said.strip()[-100:]}")
        assert memory <= most + (64 << 20), f"{name}: {memory >> 20} MiB for {size} bytes"
        file.unlink()


TABLE = [("image", 4 << 30), ("name", 100), ("product", 2_000), ("maps", 3), ("events", 60),
         ("product", 60_000), ("maps", 40), ("words", 20_000), ("stacks", 5_000), ("tree", 12_000),
         ("labels", 2_000), ("words", 100_000), ("tree", 400_000), ("stacks", 300_000),
         ("labels", 100_000), ("threads", 2), ("equal", 40), ("threads", 40), ("noise", 3_000),
         ("processes", 5_000_000), ("noise", 60_000)]


def table():
    print("recording             bytes   budget     text     page   (MiB; refused: !)")
    for name, count in TABLE:
        file = bomb(name, count)
        size = file.stat().st_size
        row = ""
        for options in (["--stdio"], ["--html", WORK / "o"]):
            status, _, _, memory = report(file, *options)
            row += f" {memory >> 20:6,}{' ' if status == 0 else '!'} "
        print(f"{name:9} {count:10} {size:13,} {budget(size) >> 20:7,} {row}", flush=True)
        file.unlink()


if sys.argv[2:] == ["--table"]:
    table()
    sys.exit()
run([("an image that claims 4 GiB", image),
     ("empty events", lambda: bounded("events", 60, refused=None)),
     ("a stack by places of its frame and its goroutine",
      lambda: bounded("product", 60_000, refused=True)),
     ("a name of 60,000 bytes in a recursion", long_name),
     ("deep stacks are written as they come", many_stacks),
     ("stacks that have nothing in common", different_stacks),
     ("a profile of inlined calls", inlined_calls),
     ("many recordings have one budget", many_recordings),
     ("processes without samples", processes),
     ("perf maps", lambda: bounded("maps", 40, refused=True)),
     ("threads", lambda: bounded("threads", 2)),
     ("labels", lambda: bounded("labels", 2000)),
     ("callers in words of stacks", lambda: bounded("words", 70_000, refused=True)),
     ("recordings one behind the other", concatenated),
     ("profiles of other tools", foreign_profiles),
     ("names of files in messages", names_of_files),
     ("the next command is one for a shell", next_command)])
