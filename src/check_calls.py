#!/usr/bin/python3
"""Fails if code that is to be linked statically calls what loads libraries of the host, of another C library
than its own, and crashes.

    check_calls.py OUTPUT ARCHIVE...

OUTPUT is made where all is well.
"""
import pathlib
import subprocess
import sys

FORBIDDEN = {"dlopen", "getpwnam", "getpwuid", "getgrnam", "getgrgid", "getaddrinfo", "gethostbyname"}

output, *archives = sys.argv[1:]
listed = subprocess.run(["nm", "-A", "--undefined-only", *archives], check=True, capture_output=True, text=True)
assert " U " in listed.stdout, "nm lists no calls at all"
for line in listed.stdout.splitlines():
    place, _, name = line.rpartition(" U ")
    if name.strip() in FORBIDDEN:
        sys.exit(f"{place.strip()} calls {name.strip()}, which a static program cannot")
pathlib.Path(output).touch()
