"""``corrected_timeline.json``: the real steps with every kernel's start, and ``trace_alignment.json`` beside it."""

from typing import Any

from traces.times.launches import MAX_LAUNCHES, Dim3, Launch, TimesError, TimesReport, checked_duration


def read_timeline(document: dict[str, Any], file: str, alignment: dict[str, Any] | None = None) -> TimesReport:
    """The launches of all steps in order.

    :param document: ``{"steps": [{"index", "phase", "kernels": [{"name", "start_ns", "duration_ns", "stream", "grid",
        "block"}]}]}``
    :param alignment: ``{"kernels": [{"trace_kernel", "step", "position"}]}``: which trace kernel a launch is
    :raises TimesError: naming step and kernel
    """
    steps = _list(document, "steps", file)
    aligned = _aligned(alignment, steps) if alignment is not None else {}
    launches: list[Launch] = []
    for place, step in enumerate(steps):
        where = f"{file}, step {place}"
        if not isinstance(step, dict):
            raise TimesError(f"{where}: is not an object with index, phase and kernels.")
        index = _step_index(step, place)
        phase = step.get("phase")
        for position, kernel in enumerate(_list(step, "kernels", where)):
            if len(launches) >= MAX_LAUNCHES:
                raise TimesError(f"{file}: has more than {MAX_LAUNCHES} launches; keep fewer steps.")
            trace_kernel = aligned.get((index, position))
            launches.append(
                _launch(
                    kernel,
                    f"{where}, kernel {position}",
                    index,
                    phase if isinstance(phase, str) else None,
                    trace_kernel,
                )
            )
    if not launches:
        raise TimesError(f"{file}: has no kernel in any step.")
    return TimesReport("timeline", launches)


def _launch(kernel: Any, where: str, step: int, phase: str | None, trace_kernel: int | str | None) -> Launch:
    if not isinstance(kernel, dict):
        raise TimesError(f"{where}: is not an object with name, start_ns and duration_ns.")
    name, stream = kernel.get("name"), kernel.get("stream")
    if not isinstance(name, str) or not name:
        raise TimesError(f"{where}: has no name.")
    return Launch(
        name=name,
        duration_ns=checked_duration(_number(kernel, "duration_ns", where), where),
        grid=_dimensions(kernel, "grid", where),
        block=_dimensions(kernel, "block", where),
        start_ns=_number(kernel, "start_ns", where),
        stream=stream if isinstance(stream, int | str) else None,
        step=step,
        phase=phase,
        trace_kernel=trace_kernel,
    )


def _number(kernel: dict[str, Any], key: str, where: str) -> float:
    value = kernel.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e19:
        raise TimesError(f"{where}: {key} is {str(value)[:40]!r}, not a number of nanoseconds.")
    return value


def _dimensions(kernel: dict[str, Any], key: str, where: str) -> Dim3 | None:
    value = kernel.get(key)
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 3 and all(type(side) is int and 0 < side < 1 << 32 for side in value):
        return value[0], value[1], value[2]
    raise TimesError(f"{where}: {key} is {str(value)[:40]!r}, not three sizes above zero.")


def _step_index(step: dict[str, Any], place: int) -> int:
    index = step.get("index")
    return index if type(index) is int else place


def _aligned(alignment: dict[str, Any], steps: list[Any]) -> dict[tuple[int, int], int | str]:
    """Trace kernel by (step, position from 0)."""
    file = "trace_alignment.json"
    entries = _list(alignment, "kernels", file)
    lengths = {
        _step_index(step, place): len(step["kernels"])
        for place, step in enumerate(steps)
        if isinstance(step, dict) and isinstance(step.get("kernels"), list)
    }
    aligned: dict[tuple[int, int], int | str] = {}
    for place, entry in enumerate(entries):
        where = f"{file}, kernel {place}"
        if not isinstance(entry, dict) or type(entry.get("step")) is not int or type(entry.get("position")) is not int:
            raise TimesError(f"{where}: is not an object with trace_kernel, step and position.")
        trace_kernel = entry.get("trace_kernel")
        if isinstance(trace_kernel, bool) or not isinstance(trace_kernel, int | str):
            raise TimesError(f"{where}: trace_kernel is neither an index nor a trace file.")
        aligned[entry["step"], entry["position"]] = trace_kernel
    first = _first_position(aligned, lengths)
    shifted = {(step, position - first): kernel for (step, position), kernel in aligned.items()}
    for step, position in shifted:
        if not 0 <= position < lengths.get(step, 0):
            raise TimesError(f"{file}: step {step} of the timeline has no kernel at position {position + first}.")
    return shifted


def _first_position(aligned: dict[tuple[int, int], int | str], lengths: dict[int, int]) -> int:
    """1 for a file that counts positions from one: none is 0, and one lies just behind the end of its step."""
    counts_from_one = all(position > 0 for _, position in aligned)
    return int(counts_from_one and any(position == lengths.get(step) for step, position in aligned))


def _list(document: dict[str, Any], key: str, where: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise TimesError(f"{where}: has no list {key!r}.")
    return value
