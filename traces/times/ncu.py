"""Nsight Compute's CSV: the raw page (a row per launch) and the details page (a row per launch and metric)."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from traces.times.launches import MAX_LAUNCHES, Launch, TimesError, TimesReport, checked_duration, one_device
from traces.times.tables import dimensions, stream_number
from traces.times.text import Numbers, ns_per_unit

# The kernel's duration, best first; the two pages and the versions name it differently.
_DURATIONS = (
    "gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration", "gpu__time_duration_measured_user",
    "Duration",
)  # fmt: skip
_CLOCKS = ("gpc__cycles_elapsed.avg.per_second", "SM Frequency", "smsp__cycles_elapsed.avg.per_second")
_GPU_NAME = "device__attribute_display_name"
_GRID_AXES = tuple(f"launch__grid_dim_{axis}" for axis in "xyz")
_BLOCK_AXES = tuple(f"launch__block_dim_{axis}" for axis in "xyz")
_OWN = ("ID", "Process ID", "Kernel Name", "Stream", "Device", "Block Size", "Grid Size")
_WANTED = {*_DURATIONS, *_CLOCKS, _GPU_NAME, *_GRID_AXES, *_BLOCK_AXES}

_MHZ_PER_UNIT = {"ghz": 1e3, "cycle/nsecond": 1e3, "cycle/ns": 1e3, "mhz": 1.0, "cycle/usecond": 1.0, "cycle/us": 1.0,
                 "hz": 1e-6, "cycle/second": 1e-6, "cycle/s": 1e-6}  # fmt: skip


@dataclass(slots=True)
class _Profiled:
    """One launch's own columns and the metrics we read: name -> (unit, text)."""

    line: int
    own: dict[str, str]
    metrics: dict[str, tuple[str, str]] = field(default_factory=dict)


def read_raw_rows(header: Sequence[str], rows: Iterator[tuple[int, list[str]]], file: str, line: int) -> TimesReport:
    """The raw page: a row of units below the header, then a row per launch."""
    _, units = next(rows, (line, []))
    if len(units) != len(header) or units[0].strip():
        raise TimesError(
            f"{file}, line {line + 1}: the row of units below the header is missing; export --page raw again."
        )
    wanted = {place: name for place, name in enumerate(header) if name in _WANTED}
    own_columns = [(place, name) for place, name in enumerate(header) if name in _OWN]
    last_own = own_columns[-1][0]
    found, numbers, shared = list[_Profiled](), Numbers(file), dict[str, str]()
    for number, row in _whole_rows(rows, len(header), file):
        own = {name: shared.setdefault(row[place], row[place]) for place, name in own_columns}
        metrics = {name: (units[place], row[place]) for place, name in wanted.items() if row[place]}
        for cell in itertools.islice(row, last_own + 1, None):
            numbers.look_at(cell)
        found.append(_Profiled(number, own, metrics))
        _check_count(found, file)
    return _report("ncu-raw", found, numbers, file)


def read_details_rows(
    header: Sequence[str], rows: Iterator[tuple[int, list[str]]], file: str, line: int
) -> TimesReport:
    """The details page: every launch has a row per metric; rows of rules have none."""
    at = {name: place for place, name in enumerate(header)}
    missing = [name for name in ("Metric Name", "Metric Unit", "Metric Value", "Kernel Name") if name not in at]
    if missing:
        raise TimesError(f"{file}, line {line}: has no column {missing[0]!r}; export --page details again.")
    own_columns = [name for name in header if name in _OWN]
    found, numbers = dict[tuple[str, str], _Profiled](), Numbers(file)
    for number, row in _whole_rows(rows, at["Metric Value"] + 1, file):
        metric, value = row[at["Metric Name"]], row[at["Metric Value"]]
        key = (row[at["Process ID"]] if "Process ID" in at else "", row[at["ID"]])
        if key not in found:
            found[key] = _Profiled(number, {name: row[at[name]] for name in own_columns})
            _check_count(found, file)
        numbers.look_at(value)
        if metric in _WANTED and value:
            found[key].metrics.setdefault(metric, (row[at["Metric Unit"]], value))
    return _report("ncu-details", list(found.values()), numbers, file)


def _whole_rows(rows: Iterator[tuple[int, list[str]]], least: int, file: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that reach the last column we read: newer versions leave out the empty cells at a row's end."""
    for number, row in rows:
        if not row:
            continue
        if len(row) < least:
            raise TimesError(
                f"{file}, line {number}: has {len(row)} columns, at least {least} are needed; the file is cut."
            )
        yield number, row


def _check_count(found: Sequence[_Profiled] | dict[tuple[str, str], _Profiled], file: str) -> None:
    if len(found) > MAX_LAUNCHES:
        raise TimesError(f"{file}: has more than {MAX_LAUNCHES} launches; profile fewer.")


def _report(source: str, found: Sequence[_Profiled], numbers: Numbers, file: str) -> TimesReport:
    if not found:
        raise TimesError(f"{file}: has no kernel; profile again without a filter that excludes them all.")
    numbers.check()
    launches = [_launch(profiled, numbers, f"{file}, line {profiled.line}") for profiled in found]
    one_device(launches, file)
    names = {value for profiled in found if (value := profiled.metrics.get(_GPU_NAME, ("", ""))[1])}
    warnings = ["The file writes a comma before the decimals."] if numbers.decimal_comma else []
    return TimesReport(source, launches, warnings, _clock_note(found, numbers), tuple(sorted(names)))


def _launch(profiled: _Profiled, numbers: Numbers, where: str) -> Launch:
    own = profiled.own
    return Launch(
        name=own["Kernel Name"],
        duration_ns=checked_duration(_duration_ns(profiled, numbers, where), where),
        grid=_shape(profiled, "Grid Size", _GRID_AXES, numbers, where),
        block=_shape(profiled, "Block Size", _BLOCK_AXES, numbers, where),
        stream=stream_number(own.get("Stream", "")),
        device=own.get("Device") or None,
    )


def _duration_ns(profiled: _Profiled, numbers: Numbers, where: str) -> float:
    for name in _DURATIONS:
        if name in profiled.metrics:
            unit, text = profiled.metrics[name]
            scale = ns_per_unit(unit)
            if scale is None:
                raise TimesError(f"{where}: {name} has the unit {unit!r}, which is no unit of time.")
            return round(numbers.read(text, where) * scale, 3)
    raise TimesError(f"{where}: the launch has no duration; collect the metric gpu__time_duration.sum.")


def _shape(
    profiled: _Profiled, column: str, axes: Sequence[str], numbers: Numbers, where: str
) -> tuple[int, int, int] | None:
    if profiled.own.get(column):
        return dimensions(profiled.own[column], where)
    if all(axis in profiled.metrics for axis in axes):
        x, y, z = (int(numbers.read(profiled.metrics[axis][1], where)) for axis in axes)
        return x, y, z
    return None


def _clock_note(found: Sequence[_Profiled], numbers: Numbers) -> str:
    """Nsight Compute locks the GPU to its base clock unless told not to; its times are no boost-clock times."""
    for name in _CLOCKS:
        clocks = [profiled.metrics[name] for profiled in found if name in profiled.metrics]
        scales = [_MHZ_PER_UNIT.get(unit.lower().strip()) for unit, _ in clocks]
        if clocks and all(scales):
            values = [numbers.read(text, name) * (scale or 0) for (_, text), scale in zip(clocks, scales, strict=True)]
            measured = f" (SM clock measured: {sum(values) / len(values):.0f} MHz)"
            break
    else:
        measured = ""
    return (
        "Nsight Compute times a kernel at the GPU's base clock unless run with --clock-control none" + measured + "; "
        "Nsight Systems times it at the boost clock."
    )
