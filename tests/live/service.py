#!/usr/bin/python3
"""A real service that nobody here built: prometheus as Debian ships it, stripped, under load."""
import collections
import functools

import prometheus
from common import call, fetched, folded, is_unnamed, record, run, user_frames


@functools.cache
def recording():
    with prometheus.busy() as pid:
        return record("-p", pid, seconds=1, hertz=1999)


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
