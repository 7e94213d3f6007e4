#!/usr/bin/python3
"""Whether the kernels of Debian 11 and 12 take gosym's BPF programs, and samples come: their verifiers
refuse what that of this machine lets pass. Each is booted in a virtual machine, without KVM.
"""
import functools
import os
import pathlib
import re
import shlex
import sys

from common import GOSYM, ROOT, Skip, call, new_place, run

sys.path.insert(0, str(ROOT / "tests" / "vm"))
import boot  # noqa: E402

KERNELS = ["5.10", "6.1"]
LIMIT = 900  # seconds; it takes half a minute

# Each is other code to the verifier. All of the system at 5 kHz is more than a simulated CPU can do.
MODES = {"a command": [], "the whole system": ["-a", "-F", "499"], "--call-graph dwarf": ["--call-graph", "dwarf,32768"],
         "user code only": ["-U"], "the kernel only": ["-K"], "--off-cpu": ["--off-cpu"]}
WORK = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=300"]


def script():
    """Leaves of each mode what the recorder told, and its status."""
    lines = ["export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root"]
    for number, options in enumerate(MODES.values()):
        record = shlex.join([GOSYM, "record", "-F", "4999", "-o", "/tmp/cpu.raw", *options, "--", *WORK])
        lines += [f"{record} >/run/out/{number}.told 2>&1", f"echo $? >/run/out/{number}.status"]
    return "\n".join(lines) + "\n"


@functools.cache
def booted(kernel):
    """The folder of what was told."""
    if os.uname().machine != "x86_64":
        raise Skip("the virtual machine is of x86-64")
    fetched = call(ROOT / "scripts" / "fetch", "kernel", kernel, check=False)
    if fetched.status != 0:
        raise Skip(f"Linux {kernel} cannot be had: {fetched.err.strip()}")
    folder = new_place("out")
    folder.mkdir()
    (folder / "job").write_text(script())
    assert boot.boot(pathlib.Path(fetched.out.strip()), folder, LIMIT), \
        f"not done after {LIMIT} s: {(folder / 'console').read_text()[-2000:]}"
    return folder


def samples_come(kernel, number):
    folder = booted(kernel)
    told = (folder / f"{number}.told").read_text()
    assert (folder / f"{number}.status").read_text() == "0\n", told
    assert int(re.search(r"^recorded ([\d,]+) samples", told, re.M)[1].replace(",", "")) > 0, told


run([(f"Linux {kernel}: {mode}", functools.partial(samples_come, kernel, number))
     for kernel in KERNELS for number, mode in enumerate(MODES)])
