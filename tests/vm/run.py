#!/usr/bin/python3
"""Runs the live tests on Debian's kernels, in virtual machines, and on that of this machine. The
latter comes first: it builds what is profiled, for which an emulated processor takes too long.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

import boot
import environment  # found by boot

KERNELS = ["host", "5.10", "6.1", "6.12"]
TESTS = ["features", "messages", "processes", "c_programs", "stops", "system_wide", "identity",
         "separate_files", "jit", "exchange", "mixed", "stacks", "service", "binaries",
         "go_programs", "losses", "goroutines", "cgo", "archive", "short_lived", "rights",
         "endings", "rows"]
# What would take too long in an emulated processor.
LEFT_OUT = {"call_sites": "disassembles all code that is seen",
            "runtime_profile": "compares 8 s of CPU time of four programs, each twice"}

# These only tell a hang from slowness.
TEST_LIMIT = 2000    # seconds, which pass more slowly in a guest
KERNEL_LIMIT = 7200  # of this machine

ENVIRONMENT = "PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8"


def script(tests, gosym, builds, output):
    """Runs the tests one by one; what each prints is left in OUTPUT/TEST.tap."""
    lines = [f"export GOSYM_TEST_BUILDS={builds} XDG_CACHE_HOME={environment.USER_CACHE}"]
    for test in tests:
        command = f"{boot.ROOT}/tests/live/{test}.py {gosym}"
        lines += [f"timeout -k 10 {TEST_LIMIT} python3 {command} >{output}/{test}.tap 2>&1",
                  f"echo {test}: status $?, up for $(cut -d. -f1 /proc/uptime) s"]
    return "\n".join(lines) + "\n"


def run_tests(kernel, tests, gosym, folder):
    output, builds = folder / kernel, folder / "builds"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    builds.mkdir(exist_ok=True)
    if kernel == "host":
        subprocess.run(["sh", "-c", script(tests, gosym, builds, output)], check=False,
                       stdin=subprocess.DEVNULL, stdout=(output / "console").open("w"))
        return
    (output / "job").write_text(f"export GOSYM_TEST_SLOW=1 {ENVIRONMENT}\ncd {boot.ROOT}\n" +
                                script(tests, gosym, builds, "/run/out"))
    fetched = subprocess.run([boot.ROOT / "scripts" / "fetch", "kernel", kernel], check=True,
                             stdout=subprocess.PIPE, text=True)
    if not boot.boot(pathlib.Path(fetched.stdout.strip()), output, KERNEL_LIMIT):
        print(f"{kernel}: broken off after {KERNEL_LIMIT} s")


class Outcome:
    """What a test printed."""

    def __init__(self, file):
        text = file.read_text(errors="replace") if file.exists() else ""
        self.cases = re.findall(r"^(not ok|ok) \d+ - (.*?)(?: # (SKIP .*))?$", text, re.MULTILINE)
        self.failed = [title for verdict, title, _ in self.cases if verdict != "ok"]
        self.skipped = [title for _, title, skip in self.cases if skip]
        self.is_whole = re.search(r"^1\.\.\d+$", text, re.MULTILINE) is not None

    def cell(self):
        good = len(self.cases) - len(self.failed) - len(self.skipped)
        told = f"{good} of {len(self.cases) - len(self.skipped)}"
        told += f", {len(self.skipped)} skipped" if self.skipped else ""
        return told if self.is_whole else f"{told}, broken off"


def verdict(outcome, title):
    found = [verdict for verdict, case, _ in outcome.cases if case == title]
    return {"ok": "yes", "not ok": "NO"}[found[0]] if found else "unknown"


def print_table(kernels, tests, folder):
    """True if all is well."""
    outcomes = {(test, kernel): Outcome(folder / kernel / f"{test}.tap")
                for test in tests for kernel in kernels}
    rows = [["", *kernels]]
    if "features" in tests:
        features = [outcomes["features", kernel] for kernel in kernels]
        titles = dict.fromkeys(title for feature in features for _, title, _ in feature.cases)
        rows += [[title, *(verdict(feature, title) for feature in features)] for title in titles]
    rows += [[test, *(outcomes[test, kernel].cell() for kernel in kernels)] for test in tests]
    rows += [[test, f"not run: {reason}"] for test, reason in LEFT_OUT.items()]
    for name, *cells in rows:
        print(f"{name:48}", *(f"{cell:20}" for cell in cells))
    return print_failures(outcomes)


def print_failures(outcomes):
    """True if there are none."""
    for (test, kernel), outcome in outcomes.items():
        for title in outcome.failed:
            print(f"failed on {kernel}: {test}: {title}")
    passed = sum(len(outcome.cases) - len(outcome.failed) for outcome in outcomes.values())
    failed = sum(max(len(outcome.failed), not outcome.is_whole) for outcome in outcomes.values())
    print(f"{passed} passed, {failed} failed")
    return failed == 0


def main():
    options = argparse.ArgumentParser(prog="scripts/test-kernels", description=__doc__)
    options.add_argument("gosym", type=pathlib.Path)
    options.add_argument("kernels", nargs="*", metavar="KERNEL", help="of " + " ".join(KERNELS))
    options.add_argument("--only", metavar="TEST,...", help="run only these of tests/live")
    wanted = options.parse_intermixed_args()
    kernels = wanted.kernels or KERNELS
    tests = wanted.only.split(",") if wanted.only else TESTS
    if unknown := [kernel for kernel in kernels if kernel not in KERNELS]:
        options.error(f"no kernel '{unknown[0]}'; there are {' '.join(KERNELS)}")
    folder = wanted.gosym.resolve().parent.parent / "vm"
    for kernel in kernels:
        begin = time.monotonic()
        run_tests(kernel, tests, wanted.gosym.resolve(), folder)
        print(f"{kernel}: {time.monotonic() - begin:.0f} s", flush=True)
    sys.exit(not print_table(kernels, tests, folder))


main()
