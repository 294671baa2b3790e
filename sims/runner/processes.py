"""Looking after processes that are not ours alone: a simulator may start others, and they may leave its group."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends, so that none gets out of sight."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _stats() -> dict[int, tuple[int, int]]:
    """Parent and session of every living process that can be seen, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may hold blanks and parentheses itself.
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                found[int(entry.name)] = int(fields[1]), int(fields[3])
    return found


def descendants(pid: int) -> list[int]:
    """Every living process below ``pid``, parents before their children."""
    stats = _stats()
    below: list[int] = []
    front = {pid}
    while front:
        front = {child for child, (parent, _) in stats.items() if parent in front}
        below += front
    return below


def session_members(session: int) -> list[int]:
    """Every living process of a session (a runner's is named by the runner's own id)."""
    return [pid for pid, (_, its_session) in _stats().items() if its_session == session]


def signal_group(pid: int, signum: signal.Signals) -> None:
    """Signal the process group that ``pid`` leads; nothing happens if it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signum)


def kill_descendants() -> None:
    """SIGKILL everything below this process until nothing is left there."""
    _kill_all(lambda: descendants(os.getpid()))


def kill_session(session: int) -> None:
    """SIGKILL everything in a session that somebody else's death left behind."""
    _kill_all(lambda: session_members(session))


def _kill_all(find: Callable[[], list[int]]) -> None:
    # More than once: a process may have started another between the look and the signal.
    for _ in range(50):
        victims = find()
        if not victims:
            return
        for victim in victims:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(victim, signal.SIGKILL)
        time.sleep(0.01)
