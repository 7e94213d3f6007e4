"""Terminals that tests type into and read."""
import contextlib
import os
import re
import shlex

from common import call, wait_for


class Terminal:
    """tmux, with a shell in it."""

    def __init__(self, size=(100, 30), folder=None, **environment):
        Terminal.count = getattr(Terminal, "count", 0) + 1
        self.tmux = ["tmux", "-L", f"gosym-{os.getpid()}-{Terminal.count}"]
        settings = {"LC_ALL": "C.UTF-8", "PS1": "$ ", **environment}
        call(*self.tmux, "-f", "/dev/null", "new-session", "-d", "-x", size[0], "-y", size[1],
             *[word for name, value in settings.items() for word in ("-e", f"{name}={value}")],
             "-c", folder or "/", "env", "-u", "ENV", "sh")
        if "TERM" in environment:
            self.run(f"TERM={environment['TERM']}; export TERM")
        self.shows("$")

    def keys(self, *keys):
        for key in keys:
            call(*self.tmux, "send-keys", key)

    def type(self, text):
        call(*self.tmux, "send-keys", "-l", text)

    def run(self, *command):
        self.type(" ".join(shlex.quote(str(word)) if len(command) > 1 else str(word)
                           for word in command))
        self.keys("Enter")

    def screen(self, *options):
        return call(*self.tmux, "capture-pane", "-p", *options).out

    def shows(self, text):
        """Waits until it does, and gives the screen."""
        found = []
        pattern = re.compile(text if isinstance(text, str) and text != "$" else r"\$", re.MULTILINE)

        def has_it():
            found[:] = [self.screen()]
            return pattern.search(found[0])

        try:
            wait_for(has_it, text)
        except AssertionError:
            raise AssertionError(f"no {text!r} on the screen:\n{self.screen()}") from None
        return found[0]

    def close(self):
        call(*self.tmux, "kill-server")


@contextlib.contextmanager
def terminal(*arguments, **options):
    opened = Terminal(*arguments, **options)
    try:
        yield opened
    finally:
        opened.close()
