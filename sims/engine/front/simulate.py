"""Runs a trace on one GPU: the list's commands in order, kernel after kernel, with the shortcuts asked for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from sims.engine.decode import open_program
from sims.engine.decode.statics import StaticTable
from sims.engine.errors import Cancelled, EngineError
from sims.engine.front.decodedcache import DecodedCache
from sims.engine.front.options import Options
from sims.engine.front.plan import Launch, Plan
from sims.engine.front.prepared import Prepared, prepare
from sims.engine.front.progress import ProgressMeter, SimulationProgress
from sims.engine.front.report import InstructionCounts, KernelReport, report_of
from sims.engine.front.waves import MIN_WAVES, SteadyWaves, completed
from sims.engine.machine import Machine
from sims.engine.occupancy import occupancy_of
from sims.engine.program import Program
from sims.engine.results import KernelResult
from sims.gpus.spec import GpuSpec
from traces.accelsim import MemcpyCommand, TraceError

MAX_SHARED_TEXTS = 1 << 15
"""A table of instruction texts is given up here: its limit is 65,535, and one kernel may need many."""

Observer = Callable[[SimulationProgress], None]


class SimulationError(Exception):
    """A kernel could not be simulated; the ones before it are done. The message is one sentence."""

    def __init__(self, launch: Launch, cause: Exception) -> None:
        super().__init__(f"kernel {launch.index} ({launch.file.name}): {cause}")
        self.index = launch.index


@dataclass
class Simulation:
    """One trace on one GPU. Iterate :meth:`kernels`; what it yielded before an error stays valid."""

    plan: Plan
    spec: GpuSpec
    options: Options = field(default_factory=Options)
    on_progress: Observer | None = None
    should_stop: Callable[[], bool] = lambda: False
    on_step: Callable[[MemcpyCommand | Launch], None] = lambda step: None
    """Told of each command before it is carried out."""

    def __post_init__(self) -> None:
        self._machine = Machine(self.spec, threads=self.options.threads)
        self._meter = ProgressMeter(self.plan.launches, self.on_progress)
        self._cache = DecodedCache() if self.options.decoded_cache else None
        self._tables: dict[int, StaticTable] = {}
        self._done: dict[tuple[str, ...], KernelReport] = {}
        self._previous = "start"

    @property
    def unsupported(self) -> list[str]:
        """What the configuration asks for and the model lacks."""
        return self._machine.unsupported

    def kernels(self) -> Iterator[KernelReport]:
        """The kernels in order. Raises :class:`SimulationError`, or ``Cancelled`` when ``should_stop()`` says so."""
        for step in self.plan.steps:
            self._stop_if_asked()
            self.on_step(step)
            if isinstance(step, MemcpyCommand):
                if step.kind == "HtoD":
                    self._machine.memcpy_to_device(step.address, step.size_bytes)
                continue
            try:
                yield self._kernel(step)
            except (EngineError, TraceError, OSError) as error:
                if isinstance(error, Cancelled):
                    raise
                raise SimulationError(step, error) from error

    def _kernel(self, launch: Launch) -> KernelReport:
        if not self.options.shortcuts:
            with open_program(launch.file) as program:
                result = self._run(program, launch)
                counts = InstructionCounts.of(program.statics, program.counts)
                return report_of(result, program.shape, counts, self.spec, index=launch.index, uid=launch.uid)
        prepared = self._prepare(launch)
        key = self._context(prepared.signature)
        self._previous = prepared.signature
        if self.options.same_launches and key in self._done:
            report = stand_in(self._done[key], launch, prepared)
            self._meter.ended(launch, report.name, 0)
            return report
        report = self._simulate(launch, prepared)
        self._done[key] = report
        return report

    def _simulate(self, launch: Launch, prepared: Prepared) -> KernelReport:
        counts = InstructionCounts.of(prepared.statics, prepared.counts)
        waves = self._waves(prepared)
        if waves is not None:
            result = completed(self._run(waves, launch, waves.ctas_needed), waves)
        elif prepared.program is not None:
            result = self._run(prepared.program, launch)
        else:
            with open_program(launch.file) as program:
                result = self._run(program, launch)
        report = report_of(result, prepared.shape, counts, self.spec, index=launch.index, uid=launch.uid)
        if waves is not None and waves.skipped_ctas:
            report.stats["cascade_steady_ctas_left_out"] = waves.skipped_ctas
        return report

    def _waves(self, prepared: Prepared) -> SteadyWaves | None:
        """The kernel as one whose steady waves may be left out; None where it has too few of them."""
        if not self.options.steady_waves or prepared.program is None:
            return None
        wave = occupancy_of(prepared.shape, self.spec).ctas_per_sm * self.spec.sms
        if prepared.shape.ctas < MIN_WAVES * wave:
            return None
        return SteadyWaves(prepared.program, wave, self.spec.l2_bytes)

    def _run(
        self, program: Program, launch: Launch, on_ctas_needed: Callable[[int, int], None] | None = None
    ) -> KernelResult:
        """One kernel on the machine, with the L2 as the options want it."""
        name = program.shape.name
        if self.options.l2 != "chain":
            self._machine.cold()
        if self.options.l2 == "warm":
            with open_program(launch.file) as first:
                self._machine.run(first, should_stop=self.should_stop)
        result = self._machine.run(
            program,
            on_progress=lambda progress: self._meter.running(launch, name, progress),
            should_stop=self.should_stop,
            on_ctas_needed=on_ctas_needed,
        )
        self._meter.ended(launch, name, int(result.counters["gpgpu_n_tot_w_icount"]))
        return result

    def _prepare(self, launch: Launch) -> Prepared:
        for version, table in list(self._tables.items()):
            if len(table) > MAX_SHARED_TEXTS:
                del self._tables[version]
        path = self._cache.path_for(launch.file) if self._cache else None
        if self._cache and path and (kept := self._cache.load(path)):
            return kept
        with open_program(launch.file) as program:
            version = program.shape.binary_version
        table = self._tables.setdefault(version, StaticTable(version))
        prepared = prepare(launch.file, table, self._stop_if_asked, share=self.options.shared_streams)
        if self._cache and path:
            self._cache.store(path, prepared)
        return prepared

    def _context(self, signature: str) -> tuple[str, ...]:
        """What two launches must share to be taken as equal: with a chained L2 also the kernel before them."""
        return (self._previous, signature) if self.options.l2 == "chain" else (signature,)

    def _stop_if_asked(self) -> None:
        if self.should_stop():
            raise Cancelled("stopped on request")


def stand_in(report: KernelReport, launch: Launch, prepared: Prepared) -> KernelReport:
    """An earlier kernel's report as that of an equal launch."""
    original = report.index if report.source == "simulated" else int(report.source.rpartition(" ")[2])
    return replace(
        report,
        index=launch.index,
        uid=launch.uid,
        name=prepared.shape.name,
        stream=prepared.shape.stream,
        source=f"same-as {original}",
        stats=report.stats | {"cascade_same_as": original},
    )


def simulate(
    plan: Plan,
    spec: GpuSpec,
    options: Options | None = None,
    *,
    on_progress: Observer | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[KernelReport]:
    """The kernels of a plan on a GPU, one report each as it is done."""
    yield from Simulation(plan, spec, options or Options(), on_progress, should_stop).kernels()
