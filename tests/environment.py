"""What the tests run under: the compilers and interpreters that the system has installed, whatever
else is in the user's PATH, and none of the user's settings for them.
"""
import os
import pathlib

# What is downloaded and compiled for tests is kept in its folder `gosym`, as scripts/fetch has it too.
USER_CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# Variables that change what a compiler, a linker or an interpreter makes of the same input.
FOREIGN = ("GO", "CGO_", "CC", "CXX", "CFLAGS", "CPPFLAGS", "CXXFLAGS", "LDFLAGS", "CPATH",
           "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
           "PKG_CONFIG", "RUST", "CARGO", "NODE_", "PYTHON", "PYENV", "PERL", "DEBUGINFOD")
KEPT = ("GOSYM_", "CCACHE_", "GOPROXY", "GOSUMDB", "GOMODCACHE", "GOCACHE")

# Nothing is fetched, neither a module nor another toolchain, and Go's own file of settings is not
# read: there is no other way to undo a GOFLAGS in it.
GO_SETTINGS = {"CGO_ENABLED": "0", "GOENV": "off", "GOFLAGS": "", "GOPROXY": "off",
               "GOTOOLCHAIN": "local", "GOWORK": "off"}


def clean(environment):
    """The variables of a process without those that are the user's choice of tools."""
    kept = {name: value for name, value in environment.items()
            if name.startswith(KEPT) or not name.startswith(FOREIGN)}
    return kept | {"PATH": SYSTEM_PATH}
