"""A run's figures, as lists sort by them: taken once when it ends, from what its sims left behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runs.agreement import agreement
from sims.gpus import is_other_gpu

if TYPE_CHECKING:
    from runs.models import Run


@dataclass(frozen=True, slots=True)
class Figures:
    """``None`` where there is nothing to tell."""

    wall_s: float | None = None
    """From the first sim's start to the last one's end."""
    instructions_per_s: float | None = None
    """Thread instructions simulated per wall second of a sim."""
    slowdown: float | None = None
    """Wall time of the sims over the GPU time they simulated."""
    fastest_ns: float | None = None
    """Simulated time on the fastest of the configs, of the sims that finished, as what follows: one that failed after
    its first kernel would be the fastest of all."""
    error: float | None = None
    """Of the step, on the config of the GPU that the real times are of; of the closest one where several are."""
    mape: float | None = None
    geomean_ratio: float | None = None


def figures_of(run: "Run") -> Figures:
    """The figures of a run whose sims have ended."""
    sims: list[dict[str, Any]] = list(
        run.sims.values(  # type: ignore[arg-type] # one row as the helpers below take it
            "id",
            "status",
            "gpu_config",
            "config__name",
            "simulated_ns",
            "error",
            "instructions",
            "started_at",
            "finished_at",
        )
    )
    done = [sim for sim in sims if sim["simulated_ns"]]
    wall_s = sum(_wall_s(sim) for sim in done)
    simulated_ns = sum(sim["simulated_ns"] for sim in done)
    instructions = sum(sim["instructions"] or 0 for sim in done)
    whole = [sim for sim in sims if sim["status"] == "finished"]
    closest = _closest(run.trace.gpu, whole)
    mape, geomean_ratio = _agreement(run, closest["id"]) if closest else (None, None)
    started = [sim["started_at"] for sim in sims if sim["started_at"]]
    finished = [sim["finished_at"] for sim in sims if sim["finished_at"]]
    return Figures(
        wall_s=(max(finished) - min(started)).total_seconds() if started and finished else None,
        instructions_per_s=instructions / wall_s if instructions and wall_s > 0 else None,
        slowdown=wall_s * 1e9 / simulated_ns if simulated_ns and wall_s > 0 else None,
        fastest_ns=min((sim["simulated_ns"] for sim in whole if sim["simulated_ns"]), default=None),
        error=closest["error"] if closest else None,
        mape=mape,
        geomean_ratio=geomean_ratio,
    )


def _wall_s(sim: dict[str, Any]) -> float:
    if sim["started_at"] is None or sim["finished_at"] is None:
        return 0.0
    return float((sim["finished_at"] - sim["started_at"]).total_seconds())


def _closest(gpu: str | None, sims: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    here = (sim for sim in sims if not is_other_gpu(gpu, sim["config__name"] or "", sim["gpu_config"]))
    return min((sim for sim in here if sim["error"] is not None), key=lambda sim: abs(sim["error"]), default=None)


def _agreement(run: "Run", sim_id: str) -> tuple[float | None, float | None]:
    """MAPE and geometric mean ratio of one sim's kernels."""
    from sims.models import SimKernel

    real = dict(run.trace.kernels.filter(real_ns__isnull=False).values_list("index", "real_ns"))
    simulated = SimKernel.objects.filter(sim_id=sim_id, simulated_ns__isnull=False)
    pairs = [(real[index], ns) for index, ns in simulated.values_list("index", "simulated_ns") if index in real]
    figures = agreement(*np.array(pairs, dtype=np.float64).reshape(-1, 2).T)
    return figures.mape, figures.geomean_ratio
