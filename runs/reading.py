"""What a run found: the bodies of its read-only routes. Each takes the same few queries, however large the run."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

from cascade_site.serializing import dumped, to_json
from runs import comparison, perfetto
from runs.kept import Kept
from runs.models import Run
from runs.posted import predicted_starts_ns
from runs.rows import RealKernel, SimulatedKernel, SimulatedRun
from runs.serializers import RunSerializer
from sims.models import Sim, SimFile, SimKernel, StepTimeline
from sims.reading import kernel_rows, results_json
from sims.serializers import SimFileSerializer
from traces.models import Trace, TraceKernel
from traces.serializers import TraceSerializer

ITEMS_PER_PIECE = 1000

_SIMULATED_FIELDS = (
    "index",
    "name",
    "cycles",
    "simulated_ns",
    "launch_cycles",
    "launch_uid",
    "instructions",
    "occupancy",
    "dram_bytes",
    "stream",
    "source",
)
_COMPARED_FIELDS = _SIMULATED_FIELDS[:5]

_kept = Kept()


def real_kernels(trace: Trace) -> Sequence[RealKernel]:
    """The trace's launches with their real times, in launch order."""
    key = ("trace", *trace.state_of_times)
    if (known := _kept.get(key)) is not None:
        return known
    found = TraceKernel.objects.filter(trace=trace).order_by("index")
    rows = found.values_list("index", "name", "grid", "block", "stream", "real_ns", "start_ns", "step", "phase")
    names: dict[str, str] = {}
    kernels = [
        RealKernel(
            index, names.setdefault(name, name), tuple(grid), tuple(block), stream, real_ns, start_ns, step, phase
        )
        for index, name, grid, block, stream, real_ns, start_ns, step, phase in rows.iterator(chunk_size=2000)
    ]
    _kept.keep(key, kernels)
    return kernels


def simulated_runs(sims: list[Sim], fields: Sequence[str] = _SIMULATED_FIELDS) -> list[SimulatedRun]:
    """Each sim's launches, in the order of the sims: one query for those that are not kept from the last time.

    :param fields: the first of :class:`SimulatedKernel`'s fields, as many as are needed
    """
    keys = {sim.id: ("sim", len(fields), *sim.state_of_results) for sim in sims if sim.has_ended}
    kernels = {sim_id: known for sim_id, key in keys.items() if (known := _kept.get(key)) is not None}
    kernels |= _read_kernels([sim.id for sim in sims if sim.id not in kernels], fields)
    for sim_id, key in keys.items():
        _kept.keep(key, kernels[sim_id])
    return [SimulatedRun(sim.gpu_config, sim.id, sim.core_clock_mhz, kernels[sim.id]) for sim in sims]


def _read_kernels(sim_ids: list[str], fields: Sequence[str]) -> dict[str, Sequence[SimulatedKernel]]:
    kernels: dict[str, list[SimulatedKernel]] = {sim_id: [] for sim_id in sim_ids}
    found = SimKernel.objects.filter(sim__in=sim_ids).order_by("sim_id", "index").values_list("sim_id", *fields)
    names: dict[str, str] = {}
    for sim_id, index, name, *values in found.iterator(chunk_size=2000) if sim_ids else ():
        kernels[sim_id].append(SimulatedKernel(index, names.setdefault(name, name), *values))
    return dict(kernels)


def sims_of(run: Run) -> list[Sim]:
    """The run's sims with their configs, in the order in which they were asked for."""
    return list(run.sims.order_by("position"))


def comparison_of(run: Run, baseline: str = comparison.REAL, with_launch_latency: bool = False) -> dict[str, Any]:
    """The comparison's body. Raises :class:`comparison.UnknownBaselineError`."""
    return comparison.compare(
        run.id,
        run.trace_id,
        real_kernels(run.trace),
        simulated_runs(sims_of(run), _COMPARED_FIELDS),
        baseline=baseline,
        include_launch_latency=with_launch_latency,
    )


def kernel_columns_of(run: Run, baseline: str = comparison.REAL) -> comparison.KernelColumns:
    """The comparison's kernels as columns. Raises :class:`comparison.UnknownBaselineError`."""
    simulated = simulated_runs(sims_of(run), _COMPARED_FIELDS)
    return comparison.kernel_columns(real_kernels(run.trace), simulated, baseline=baseline)


def comparison_json_of(run: Run, baseline: str, with_launch_latency: bool) -> Generator[bytes, None, None]:
    """The comparison's body in pieces. Raises :class:`comparison.UnknownBaselineError` at the first."""
    body = comparison_of(run, baseline, with_launch_latency)
    kernels = body.pop("kernels")
    yield from _list_json(dumped(body)[:-1] + b',"kernels":[', kernels, b"]}")


def overview_json_of(run: Run) -> Generator[bytes, None, None]:
    """What the run's page begins with: totals per config, and kernels of one name together."""
    yield to_json(comparison.overview(real_kernels(run.trace), simulated_runs(sims_of(run))))


def kernels_json_of(run: Run) -> Generator[bytes, None, None]:
    """Every sim's kernels without their stats maps, in pieces."""
    sims = sims_of(run)
    rows = kernel_rows(sims)
    yield b"["
    for number, sim in enumerate(sims):
        head = dumped({"sim_id": sim.id, "gpu_config": sim.gpu_config})[:-1] + b',"kernels":['
        yield from _list_json((b"," if number else b"") + head, rows[sim.id], b"]}")
    yield b"]"


def _list_json(before: bytes, items: Sequence[Any], after: bytes) -> Iterator[bytes]:
    """A JSON list between what stands before and after it, a thousand items at a time."""
    yield before
    for start in range(0, len(items), ITEMS_PER_PIECE):
        yield (b"," if start else b"") + dumped(items[start : start + ITEMS_PER_PIECE])[1:-1]
    yield after


def step_timelines_of(run: Run) -> list[dict[str, Any]]:
    """The step timelines of the sims that have one."""
    found = StepTimeline.objects.filter(sim__run=run).select_related("sim").order_by("sim__position")
    return [
        {
            "sim_id": posted.sim_id,
            "gpu_config": posted.sim.gpu_config,
            "timeline": posted.timeline,
            "comparison": posted.comparison,
        }
        for posted in found
    ]


def files_of(run: Run) -> list[dict[str, Any]]:
    """Every output file of the run's sims."""
    found = SimFile.objects.filter(sim__run=run).select_related("sim").order_by("sim__position", "name")
    return list(SimFileSerializer(found, many=True).data)


def results_json_of(run: Run) -> Generator[bytes, None, None]:
    """Run, trace, every sim's results and the comparison as one JSON file, in pieces."""
    yield b'{"run":' + to_json(RunSerializer(run).data) + b',"trace":' + to_json(TraceSerializer(run.trace).data)
    yield b',"sims":['
    for number, sim in enumerate(sims_of(run)):
        if number:
            yield b","
        yield from results_json(sim)
    yield b'],"comparison":' + to_json(comparison_of(run)) + b"}"


def perfetto_of(run: Run) -> Generator[bytes, None, None]:
    """The run as a Chrome trace, in pieces: the real run where times are known, then one process per sim."""
    real = real_kernels(run.trace)
    streams = {kernel.index: kernel.stream for kernel in real}
    steps = {kernel.index: (kernel.step, kernel.phase) for kernel in real if kernel.step is not None}
    processes = []
    if any(kernel.real_ns is not None for kernel in real):
        processes.append(perfetto.real_process(real, run.trace.gpu or ""))
    starts_ns = {posted["sim_id"]: predicted_starts_ns(posted["timeline"]) for posted in step_timelines_of(run)}
    for simulated in simulated_runs(sims_of(run)):
        # The trace knows the streams; a log may have lost them.
        kernels = [
            replace(kernel, stream=streams.get(kernel.index, kernel.stream or 0)) for kernel in simulated.kernels
        ]
        starts = starts_ns.get(simulated.sim_id)
        processes.append(perfetto.simulated_process(simulated.gpu_config, kernels, starts, steps))
    yield from perfetto.chrome_trace(processes)
