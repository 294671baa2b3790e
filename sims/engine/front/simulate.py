"""Runs a trace on one GPU: the list's commands in order, kernel after kernel, with the shortcuts asked for."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from sims.engine import codecache
from sims.engine.decode import open_program
from sims.engine.errors import Cancelled, EngineError
from sims.engine.front.ahead import Opener
from sims.engine.front.options import Options
from sims.engine.front.plan import Launch, Plan
from sims.engine.front.prepared import KEPT_CHUNK_INSTRUCTIONS, Prepared
from sims.engine.front.preparer import Preparer
from sims.engine.front.progress import ProgressMeter, SimulationProgress
from sims.engine.front.report import InstructionCounts, KernelReport, report_of
from sims.engine.front.waves import MIN_WAVES, SteadyWaves, completed
from sims.engine.machine import Machine, pool_for
from sims.engine.occupancy import occupancy_of
from sims.engine.parameters import parameters_of
from sims.engine.program import Program
from sims.engine.results import KernelResult
from sims.gpus.spec import GpuSpec
from sims.gpus.support import unsupported
from traces.accelsim import MemcpyCommand, TraceError

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

    _machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        # Machines are made when they are needed; what they cannot be is told of before anything is read.
        parameters_of(self.spec)
        self._meter = ProgressMeter(self.plan.launches, self._tell)
        self._done: dict[tuple[str, ...], KernelReport | Future[KernelReport]] = {}
        self._previous = "start"
        self._own_machines = threading.local()

    @property
    def unsupported(self) -> list[str]:
        """What the configuration asks for and the model lacks."""
        return unsupported(self.spec)

    def kernels(self) -> Iterator[KernelReport]:
        """The kernels in order. Raises :class:`SimulationError`, or ``Cancelled`` when ``should_stop()`` says so."""
        threads = self.options.threads
        pool = pool_for(threads) if threads > 1 else None
        known_before = self.plan.launches if self.options.shortcuts else []
        with Preparer(self.options, known_before, self._stop_if_asked, pool) as preparer:
            if self.options.l2 != "chain" and threads > 1:
                yield from self._in_parallel(preparer)
            else:
                # The first kernel is decoded while the machine is made.
                with self._opener(pool) as opener:
                    self._machine = Machine(self.spec, threads, pool)
                    yield from self._in_order(preparer, opener)

    def _opener(self, pool: ThreadPoolExecutor | None) -> Opener:
        if self.options.shortcuts:
            # For kernels that were too large for the preparer to keep.
            return Opener([], pool, KEPT_CHUNK_INSTRUCTIONS)
        return Opener(self.plan.launches, pool)

    def _in_order(self, preparer: Preparer, opener: Opener) -> Iterator[KernelReport]:
        for step in self.plan.steps:
            self._stop_if_asked()
            self.on_step(step)
            if not isinstance(step, MemcpyCommand):
                with _named(step):
                    report = self._kernel(step, preparer, opener)
                yield report
            elif step.kind == "HtoD":
                self._machine.memcpy_to_device(step.address, step.size_bytes)

    def _in_parallel(self, preparer: Preparer) -> Iterator[KernelReport]:
        """Kernels that share no L2 state run beside each other, one thread each; reports come in order."""
        pending: deque[tuple[Launch, Callable[[], KernelReport]]] = deque()
        with ThreadPoolExecutor(self.options.threads) as pool:
            try:
                for step in self.plan.steps:
                    self._stop_if_asked()
                    self.on_step(step)
                    if isinstance(step, MemcpyCommand):
                        continue
                    while len(pending) > self.options.threads:
                        yield _finished(*pending.popleft())
                    with _named(step):
                        pending.append((step, self._submitted(step, preparer, pool)))
                while pending:
                    yield _finished(*pending.popleft())
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _submitted(self, launch: Launch, preparer: Preparer, pool: ThreadPoolExecutor) -> Callable[[], KernelReport]:
        if not self.options.shortcuts:
            return pool.submit(self._streamed, launch, open_program(launch.file)).result
        prepared = preparer.take(launch)
        key = (prepared.signature,)
        earlier = self._done.get(key) if self.options.same_launches else None
        if isinstance(earlier, Future):
            return lambda: self._stood_in(earlier.result(), launch, prepared)
        opened = open_program(launch.file, chunk_instructions=KEPT_CHUNK_INSTRUCTIONS)
        future = pool.submit(self._simulate, launch, prepared, opened)
        self._done[key] = future
        return future.result

    def _kernel(self, launch: Launch, preparer: Preparer, opener: Opener) -> KernelReport:
        if not self.options.shortcuts:
            return self._streamed(launch, opener.open(launch))
        prepared = preparer.take(launch)
        # With a chained L2, equal launches find equal data only after equal kernels.
        key = (self._previous, prepared.signature) if self.options.l2 == "chain" else (prepared.signature,)
        self._previous = prepared.signature
        earlier = self._done.get(key) if self.options.same_launches else None
        if isinstance(earlier, KernelReport):
            return self._stood_in(earlier, launch, prepared)
        report = self._simulate(launch, prepared, opener.open(launch))
        self._done[key] = report
        return report

    def _streamed(self, launch: Launch, opened: AbstractContextManager[Program]) -> KernelReport:
        """Decoded while it runs: nothing of the kernel is known or kept but what is in flight."""
        with opened as program:
            result = self._run(program, launch)
            counts = InstructionCounts.of(program.statics, program.counts)
            return report_of(result, program.shape, counts, self.spec, index=launch.index, uid=launch.uid)

    def _simulate(self, launch: Launch, prepared: Prepared, opened: AbstractContextManager[Program]) -> KernelReport:
        """A kernel that was decoded before; from ``opened`` again if it was too large to keep."""
        if prepared.program is not None:
            return self._decoded(launch, prepared, prepared.program)
        with opened as program:
            return self._decoded(launch, prepared, program)

    def _decoded(self, launch: Launch, prepared: Prepared, program: Program) -> KernelReport:
        """A kernel of which everything is known before it runs."""
        waves = self._waves(prepared, program)
        if waves is not None:
            result = completed(self._run(waves, launch, waves.ctas_needed), waves)
        else:
            result = self._run(program, launch)
        counts = InstructionCounts.of(prepared.statics, prepared.counts)
        report = report_of(result, prepared.shape, counts, self.spec, index=launch.index, uid=launch.uid)
        if waves is not None and waves.skipped_ctas:
            report.stats["cascade_steady_ctas_left_out"] = waves.skipped_ctas
        return report

    def _waves(self, prepared: Prepared, program: Program) -> SteadyWaves | None:
        """The kernel as one whose steady waves may be left out; None where it has too few of them."""
        wave = occupancy_of(prepared.shape, self.spec).ctas_per_sm * self.spec.sms
        if not self.options.steady_waves or prepared.shape.ctas < MIN_WAVES * wave:
            return None
        return SteadyWaves(program, prepared.facts, wave, self.spec.l2_bytes)

    def _run(
        self, program: Program, launch: Launch, on_ctas_needed: Callable[[int, int], None] | None = None
    ) -> KernelResult:
        """One kernel on the machine, with the L2 as the options want it."""
        name = program.shape.name
        machine = self._machine_of_thread()
        if self.options.l2 != "chain":
            machine.cold()
        if self.options.l2 == "warm":
            with open_program(launch.file) as first:
                machine.run(first, should_stop=self.should_stop)
        with codecache.compiling(self.should_stop):
            result = machine.run(
                program,
                on_progress=lambda progress: self._meter.running(launch, name, progress),
                should_stop=self.should_stop,
                on_ctas_needed=on_ctas_needed,
            )
        self._meter.ended(launch, name, int(result.counters["gpgpu_n_tot_w_icount"]))
        return result

    def _machine_of_thread(self) -> Machine:
        """The one machine where kernels run in order; one for each thread where they run beside each other."""
        if self.options.l2 == "chain" or self.options.threads == 1:
            return self._machine
        if not hasattr(self._own_machines, "machine"):
            self._own_machines.machine = Machine(self.spec)
        machine: Machine = self._own_machines.machine
        return machine

    def _stood_in(self, report: KernelReport, launch: Launch, prepared: Prepared) -> KernelReport:
        """An earlier kernel's report as that of an equal launch."""
        self._meter.ended(launch, prepared.shape.name, 0)
        return replace(
            report,
            index=launch.index,
            uid=launch.uid,
            name=prepared.shape.name,
            stream=prepared.shape.stream,
            source=f"same-as {report.index}",
            stats=report.stats | {"cascade_same_as": report.index},
        )

    def _tell(self, progress: SimulationProgress) -> None:
        if self.on_progress is not None:
            self.on_progress(progress)

    def _stop_if_asked(self) -> None:
        if self.should_stop():
            raise Cancelled("stopped on request")


@contextmanager
def _named(launch: Launch) -> Iterator[None]:
    """Errors inside name the launch."""
    try:
        yield
    except Cancelled:
        raise
    except (EngineError, TraceError, OSError) as error:
        raise SimulationError(launch, error) from error


def _finished(launch: Launch, result: Callable[[], KernelReport]) -> KernelReport:
    with _named(launch):
        return result()


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
