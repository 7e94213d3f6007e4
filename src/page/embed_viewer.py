#!/usr/bin/python3
"""Writes the viewer of the page as C++: embed_viewer.py FOLDER SOURCE

FOLDER has index.html with a line <!--CSP-->, <!--STYLE-->, <!--VIEWER-->, <!--SCRIPT--> and <!--DATA--> each: for the
policy, for loader.css, for the scripts that files.txt lists, which become one behind what page_schema.py makes, and are compressed with viewer.css, for
unpack.js and loader.js, which run them, and for what gosym writes. The policy lets a browser run no other script, use no other style, and load
nothing.
"""
import base64
import hashlib
import json
import pathlib
import sys
import zlib

sys.dont_write_bytecode = True
import page_schema  # beside this file

MARKS = {
    "CSP": ("\n", "\n"),
    "STYLE": ("<style>\n", "\n</style>"),
    "VIEWER": ('<script type="application/octet-stream" id="viewer">\n', "\n</script>"),
    "SCRIPT": ("<script>\n", "\n</script>"),
    "DATA": ('<script type="application/octet-stream" id="profile">\n', "\n</script>"),
}


def fail(text):
    sys.exit(f"embed_viewer.py: {text}")


def replaced(page, mark, text):
    before, after = MARKS[mark]
    place = f"{before}<!--{mark}-->{after}"
    if page.count(place) != 1:
        fail(f"index.html does not have exactly one {place!r}")
    return page.replace(place, before + text + after)


def checked(name, text):
    if f"</{name}" in text.lower() or "<!--" in text:
        fail(f"a <{name}> cannot hold '</{name}' or '<!--'")
    return text


def hash_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def in_element(text):
    """With the ends of line that MARKS has around it."""
    return f"\n{text}\n"


def without_comments(script):
    """Without lines that are a comment or empty, and without indentation: no string of the viewer spans lines."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def without_indentation(sheet):
    return "\n".join(line.strip() for line in sheet.splitlines() if line.strip())


# The digits of page.proto.
DIGITS = "".join(chr(code) for code in range(33, 127) if chr(code) not in "&<>")


def packed(text):
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    deflated = compressor.compress(text.encode()) + compressor.flush()
    bits, count = int.from_bytes(deflated, "little"), 8 * len(deflated)
    digits = []
    while count > 6:
        digits += divmod(bits & 8191, 91)
        bits, count = bits >> 13, count - 13
    if count > 0:
        digits.append(bits)
    text = "".join(DIGITS[digit] for digit in digits)
    return "\n".join(text[i:i + 1000] for i in range(0, len(text), 1000))


def array(name, text):
    """Bytes: compilers need not take a string literal of more than 65,536."""
    codes = [str(code) if code < 128 else f"'\\x{code:02x}'" for code in text.encode()]
    lines = (",".join(codes[i:i + 30]) for i in range(0, len(codes), 30))
    return f"constexpr char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def main(folder, source):
    folder = pathlib.Path(folder)
    scripts = "\n".join((folder / name).read_text() for name in (folder / "files.txt").read_text().split())
    schema = page_schema.script(page_schema.parsed(folder / "../page.proto"),
                                (folder / "../../profile/profile.h").read_text(), scripts)
    style = checked("style", (folder / "loader.css").read_text().strip())
    sheet = without_indentation((folder / "viewer.css").read_text())
    loader = checked("script", without_comments("\n".join((folder / name).read_text()
                                                          for name in ["unpack.js", "loader.js"])))
    viewer = (f'"use strict";\n(() => {{\nconst kStyleSheet = {json.dumps(sheet)};\n'
              + without_comments(schema + scripts) + "\n})();\n")
    policy = "; ".join(["default-src 'none'", "base-uri 'none'", "form-action 'none'",
                        f"script-src {hash_of(in_element(loader))} {hash_of(viewer)}",
                        f"style-src {hash_of(in_element(style))} {hash_of(sheet)}"])
    page = (folder / "index.html").read_text()
    page = replaced(page, "CSP", f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
    page = replaced(page, "STYLE", style)
    page = replaced(page, "VIEWER", packed(viewer))
    page = replaced(page, "SCRIPT", loader)
    replaced(page, "DATA", "")
    begin, end = page.split("<!--DATA-->")
    pathlib.Path(source).write_text(
        "// Made by embed_viewer.py of src/page/viewer/.\n#include \"page/viewer.h\"\n\nnamespace gosym::page {\n\n"
        f"{array('kBeginBytes', begin)}{array('kEndBytes', end)}\n"
        "const std::string_view kViewerBegin(kBeginBytes, sizeof(kBeginBytes));\n"
        "const std::string_view kViewerEnd(kEndBytes, sizeof(kEndBytes));\n\n}  // namespace gosym::page\n")


main(*sys.argv[1:])
