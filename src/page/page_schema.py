#!/usr/bin/python3
"""Makes of page.proto what readers and writers of a page know of it.

page_schema.py cpp PROTO        the messages as structs, and the tables of their columns, for message.h
page_schema.py script PROTO PROFILE.H   the same for the viewer, with the words of the enums of profile.h

A field may have notes in brackets at the beginning of its comment, which page.proto explains.
"""
import json
import pathlib
import re
import sys

SCALARS = {"uint32": "uint32_t", "uint64": "uint64_t", "fixed64": "uint64_t", "bool": "bool", "bytes": "std::string"}


# Values of enums that the script of the page asks for by name.
NAMED = ["kLeftOut", "kCallFromC", "kCallFrames", "kPerfMap", "kGiven"]


class Field:
    def __init__(self, line, is_repeated, kind, name, number, notes):
        self.is_repeated, self.kind, self.name, self.number = bool(is_repeated), kind, name, int(number)
        notes = [note.strip() for note in notes.split(";")] if notes else []
        self.is_text = "text" in notes
        self.is_raw = "raw" in notes
        self.coding = next((note for note in notes if re.match(r"before$|next$|last of ", note)), None)
        if any(note not in ("text", "raw", self.coding) for note in notes):
            sys.exit(f"page_schema.py: {line}: unknown note")

    @property
    def is_column(self):
        return self.is_repeated and self.kind in SCALARS


class Message:
    def __init__(self, name, is_table):
        self.name, self.is_table, self.fields = name, is_table, []

    def columns(self):
        return [field for field in self.fields if field.is_column]


def parsed(path):
    """The messages by name, those that others consist of first."""
    messages, message = {}, None
    for line in pathlib.Path(path).read_text().splitlines():
        if begin := re.match(r"message (\w+) \{(\s*// \[table\])?", line):
            message = messages[begin[1]] = Message(begin[1], bool(begin[2]))
        elif field := re.match(r"  (repeated )?(\w+) (\w+) = (\d+);(?:\s*// \[([^\]]*)\])?", line):
            message.fields.append(Field(line, *field.groups()))
            # Scripts have a list of the fields, of which the first is number 1.
            if message.fields[-1].number != len(message.fields):
                sys.exit(f"page_schema.py: {line}: its number is not the next one")
    ordered = {}

    def add(name):
        for field in messages[name].fields:
            if field.kind in messages:
                add(field.kind)
        ordered.setdefault(name, messages[name])

    add("Page")
    return ordered


def codings(messages):
    """(table, column, kind, by, first) in the order in which differences are undone: a column by which others are
    told comes before them."""
    found = []
    for table in messages["Page"].fields:
        fields = messages[table.kind].columns() if table.kind in messages and not table.is_repeated else []
        for is_first in (True, False):
            for field in fields:
                if field.coding and field.coding.startswith("last of ") != is_first:
                    by = re.match(r"last of (\w+)(?: or (\w+\.\w+))?|", field.coding)
                    kind = "last" if by[1] else field.coding
                    found.append((table.name, field.name, kind, by[1], by[2]))
    return found


def cpp_type(field):
    kind = SCALARS.get(field.kind, field.kind)
    return f"std::vector<{kind}>" if field.is_repeated else kind


def cpp(messages):
    lines = ["// Made by page_schema.py of page.proto.", "#pragma once", "", "#include <cstdint>", "#include <string>",
             "#include <string_view>", "#include <vector>", "", '#include "base/protobuf_fields.h"', "",
             "namespace gosym::page {", ""]
    for message in messages.values():
        lines.append(f"struct {message.name} {{")
        for field in message.fields:
            default = "" if field.is_repeated or field.kind not in SCALARS or field.kind == "bytes" else " = {}"
            lines.append(f"  {cpp_type(field)} {field.name}{default};")
        lines += ["};", ""]

    lines += ["// As encode_message() and decode_message() want it.", "struct Fields {"]
    for message in messages.values():
        lines.append(f"  static void visit(auto& field, Either<{message.name}> auto& message) {{")
        for field in message.fields:
            call = "field.fixed" if field.kind == "fixed64" else "field"
            lines.append(f"    {call}({field.number}, message.{field.name});")
        lines.append("  }")
    lines += ["};", ""]

    lines.append("// Calls `use(name, column)` of each column of a table.")
    for message in messages.values():
        if message.is_table:
            lines.append(f"void for_each_column(Either<{message.name}> auto& table, auto use) {{")
            lines += [f'  use(std::string_view("{field.name}"), table.{field.name});' for field in message.columns()]
            lines += ["}", ""]

    lines.append("// Calls `use(name, table)` of each table of a page.")
    lines.append("void for_each_table(Either<Page> auto& page, auto use) {")
    lines += [f'  use(std::string_view("{field.name}"), page.{field.name});' for field in messages["Page"].fields
              if field.kind in messages and messages[field.kind].is_table]
    lines += ["}", "", "// Calls `use(column)` of what refers to texts, or `use(number)` where it is no column.",
              "void for_each_text(Page& page, auto use) {"]
    for table in messages["Page"].fields:
        for field in messages[table.kind].fields if table.kind in messages else []:
            if field.is_text and table.is_repeated:
                lines.append(f"  for ({table.kind}& one : page.{table.name})\n    use(one.{field.name});")
            elif field.is_text:
                lines.append(f"  use(page.{table.name}.{field.name});")
    lines += ["}", "", "// A column that has differences. `rows` and `first_rows` are the columns that tell the rows of its table, and of that",
              "// of `first`. What there is not is null.", "struct Coding {",
              "  enum class Kind : uint8_t { kBefore, kNext, kLastOf };", "  using At = std::vector<uint32_t>& (*)(Page&);",
              "  std::string_view table;", "  At column;", "  At rows;", "  Kind kind;", "  At by;", "  At first;", "  At first_rows;", "};",
              "// In the order in which differences are undone.", "inline constexpr Coding kCodings[] = {"]
    kinds = {"before": "kBefore", "next": "kNext", "last": "kLastOf"}

    def at(place):
        return f"[](Page& page) -> std::vector<uint32_t>& {{ return page.{place}; }}" if place else "nullptr"

    def rows(table):
        message = messages[next(field.kind for field in messages["Page"].fields if field.name == table)]
        return f"{table}.{message.columns()[0].name}" if message.is_table else None

    for table, column, kind, by, first in codings(messages):
        places = [f'"{table}"', at(f"{table}.{column}"), at(rows(table)), f"Coding::Kind::{kinds[kind]}", at(by and f"{table}.{by}"),
                  at(first), at(first and rows(first.split(".")[0]))]
        lines.append("    {" + ",\n     ".join(places) + "},")
    lines += ["};", "", "}  // namespace gosym::page"]
    return "\n".join(lines) + "\n"


def camel(name):
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def script_type(field, messages):
    """As wire.js has them."""
    if field.kind in messages:
        return f"[k{field.kind}]" if field.is_repeated else f"k{field.kind}"
    if field.is_repeated:
        return '"large"' if field.kind == "uint64" else '"numbers"'
    if field.kind == "bytes":
        return '"bytes"' if field.is_raw else '"text"'
    return '"fixed"' if field.kind == "fixed64" else '"number"'


def schema(message, messages, readers):
    """A message for wire.js: fields by number, those that the scripts of the readers name."""
    fields = [f'{field.number}:["{camel(field.name)}",{script_type(field, messages)}]' for field in message.fields
              if readers is None or re.search(rf"\b{camel(field.name)}\b", readers)]
    return f"const k{message.name} = {{{','.join(fields)}}};"


def rows(header, table):
    """The rows of a table of an enum in profile.h: (name, word, a flag, words)."""
    body = re.search(rf"{table}\[\] = {{\n(.*?)\n}};", header, re.S)
    if not body:
        sys.exit(f"page_schema.py: profile.h has no table {table}")
    found = re.findall(r'\{\w+::(\w+),\s*"([^"]*)",\s*(true|false)((?:,?\s*"[^"]*")*)\}', body[1])
    if len(found) != body[1].count("::"):
        sys.exit(f"page_schema.py: profile.h: a row of {table} looks otherwise")
    return [(name, word, flag == "true", "".join(re.findall(r'"([^"]*)"', words))) for name, word, flag, words in found]


def script(messages, header, readers=None):
    """Before wire.js, which reads pages by it. Fields that the scripts of the readers do not name are left
    out."""
    def constant(name, value):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return f"const {name} = {text};"

    reasons, sources = rows(header, "kUnnamedRows"), rows(header, "kSourceRows")
    texts = {table.name: [camel(field.name) for field in messages[table.kind].columns() if field.is_text]
             for table in messages["Page"].fields if table.kind in messages}
    return "\n".join([
        "// Made by page_schema.py of page.proto and profile.h.",
        *(schema(message, messages, readers) for message in messages.values()),
        constant("kCodings", " ".join(".".join([camel(table), camel(column), camel(by or kind)] +
                                               ([camel(first)] if first else []))
                                      for table, column, kind, by, first in codings(messages))),
        constant("kTextColumns", {camel(table): " ".join(columns) for table, columns in texts.items() if columns}),
        *(constant(name, i) for rows_of in (reasons, sources) for i, (name, *_) in enumerate(rows_of) if name in NAMED),
        constant("kUnnamedWords", [word for _, word, _, _ in reasons]),
        constant("kUnnamedReasons", [words for *_, words in reasons]),
        constant("kReasonsOfFile", [i for i, (_, _, is_of_file, _) in enumerate(reasons) if is_of_file]),
        constant("kSources", [word for _, word, _, _ in sources]),
        constant("kGoSources", [i for i, (_, _, is_go, _) in enumerate(sources) if is_go]),
    ]) + "\n"


def main(kind, proto, *header):
    messages = parsed(proto)
    sys.stdout.write(cpp(messages) if kind == "cpp" else script(messages, pathlib.Path(header[0]).read_text()))


if __name__ == "__main__":
    main(*sys.argv[1:])
