"""Prometheus as Debian ships it, a stripped Go service that nobody here built, under load."""
import contextlib
import itertools
import socket
import threading
import urllib.parse
import urllib.request

from common import WORK, fetched, running, wait_for

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
    for _ in itertools.takewhile(lambda _: not done.is_set(), range(500_000)):
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


@contextlib.contextmanager
def busy():
    """Its pid, while it answers requests."""
    port = free_port()
    base, config = f"http://127.0.0.1:{port}", WORK / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n"
                      f"- {{job_name: self, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n")
    with running(fetched("prometheus"), f"--config.file={config}",
                 f"--storage.tsdb.path={WORK}/data", f"--web.listen-address=127.0.0.1:{port}",
                 cwd=WORK) as pid:
        wait_for(lambda: answers(f"{base}/-/ready"), "answer of prometheus")
        with load(base):
            yield pid
