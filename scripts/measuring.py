"""What the scripts measure-* share: a place for files, commands and what they take, turns and medians."""
import atexit
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="gosym-measure-"))  # gone at the end

atexit.register(shutil.rmtree, WORK, ignore_errors=True)
tempfile.tempdir = str(WORK)  # for what `common` of the live tests and `inputs` of bench/ make as well
sys.path += [str(ROOT / "tests" / "live"), str(ROOT / "bench")]


def call(*command, **options):
    """What the command writes. Its complaints are seen if it fails, or with stderr=None."""
    done = subprocess.run([str(word) for word in command],
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options})
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args)}: status {done.returncode}\n{done.stderr or ''}")
    return done.stdout


def held(*command, **options):
    """Begins when its input ends or has a line, in the same process."""
    return subprocess.Popen(["sh", "-c", 'read go; exec "$@"', "sh", *map(str, command)], stdin=subprocess.PIPE,
                            **options)


def usage(process):
    """Seconds of CPU time, with that of children, and MiB at most, once it has ended well."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{process.args}: status {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def cost(*command, **options):
    """Seconds of CPU time and of the clock, and MiB at most. What it writes goes nowhere."""
    begin = time.monotonic()
    cpu, memory = usage(subprocess.Popen(command, **{"stdout": subprocess.DEVNULL, **options}))
    return cpu, time.monotonic() - begin, memory


def cpu_time(pid):
    """So far, of all threads, in seconds."""
    return sum(int((thread / "schedstat").read_text().split()[0])
               for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def in_turns(rounds, ways):
    """What each way gives in each round, by its name. Every second round goes backwards, so that what else
    the machine does falls on all alike, and none has always the same one before it."""
    found = {name: [] for name in ways}
    for turn in range(rounds):
        for name in list(ways)[::-1 if turn % 2 else 1]:
            found[name].append(ways[name]())
    return found


def medians(rows):
    """Of each column."""
    return [statistics.median(column) for column in zip(*rows)]


def spread(values):
    return f"{statistics.median(values):6.3f} ({min(values):.3f} to {max(values):.3f})"


def go_build(source, output, *flags, **options):
    """A file or a folder, by the Go in PATH."""
    folder, name = (source, ".") if source.is_dir() else (source.parent, source.name)
    call("go", "build", "-buildvcs=false", *flags, "-o", output, name, cwd=folder, **options)
    return output


def record_go_build(gosym, hertz, package):
    """A recording of the build of a package and of all it needs, from nothing."""
    recording = WORK / "build.raw"
    call(gosym, "record", "-q", "-F", hertz, "-o", recording, "--", "go", "build", "-a", package, cwd="/", stderr=None,
         env={**os.environ, "GOCACHE": str(WORK / "cache"), "GOFLAGS": "-mod=mod"})
    return recording
