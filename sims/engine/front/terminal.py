"""The progress bar of a terminal. Where standard error is no terminal, only the notes are written."""

from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

from sims.engine.front.progress import SimulationProgress
from traces.times.names import short_name

RESOLUTION = 1000
NAME_WIDTH = 30


class TerminalBar:
    """``kernel 3 of 24  gemv_kernel  1.2 M instructions/s`` with the share done and the time left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm[None] | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            layout = "{desc} |{bar}| {percentage:3.0f} % {postfix}"
            self._bar = tqdm(total=RESOLUTION, file=self._stream, bar_format=layout, leave=False, dynamic_ncols=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def note(self, text: str) -> None:
        """A line above the bar."""
        tqdm.write(text, file=self._stream)

    def show(self, progress: SimulationProgress) -> None:
        """Move the bar."""
        if self._bar is None:
            return
        left = "" if progress.seconds_left is None else f", {tqdm.format_interval(progress.seconds_left)} left"
        self._bar.set_description_str(
            f"kernel {progress.kernels_done} of {progress.kernels_total}  {short_name(progress.name, NAME_WIDTH)}",
            refresh=False,
        )
        self._bar.set_postfix_str(f"{progress.instructions_per_s / 1e6:.2f} M instructions/s{left}", refresh=False)
        self._bar.update(round(progress.share * RESOLUTION) - self._bar.n)
        self._bar.refresh()
