#!/usr/bin/python3
"""Writes descriptions of common terminals as C++, as infocmp(1) of this machine has them.

    embed_terminals.py OUTPUT
"""
import pathlib
import subprocess
import sys

# The first name that begins as TERM does is taken: xterm-256color for xterm-kitty.
NAMES = ["xterm-256color", "xterm", "screen-256color", "screen", "tmux-256color", "tmux", "linux"]


def description(name):
    """"b64:HgIl…": what ncurses takes as the value of TERMINFO."""
    return subprocess.run(["infocmp", "-0", "-q", "-Q2", name], check=True, capture_output=True,
                          text=True).stdout.strip()


rows = ",\n".join(f'    {{"{name}", "{description(name)}"}}' for name in NAMES)
pathlib.Path(sys.argv[1]).write_text(f"""#include "browser/known_terminals.h"

namespace gosym::browser {{

const KnownTerminal kKnownTerminals[kKnownTerminalCount] = {{
{rows}}};

}}  // namespace gosym::browser
""")
