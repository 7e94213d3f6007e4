#!/usr/bin/python3
"""Builds gosym and runs its tests, the live ones (which need root) included.

    scripts/test                  all of it, in both builds
    scripts/test unit golden      only these suites: unit, golden, fuzz, checks,
                                  conformance, live, sanitize

The suite `sanitize` is unit, golden and fuzz once more, built by clang with AddressSanitizer and
UBSan. The output of what failed is shown; the last line is `N passed, M failed`.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = ["unit", "golden", "fuzz", "checks", "conformance", "live", "sanitize"]
SANITIZED = ["unit", "golden", "fuzz"]
SANITIZE = ["-Db_sanitize=address,undefined", "-Db_lundef=false",
            "-Dcpp_args=-fno-sanitize-recover=all"
            f" -fsanitize-ignorelist={ROOT}/tests/sanitizer-ignore.txt"]

Count = collections.namedtuple("Count", "passed failed skipped")
NOT_BUILT = Count(0, 1, 0)


def build(folder, compiler, *options, niceness=0):
    """Configures at first, then builds. Says what went wrong if it does; false then."""
    again = ["--reconfigure"] if (ROOT / folder / "build.ninja").exists() else []  # finds new files
    for command in [["meson", "setup", folder, *again, *options],
                    ["ninja", "-C", folder, "all", "meson-test-prereq"]]:
        done = subprocess.run(["nice", "-n", str(niceness), *command], cwd=ROOT,
                              env={**os.environ, "CXX": compiler},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if not re.match(r"\[\d+/\d+\]", line)]
            print(*lines[-200:], f"{folder}: {' '.join(command)} failed\n", sep="\n")
            return False
    return True


def run_suites(folder, suites):
    """The results of the suites, one dict a test as meson logs it."""
    log = ROOT / folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    selection = [word for suite in suites for word in ("--suite", suite)]
    done = subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", *selection], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not log.exists():  # meson itself failed, or the suites are empty
        return [] if "No tests" in done.stdout else \
            [{"name": "meson test", "result": "ERROR", "stdout": done.stdout}]
    return [json.loads(line) for line in log.read_text().splitlines()]


def count(test):
    """The cases inside a test, where its output counts them, else the test itself."""
    output, good = test.get("stdout", ""), test["result"] in ("OK", "EXPECTEDFAIL")
    if doctest := re.search(r"test cases: *\d+ \| *(\d+) passed \| *(\d+) failed", output):
        passed, failed, skipped = int(doctest[1]), int(doctest[2]), 0
    elif tap := re.findall(r"^(not )?ok\b(.*)", output, re.MULTILINE):
        skipped = sum("# SKIP" in rest for _, rest in tap)
        failed = sum(bool(bad) for bad, _ in tap)
        passed = len(tap) - failed - skipped
    else:
        passed, failed, skipped = int(good), 0, int(test["result"] == "SKIP")
    if not good and test["result"] != "SKIP" and not failed:
        failed = 1  # it crashed, timed out or counted wrongly
    return Count(passed, failed, skipped)


def show_failure(test):
    lines = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
    kept = [line for line in lines if not re.match(r"ok\b", line)]
    print(f"--- {test['name']}: {test['result']}", *kept[-100:], sep="\n")


def slowest(tests):
    """"; call_sites 93 s": those to look at first when it all takes too long."""
    long = sorted((test["duration"], test["name"].split()[-1]) for test in tests
                  if test.get("duration", 0) >= 30)
    return "".join(f"; {name} {duration:.0f} s" for duration, name in reversed(long[-5:]))


def run_build(title, folder, suites):
    start, total = time.monotonic(), Count(0, 0, 0)
    for suite in suites:
        tests = run_suites(folder, [suite])
        counts = [count(test) for test in tests]
        for test, counted in zip(tests, counts):
            if counted.failed:
                show_failure(test)
        both = Count(*map(sum, zip(*counts))) if counts else Count(0, 0, 0)
        print(f"{title} {suite}: {both.passed} passed, {both.failed} failed, {both.skipped} skipped"
              f" ({time.monotonic() - start:.0f} s{slowest(tests)})", flush=True)
        start, total = time.monotonic(), Count(*map(sum, zip(total, both)))
    return total


def main():
    options = argparse.ArgumentParser(description=__doc__, prog="scripts/test",
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("suite", nargs="*")
    wanted = options.parse_args().suite or SUITES
    if unknown := [suite for suite in wanted if suite not in SUITES]:
        options.error(f"no suite '{unknown[0]}'; there are {' '.join(SUITES)}")

    totals = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        sanitized = pool.submit(build, "build-sanitize", "clang++", *SANITIZE, niceness=19) \
            if "sanitize" in wanted else None
        plain = [suite for suite in SUITES if suite in wanted and suite not in ("live", "sanitize")]
        if plain or "live" in wanted:
            built = build("build-test", "g++")
            totals.append(run_build("g++", "build-test", plain) if built else NOT_BUILT)
            # Live tests measure: nothing is built beside them.
            if sanitized:
                sanitized.result()
            if "live" in wanted and built:
                totals.append(run_build("g++", "build-test", ["live"]))
        if sanitized:
            totals.append(run_build("clang++, sanitized,", "build-sanitize", SANITIZED)
                          if sanitized.result() else NOT_BUILT)

    passed, failed, skipped = map(sum, zip(*totals))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed > 0 or passed == 0)


main()
