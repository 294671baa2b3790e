"""Which sims a comparison's address names, and their times."""

from dataclasses import dataclass
from functools import cached_property

from django.http import HttpRequest

from cascade_site.colours import colours_of
from cascade_site.fields import storable_text
from runs.sides import Difference, Times, difference
from sims.models import Sim, SimKernel

MOST_RUNS = 20
MOST_SIMS = 40


@dataclass
class Side:
    """One sim in the comparison."""

    sim: Sim
    label: str
    colour: int
    times: Times

    @property
    def error(self) -> float | None:
        """Against the real times, if these are of its GPU."""
        return None if self.sim.is_of_other_gpu else self.sim.error


@dataclass
class Comparison:
    """The sides in the order of the address, and the one that the others are held against."""

    sides: list[Side]
    baseline: Side

    @cached_property
    def rows(self) -> list[tuple[Side, Difference]]:
        return [(side, difference(side.times, self.baseline.times)) for side in self.sides]

    @cached_property
    def others(self) -> list[Side]:
        """The sides that have kernels in common with the baseline."""
        return [side for side, found in self.rows if side is not self.baseline and found.common]

    @property
    def names(self) -> dict[int, str]:
        return dict(self.baseline.sim.kernels.values_list("index", "name"))


def sims_of(request: HttpRequest) -> list[Sim]:
    """The sims of ``?run=``, run by run, then those of ``?sim=``, in the address's order."""
    run_ids = list(dict.fromkeys(map(storable_text, request.GET.getlist("run"))))[:MOST_RUNS]
    sim_ids = list(dict.fromkeys(map(storable_text, request.GET.getlist("sim"))))[:MOST_SIMS]
    known = Sim.objects.select_related("run__trace")
    of_runs = list(known.filter(run__in=run_ids))
    of_runs.sort(key=lambda sim: (run_ids.index(sim.run_id), sim.position))
    found = known.in_bulk(sim_ids)
    alone = [found[sim_id] for sim_id in sim_ids if sim_id in found]
    return list({sim.id: sim for sim in [*of_runs, *alone]}.values())[:MOST_SIMS]


def comparison_of(request: HttpRequest, sims: list[Sim]) -> Comparison:
    """The sims with the times of their kernels, held against the baseline that the address names."""
    times: dict[str, dict[int, float]] = {sim.id: {} for sim in sims}
    found = SimKernel.objects.filter(sim__in=sims, simulated_ns__isnull=False)
    for sim_id, index, time_ns in found.values_list("sim_id", "index", "simulated_ns").iterator(chunk_size=5000):
        times[sim_id][index] = float(time_ns or 0.0)
    several = len({sim.run_id for sim in sims}) > 1
    sides = [
        Side(
            sim,
            f"{sim.gpu_config} · {sim.run.name or sim.run_id}" if several else sim.gpu_config,
            colour,
            Times(sim.run.trace_id, times[sim.id]),
        )
        for sim, colour in zip(sims, colours_of([sim.gpu_config for sim in sims]), strict=True)
    ]
    return Comparison(sides, _baseline(request, sides))


def _baseline(request: HttpRequest, sides: list[Side]) -> Side:
    """The one asked for, else the first of the trace's saved baseline, else the first."""
    wanted = request.GET.get("baseline", "")
    asked = next((side for side in sides if wanted in (side.sim.id, side.sim.run_id)), None)
    return asked or next((side for side in sides if side.sim.run.is_baseline), sides[0])
