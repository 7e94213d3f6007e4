"""Compiles what the live tests profile. If GOSYM_TEST_BUILDS names a directory, what was built is
kept there: tests share programs, and the next run needs no compiler. What no test has used for weeks
is not kept on.
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import time

UNUSED = 30 * 24 * 3600  # seconds


def compiled(call, command, output, cwd=None, env=os.environ):
    """The output. What else the command reads is below `cwd`, among its words, or a header beside these."""
    output = pathlib.Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    kept = place_for(command, cwd, env)
    with contextlib.suppress(FileNotFoundError):
        if kept:
            shutil.copy2(kept, output)
            os.utime(kept)
            return output
    call(*command, "-o", output, cwd=cwd, env=env)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        shutil.copy2(output, partial)
        partial.rename(kept)  # another test may look for it at any moment
        forget_unused(kept.parent)
    return output


def forget_unused(folder):
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another test forgets it
            if file.stat().st_mtime < time.time() - UNUSED:
                file.unlink()


def identity(compiler):
    """Which compiler it is: another version makes another program."""
    file = pathlib.Path(shutil.which(str(compiler)) or compiler).resolve()
    return [str(file), file.stat().st_size, file.stat().st_mtime_ns]


def place_for(command, cwd, env):
    if "GOSYM_TEST_BUILDS" not in os.environ:
        return None
    words = [str(word) for word in command]
    named = [pathlib.Path(word) for word in words[1:]]
    headers = sorted({header for file in named if file.is_file() for header in file.parent.glob("*.h")})
    below = sorted(pathlib.Path(cwd).rglob("*")) if cwd else []
    settings = sorted((name, value) for name, value in env.items() if "GO" in name)
    digest = hashlib.sha256(repr([words, identity(words[0]), cwd and str(cwd), settings]).encode())
    for file in named + headers + below:
        if file.is_file():
            digest.update(file.read_bytes())
    return pathlib.Path(os.environ["GOSYM_TEST_BUILDS"]) / digest.hexdigest()
