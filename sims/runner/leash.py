"""Starts a program that cannot outlive the process that asked for it.

    python -I -S leash.py PARENT_PID SIGNAL 0|1 [LIMIT=MOST ...] -- PROGRAM [ARGUMENT ...]

The kernel sends SIGNAL to the program when its parent is gone, however that ended. ``preexec_fn`` would save this
step but may deadlock in a parent that has threads. Core files are off: an aborted simulator would write gigabytes.
Further limits are named as in ``setrlimit``: ``AS``, ``FSIZE``, ``NOFILE``.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence

PR_SET_PDEATHSIG = 1
NICENESS = 5
OOM_SCORE = 500
NOT_STARTED = 126
"""Exit code where the program could not be started; a line on stderr says why."""


def leashed(
    argv: Sequence[str],
    on_parent_death: signal.Signals = signal.SIGKILL,
    yields: bool = False,
    limits: Mapping[str, int] | None = None,
) -> list[str]:
    """The command line that runs ``argv`` bound to the calling process (its main thread, to be exact).

    :param yields: give way to others: to their use of the cores, and as the first to go when memory runs out
    :param limits: the most that the program may take of each resource
    """
    own = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(on_parent_death)), str(int(yields))]
    return [*own, *(f"{name}={most}" for name, most in (limits or {}).items()), "--", *argv]


def main(parent: str, on_parent_death: str, yields: str, *rest: str) -> None:
    separator = rest.index("--")
    limits, argv = rest[:separator], rest[separator + 1 :]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(on_parent_death), 0, 0, 0):
        sys.exit(f"prctl failed: {os.strerror(ctypes.get_errno())}")
    # The parent may have died before the line above: then nobody would ever send the signal.
    if os.getppid() != int(parent):
        sys.exit(NOT_STARTED)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Python ignores these two, and what is ignored stays so in the program: it would not hear of a file that grew too large.
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(signum, signal.SIG_DFL)
    for text in limits:
        limit(*text.split("="))
    if yields == "1":
        give_way()
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted
    except OSError as error:
        print(f"{argv[0]} could not be started: {error.strerror}", file=sys.stderr)
        sys.exit(NOT_STARTED)


def limit(name: str, most: str) -> None:
    """Bound a resource of this process and all that it starts; a tighter bound of the machine's own stays."""
    kind = getattr(resource, f"RLIMIT_{name}")
    _, hard = resource.getrlimit(kind)
    bound = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
    resource.setrlimit(kind, (bound, bound))


def give_way() -> None:
    """Let heartbeats and the web server come first; where a machine forbids to say so, nothing is lost."""
    os.nice(NICENESS)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(OOM_SCORE))


if __name__ == "__main__":
    main(*sys.argv[1:])
