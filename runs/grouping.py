"""Kernels of one name taken together: the table every engineer knows from ``nsys stats``, and agreement per name.

All groups are summed in one pass with ``bincount``: a step may have as many names as kernels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.agreement import Floats

Codes = NDArray[np.intp]


def group_codes(names: Sequence[str]) -> tuple[list[str], Codes]:
    """The distinct names in order of first appearance, and each kernel's place among them."""
    code_of: dict[str, int] = {}
    codes = np.array([code_of.setdefault(name, len(code_of)) for name in names], dtype=np.intp)
    return list(code_of), codes


def spreads(codes: Codes, groups: int, times_ns: Floats) -> list[dict[str, Any]]:
    """Per group total, instances, average, median, minimum, maximum and standard deviation (of a sample), in ns.

    :param codes: shape (n,), the group of each kernel
    :param times_ns: shape (n,), NaN where no time is known; a group without any has None throughout
    """
    known = ~np.isnan(times_ns)
    order = np.lexsort((times_ns[known], codes[known]))
    times, of = times_ns[known][order], codes[known][order]
    counts = np.bincount(of, minlength=groups)
    ends = np.cumsum(counts)
    starts = ends - counts
    totals = np.bincount(of, times, groups)
    means = totals / np.maximum(counts, 1)
    variances = np.bincount(of, (times - means[of]) ** 2, groups) / np.maximum(counts - 1, 1)
    rows: list[dict[str, Any]] = []
    for group, (start, count) in enumerate(zip(starts.tolist(), counts.tolist(), strict=True)):
        if count == 0:
            unknown = dict.fromkeys(("total_ns", "avg_ns", "med_ns", "min_ns", "max_ns", "stddev_ns"))
            rows.append({"instances": 0, **unknown})
            continue
        middle = (times[start + (count - 1) // 2] + times[start + count // 2]) / 2
        rows.append(
            {
                "instances": count,
                "total_ns": float(totals[group]),
                "avg_ns": float(means[group]),
                "med_ns": float(middle),
                "min_ns": float(times[start]),
                "max_ns": float(times[start + count - 1]),
                "stddev_ns": float(np.sqrt(variances[group])),
            }
        )
    return rows


def group_agreement(codes: Codes, groups: int, reference_ns: Floats, predicted_ns: Floats) -> list[dict[str, Any]]:
    """Per group the predicted total and its agreement with the reference over the kernels that both have."""
    total = np.bincount(codes, np.nan_to_num(predicted_ns), groups)
    predicted_count = np.bincount(codes, ~np.isnan(predicted_ns), groups)
    both = ~(np.isnan(reference_ns) | np.isnan(predicted_ns))
    of, reference, predicted = codes[both], reference_ns[both], predicted_ns[both]
    counts = np.bincount(of, minlength=groups)
    reference_total = np.bincount(of, reference, groups)
    difference = np.bincount(of, predicted - reference, groups)
    off = np.bincount(of, np.abs(predicted - reference), groups)
    sizes = np.bincount(of, np.abs(predicted - reference) / reference, groups)
    # A predicted time of zero has no logarithm; it stays out of the geometric mean alone.
    positive = predicted > 0
    logs = np.bincount(of[positive], np.log(predicted[positive] / reference[positive]), groups)
    log_counts = np.bincount(of[positive], minlength=groups)
    return [
        {
            "simulated_ns": float(total[group]) if predicted_count[group] else None,
            "kernels_compared": int(counts[group]),
            "error": float(difference[group] / reference_total[group]) if counts[group] else None,
            "absolute_difference_ns": float(off[group]) if counts[group] else None,
            "mape": float(sizes[group] / counts[group]) if counts[group] else None,
            "geomean_ratio": float(np.exp(logs[group] / log_counts[group])) if log_counts[group] else None,
        }
        for group in range(groups)
    ]
