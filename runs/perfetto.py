"""A run as Chrome trace JSON, which ui.perfetto.dev opens: the real run and every GPU config one above the other.

Each is a process, each of its streams a thread. What the viewers need is kept here: slices of one thread must nest, so
kernels that overlap go to further lanes of their stream; ``ts`` is relative, since a double loses nanoseconds above
about 1e15 us; there is no NaN, and no name that would make the file unreadable.

The file is written while slices are read: only one place per kernel of the first process is kept.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.perfetto_tracks import Counters, Lanes, Steps
from runs.rows import RealKernel, SimulatedKernel

_CHUNK_BYTES = 1 << 16
# `json.dumps` with these would build an encoder for each of a million events.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_MIN_SLICE_NS = 1.0

_Place = tuple[int, int, float]
"""Process id, thread id and start in microseconds of a slice."""
_Places = dict[int, _Place]


@dataclass(frozen=True, slots=True)
class Slice:
    """One kernel on a process's time line."""

    name: str
    start_ns: float
    duration_ns: float
    stream: int | str = 0
    index: int | None = None
    """The trace kernel's index, which flows join real and simulated slices by."""
    step: int | None = None
    phase: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, float | None] = field(default_factory=dict)
    """Values that hold while the kernel runs, by counter name; those of kernels running at once add up."""


@dataclass(frozen=True, slots=True)
class Process:
    """The real run or one GPU config; ``slices`` in order of their start."""

    name: str
    slices: Iterable[Slice]
    label: str = ""


def real_process(kernels: Iterable[RealKernel], gpu: str = "") -> Process:
    """The measured run, from its first start on.

    A kernel without a start follows the one before it; one without a time has no slice.
    """
    measured = sorted((kernel for kernel in kernels if kernel.real_ns is not None), key=_real_start)
    return Process("Real run", _real_slices(measured), label=gpu)


def _real_start(kernel: RealKernel) -> float:
    # Sorting is stable: kernels without starts keep their launch order, behind those that have one.
    return math.inf if kernel.start_ns is None else kernel.start_ns


def _real_slices(kernels: Sequence[RealKernel]) -> Iterator[Slice]:
    origin_ns = kernels[0].start_ns or 0 if kernels else 0
    end_ns = 0.0
    for kernel in kernels:
        start_ns = end_ns if kernel.start_ns is None else float(kernel.start_ns - origin_ns)
        duration_ns = kernel.real_ns or 0.0
        end_ns = max(end_ns, start_ns + duration_ns)
        yield Slice(
            kernel.name,
            start_ns,
            duration_ns,
            kernel.stream,
            kernel.index,
            kernel.step,
            kernel.phase,
            {"kernel": kernel.index, "grid": list(kernel.grid), "block": list(kernel.block), "real_ns": duration_ns},
        )


def simulated_process(
    gpu_config: str,
    kernels: Iterable[SimulatedKernel],
    starts_ns: Mapping[int, float] | None = None,
    steps: Mapping[int, tuple[int, str | None]] | None = None,
) -> Process:
    """One GPU config's answer.

    :param starts_ns: predicted start by kernel index, as a step timeline lays them out; the earliest becomes 0, as the
        first real start does. Without it kernels follow one another in launch order over all streams: no overlap is
        made up.
    :param steps: (step, phase) by kernel index
    """
    timed = [kernel for kernel in kernels if kernel.simulated_ns is not None and math.isfinite(kernel.simulated_ns)]
    known = {index: start_ns for index, start_ns in (starts_ns or {}).items() if math.isfinite(start_ns)}
    origin_ns = min(known.values(), default=0.0)
    relative_ns = {index: start_ns - origin_ns for index, start_ns in known.items()}
    timed.sort(key=lambda kernel: relative_ns.get(kernel.index, math.inf))
    return Process(gpu_config, _simulated_slices(timed, relative_ns, steps or {}), "simulated")


def _simulated_slices(
    kernels: Sequence[SimulatedKernel],
    starts_ns: Mapping[int, float],
    steps: Mapping[int, tuple[int, str | None]],
) -> Iterator[Slice]:
    end_ns = 0.0
    for kernel in kernels:
        duration_ns = kernel.simulated_ns or 0.0
        start_ns = starts_ns.get(kernel.index, end_ns)
        end_ns = max(end_ns, start_ns + duration_ns)
        step, phase = steps.get(kernel.index, (None, None))
        has_bandwidth = kernel.dram_bytes is not None and duration_ns > 0
        bandwidth_gbs = (kernel.dram_bytes or 0) / duration_ns if has_bandwidth else None  # bytes per ns are GB/s
        args = {
            "kernel": kernel.index,
            "launch_uid": kernel.launch_uid,
            "cycles": kernel.cycles,
            "launch_cycles": kernel.launch_cycles,
            "instructions": kernel.instructions,
            "simulated_ns": duration_ns,
            "occupancy": kernel.occupancy,
            "dram_bytes": kernel.dram_bytes,
            "dram_gbs": bandwidth_gbs,
            "source": kernel.source,
        }
        occupancy_percent = None if kernel.occupancy is None else 100 * kernel.occupancy
        counters = {"DRAM bandwidth (GB/s)": bandwidth_gbs, "Occupancy (%)": occupancy_percent}
        yield Slice(kernel.name, start_ns, duration_ns, kernel.stream, kernel.index, step, phase, args, counters)


def chrome_trace(processes: Sequence[Process]) -> Iterator[bytes]:
    """The file, in chunks of about 64 KiB.

    Flows join each slice of the first process (the real run, where there is one) with the same kernel in every other.
    """
    buffer = bytearray(b'{"displayTimeUnit":"ns","traceEvents":[')
    separator = b"\n"
    for event in _events(processes):
        buffer += separator
        buffer += _encode(event).encode()
        separator = b",\n"
        if len(buffer) >= _CHUNK_BYTES:
            yield bytes(buffer)
            buffer.clear()
    buffer += b"\n]}\n"
    yield bytes(buffer)


def _events(processes: Sequence[Process]) -> Iterator[dict[str, Any]]:
    first: _Places = {}
    for pid, process in enumerate(processes, start=1):
        yield _metadata("process_name", pid, name=clean(process.name))
        yield _metadata("process_sort_index", pid, sort_index=pid)
        if process.label:
            yield _metadata("process_labels", pid, labels=clean(process.label))
        yield from _process_events(pid, process, first)


def _process_events(pid: int, process: Process, first: _Places) -> Iterator[dict[str, Any]]:
    """Slices with their flows, then the tracks that are known only at the end: counters' last value and steps.

    :param first: where the first process's kernels are; filled by it, read by the others
    """
    lanes, counters, steps = Lanes(), Counters(), Steps()
    for piece in process.slices:
        if not (math.isfinite(piece.start_ns) and math.isfinite(piece.duration_ns)):
            continue
        # A slice of no length overlaps its neighbour; the shortest that nests is one nanosecond.
        duration_ns = max(piece.duration_ns, _MIN_SLICE_NS)
        tid, new_lane = lanes.place(f"stream {piece.stream}", piece.start_ns, duration_ns)
        yield from _thread(pid, tid, new_lane, tid)
        for start_ns, name, value in counters.advance(piece.start_ns, duration_ns, piece.counters):
            yield _counter(pid, name, start_ns, value)
        steps.add(piece.step, piece.phase, piece.start_ns, duration_ns)
        yield _slice(pid, tid, "kernel", piece.name, piece.start_ns, duration_ns, piece.args)
        if piece.index is None:
            continue
        here = (pid, tid, _microseconds(piece.start_ns))
        if pid == 1:
            first[piece.index] = here
        elif piece.index in first:
            yield from _flow(pid << 32 | piece.index, first[piece.index], here)
    for start_ns, name, value in counters.finish():
        yield _counter(pid, name, start_ns, value)
    for step, phase, start_ns, end_ns in steps.in_order():
        tid, new_lane = lanes.place("steps", start_ns, end_ns - start_ns)
        yield from _thread(pid, tid, new_lane, 0)
        name = f"step {step} ({phase})" if phase else f"step {step}"
        yield _slice(pid, tid, "step", name, start_ns, end_ns - start_ns, {"step": step})


def _slice(
    pid: int, tid: int, category: str, name: str, start_ns: float, duration_ns: float, args: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": category,
        "name": clean(name),
        "pid": pid,
        "tid": tid,
        "ts": _microseconds(start_ns),
        "dur": _microseconds(duration_ns),
        "args": _clean_args(args),
    }


def _flow(number: int, real: _Place, simulated: _Place) -> Iterator[dict[str, Any]]:
    # A viewer drops a flow that ends before it starts, so the earlier of the two slices is its start.
    start, end = sorted((real, simulated), key=lambda place: place[2])
    for phase, (pid, tid, ts) in (("s", start), ("f", end)):
        event = {"ph": phase, "cat": "kernel", "name": "same kernel", "id": number, "pid": pid, "tid": tid, "ts": ts}
        yield event if phase == "s" else event | {"bp": "e"}


def _thread(pid: int, tid: int, name: str | None, sort_index: int) -> Iterator[dict[str, Any]]:
    """Names a thread when it is new."""
    if name is not None:
        yield _metadata("thread_name", pid, tid, name=clean(name))
        yield _metadata("thread_sort_index", pid, tid, sort_index=sort_index)


def _metadata(kind: str, pid: int, tid: int = 0, /, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def _counter(pid: int, name: str, start_ns: float, value: float) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": pid, "ts": _microseconds(start_ns), "args": {"value": round(value, 3)}}


def _microseconds(time_ns: float) -> float:
    """Picosecond steps: finer than any clock here, and free of the tails of binary fractions."""
    return round(time_ns / 1000, 6)


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8 cannot carry; ``json`` escapes all the rest."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _clean_args(args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: clean(value) if isinstance(value, str) else value for name, value in args.items() if _is_known(value)}


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))
