#!/usr/bin/python3
"""A recorder that is always on: files of a directory, each readable alone, and what is kept of them."""
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from common import (GOSYM, build_demo, build_spin, call, folded, gosym, has_begun,
                    new_place, parse_folded, run, running, wait_for)


def recordings(directory):
    return sorted(directory.glob("*.raw"))


@contextlib.contextmanager
def recorder_into(directory, *arguments, environment=None):
    """A recorder that has begun, and its directory; it is killed unless it has ended."""
    recorder = subprocess.Popen([GOSYM, "record", "-o", f"{directory}/", *map(str, arguments)],
                                stdin=subprocess.DEVNULL, env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: recorder.poll() is not None or has_begun(recorder.pid), "recording begun")
        yield recorder, directory
    finally:
        recorder.kill()
        recorder.wait()


def always_on(*arguments, directory=None):
    return recorder_into(directory or new_place("kept"), "--rotate", "1s", *arguments)


def flight_recorder(*arguments, environment=None):
    return recorder_into(new_place("kept"), "--last", "3s", "-F", "499", *arguments, environment=environment)


def ended(recorder):
    """What it says, once it has ended in order."""
    recorder.send_signal(signal.SIGINT)
    told = recorder.communicate()[1]
    assert recorder.returncode == 0, told
    return told


def wait_for_files(directory, count):
    wait_for(lambda: len(recordings(directory)) >= count, f"{count} files")


def sampled(told):
    return int(re.search(r"recorded ([\d,]+) sample", told)[1].replace(",", ""))


def count_of(*arguments):
    """One that is short may have no samples."""
    done = gosym("report", "-q", "--folded", *arguments, check=False)
    assert done.status in (0, 5), done
    return sum(stack.count for stack in parse_folded(done.out))


def each_file_is_whole():
    with running(build_demo("newest"), 600) as pid:
        with always_on("-p", pid, "-F", 499) as (recorder, directory):
            wait_for_files(directory, 5)
            time.sleep(0.5)  # the last one has samples by then, too
            told = ended(recorder)
    assert ", 0 lost" in told, told
    each = [count_of(file) for file in recordings(directory)]
    # Ticks that did not come are counted with the sample behind them.
    assert sum(each) == count_of(directory) >= sampled(told), (each, told)
    for file in recordings(directory):
        assert re.fullmatch(r".+-\d{8}T\d{6}Z(\.\d+)?\.raw", file.name), file
        alone = new_place("alone.raw")
        shutil.copy(file, alone)
        names = collections.Counter()
        for stack in folded(alone) if count_of(alone) else []:
            names[stack.frames[-1]] += stack.count
            assert stack.comm == "demo", stack
        assert names.total() < 50 or names["main.computeResult"] > 0.5 * names.total(), (file, names)
    charged = [json.loads(gosym("report", "--format", "json", file).out)["quality"]["charged_ns"]
               for file in recordings(directory) if count_of(file)]
    # The last file has the time of its own half second, and not that of all.
    assert charged[-1] < 0.4 * sum(charged), charged
    spans = [span(file) for file in recordings(directory)]
    for before, after in zip(spans, spans[1:]):
        assert abs(after[0] - before[1]) < 0.02, spans
    mode = directory.stat().st_mode & 0o777
    assert mode & 0o007 == 0, oct(mode)


def span(file):
    """When a recording began and ended, in seconds of its host's clock."""
    facts = json.loads(gosym("report", "-q", "--json", file).out)["recording"]
    return facts["start_ns"] / 1e9, (facts["start_ns"] + facts["duration_ns"]) / 1e9


def one_recorder_at_a_time():
    with running(build_spin()) as pid:
        with always_on("-p", pid) as (recorder, directory):
            refused = gosym("record", "--rotate", "1s", "-o", directory, "-p", pid, check=False)
            assert refused.status == 1 and f"process {recorder.pid} does so already" in refused.err, refused
            ended(recorder)
        # Whoever has read it has not taken its lock.
        with always_on("-p", pid, directory=directory) as (recorder, _):
            ended(recorder)


def a_recorder_that_is_killed():
    with running(build_spin()) as pid:
        directory = None
        for _ in range(3):
            with always_on("-p", pid, "-F", 499, directory=directory) as (recorder, directory):
                before = len(recordings(directory))
                wait_for_files(directory, before + 1)
                time.sleep(1.2)
                recorder.send_signal(signal.SIGKILL)
                recorder.wait()
        for file in recordings(directory):
            # One that was killed in its first second may have no samples.
            count_of(file)
        with always_on("-p", pid, "-F", 499, directory=directory) as (recorder, _):
            ended(recorder)
    assert count_of(directory) > 100, count_of(directory)
    assert not [name for name in os.listdir(directory) if name.startswith(".")]


def old_ones_are_removed():
    directory = new_place("kept")
    directory.mkdir(mode=0o700)
    theirs = ["cpu.raw", "notes-20200101T000000Z.raw", "notes.txt"]
    for name in theirs:
        (directory / name).write_text("not a recording")
    with running(build_spin()) as pid:
        with always_on("-p", pid, "--keep", "3s", directory=directory) as (recorder, _):
            seen = set()
            def many():
                seen.update(recordings(directory))
                return len(seen) >= 9
            wait_for(many, "nine files")
            ended(recorder)
    left = [file for file in recordings(directory) if file.name not in theirs]
    assert 3 <= len(left) <= 5, left
    assert all((directory / name).exists() for name in theirs)


def files_of_programs_are_stored_once():
    place = new_place("gone")
    shutil.copy(build_spin(), place)
    with running(place) as pid:
        place.unlink()
        with always_on("-p", pid, "-F", 499) as (recorder, directory):
            wait_for_files(directory, 4)
            told = ended(recorder)
    stored = [file for file in (directory / "files").rglob("*") if file.is_file()]
    assert stored and "in the directory" in told, (stored, told)
    # Of the directory, and of one file in it; alone it has no names.
    last = max(recordings(directory)[:-1])
    for named in (directory, last):
        names = {stack.frames[-1] for stack in folded(named)}
        assert "busy" in names, (named, names)
    alone = new_place("alone.raw")
    shutil.copy(last, alone)
    assert "busy" not in {stack.frames[-1] for stack in folded(alone)}
    # With what it needs in it, it has.
    gosym("archive", last)
    shutil.copy(last, alone)
    assert "busy" in {stack.frames[-1] for stack in folded(alone)}


def a_disk_that_is_full():
    place = new_place("disk")
    place.mkdir()
    call("mount", "-t", "tmpfs", "-o", "size=2m", "none", place)
    try:
        directory = place / "kept"
        with running(build_spin()) as pid:
            with always_on("-p", pid, "-F", 499, directory=directory) as (recorder, _):
                wait_for_files(directory, 2)
                filler = place / "filler"
                with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
                    while True:
                        file.write(bytes(4096))
                time.sleep(3)
                count = len(recordings(directory))
                filler.unlink()
                wait_for_files(directory, count + 2)
                told = ended(recorder)
        assert "No space left on device" in told and "recording goes on" in told, told
        for file in recordings(directory):
            assert gosym("report", "-q", file, check=False).status in (0, 5)
        assert count_of(directory) > 10
    finally:
        call("umount", "-l", place)


def a_directory_that_is_removed():
    with running(build_spin()) as pid:
        with always_on("-p", pid) as (recorder, directory):
            wait_for_files(directory, 2)
            shutil.rmtree(directory)
            told = recorder.communicate()[1]
    assert recorder.returncode == 1 and f"'{directory}/' is gone" in told, (recorder.returncode, told)


def only_of_a_time():
    with running(build_spin()) as pid:
        with always_on("-p", pid, "-F", 499) as (recorder, directory):
            wait_for_files(directory, 6)
            ended(recorder)
    when = re.search(r"(\d{8}T\d{6}Z)", recordings(directory)[3].name)[1]
    whole = count_of(directory)
    before, after = count_of(directory, "--until", when), count_of(directory, "--since", when)
    assert before + after == whole and before > 0 and after > 0, (before, after, whole)
    assert count_of(directory, "--since", "-1h") == whole
    assert gosym("report", directory, "--until", "-1h", check=False).status == 5
    assert gosym("report", directory, "--host", "nobody", check=False).status == 5
    assert count_of(directory, "--host", os.uname().nodename) == whole
    compared = gosym("diff", directory, "--spans", f"..{when},{when}..")
    assert "busy" in compared.out, compared


def a_directory_of_others():
    for mode, owner in ((0o777, 0), (0o755, 0), (0o700, 65534)):
        directory = new_place("theirs")
        directory.mkdir()
        os.chown(directory, owner, owner)
        directory.chmod(mode)
        refused = gosym("record", "-a", "--rotate", "1s", "-o", directory, check=False)
        assert refused.status == 1 and not os.listdir(directory), refused
    link = new_place("link")
    link.symlink_to(new_place("nowhere"))
    assert gosym("record", "-a", "--rotate", "1s", "-o", f"{link}/", check=False).status == 1


def what_was_before():
    reason = new_place("reason")
    with running(build_spin()) as pid:
        with flight_recorder("-p", pid, "--when", f"file:{reason}") as (recorder, directory):
            time.sleep(6)
            assert not recordings(directory), "nothing has happened"
            happened = time.time()
            reason.touch()
            wait_for_files(directory, 1)
            asked = gosym("snapshot", directory).out.strip()
            told = ended(recorder)
    first, second = recordings(directory)
    assert asked in (str(first), str(second)) and f"file:{reason}" in told and "asked" in told, (asked, told)
    begin, end = span(first)
    assert 2.5 < end - begin < 4 and abs(end - happened) < 1.5, (begin, end, happened)
    names = collections.Counter()
    for stack in folded(first):
        names[stack.frames[-1]] += stack.count
    assert names["busy"] > 50, names
    assert count_of(directory) == count_of(first) + count_of(second)
    assert gosym("snapshot", directory, check=False).status == 5


def a_reason_soon_after_a_snapshot():
    for is_waited_for in [True, False]:
        reason = new_place(f"reason-{is_waited_for}")
        with running(build_spin()) as pid:
            with flight_recorder("-p", pid, "--when", f"file:{reason}") as (recorder, directory):
                time.sleep(1.5)
                gosym("snapshot", directory)
                reason.touch()
                if is_waited_for:
                    wait_for_files(directory, 2)
                else:
                    time.sleep(1.6)  # it is seen
                told = ended(recorder)
        first, second = recordings(directory)
        assert f"file:{reason}" in told, told
        assert abs(span(second)[0] - span(first)[1]) < 0.5, (span(first), span(second))


def many_cpus_are_used():
    with running(build_spin()) as pid:
        with flight_recorder("-p", pid, "--when", "cpu>1%") as (recorder, directory):
            wait_for_files(directory, 1)
            told = ended(recorder)
    assert re.search(r"cpu>1%, and was [\d.]+ %: ", told), told


def snapshots_are_of_flight_recorders():
    with running(build_spin()) as pid:
        with always_on("-p", pid) as (recorder, directory):
            refused = gosym("snapshot", directory, check=False)
            assert refused.status == 1 and "all of it" in refused.err, refused
            ended(recorder)


def health():
    place = new_place("notify")
    metrics = new_place("gosym.prom")
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(place))
    manager.settimeout(20)
    environment = {**os.environ, "NOTIFY_SOCKET": str(place), "WATCHDOG_USEC": "1000000"}
    with running(build_spin()) as pid:
        with flight_recorder("-p", pid, "--metrics", metrics, environment=environment) as (recorder, _):
            told = [manager.recv(1000).decode() for _ in range(3)]
            assert told[0].startswith("READY=1") and told[1:] == ["WATCHDOG=1"] * 2, told
            time.sleep(1)
            ended(recorder)
    figures = dict(line.split() for line in metrics.read_text().splitlines() if not line.startswith("#"))
    assert float(figures["gosym_samples_total"]) > 10, figures
    assert float(figures["gosym_charged_cpu_seconds_total"]) > 0.5, figures
    assert 1e6 < float(figures["gosym_recorder_resident_bytes"]) < 1e9, figures
    assert metrics.stat().st_mode & 0o777 == 0o644


def from_another_root():
    """As in a container that sees the host's processes: a file of the host is not stored."""
    root = new_place("root")
    root.mkdir()
    for name in ("proc", "sys", "tmp", "usr", "lib", "lib64", "out", "host"):
        (root / name).mkdir()
    program = root / "gosym"
    shutil.copy(GOSYM, program)
    mounts = [f"mount --rbind /{name} {root}/{name}" for name in ("proc", "sys", "usr", "lib", "lib64")]
    mounts.append(f"mount --rbind / {root}/host")
    with running(build_spin()) as pid:
        for options, is_stored in ((["--host-root", "/host"], False), (["--host-root", "/tmp"], True)):
            script = " && ".join([*mounts, f'exec chroot {root} /gosym "$@"'])
            call("unshare", "--mount", "sh", "-c", script, "sh", "record", "-q", "-p", pid, "-d", "3s",
                 "--rotate", "1s", "-o", f"/out/{is_stored}", *options)
            directory = root / "out" / str(is_stored)
            names = {stack.frames[-1] for stack in folded(directory)}
            assert "busy" in names, names
            stored = [file for file in directory.rglob("files/.build-id/*/*")]
            assert bool(stored) == is_stored, stored


run([("each file can be read alone, and no sample is lost between two", each_file_is_whole),
     ("a directory has one recorder", one_recorder_at_a_time),
     ("a recorder that is killed leaves files that read", a_recorder_that_is_killed),
     ("old recordings are removed, and nothing else", old_ones_are_removed),
     ("files of programs are stored once for all", files_of_programs_are_stored_once),
     ("a full disk is waited for", a_disk_that_is_full),
     ("a directory that is removed ends it", a_directory_that_is_removed),
     ("report and diff read a part of the time", only_of_a_time),
     ("a directory of others is refused", a_directory_of_others),
     ("a flight recorder has what was before", what_was_before),
     ("and what comes soon after it in the next one", a_reason_soon_after_a_snapshot),
     ("and waits for busy CPUs", many_cpus_are_used),
     ("others have nothing to be asked for", snapshots_are_of_flight_recorders),
     ("a service manager and Prometheus are told", health),
     ("files of the host are known in a container", from_another_root)])
