"""How well a set of predicted times agrees with a reference: the figures the field reports.

Every figure is over kernels that both sides have. Fractions are plain (0.06 is 6 %); ``None`` where a figure has no
meaning (no kernels, no variance), never NaN.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Figures of ``predicted`` against ``reference``, both in ns."""

    kernels_compared: int = 0
    reference_ns: float | None = None
    predicted_ns: float | None = None
    error: float | None = None
    """Aggregate: (sum of predicted - sum of reference) / sum of reference."""
    absolute_error: float | None = None
    """Sum of absolute differences / sum of reference: errors that cancel in ``error`` do not cancel here."""
    mape: float | None = None
    """Mean of the kernels' absolute errors, each kernel with the same weight."""
    geomean_ratio: float | None = None
    pearson_r: float | None = None
    """Pearson correlation of the logarithms: times span decades, and on a linear scale the longest decides."""
    pearson_r_linear: float | None = None
    nrmse: float | None = None
    """Root mean square difference / mean reference."""
    rpd: float | None = None
    """Mean relative percentage difference: |difference| / mean of the two sides."""
    within_1_percent: int = 0
    within_10_percent: int = 0
    over: int = 0
    under: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The figures by name."""
        return asdict(self)


def agreement(reference_ns: Floats, predicted_ns: Floats) -> Agreement:
    """Compare two arrays of times of the same kernels.

    :param reference_ns: shape (n,); NaN or not above zero where there is no reference
    :param predicted_ns: shape (n,); NaN or negative where there is no prediction
    """
    with np.errstate(invalid="ignore"):
        both = (reference_ns > 0) & (predicted_ns >= 0) & np.isfinite(reference_ns) & np.isfinite(predicted_ns)
    reference, predicted = reference_ns[both], predicted_ns[both]
    if reference.size == 0:
        return Agreement()
    difference = predicted - reference
    errors = difference / reference
    sizes = np.abs(errors)
    total = float(reference.sum())
    return Agreement(
        kernels_compared=int(reference.size),
        reference_ns=total,
        predicted_ns=float(predicted.sum()),
        error=float(difference.sum()) / total,
        absolute_error=float(np.abs(difference).sum()) / total,
        mape=float(sizes.mean()),
        geomean_ratio=_geomean_ratio(reference, predicted),
        pearson_r=_pearson_of_logs(reference, predicted),
        pearson_r_linear=_pearson(reference, predicted),
        nrmse=float(np.sqrt(np.mean(difference**2)) / reference.mean()),
        rpd=float(np.mean(np.abs(difference) / ((reference + predicted) / 2))),
        within_1_percent=int((sizes <= 0.01).sum()),
        within_10_percent=int((sizes <= 0.10).sum()),
        over=int((difference > 0).sum()),
        under=int((difference < 0).sum()),
    )


def _geomean_ratio(reference: Floats, predicted: Floats) -> float | None:
    positive = predicted > 0
    if not positive.any():
        return None
    return float(np.exp(np.mean(np.log(predicted[positive] / reference[positive]))))


def _pearson_of_logs(reference: Floats, predicted: Floats) -> float | None:
    positive = predicted > 0
    return _pearson(np.log(reference[positive]), np.log(predicted[positive]))


def _pearson(x: Floats, y: Floats) -> float | None:
    if x.size < 2:
        return None
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    # Rounding alone leaves a spread above zero when one side is constant.
    if spread <= 1e-12 * x.size or not np.isfinite(spread):
        return None
    return float(np.clip((x @ y) / spread, -1.0, 1.0))
