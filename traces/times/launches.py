"""What every reader of real kernel times returns."""

from dataclasses import dataclass, field

Dim3 = tuple[int, int, int]

MAX_LAUNCHES = 5_000_000
"""More than any profile of a step has; a file that claims more is refused before it fills the memory."""


class TimesError(ValueError):
    """A file of kernel times that cannot be used: one sentence with the file, the line or table, and what to do."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch with its measured duration."""

    name: str
    """As the tool wrote it, without an NVTX range in front; may be mangled, demangled or short."""
    duration_ns: float
    grid: Dim3 | None = None
    block: Dim3 | None = None
    start_ns: float | None = None
    """On the tool's own clock; None where it tells only durations (Nsight Compute, summaries)."""
    stream: int | str | None = None
    device: str | None = None
    correlation_id: int | None = None
    mangled_name: str | None = None
    short_name: str | None = None
    nvtx: str | None = None
    step: int | None = None
    phase: str | None = None
    trace_kernel: int | str | None = None
    """The trace kernel that an alignment file names for this launch: an index or a trace file."""


@dataclass(frozen=True, slots=True)
class TimesReport:
    """The launches of one file in the order of the file, with what a reader of the numbers has to know."""

    source: str
    """``timeline``, ``nsys-csv``, ``nsys-json``, ``nsys-summary``, ``nsys-sqlite``, ``ncu-raw``, ``ncu-details``,
    ``nvprof-csv`` or ``nvprof-table``."""
    launches: list[Launch]
    warnings: list[str] = field(default_factory=list)
    clock_note: str | None = None
    """Which clock the GPU ran at, where the tool is known to change it."""
    device_names: tuple[str, ...] = ()

    @property
    def total_ns(self) -> float:
        """The sum of all durations."""
        return sum(launch.duration_ns for launch in self.launches)


def checked_duration(duration_ns: float, where: str) -> float:
    """The duration, if it can be one.

    :raises TimesError: when it is not above zero, or longer than a year
    """
    if not duration_ns > 0:
        raise TimesError(f"{where}: the duration {duration_ns:g} ns is not above zero; profile that launch again.")
    if duration_ns > 3.2e16:
        raise TimesError(f"{where}: a duration of {duration_ns:g} ns is more than a year; check the file's time unit.")
    return duration_ns


def one_device(launches: list[Launch], file: str) -> None:
    """Refuse a profile of several GPUs: a trace is of one, and the same kernel runs on each.

    :raises TimesError: naming the devices
    """
    devices = sorted({launch.device for launch in launches if launch.device is not None})
    if len(devices) > 1:
        shown = ", ".join(devices[:8])
        raise TimesError(
            f"{file}: has kernels of {len(devices)} devices ({shown}); keep the rows of the one that was traced."
        )
