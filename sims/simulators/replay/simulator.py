"""Plays a recorded log in place of simulating: for demonstrations, and for tests of everything around a simulator."""

import sys
from pathlib import Path

from sims.gpus import GpuSpec
from sims.simulators.base import Command, Job, Places
from sims.simulators.software import file_digest

MAX_SECONDS = 24 * 3600.0


class Replay:
    """The log of ``CASCADE_REPLAY_LOG``, whatever the trace and the config are."""

    name = "replay"

    def __init__(self, places: Places) -> None:
        self._log = Path(places.replay_log) if places.replay_log else None

    def why_not(self, spec: GpuSpec) -> str | None:
        if self._log is None:
            return "CASCADE_REPLAY_LOG does not name a recorded log."
        if not self._log.is_file():
            return f"CASCADE_REPLAY_LOG is {self._log}, where there is no file."
        return None

    def software(self) -> dict[str, str]:
        """The recording's digest; what it was recorded from, it says itself."""
        return {"recording": file_digest(self._log)} if self._log else {}

    def prepare(self, job: Job) -> Command:
        """Option ``replay_seconds``: how long the playback takes; 0, the default, is at once."""
        if problem := self.why_not(job.spec):
            raise ValueError(problem)
        seconds = job.options.get("replay_seconds", 0)
        if not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_SECONDS:
            raise ValueError(f"replay_seconds must be a number from 0 to {MAX_SECONDS:.0f}, not {seconds!r}.")
        return Command([sys.executable, "-m", "sims.simulators.replay", str(self._log), str(seconds)])
