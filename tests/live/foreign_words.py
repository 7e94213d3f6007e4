#!/usr/bin/python3
"""What people type who know perf and pprof: it works, or is answered with what does the same here."""
import os
import pathlib
import shlex

from common import GOSYM, build_demo, call, gosym, new_place, record, run, running

# Typed, and what comes of it: a line of its output, or "in gosym: ...".
REPORT = [
    ("--stdio", "self %"),
    ("--stdio -n", "samples"),
    ("-n --stdio", "samples"),
    ("--no-children", "self %"),
    ("--children --stdio", "total %"),
    ("-g", "total %"),
    ("-g caller", "total %"),
    ("-g graph,0.5,caller --stdio", "total %"),
    ("-g callee", "main.computeResult"),
    ("-G", "main.computeResult"),
    ("-s comm,dso,sym", "comm / module / function"),
    ("--sort comm,dso", "in gosym: --by comm,dso"),
    ("-s pid", "process"),
    ("-d demo", "--module demo"),
    ("-c demo", "--comm demo"),
    ("-S computeResult", "main.computeResult"),
    ("--percent-limit 5 -g", "total %"),
    ("-f", "self %"),
    ("-f --stdio", "self %"),
    ("-F overhead,sym", "in gosym: --by KEY and --csv"),
    ("-t ,", "in gosym: --csv"),
    ("--dsos libc", "in gosym: --module RE"),
    ("--header", "always shown"),
    ("--max-stack 5", "in gosym: --depth N"),
    ("-top", "self %"),
    ("-top -cum -nodecount=2", "2 of "),
    ("-peek main", "in gosym: --callers RE, and --callees RE"),
    ("-list main.computeResult", "demo/main.go"),
    ("-focus=main -tree", "total %"),
    ("-ignore computeResult", "main.fetchData"),
    ("-hide=runtime -show=main", "main.computeResult"),
    ("-svg", "go tool pprof -svg"),
    ("-http=:8080", "go tool pprof -http=: FILE"),
    ("-web", "go tool pprof -http=: FILE"),
    ("-weblist=main", "in gosym: gosym annotate FILE FUNC"),
    ("-sample_index=1", "in gosym: --event NAME"),
    ("--calers main", "did you mean --callers?"),
    ("--call-graph graph,0.5,caller --stdio", "total %"),
    ("--hierarchy -s comm,dso", "in gosym: --by KEY,KEY"),
    ("--tasks", "in gosym: --by process,thread"),
    ("-noinlines -files", "demo/main.go"),
    ("-lines", "main.go:"),
    ("-addresses", "demo+0x"),
    ("-nodefraction=0.01", "in gosym: --min PERCENT"),
    ("-tags", "in gosym: -v, which lists labels"),
    ("-tagroot=tenant", "in gosym: --tree --by label:KEY"),
    ("-base=old.pb.gz", "in gosym: gosym diff BEFORE AFTER"),
]

RECORD = [
    ("-p {pid} sleep 0.2", 0),
    ("-a sleep 0.2", 0),
    ("-g -p {pid} -- sleep 0.2", 0),
    ("-F 99 -ag -- sleep 0.2", 0),
    ("-e cpu-clock,page-faults -p {pid} sleep 0.2", 0),
    ("-f -m 512 -z -p {pid} sleep 0.2", 0),
    ("-u {user} sleep 0.2", 0),
    ("--call-graph dwarf -p {pid} sleep 0.2", 0),
    ("--call-graph fp -a -C 0 sleep 0.2", 0),
    ("-c 1000000 -e cpu-clock -p {pid} sleep 0.2", 0),
    ("-p {pid} false", 1),
    ("--call-graph=lbr -a", "in gosym: --call-graph=auto"),
    ("-i -p {pid}", "in gosym: --no-inherit"),
    ("-G system.slice -a", "in gosym: --cgroup PATH"),
    ("-b -a", "branches are not sampled"),
    ("--switch-output -a", "in gosym: --max-size SIZE"),
]




def reports():
    with running(build_demo("debian"), 600) as pid:
        file = record("-p", pid, samples=1000)
        wrong = []
        for typed, expected in REPORT:
            done = gosym("report", *shlex.split(typed), "-i", file, check=False, cwd=file.parent)
            is_answer = "in gosym" in expected or "did you" in expected or "pprof" in expected or \
                "always" in expected
            if expected not in done.out + done.err or done.status != (2 if is_answer else 0):
                wrong.append((typed, expected, done.status, (done.out + done.err)[:300]))
        assert not wrong, "\n".join(map(str, wrong))
        assert set(os.listdir(file.parent)) <= {"cpu.raw"}, "one of these wrote a file"


def recordings():
    with running(build_demo("debian"), 600) as pid:
        for typed, expected in RECORD:
            words = shlex.split(typed.format(pid=pid, user=os.geteuid()))
            done = gosym("record", "-o", new_place("cpu.raw"), *words, check=False)
            if isinstance(expected, int):
                assert done.status == expected and "recorded" in done.err, (typed, done)
            else:
                assert done.status == 2 and expected in done.err, (typed, done)


def table_in_the_manual():
    """What the manual has in its table is tried above."""
    manual = pathlib.Path(__file__).parents[2] / "man" / "gosym-report.1"
    section = manual.read_text().split(".Sh FOR USERS OF PERF AND PPROF\n")[1].split(".Sh ")[0]
    rows = [line.removeprefix(".It ").split(" Ta ")[0].replace("\\&", "") for line in section.splitlines()
            if line.startswith(".It ")]
    tried = {typed for typed, _ in REPORT} | {typed for typed, _ in RECORD}
    assert len(rows) >= 25, rows
    known = {word for typed in tried for word in shlex.split(typed)} | {"-i", "-z", "-m"}
    options = [{word.split("=")[0].rstrip(",") for word in row.split() if word.startswith("-")} for row in rows]
    unknown = [row for row, used in zip(rows, options) if not used <= {word.split("=")[0] for word in known}]
    assert not unknown, unknown


run([("report: words of perf and pprof", reports),
     ("record: words of perf", recordings),
     ("the table in the manual", table_in_the_manual)])
