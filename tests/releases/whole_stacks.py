"""Whether the stacks of a program of some release are whole and true: told by counting frames, and
by who calls whom in its source, not by what gosym says of itself.
"""
import collections
import math

from common import folded, is_kernel, record, running
from judges import Score

# The first function of a goroutine, of a thread, and of the program; and where a goroutine left its
# stack for good, as the runtime's own traceback has it (topofstack); that also ends where gogo goes
# to the stack of another.
ROOTS = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_go", "_rt0_amd64_linux",
         "runtime.clone", "runtime.mcall", "runtime.morestack", "runtime.gogo", "gogo",
         "_start", "clone", "clone3", "__clone3"}

# The callers of the program's own functions that call each other only directly. Up to Go 1.4
# closures have numbers, in the order of the source: those of adder, deferred, recovers, growing.
CALLERS = {
    "main.fib": {"main.fib", "main.recursion", "main.recovers.func1", "main.func·003"},
    "main.grow": {"main.grow", "main.growing.func1", "main.growing.gowrap1", "main.func·004"},
    "main.fails": {"main.fails", "main.recovers"},
    "main.recovers": {"main.panics"},
    "main.deferred": {"main.defers"},
    **{f"main.{name}": {"main.main"} for name in [
        "recursion", "closures", "methods", "defers", "panics", "growing", "channels", "leaves",
        "maps"]},
}


def allowed(score, minor, work):
    """Whether no more samples are without a root, or with a wrong caller, than may be with the default
    options: three standard deviations of noise included. Of Go 1.2 and 1.3, whose stacks are of
    pieces, more may be."""
    share = 0.01 if minor < 4 else 0.0005 if work == "fib" else 0.003
    limit = share * score.total
    return score.wrong + score.missing <= limit + 3 * math.sqrt(max(limit, 1))


def of(program, work, seconds, options=()):
    """Samples without a root, and with a caller that cannot be, of all with user frames."""
    with running(program, work, 600_000) as pid:
        recording = record("-p", pid, *options, seconds=seconds, hertz=4999)
    counts, example = collections.Counter(), ""
    for stack in folded(recording):
        frames = [frame for frame in stack.frames if not is_kernel(frame)]
        # Where a program of C has called Go, its own part of the stack is not found.
        if not frames or "crosscall2" in frames:
            continue
        counts["total"] += stack.count
        fault = fault_of(frames)
        counts[fault] += stack.count
        if fault:
            example = example or f"{fault}: {' '.join(frames[-12:])}"
    return Score(counts["wrong"], counts["missing"], counts["total"], 0, example)


def fault_of(frames):
    """Of frames, outermost first: "wrong", "missing" or none."""
    if "runtime.goexit" in frames[1:]:
        return "wrong"
    own = [frame for frame in frames if frame.startswith("main.")]
    for caller, function in zip(own, own[1:]):
        if caller not in CALLERS.get(function, {caller}):
            return "wrong"
    return "" if frames[0] in ROOTS else "missing"
