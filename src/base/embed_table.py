#!/usr/bin/python3
"""Writes tables of a text as C++: embed_table.py TEXT HEADER ROW SUFFIX SOURCE

A line in brackets opens a table, and a line that ends with a colon a part of it, which ends in that colon only.
Indented lines have its words, between commas. Each word is a row {word, part} of the type ROW; the table [Go function]
is kGoFunctionSUFFIX, which HEADER declares. Lines that begin with # are comments.
"""
import pathlib
import sys


def fail(number, text):
    sys.exit(f"embed_table.py: line {number}: {text}")


def read(text):
    """{table: {word: part}}"""
    tables = {}
    rows = part = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            title, part = line.strip("[]"), None
            if title in tables:
                fail(number, f"a table that was there before: '{title}'")
            rows = tables[title] = {}
        elif not line.startswith(" "):
            if rows is None or not line.endswith(":"):
                fail(number, "neither a table nor a part of one")
            part = line[:-1]
        elif part is None:
            fail(number, "words of no part")
        else:
            for word in filter(None, (piece.strip() for piece in line.split(","))):
                if word in rows:
                    fail(number, f"stands twice: '{word}'")
                rows[word] = part
    return tables


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


text, header, row, suffix, output = sys.argv[1:]
source = f'#include "{header}"\n\nnamespace gosym {{\n'
for title, rows in read(pathlib.Path(text).read_text()).items():
    name = "k" + "".join(word[0].upper() + word[1:] for word in title.split()) + suffix
    entries = "".join(f"    {{{literal(word)}, {literal(part)}}},\n" for word, part in rows.items())
    source += (f"\nstatic constexpr {row} {name}Rows[] = {{\n{entries}}};\n"
               f"constinit const std::span<const {row}> {name}({name}Rows);\n")
pathlib.Path(output).write_text(source + "\n}  // namespace gosym\n")
