"""Round values for axes."""

import math


def round_values(highest: float) -> list[float]:
    """Three to six round values above zero, up to the highest: 171 has 50, 100 and 150."""
    step = 10.0 ** math.floor(math.log10(highest / 3))
    step *= next(factor for factor in (1, 2, 5, 10) if highest / (step * factor) <= 6)
    return [step * n for n in range(1, int(highest / step) + 1)]
