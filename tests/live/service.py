#!/usr/bin/python3
"""A real service that nobody here built: prometheus as Debian ships it, stripped, under load."""
import collections
import contextlib
import functools
import itertools
import socket
import threading
import urllib.parse
import urllib.request

from common import (WORK, call, fetched, folded, is_unnamed, record, run, running, user_frames,
                    wait_for)

QUERY = urllib.parse.quote("sort_desc(sum by (le) (rate(prometheus_http_request_duration_seconds"
                           "_bucket[1m])))")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(url):
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(url, timeout=10) as reply:
            return reply.read()


def ask(url, done):
    """Requests to this machine only, until told to stop and never more than the limit."""
    for _ in itertools.takewhile(lambda _: not done.is_set(), range(20000)):
        answers(url)


@contextlib.contextmanager
def load(base):
    done = threading.Event()
    urls = [f"{base}/api/v1/query?query={QUERY}", f"{base}/metrics"]
    threads = [threading.Thread(target=ask, args=(url, done)) for url in urls]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


@functools.cache
def recording():
    port = free_port()
    base, config = f"http://127.0.0.1:{port}", WORK / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n"
                      f"- {{job_name: self, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n")
    with running(fetched("prometheus"), f"--config.file={config}",
                 f"--storage.tsdb.path={WORK}/data", f"--web.listen-address=127.0.0.1:{port}",
                 cwd=WORK) as pid:
        wait_for(lambda: answers(f"{base}/-/ready"), "answer of prometheus")
        with load(base):
            return record("-p", pid, seconds=4)


def it_is_stripped():
    assert "no symbols" in call("nm", fetched("prometheus"), check=False).err


def names_throughout():
    frames = collections.Counter()
    for frame, count in user_frames(folded(recording())):
        frames[frame] += count
    total = sum(frames.values())
    unnamed = collections.Counter({f: n for f, n in frames.items() if is_unnamed(f)})
    print(f"# {sum(unnamed.values())} of {total} user frames are unnamed,"
          f" {100 * sum(unnamed.values()) / max(total, 1):.2f} %: {dict(unnamed.most_common(5))}")
    assert total > 100, f"only {total} user frames"
    assert sum(unnamed.values()) <= 0.01 * total, "more than 1 % of the user frames are unnamed"


def requests_are_seen():
    served = sum(s.count for s in folded(recording()) if "net/http.(*conn).serve" in s.frames)
    assert served > 10, f"{served} samples below net/http.(*conn).serve"


run([("the program is stripped", it_is_stripped),
     ("its functions are named throughout", names_throughout),
     ("the work for requests is seen as such", requests_are_seen)])
