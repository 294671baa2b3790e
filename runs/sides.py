"""Sims side by side: each side's times of the same kernels, and how they differ from one of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from runs.grouping import group_codes

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Times:
    """What one sim simulated: times in ns by kernel index. Indexes of different traces mean different kernels."""

    trace_id: str
    by_index: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """One side against the baseline, over the kernels that both have."""

    kernels: int
    common: int
    only_here: int | None
    """Kernels that the baseline lacks; None for another trace."""
    only_there: int | None
    total_ns: float | None
    """Of all its own kernels."""
    delta_ns: float | None
    delta: float | None
    """``(own - baseline) / baseline``."""
    geomean: float | None


def difference(own: Times, baseline: Times) -> Difference:
    """How one side differs; two of different traces have no kernel in common."""
    same_trace = own.trace_id == baseline.trace_id
    common = [index for index in baseline.by_index if index in own.by_index] if same_trace else []
    mine = np.array([own.by_index[index] for index in common])
    base = np.array([baseline.by_index[index] for index in common])
    positive = (mine > 0) & (base > 0)
    return Difference(
        kernels=len(own.by_index),
        common=len(common),
        only_here=len(own.by_index) - len(common) if same_trace else None,
        only_there=len(baseline.by_index) - len(common) if same_trace else None,
        total_ns=math.fsum(own.by_index.values()) or None,
        delta_ns=float(mine.sum() - base.sum()) if common else None,
        delta=float(mine.sum() / base.sum() - 1) if base.sum() > 0 else None,
        geomean=float(np.exp(np.mean(np.log(mine[positive] / base[positive])))) if positive.any() else None,
    )


def matrix(names: Mapping[int, str], baseline: Times, others: Sequence[Times], threshold: float = 0.0) -> pa.Table:
    """A row per kernel of the baseline: ``index``, ``name``, ``base`` and, for each other side, ``ns0``, ``delta0``, …;
    ``worst`` is the largest of the deltas' sizes.

    :param threshold: leaves out the kernels that no side has further off than this fraction
    """
    indexes = sorted(baseline.by_index)
    return _table(
        {"index": pa.array(indexes, pa.int64()), "name": pa.array([names.get(index, "") for index in indexes])},
        np.array([baseline.by_index[index] for index in indexes], dtype=np.float64),
        [np.array([side.by_index.get(index, np.nan) for index in indexes], dtype=np.float64) for side in others],
        threshold,
    )


def matrix_by_name(
    names: Mapping[int, str], baseline: Times, others: Sequence[Times], threshold: float = 0.0
) -> pa.Table:
    """As :func:`matrix`, for the kernels of one name together, as far as both sides have them; with ``launches``."""
    indexes = sorted(baseline.by_index)
    every, codes = group_codes([names.get(index, "") for index in indexes])
    base = np.array([baseline.by_index[index] for index in indexes], dtype=np.float64)
    own, deltas = [], []
    for side in others:
        times = np.array([side.by_index.get(index, np.nan) for index in indexes], dtype=np.float64)
        has = ~np.isnan(times)
        total = np.bincount(codes[has], times[has], len(every))
        reference = np.bincount(codes[has], base[has], len(every))
        own.append(np.where(np.bincount(codes[has], minlength=len(every)) > 0, total, np.nan))
        with np.errstate(divide="ignore", invalid="ignore"):
            deltas.append(np.where(reference > 0, total / reference - 1, np.nan))
    launches = pa.array(np.bincount(codes, minlength=len(every)))
    first = {"name": pa.array(every, pa.string()), "launches": launches}
    return _table(first, np.bincount(codes, base, len(every)).astype(np.float64), own, threshold, deltas)


def _table(
    first: dict[str, pa.Array], base: Floats, others: Sequence[Floats], threshold: float, deltas: Sequence[Floats] = ()
) -> pa.Table:
    worst = np.full(base.size, np.nan)
    columns = {**first, "base": pa.array(base)}
    for place, own in enumerate(others):
        with np.errstate(divide="ignore", invalid="ignore"):
            delta = deltas[place] if deltas else np.where(base > 0, own / base - 1, np.nan)
        worst = np.fmax(worst, np.abs(delta))
        columns[f"ns{place}"] = pa.array(own, from_pandas=True)
        columns[f"delta{place}"] = pa.array(delta, from_pandas=True)
    columns["worst"] = pa.array(worst, from_pandas=True)
    table = pa.table(columns)
    return table.filter(pa.array(np.nan_to_num(worst) >= threshold)) if threshold > 0 else table
