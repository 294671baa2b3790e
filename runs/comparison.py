"""Real times beside simulated ones, per kernel, per kernel name and in total.

The body is the one that ``GET /api/runs/{run_id}/comparison`` answers. Errors are signed fractions against
the real time; ``ratio``, ``difference_ns`` and ``speedup`` are against the baseline: the real run, or a GPU config.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runs.agreement import Agreement, Floats, agreement
from runs.grouping import group_agreement, group_codes, spreads
from runs.rows import RealKernel, SimulatedKernel, SimulatedRun

REAL = "real"
"""The baseline's name when it is the measured run."""

_SHORTEST_NS, _LONGEST_NS = 1e-3, 1e18
"""A picosecond and some thirty years: outside of these a figure is a defect of its file, not a duration."""


class UnknownBaselineError(ValueError):
    """The baseline asked for is neither ``real`` nor one of the run's GPU configs."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """Everything as arrays over the same kernels: the trace's, then those only a log knows."""

    indexes: list[int]
    names: list[str]
    real_ns: Floats
    simulated_ns: Floats
    """Shape (configs, kernels), NaN where a config has no time."""
    cycles: list[list[int | None]]
    baseline_ns: Floats


def compare(
    run_id: str,
    trace_id: str,
    real: Sequence[RealKernel],
    runs: Sequence[SimulatedRun],
    *,
    baseline: str = REAL,
    include_launch_latency: bool = False,
) -> dict[str, Any]:
    """The comparison body of one run.

    :param baseline: ``"real"`` or a GPU config of ``runs``
    :param include_launch_latency: count the config's launch latency (Accel-Sim's 5000 cycles) as kernel time.
        Off, since a profiler's kernel duration does not hold it.
    :raises UnknownBaselineError: for another baseline
    """
    sides = _align(real, runs, baseline, include_launch_latency)
    return {
        "run_id": run_id,
        "trace_id": trace_id,
        "baseline": baseline,
        "launch_latency_included": include_launch_latency,
        "kernels": _kernel_rows(sides, runs),
        **_overview(sides, runs),
    }


def overview(real: Sequence[RealKernel], runs: Sequence[SimulatedRun]) -> dict[str, Any]:
    """The comparison's ``groups`` and ``summary`` alone, against the real run: what a page shows before any kernel."""
    return _overview(_align(real, runs, REAL, with_latency=False), runs)


@dataclass(frozen=True, slots=True)
class KernelColumns:
    """The comparison's ``kernels`` as arrays of one length, NaN where nothing is known."""

    index: list[int]
    name: list[str]
    real_ns: Floats
    real_share: Floats
    cycles: list[list[int | None]]
    """For each config."""
    figures: list[dict[str, Floats]]
    """For each config, by their names in the body."""


def kernel_columns(real: Sequence[RealKernel], runs: Sequence[SimulatedRun], *, baseline: str = REAL) -> KernelColumns:
    """What the body says of each kernel, for those who need no body. Raises :class:`UnknownBaselineError`."""
    sides = _align(real, runs, baseline, with_latency=False)
    figures = [_config_columns(sides, row) for row in range(len(runs))]
    return KernelColumns(sides.indexes, sides.names, sides.real_ns, _shares(sides.real_ns), sides.cycles, figures)


def _overview(sides: _Sides, runs: Sequence[SimulatedRun]) -> dict[str, Any]:
    return {
        "groups": _group_rows(sides, runs),
        "summary": {run.gpu_config: _summary(sides, runs, place) for place, run in enumerate(runs)},
    }


def _align(real: Sequence[RealKernel], runs: Sequence[SimulatedRun], baseline: str, with_latency: bool) -> _Sides:
    names = {kernel.index: kernel.name for kernel in real}
    for run in runs:
        for simulated in run.kernels:
            names.setdefault(simulated.index, simulated.name)
    indexes = sorted(names)
    place_of = {index: place for place, index in enumerate(indexes)}
    real_ns = np.full(len(indexes), np.nan)
    for kernel in real:
        if kernel.real_ns is not None:
            real_ns[place_of[kernel.index]] = kernel.real_ns
    simulated_ns = np.full((len(runs), len(indexes)), np.nan)
    cycles: list[list[int | None]] = [[None] * len(indexes) for _ in runs]
    for row, run in enumerate(runs):
        for simulated in run.kernels:
            place = place_of[simulated.index]
            simulated_ns[row, place] = _time_ns(simulated, run.core_clock_mhz, with_latency)
            cycles[row][place] = simulated.cycles
    real_ns, simulated_ns = _plausible(real_ns, least=_SHORTEST_NS), _plausible(simulated_ns, least=0.0)
    baseline_ns = real_ns if baseline == REAL else simulated_ns[_row_of(baseline, runs)]
    return _Sides(indexes, [names[index] for index in indexes], real_ns, simulated_ns, cycles, baseline_ns)


def _plausible(times_ns: Floats, least: float) -> Floats:
    """NaN for what is no time: one infinity (a clock of 0 MHz in a hand-written log) must not spoil every total."""
    with np.errstate(invalid="ignore"):
        kept = np.where((times_ns >= least) & (times_ns <= _LONGEST_NS), times_ns, np.nan)
    kept[kept < _SHORTEST_NS] = 0.0
    return kept


def _time_ns(kernel: SimulatedKernel, core_clock_mhz: float, with_latency: bool) -> float:
    if with_latency and kernel.cycles is not None and core_clock_mhz > 0:
        return kernel.cycles * 1000.0 / core_clock_mhz
    return np.nan if kernel.simulated_ns is None else kernel.simulated_ns


def _row_of(baseline: str, runs: Sequence[SimulatedRun]) -> int:
    for row, run in enumerate(runs):
        if run.gpu_config == baseline:
            return row
    known = ", ".join([REAL, *(run.gpu_config for run in runs)])
    raise UnknownBaselineError(f"The baseline {baseline!r} is not part of this run; choose one of {known}.")


def _kernel_rows(sides: _Sides, runs: Sequence[SimulatedRun]) -> list[dict[str, Any]]:
    shares = _numbers(_shares(sides.real_ns))
    per_config = [_config_cells(sides, run, row) for row, run in enumerate(runs)]
    configs = [run.gpu_config for run in runs]
    cells_of = zip(*per_config, strict=True) if per_config else ((),) * len(sides.indexes)
    rows = zip(sides.indexes, sides.names, _numbers(sides.real_ns), shares, cells_of, strict=True)
    return [
        {
            "index": index,
            "name": name,
            "real_ns": real_ns,
            "real_share": share,
            "configs": {config: cell for config, cell in zip(configs, cells, strict=True) if cell is not None},
        }
        for index, name, real_ns, share, cells in rows
    ]


def _config_columns(sides: _Sides, row: int) -> dict[str, Floats]:
    """One config's figures over all kernels, by their names in a cell."""
    simulated = sides.simulated_ns[row]
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "simulated_ns": simulated,
            "error": (simulated - sides.real_ns) / sides.real_ns,
            "ratio": simulated / sides.baseline_ns,
            "speedup": sides.baseline_ns / simulated,
            "difference_ns": simulated - sides.baseline_ns,
            "share": _shares(simulated),
            "share_of_error": _shares(np.abs(simulated - sides.real_ns)),
        }


def _config_cells(sides: _Sides, run: SimulatedRun, row: int) -> list[dict[str, Any] | None]:
    """One cell per kernel; None where the config never reported the kernel."""
    columns = _config_columns(sides, row)
    names = ["sim_id", "cycles", *columns]
    values = zip(sides.cycles[row], *map(_numbers, columns.values()), strict=True)
    return [
        None if cycles is None and figures[0] is None else dict(zip(names, (run.sim_id, cycles, *figures), strict=True))
        for cycles, *figures in values
    ]


def _group_rows(sides: _Sides, runs: Sequence[SimulatedRun]) -> list[dict[str, Any]]:
    """Per kernel name, the longest real (else simulated) total first."""
    names, codes = group_codes(sides.names)
    launches = np.bincount(codes, minlength=len(names)).tolist()
    real = spreads(codes, len(names), sides.real_ns)
    shares = _numbers(_shares(np.array([row["total_ns"] or 0.0 for row in real])))
    cells = {
        run.gpu_config: group_agreement(codes, len(names), sides.real_ns, sides.simulated_ns[row])
        for row, run in enumerate(runs)
    }
    rows = [
        {
            "name": name,
            "launches": launches[group],
            "real": real[group],
            "real_share": shares[group],
            "configs": {config: per_group[group] for config, per_group in cells.items()},
        }
        for group, name in enumerate(names)
    ]
    return sorted(rows, key=_group_weight, reverse=True)


def _group_weight(row: dict[str, Any]) -> float:
    simulated = (cell["simulated_ns"] or 0.0 for cell in row["configs"].values())
    return row["real"]["total_ns"] or max(simulated, default=0.0)


def _summary(sides: _Sides, runs: Sequence[SimulatedRun], row: int) -> dict[str, Any]:
    simulated = sides.simulated_ns[row]
    against_real = agreement(sides.real_ns, simulated)
    figures = against_real.as_dict()
    real_ns, simulated_ns = figures.pop("reference_ns"), figures.pop("predicted_ns")
    known = simulated[~np.isnan(simulated)]
    return {
        "sim_id": runs[row].sim_id,
        "real_ns": real_ns,
        # Without any real time there is still an answer: the sum of what was simulated.
        "simulated_ns": simulated_ns if simulated_ns is not None else (float(known.sum()) if known.size else None),
        **figures,
        "total_simulated_ns": float(known.sum()) if known.size else None,
        "kernels_simulated": int(known.size),
        "only_real": int((~np.isnan(sides.real_ns) & np.isnan(simulated)).sum()),
        "only_simulated": int((np.isnan(sides.real_ns) & ~np.isnan(simulated)).sum()),
        "against_baseline": _against_baseline(agreement(sides.baseline_ns, simulated)),
    }


def _against_baseline(figures: Agreement) -> dict[str, Any]:
    baseline_ns, simulated_ns = figures.reference_ns, figures.predicted_ns
    return {
        "kernels_compared": figures.kernels_compared,
        "baseline_ns": baseline_ns,
        "simulated_ns": simulated_ns,
        "speedup": baseline_ns / simulated_ns if baseline_ns and simulated_ns else None,
        "error": figures.error,
        "mape": figures.mape,
        "geomean_ratio": figures.geomean_ratio,
        "pearson_r": figures.pearson_r,
    }


def _shares(values: Floats) -> Floats:
    total = np.nansum(values)
    return values / total if total > 0 else np.full_like(values, np.nan)


def _numbers(values: Floats) -> list[float | None]:
    """Python floats, with None for what JSON has no number for."""
    finite = np.isfinite(values)
    if finite.all():
        return values.tolist()
    return [value if known else None for value, known in zip(values.tolist(), finite.tolist(), strict=True)]
