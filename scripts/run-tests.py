#!/usr/bin/python3
"""Builds gosym and runs its tests, the live ones (which need root) included.

    scripts/test                  all of it, in both builds
    scripts/test unit live        only these suites: unit, golden, fuzz, checks, tidy, conformance,
                                  releases, live, sanitize, static
    scripts/test stacks report    only these tests, by their names (--list has them)
    scripts/test releases --all   with every release of Go since 1.2, not with some; their compilers
                                  are downloaded once
    scripts/test static --all     in root directories of Debian 11, 12 and 13 too, as scripts/test-roots
    scripts/test --quick          what a change needs: unit, golden, checks and a live smoke test
    scripts/test --no-root        what needs neither root nor Go; says what it leaves out

The suite `sanitize` is unit, golden and fuzz once more, built by clang with AddressSanitizer and
UBSan; `static` is golden and a live smoke test once more, by the same code linked statically, and that
program in root directories that have nothing for it. Tests run side by side, but for those that measure
CPU time or load all CPUs. A live test that fails beside others is run once more when nothing else runs: it
measures a real machine, and what it says is judged there; both answers are shown, and a failure that did
not come again is named as such.
The output of what failed is shown, and the names of it once more at the end; the last line is
`N passed, M failed`.
"""
import argparse
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import environment  # noqa: E402

# What tests have compiled: a new build folder needs none of it again.
PROGRAMS = environment.USER_CACHE / "gosym" / "programs"

SUITES = ["unit", "golden", "fuzz", "checks", "tidy", "conformance", "releases", "live", "sanitize",
          "static"]
SANITIZED = ["unit", "golden", "fuzz"]
QUICK = ["unit", "golden", "checks", "features"]
WITHOUT_ROOT = ["unit", "golden", "fuzz", "checks"]
WITH_ALL = {"conformance", "releases", "static"}
ALONE = "alone"  # a suite that those are in besides theirs that nothing may run beside
SIDE_BY_SIDE = 2 * os.cpu_count()  # half of them wait for something
BOTH_BUILDS = (6 << 30) * os.cpu_count()  # bytes: on two CPUs their compilers have 10 GB at most
MAX_AGAIN = 4  # tests that are run once more: where more fail, it is not for the noise

# All of the library as one: two files whose names clash are found here. At -O0 it is compiled in a third
# of the time, and the tests take more than that longer.
SANITIZE = ["-Doptimization=1", "-Dunity_size=1000",
            "-Db_sanitize=address,undefined",
            "-Db_lundef=false",
            "-Dcpp_args=-gline-tables-only -D_GLIBCXX_ASSERTIONS -fno-sanitize-recover=all"
            f" -fsanitize-ignorelist={ROOT}/tests/sanitizer-ignore.txt"]

Count = collections.namedtuple("Count", "passed failed skipped")


def environment_of(compiler):
    """Of builds and tests. ccache is used where it is installed."""
    cached = f"ccache {compiler}" if shutil.which("ccache", path=environment.SYSTEM_PATH) \
        else compiler
    # lld links a dozen programs in the time of one, where clang is used.
    linker = {"CXX_LD": "lld"} if "clang" in compiler and \
        shutil.which("ld.lld", path=environment.SYSTEM_PATH) else {}
    return environment.clean(os.environ) | linker | {
        "CXX": cached, "GOSYM_TEST_BUILDS": str(PROGRAMS),
        "CCACHE_SLOPPINESS": "pch_defines,time_macros"}


class Build:
    """A build folder, made by one compiler with some options."""

    def __init__(self, title, folder, compiler, options):
        self.title, self.folder, self.options = title, folder, options
        self.environment = environment_of(compiler)
        self.total = Count(0, 0, 0)
        self.failures = {}  # "live rights: files of others": the first line of why
        self.unsteady = {}  # the same, of those that did not fail again
        self.cpu = 0  # seconds that were computed for it
        self.results = []  # of tests that have run and are not reported yet

    def start(self, *command, **options):
        return subprocess.Popen(command, cwd=ROOT, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **options)

    def configure(self, wanted):
        """Makes the folder, and refuses names that are none. Says what went wrong; false then."""
        again = (ROOT / self.folder / "build.ninja").exists()
        if not self.step("meson", "setup", self.folder, *["--reconfigure"] * again, *self.options):
            return False
        # Meson 1.0 leaves a compiler's options as they were.
        if again and not self.step("meson", "configure", self.folder, *self.options):
            return False
        if unknown := set(wanted) - set(SUITES) - set(self.tests()):
            sys.exit(f"scripts/test: no suite or test '{sorted(unknown)[0]}'; --list has them")
        return True

    def make(self, names):
        """Builds what these tests need. Says what went wrong; false then."""
        start = time.monotonic()
        files = self.needed(names)
        if files:
            if not self.step("ninja", "-C", self.folder, "-j", str(os.cpu_count()), *files):
                return False
            print(f"{self.title} build: done ({time.monotonic() - start:.0f} s)", flush=True)
        return True

    def step(self, *command):
        process = self.start(*command)
        lines = list(progress(process, f"{self.title} build"))
        if self.wait(process):
            shown = [line for line in lines if not re.match(r"\[\d+/\d+\]", line)]
            print(*shown[-200:], f"{self.folder}: {' '.join(command)} failed", sep="\n")
            self.total = Count(0, 1, 0)
            self.failures[f"{self.title} build"] = ""
        return process.returncode == 0

    def wait(self, process):
        """The status of a process that has ended, or is about to."""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu += usage.ru_utime + usage.ru_stime
        return process.returncode

    @functools.cache
    def introspected(self, what):
        """What meson says of the build, once it is configured: "tests" or "targets"."""
        return json.loads(subprocess.run(
            ["meson", "introspect", f"--{what}", self.folder], cwd=ROOT, env=self.environment,
            check=True, capture_output=True, text=True).stdout)

    def tests(self):
        """Name -> suites, of all tests."""
        tests = self.introspected("tests")
        suites = {test["name"]: [name.rpartition(":")[2] for name in test["suite"]]
                  for test in tests}
        assert len(suites) == len(tests), "two tests have one name: one of them would not be run"
        return suites

    def needed(self, names):
        """The files that these tests need built, as ninja names them."""
        needed = {target for test in self.introspected("tests") if test["name"] in names
                  for target in test["depends"]}
        return [os.path.relpath(file, ROOT / self.folder) for target in self.introspected("targets")
                if target["id"] in needed for file in target["filename"]]

    def run(self, names, side_by_side):
        """The results of these tests, one dict a test as meson logs it; what has none is an error."""
        if not names:
            return []
        log = ROOT / self.folder / "meson-logs" / "testlog.json"
        log.unlink(missing_ok=True)
        process = self.start("meson", "test", "-C", self.folder, "--no-rebuild",
                             "--num-processes", str(side_by_side), *names)
        lines = list(progress(process, f"{self.title} tests"))
        self.wait(process)
        # A line without an end is of a meson that was killed.
        logged = log.read_text().splitlines(keepends=True) if log.exists() else []
        results = [json.loads(line) for line in logged if line.endswith("\n")]
        missing = set(names) - set(map(name_of, results))
        return results + [{"name": name, "result": "ERROR", "stdout": "\n".join(lines[-20:])}
                          for name in sorted(missing)]

    def report(self, suites, tests):
        """Prints what failed, and a line a suite."""
        by_suite = collections.defaultdict(list)
        for test in tests:
            by_suite[suites.get(name_of(test), ["tests"])[0]].append(test)
        for suite, members in by_suite.items():
            counts = [count(test) for test in members]
            for test, counted in zip(members, counts):
                if counted.failed:
                    show_failure(test)
                    self.failures |= failed_cases(f"{self.title} {suite}", test)
            both = Count(*map(sum, zip(*counts)))
            seconds = sum(test.get("duration", 0) for test in members)
            print(f"{self.title} {suite}: {both.passed} passed, {both.failed} failed, "
                  f"{both.skipped} skipped ({seconds:.0f} s of tests{slowest(members)})", flush=True)
            self.total = Count(*map(sum, zip(self.total, both)))


def progress(process, title):
    """The lines that a process prints; on a terminal the last one is seen."""
    shows = sys.stdout.isatty()
    for line in process.stdout:
        line = line.rstrip()
        if shows:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{title}: {line}"[:width + 4], end="", flush=True)
        yield line
    if shows:
        print("\r\033[K", end="", flush=True)


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


def name_of(test):
    """As --list has it, of a test as meson logs it."""
    return test["name"].rpartition(" / ")[2]


def show_failure(test):
    lines = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
    kept = [line for line in lines if not re.match(r"ok\b", line)]
    print(f"--- {test['name']}: {test['result']}", *kept[-100:], sep="\n")


def failed_cases(suite, test):
    """A case of a test that failed, or the test itself where none is named, and the first line of why."""
    name = f"{suite} {name_of(test)}"
    output = test.get("stdout", "")
    cases = dict(re.findall(r"^not ok +\d+ +-? *(.+)\n(?:# (.*))?", output, re.MULTILINE)) | \
        dict.fromkeys(re.findall(r"^TEST CASE: +(.+)", output, re.MULTILINE), "")
    if test["result"] == "TIMEOUT" or not cases:
        cases[f"{test['result'].lower()}, status {test.get('returncode')}"] = ""
    return {f"{name}: {case}": why for case, why in cases.items()}


def print_failures(how, failures):
    for failure, why in failures.items():
        print(f"{how}: {failure}" + (f" ({why[:120]})" if why else ""))


def slowest(tests):
    """"; call_sites 93 s": those to look at first when it all takes too long."""
    long = sorted((test["duration"], name_of(test)) for test in tests
                  if test.get("duration", 0) >= 30)
    return "".join(f"; {name} {duration:.0f} s" for duration, name in reversed(long[-5:]))


def chosen(wanted, suites):
    """Names of the tests that are meant: by their own name or by that of a suite."""
    return [name for name, of in suites.items() if name in wanted or set(of) & set(wanted)]


def run_all(plain, wanted, sanitized):
    """First what may run side by side, and from the beginning on beside it the sanitized build, which is
    one large compile, and its tests; then the rest."""
    if not plain.configure(wanted):
        return
    suites = plain.tests()
    names = chosen(wanted, suites)
    alone = [name for name in names if ALONE in suites[name]]
    may_begin = threading.Event()
    if available_memory() >= BOTH_BUILDS:
        may_begin.set()
    with concurrent.futures.ThreadPoolExecutor() as threads:
        beside = threads.submit(run_sanitized, sanitized, may_begin) if sanitized else None
        try:
            made = plain.make(names)
        finally:
            may_begin.set()
        tests = plain.run([name for name in names if name not in alone], SIDE_BY_SIDE) \
            if made else []
    if made:
        tests += plain.run(alone, 1)
        plain.report(suites, judged_again(plain, suites, tests))
    if beside:
        beside.result()  # or what went wrong in it


def run_sanitized(build, may_begin=None):
    if may_begin:
        may_begin.wait()
    if build.configure([]) and build.make(chosen(SANITIZED, build.tests())):
        build.results = build.run(chosen(SANITIZED, build.tests()), os.cpu_count())


def available_memory():
    """In bytes: what the kernel has for new programs, and a container may have."""
    text = pathlib.Path("/proc/meminfo").read_text()
    available = 1024 * int(re.search(r"^MemAvailable: *(\d+)", text, re.MULTILINE)[1])
    limit = pathlib.Path("/sys/fs/cgroup/memory.max")  # "max": none
    text = limit.read_text().strip() if limit.exists() else "max"
    return min(available, int(text)) if text.isdigit() else available


def judged_again(build, suites, tests):
    """The results, with the second of each live test that had failed: others on the machine disturb even
    those that run alone. What did not fail twice is told, too."""
    failed = {name_of(test): test for test in tests
              if "live" in suites.get(name_of(test), [])
              and re.search("^not ok", test.get("stdout", ""), re.MULTILINE)}
    if not failed or len(failed) > MAX_AGAIN or len(tests) == 1:
        return tests
    print(f"once more, with nothing else: {', '.join(failed)}", flush=True)
    second = {name_of(test): test for test in build.run(list(failed), 1)}
    for name, test in failed.items():
        if name not in second:
            continue
        show_failure(test)
        title = f"{build.title} live"
        again = failed_cases(title, second[name]) if count(second[name]).failed else {}
        build.unsteady |= {case: why for case, why in failed_cases(title, test).items()
                           if case not in again}
    return [second.get(name_of(test), test) for test in tests]


def list_tests(build):
    if not build.configure([]):
        sys.exit(1)
    for name, suites in sorted(build.tests().items(), key=lambda test: test[1]):
        print(f"{name:24} {suites[0]}")


def main():
    options = argparse.ArgumentParser(description=__doc__, prog="scripts/test",
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name", nargs="*", help="a suite or a test")
    options.add_argument("--quick", action="store_true", help="only what a change needs")
    options.add_argument("--no-root", action="store_true", help="only without root and Go")
    options.add_argument("--all", action="store_true", help="all releases of Go, roots of Debian, and builds of compilers")
    options.add_argument("--list", action="store_true", help="list the tests")
    given = options.parse_args()
    default = QUICK if given.quick else WITHOUT_ROOT if given.no_root else SUITES
    wanted = given.name or default

    plain = Build("g++", "build-test", "g++", [f"-Dgo={'false' if given.no_root else 'true'}"])
    if given.all and not WITH_ALL & set(wanted):
        options.error("--all is for conformance, releases and static: scripts/test releases static --all")
    if given.all:
        plain.environment["GOSYM_TEST_ALL"] = "1"
    if given.list:
        return list_tests(plain)
    sanitized = Build("clang++, sanitized,", "build-sanitize", "clang++", SANITIZE) \
        if "sanitize" in wanted else None
    start = time.monotonic()
    if wanted == ["sanitize"]:
        run_sanitized(sanitized)
    else:
        run_all(plain, wanted, sanitized)
    if sanitized and sanitized.results:
        sanitized.report(sanitized.tests(), sanitized.results)

    builds = [build for build in (plain, sanitized) if build]
    passed, failed, skipped = map(sum, zip(*(build.total for build in builds)))
    if given.no_root:
        print("left out: conformance, releases, live and the transcripts of Go programs, which need"
              " Go or root; sanitize")
    print(f"{time.monotonic() - start:.0f} s in all, {sum(build.cpu for build in builds):.0f} s of CPU"
          " time")
    for build in builds:
        print_failures("failed once, passed alone", build.unsteady)
    for build in builds:
        print_failures("failed", build.failures)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed > 0 or passed == 0)


main()
