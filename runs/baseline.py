"""A run held against its trace's baseline."""

from collections import Counter
from collections.abc import Mapping

from cascade_site.config_label import ConfigLabel
from runs.models import Run


def time_delta(run: Run, baseline: Run) -> float | None:
    """``(own - baseline) / baseline`` over the configs that both simulated; None where they have none in common."""
    own, base = _times_ns(run), _times_ns(baseline)
    pairs = [(own[label], base[label]) for label in own if label in base] or _pairs_by_config(own, base)
    before = sum(base_ns for _, base_ns in pairs)
    return sum(own_ns for own_ns, _ in pairs) / before - 1 if before else None


def error_delta(run: Run, baseline: Run) -> float | None:
    """How much further from the real time than the baseline (negative: closer), as a difference of two errors' sizes."""
    if run.error is None or baseline.error is None:
        return None
    return abs(run.error) - abs(baseline.error)


def _times_ns(run: Run) -> dict[str, float]:
    return {sim.gpu_config: sim.simulated_ns for sim in run.sims.all() if sim.simulated_ns}


def _pairs_by_config(own: Mapping[str, float], base: Mapping[str, float]) -> list[tuple[float, float]]:
    """Configs with other overrides are still the same GPU, where each side has it once."""
    single_own, single_base = _once(own), _once(base)
    return [(single_own[config], single_base[config]) for config in single_own if config in single_base]


def _once(times_ns: Mapping[str, float]) -> dict[str, float]:
    config_of = {label: ConfigLabel.of(label).config_id for label in times_ns}
    counts = Counter(config_of.values())
    return {config_of[label]: ns for label, ns in times_ns.items() if counts[config_of[label]] == 1}
