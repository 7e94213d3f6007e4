#!/usr/bin/python3
"""Writes the licences of gosym, and of the libraries inside it, as C++.

    embed_licenses.py OUTPUT LICENSE [PACKAGE ...]

LICENSE is gosym's own. A PACKAGE is one of Debian's; its /usr/share/doc/PACKAGE/copyright is taken, and
each text of /usr/share/common-licenses that one of them refers to, once.
"""
import gzip
import pathlib
import re
import subprocess
import sys

HEAD = """\
gosym is licensed under the Apache License 2.0. Its BPF program, which is part of it, is licensed under
the GPL 2.0 or the BSD 2-Clause license, as you like. All of gosym's source is in its repository.
"""
INSIDE = """
This program is linked statically. The libraries below, in the versions of Debian's packages that are
named, are inside it, under their own licences; the parts of elfutils (libelf, libdw), the GNU C library
and libiberty under the GNU (Lesser) General Public License. Their source is that of these packages:
'apt-get source PACKAGE=VERSION' on Debian. You may change them and link gosym anew: scripts/package in
gosym's repository builds this program from gosym's source and from the libraries that are installed.
"""
SHARED = """
This program uses the shared libraries of the system, each under its own licence.
"""
COMMON = pathlib.Path("/usr/share/common-licenses")


def version_of(package):
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], check=True,
                          capture_output=True, text=True).stdout


def heading(text):
    return f"\n{'=' * 78}\n{text}\n{'=' * 78}\n\n"


def licenses(own, packages):
    text = HEAD + (INSIDE if packages else SHARED) + heading("gosym: Apache License 2.0") + own
    common = set()
    for package in packages:
        terms = pathlib.Path("/usr/share/doc", package, "copyright").read_text(errors="replace")
        text += heading(f"{package} {version_of(package)}") + terms
        common |= set(re.findall(r"/usr/share/common-licenses/([\w.+-]*[\w+])", terms))
    # A name without a number is a link to the newest of its kind, which then stands there once.
    for path in sorted({(COMMON / name).resolve() for name in common if (COMMON / name).exists()}):
        text += heading(path.name) + path.read_text(errors="replace")
    return text


def main(output, own, *packages):
    text = licenses(pathlib.Path(own).read_text(), packages)
    data = gzip.compress(text.encode(), 9, mtime=0)
    octal = "".join(f"\\{byte:03o}" for byte in data)
    lines = [octal[i:i + 96] for i in range(0, len(octal), 96)]
    literal = "\n".join(f'    "{line}"' for line in lines)
    pathlib.Path(output).write_text(
        f'#include "commands/licenses.h"\n\nnamespace gosym {{\n\n'
        f"const std::string_view kLicenses(\n{literal},\n    {len(data)});\n\n}}  // namespace gosym\n")


main(*sys.argv[1:])
