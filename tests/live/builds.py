"""Compiles what the live tests profile. If GOSYM_TEST_BUILDS names a directory, what was built is
kept there: tests share programs, and the next run needs no compiler.
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
        partial = kept.with_suffix(f".{os.getpid()}")
        shutil.copy2(output, partial)
        partial.rename(kept)  # another test may look for it at any moment
    return output


def identity(compiler):
    """Which compiler it is: another version makes another program."""
    file = pathlib.Path(shutil.which(str(compiler)) or compiler).resolve()
    return [str(file), file.stat().st_size, file.stat().st_mtime_ns]


def place_for(command, cwd, env):
    if "GOSYM_TEST_BUILDS" not in os.environ:
        return None
    words = [str(word) for word in command]
    named = [pathlib.Path(word) for word in words[1:]]
    below = sorted(pathlib.Path(cwd).rglob("*")) if cwd else []
    settings = sorted((name, value) for name, value in env.items() if "GO" in name)
    digest = hashlib.sha256(repr([words, identity(words[0]), cwd and str(cwd), settings]).encode())
    for file in named + below:
        if file.is_file():
            digest.update(file.read_bytes())
    return pathlib.Path(os.environ["GOSYM_TEST_BUILDS"]) / digest.hexdigest()
