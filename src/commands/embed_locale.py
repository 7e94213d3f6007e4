#!/usr/bin/python3
"""Writes what the C library has to know of characters in UTF-8 as C++: LC_CTYPE of the locale C.UTF-8.

    embed_locale.py OUTPUT
"""
import gzip
import pathlib
import sys

PLACES = [pathlib.Path("/usr/lib/locale", name, "LC_CTYPE") for name in ("C.utf8", "C.UTF-8")]

text = next(place for place in PLACES if place.exists()).read_bytes()
data = gzip.compress(text, 9, mtime=0)
octal = "".join(f"\\{byte:03o}" for byte in data)
lines = [octal[i:i + 96] for i in range(0, len(octal), 96)]
literal = "\n".join(f'    "{line}"' for line in lines)
pathlib.Path(sys.argv[1]).write_text(
    f'#include "commands/terminal.h"\n\nnamespace gosym {{\n\n'
    f"const std::string_view kUtf8Locale(\n{literal},\n    {len(data)});\n\n}}  // namespace gosym\n")
