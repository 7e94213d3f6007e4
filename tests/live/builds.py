"""Compiles what the live tests profile. If GOSYM_TEST_BUILDS names a directory, what was built is
kept there, for machines that are slow at it.
"""
import hashlib
import os
import pathlib
import shutil


def compiled(call, command, output, cwd=None, env=os.environ):
    """The output. What else the command reads is below `cwd`, or among its words."""
    output = pathlib.Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    kept = place_for(command, cwd, env)
    if kept and kept.exists():
        shutil.copy2(kept, output)
        return output
    call(*command, "-o", output, cwd=cwd, env=env)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(output, kept)
    return output


def place_for(command, cwd, env):
    if "GOSYM_TEST_BUILDS" not in os.environ:
        return None
    words = [str(word) for word in command]
    named = [pathlib.Path(word) for word in words[1:]]
    below = sorted(pathlib.Path(cwd).rglob("*")) if cwd else []
    digest = hashlib.sha256(repr([words, env.get("CGO_ENABLED")]).encode())
    for file in named + below:
        if file.is_file():
            digest.update(file.read_bytes())
    return pathlib.Path(os.environ["GOSYM_TEST_BUILDS"]) / digest.hexdigest()
