#!/usr/bin/python3
"""Makes the recordings of this folder anew, of programs that Debian ships: as root, about a minute.

    python3 tests/golden/recordings/make.py build/src/gosym [NAME...]

Each is a page of `gosym report --html` of which only the profile is left: gosym reads it without the
programs. Afterwards scripts/run-golden.py --update writes the transcripts that show them.
"""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "live"))
NAMES = sys.argv[2:]
sys.argv[2:] = []

import prometheus  # noqa: E402
from common import GOSYM, WORK, fetched, running, wait_for  # noqa: E402

RECORDER = "/srv/gosym"  # where it is recorded to be

LIBRARIES = "usr/lib/x86_64-linux-gnu"
SOURCE = """#include <iostream>
#include <map>
#include <regex>
int main(int count, char** words) {
  std::map<std::string, int> seen;
  for (std::regex word("[a-z]+"); count-- > 0; words++)
    seen[*words] += std::regex_match(*words, word);
  for (auto& [word, times] : seen)
    std::cout << word << times;
}
"""


def copied_file(name, file):
    """Under its own name, in a folder that all have."""
    target = pathlib.Path("/srv") / name
    shutil.copy(file, target)
    CLEANUP.callback(target.unlink, missing_ok=True)
    return target


def record(name, *options):
    """On a host of a name that tells nobody anything."""
    subprocess.run(["unshare", "-u", "sh", "-c", 'hostname build-1; exec "$@"', "sh", RECORDER, "record",
                    *map(str, options)], check=True, cwd=WORK)
    page = subprocess.run([GOSYM, "report", "-q", "--html", "-", "cpu.raw"], check=True, cwd=WORK,
                          stdout=subprocess.PIPE, text=True).stdout
    profile = re.search(r'<script[^>]* id="profile"[^>]*>.*?</script>', page, re.S)[0]
    (HERE / f"{name}.html").write_text(f"<!DOCTYPE html>\n{profile}\n")


def copied(name, package, path, suite="bookworm"):
    return copied_file(name, fetched("debian", package, path, suite))


def compiler():
    (WORK / "words.cpp").write_text(SOURCE)
    record("compile", "--", "g++", "-O2", "-c", "words.cpp", "-o", "/dev/null")


def use_copy_of_prometheus():
    program = copied_file("prometheus", fetched("prometheus"))
    prometheus.fetched = lambda *_: program


def service():
    use_copy_of_prometheus()
    with prometheus.busy() as pid:
        record("prometheus", "-p", pid, "-d", "10s")
        record("faults", "-e", "page-faults", "-c", 4, "-p", pid, "-d", "4s")


@contextlib.contextmanager
def repeated(command):
    with subprocess.Popen(["sh", "-c", f"while :; do {command}; done"], cwd=WORK, start_new_session=True) as loop:
        try:
            yield
        finally:
            os.killpg(loop.pid, 15)


def machine():
    use_copy_of_prometheus()
    (WORK / "words.cpp").write_text(SOURCE)
    with prometheus.busy(), repeated("g++ -O1 -c words.cpp -o /dev/null"), \
            repeated("find /usr/share/doc | sort | gzip > /dev/null"):
        record("machine", "-a", "-d", "6s")


def redis():
    copied("libjemalloc.so.2", "libjemalloc2", f"{LIBRARIES}/libjemalloc.so.2")
    copied("liblzf.so.1", "liblzf1", f"{LIBRARIES}/liblzf.so.1.5")
    environment = {**os.environ, "LD_LIBRARY_PATH": "/srv"}
    server = copied("redis-server", "redis-tools", "usr/bin/redis-check-rdb")
    benchmark = fetched("debian", "redis-tools", "usr/bin/redis-benchmark")
    port = prometheus.free_port()
    with running(server, "--port", port, "--save", "", env=environment, cwd=WORK) as pid, \
            running(benchmark, "-p", port, "-l", "-q", "-t", "set,lpush,sadd,hset,lrange_100", "-r", 100000,
                    "-d", 200, env=environment):
        record("redis", "-F", 999, "-p", pid, "-d", "10s")


def publish(port, done):
    """Messages into a stream in memory, whose name is a label of the goroutines that keep it."""
    stream = b'{"name":"orders","subjects":["orders.*"],"storage":"memory","max_msgs":10000,"num_replicas":1}'
    with socket.create_connection(("127.0.0.1", port)) as server:
        server.sendall(b"PUB $JS.API.STREAM.CREATE.orders in %d\r\n%s\r\n" % (len(stream), stream))
        messages = (b"PUB orders.new 100\r\n" + b"x" * 100 + b"\r\n") * 400
        while not done.is_set():
            server.sendall(messages)
            time.sleep(0.002)


def messages():
    server = copied("nats-server", "nats-server", "usr/sbin/nats-server", "trixie")
    port, done = prometheus.free_port(), threading.Event()
    with running(server, "-a", "127.0.0.1", "-p", port, "-js", "-sd", WORK / "js") as pid:
        wait_for(lambda: socket.create_connection(("127.0.0.1", port)), "answer of nats")
        publisher = threading.Thread(target=publish, args=(port, done))
        publisher.start()
        record("nats", "-p", pid, "-d", "5s")
        done.set()
        publisher.join()


with contextlib.ExitStack() as CLEANUP:
    subprocess.run(["strip", copied_file("gosym", GOSYM)], check=True)  # of the paths of its build
    for made in (compiler, service, machine, redis, messages):
        if not NAMES or made.__name__ in NAMES:
            made()
