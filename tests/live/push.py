#!/usr/bin/python3
"""What servers of profiles get of a directory of recordings: all of it, named, once."""
import base64
import collections
import contextlib
import functools
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import threading
import time

from common import (GO_ENVIRONMENT, GOSYM, build_demo, build_spin, call, fetched, go, gosym, new_place, pprof_file, read_pprof, record,
                    run, running, wait_for)

Request = collections.namedtuple("Request", "path headers body")


class Server:
    """Answers requests as it is told to, one after the other, and the last answer from then on."""

    def __init__(self, *answers, certificate=None):
        self.answers = list(answers) or [200]
        self.requests = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                server.requests.append(Request(self.path, self.headers, body))
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                status, headers, said = answer if isinstance(answer, tuple) else (answer, {}, b"")
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)
                # Nothing comes behind an interim answer, which a client waits for else.
                self.close_connection = status < 200

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://localhost:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


@functools.cache
def filled():
    """A directory with three recordings of a Go program and a C program."""
    directory = new_place("kept")
    with running(build_demo("newest"), 600) as one, running(build_spin()) as other:
        directory.mkdir()
        for second in (1, 2, 3):
            file = record("-p", f"{one},{other}", "-e", "cpu-clock", "-e", "page-faults", samples=300)
            shutil.copy(file, directory / f"host-20260101T00000{second}Z.raw")
    return directory


def files():
    return sorted(filled().glob("*.raw"))


def push(server, *options, state=None, check=True, directory=None):
    return gosym("push", "--once", "--state", state or new_place("state"), directory or filled(),
                 server if isinstance(server, str) else server.url, *options, check=check)


Sample = collections.namedtuple("Sample", "value frames attributes")


def decoded(body):
    """What the collector's own package reads: resources with profiles, each a head and samples."""
    done = subprocess.run([fetched("otlp-decoder")], input=body, capture_output=True, check=False)
    text = done.stdout.decode()
    assert done.returncode == 0, (text[-500:], done.stderr)
    resources = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "resource":
            resources.append((dict(part.split("=", 1) for part in rest.split()), []))
        elif word == "profile":
            resources[-1][1].append((rest.split(" "), []))
        elif line.startswith("sample\t"):
            _, value, frames, attributes = line.split("\t")
            resources[-1][1][-1][1].append(Sample(int(value), frames.split(";"), attributes))
    return resources


def totals_of_pprof(profile, index):
    """By the functions of the stack."""
    sums = collections.Counter()
    for sample in profile.samples:
        frames = tuple(line.function for location in sample.locations for line in profile.locations[location].lines)
        sums[frames] += sample[index]
    return +sums


def each_recording_once():
    state = new_place("state")
    with Server() as server:
        done = push(server, state=state)
        assert done.err == "sent 3 recordings\n", done
        assert [request.path for request in server.requests] == ["/v1development/profiles"] * 3
        assert all(request.headers["Content-Type"] == "application/x-protobuf" for request in server.requests)
        for request, file in zip(server.requests, files()):
            assert request.body == subprocess.run([GOSYM, "report", "-f", "otlp", file], capture_output=True,
                                                  check=True).stdout
        assert push(server, state=state).err == "sent 0 recordings\n"
        assert len(server.requests) == 3


def otlp_is_what_pprof_says():
    body = subprocess.run([GOSYM, "report", "-f", "otlp", files()[0]], capture_output=True, check=True).stdout
    resources = decoded(body)
    assert {names["service.name"] for names, _ in resources} >= {"demo", "spin"}, resources
    profile = read_pprof(pprof_file(files()[0]))
    for event, name in enumerate(("samples count cpu nanoseconds", "page_faults count page_faults count")):
        found = collections.Counter()
        for _, profiles in resources:
            for head, samples in profiles:
                if " ".join(head[:4]) == name:
                    for sample in samples:
                        found[tuple(sample.frames)] += sample.value * (int(head[4]) or 1)
        expected = totals_of_pprof(profile, event)
        assert +found == expected, (name, found - expected, expected - found)
        assert event or found
    heads = [head for _, profiles in resources for head, _ in profiles]
    assert len({head[-1] for head in heads}) == len(heads), "two profiles have one id"
    assert all(int(head[5]) > 1.7e18 and int(head[6]) > 1e8 for head in heads), heads


def pyroscope_takes_it():
    with Server() as server:
        push(server, "--as", "pyroscope")
    assert [request.path for request in server.requests] == ["/push.v1.PusherService/Push"] * 3
    message = subprocess.run(["protoc", "--decode_raw"], input=server.requests[0].body, capture_output=True,
                             check=True).stdout.decode()
    for service in ("demo", "spin"):
        assert re.search(r'1: "service_name"\s+2: "%s"' % service, message), message[:2000]
    assert len(re.findall(r'2: "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"', message)) >= 2


def parca_takes_it():
    """The checks of its own reader: ids are those of the places in their tables, and all that is referred to
    is there."""
    with Server() as server:
        push(server, "--as", "parca")
    request = server.requests[0]
    assert request.path == "/api/profiles/writeraw"
    total = collections.Counter()
    for series in json.loads(request.body)["series"]:
        labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
        assert {"__name__", "service_name", "host"} <= set(labels), labels
        file = new_place("one.pb.gz")
        file.write_bytes(base64.b64decode(series["samples"][0]["rawProfile"], validate=True))
        profile = read_pprof(file)
        for table in (profile.mappings, profile.locations):
            assert [int(number) for number in table] == list(range(1, len(table) + 1)), list(table)[:9]
        if labels["service_name"] == "spin":
            names = {line.function for location in profile.locations.values() for line in location.lines}
            assert "busy" in names and not any(name.startswith("main.") for name in names), names
        total += totals_of_pprof(profile, 0)
    assert total == totals_of_pprof(read_pprof(pprof_file(files()[0])), 0)


def servers_that_fail():
    # One that is full asks for a pause, one that is down says nothing.
    with Server((429, {"Retry-After": "1"}, b"too many"), 503, 200) as server:
        done = push(server)
        assert done.err.endswith("sent 3 recordings\n") and len(server.requests) == 5, done
        assert server.requests[0].body == server.requests[1].body == server.requests[2].body
    # What is refused is left out at once, and the rest is sent.
    with Server((400, {}, b"mapping id is\x1b[31m bad\nsecond line"), 200) as server:
        done = push(server, check=False)
        assert done.status == 3 and len(server.requests) == 3, done
        assert "left out: the server answers 400: mapping id is" in done.err and "\x1b" not in done.err, done
        assert "second line" not in done.err
    state = new_place("state")
    with Server(401) as server:
        done = push(server, state=state, check=False)
        assert done.status == 1 and "401" in done.err and len(server.requests) == 4, done
    done = push("http://127.0.0.1:9", state=state, check=False)
    assert done.status == 1 and "trying again" in done.err, done
    with Server() as server:
        assert push(server, state=state).err == "sent 3 recordings\n"


def answers_that_are_none():
    """An interim answer, a part that was rejected, failures between others."""
    with Server(103, 503, 503, 503, 500, 200) as server:
        done = push(server, check=False)
        assert done.status == 1 and "left out" not in done.err, done
    rejected = b"\x0a\x0b\x08\x05\x12\x07no room"
    with Server((200, {}, rejected), 200) as server:
        done = push(server, check=False)
        assert done.status == 3 and "rejects 5 profiles: no room" in done.err, done
        assert len(server.requests) == 3


def names_that_go_back():
    """A clock that is set back, and files that come later: all of them are sent, once."""
    directory, state = new_place("kept"), new_place("state")
    directory.mkdir()
    with Server() as server:
        for name in ("host-20300101T000000Z.raw", "host-20260101T000000Z.raw", "other-20260101T000000Z.raw"):
            shutil.copy(files()[0], directory / name)
            assert push(server, state=state, directory=directory).err == "sent 1 recording\n"
        (directory / "host-20310101T000000Z.raw").symlink_to(files()[1])
        os.mkfifo(directory / "host-20320101T000000Z.raw")
        assert push(server, state=state, directory=directory).err == "sent 0 recordings\n"
        state.write_text(state.read_text() + "host-2031")
        assert push(server, state=state, directory=directory).err == "sent 0 recordings\n"
        assert len(server.requests) == 3


def two_at_once():
    state = new_place("state")
    with Server(503) as server, running_push(server, state=state):
        wait_for(lambda: server.requests, "a request")
        done = push(server, state=state, check=False)
        assert done.status == 1 and "another gosym push" in done.err, done


def whose_samples_are():
    """A program says by no label, and by no name, that its samples are another's."""
    source = new_place("labels.go")
    source.write_text("""package main
import ("context"; "runtime/pprof")
func main() {
	pprof.Do(context.Background(), pprof.Labels("service.name", "victim", "", "empty", "tenant", "t1"),
		func(context.Context) { for { } })
}
""")
    program = new_place("labels")
    call(go("newest"), "build", "-o", program, source, env=GO_ENVIRONMENT)
    names = new_place("names.py")
    names.write_text("import ctypes\nlibc = ctypes.CDLL(None)\nwhile True:\n for n in range(300):\n"
                     "  libc.prctl(15, b'svc%d' % n)\n  for _ in range(20000): pass\n")
    with running(program) as one, running("/usr/bin/python3", names) as other:
        recording = record("-p", f"{one},{other}", samples=1500)
    resources = decoded(subprocess.run([GOSYM, "report", "-f", "otlp", recording], capture_output=True,
                                       check=True).stdout)
    services = {resource["service.name"] for resource, _ in resources}
    assert "labels" in services and "victim" not in services and len(services) <= 101, services
    attributes = " ".join(sample.attributes for _, profiles in resources for _, samples in profiles
                          for sample in samples)
    assert "label.service.name=victim" in attributes and "label.=empty" in attributes, attributes[:500]
    assert "tenant=t1" in attributes and ",service.name" not in attributes, attributes[:500]


def one_that_fails_at_a_request():
    with Server(*[500] * 5, 200) as server:
        with running_push(server) as pushing:
            wait_for(lambda: len(server.requests) >= 7, "the other recordings")
            pushing.terminate()
            told = pushing.communicate()[1]
    assert "left out: the server answers 500" in told, told
    assert len({request.body for request in server.requests}) == 3


@contextlib.contextmanager
def running_push(server, *options, directory=None, state=None):
    pushing = subprocess.Popen([GOSYM, "push", directory or filled(), server.url, "--state",
                                state or new_place("state"), *options], stderr=subprocess.PIPE, text=True)
    try:
        yield pushing
    finally:
        pushing.kill()
        pushing.wait()


def secrets():
    token = new_place("token")
    token.write_text("first-secret\n")
    seen = set()
    with Server(503, 503, 200) as server:
        with running_push(server, "--token-file", token, "--header", "X-Scope-OrgID: team \"a\\b\"") as pushing:
            while len(server.requests) < 2:
                for arguments in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                    with contextlib.suppress(OSError):
                        seen.add(arguments.read_bytes())
            token.write_text("second-secret\n")
            wait_for(lambda: len(server.requests) >= 5, "all recordings")
            pushing.terminate()
    assert not any(b"secret" in arguments for arguments in seen)
    given = [request.headers["Authorization"] for request in server.requests]
    assert given[0] == "Bearer first-secret" and given[-1] == "Bearer second-secret", given
    assert server.requests[0].headers["X-Scope-OrgID"] == 'team "a\\b"'
    done = push("http://127.0.0.1:9", "--header", "A: b\nurl = x", check=False)
    assert done.status == 2 and "--header" in done.err, done


def certificates():
    place = new_place("server.pem")
    call("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", place.with_suffix(".key"), "-out", place.with_suffix(".crt"))
    place.write_text(place.with_suffix(".key").read_text() + place.with_suffix(".crt").read_text())
    with Server(certificate=place) as server:
        done = push(server, check=False)
        assert done.status == 1 and "certificate" in done.err and not server.requests, done
        assert push(server, "--ca", place.with_suffix(".crt")).err == "sent 3 recordings\n"


def as_they_come():
    """Of a recorder that is at work all but the file that is written, then that one too."""
    directory = new_place("kept")
    with running(build_spin()) as pid, Server() as server:
        recorder = subprocess.Popen([GOSYM, "record", "-q", "-p", str(pid), "--rotate", "1s", "-o", directory],
                                    stderr=subprocess.DEVNULL)
        wait_for(lambda: len(list(directory.glob("*.raw"))) >= 2, "a second file")
        with running_push(server, directory=directory):
            wait_for(lambda: len(server.requests) >= 2, "two recordings sent")
            recorder.send_signal(2)
            assert recorder.wait() == 0
            count = len(list(directory.glob("*.raw")))
            wait_for(lambda: len(server.requests) >= count - 1, "the rest")
            time.sleep(1.5)
    bodies = [request.body for request in server.requests]
    assert len(set(bodies)) == len(bodies), "a recording was sent twice"


def wrong_use():
    for arguments, status, word in (((filled(), "ftp://host"), 2, "URL"), ((filled(),), 2, "URL"),
                                    (("/nonexistent", "http://localhost:9"), 1, "No such file"),
                                    ((filled(), "http://localhost:9", "--as", "graphite"), 2, "otlp")):
        done = gosym("push", "--once", "--state", new_place("state"), *arguments, check=False)
        assert done.status == status and word in done.err, done
    for url in ("http://", "http:///path", "http://host/?token=x", "http://host/#part", "http://host/\nurl = x"):
        done = push(url, check=False)
        assert done.status == 2 and "URL" in done.err, done
    for header in ("@/etc/passwd:", ": x", "Content-Length: 5", "no colon"):
        done = push("http://localhost:9", "--header", header, check=False)
        assert done.status == 2 and "--header" in done.err, done
    state = new_place("state")
    state.write_text("no name\n")
    done = push("http://127.0.0.1:9", state=state, check=False)
    assert done.status == 1 and "state of gosym push" in done.err, done
    fifo = new_place("fifo")
    os.mkfifo(fifo)
    for options in (["--state", fifo], ["--token-file", fifo, "--state", new_place("state")]):
        done = gosym("push", "--once", filled(), "http://127.0.0.1:9", *options, check=False)
        assert done.status == 1 and "not a regular file" in done.err, done


run([("each recording is sent once", each_recording_once),
     ("OTLP has the stacks and amounts of pprof", otlp_is_what_pprof_says),
     ("Pyroscope", pyroscope_takes_it),
     ("Parca", parca_takes_it),
     ("servers that are full, down, or refuse", servers_that_fail),
     ("answers that are none, and parts that are rejected", answers_that_are_none),
     ("names that go back, links and FIFOs", names_that_go_back),
     ("two at once", two_at_once),
     ("whose samples are", whose_samples_are),
     ("a request that a server fails at", one_that_fails_at_a_request),
     ("tokens and headers are shown to nobody", secrets),
     ("certificates", certificates),
     ("recordings are sent as they come", as_they_come),
     ("wrong use", wrong_use)])
