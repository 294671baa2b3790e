"""A simulated GPU: feed it memcpy lines and kernels in the order of the trace."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numba import int64
from numpy.typing import NDArray

from sims.engine import beside, exchange, l2, quantum, scoreboard, sharing
from sims.engine.chunks import ChunkStore, Storage
from sims.engine.cluster import TOO_MANY_MESSAGES
from sims.engine.counters import WARP_INSTRUCTIONS
from sims.engine.crowding import Crowding
from sims.engine.ctas import NO_EXIT, prepare_sms
from sims.engine.errors import Cancelled, KernelError
from sims.engine.far import channel_run_address, sm_run_address
from sims.engine.mbarrier import TOO_MANY_MBARRIERS
from sims.engine.memory import Memory, Networks, new_memory, new_networks, sparse_zeros
from sims.engine.occupancy import Occupancy, occupancy_of
from sims.engine.parameters import MAX_WARPS, parameters_of
from sims.engine.pointers import Pointer, bundle, rows, struct
from sims.engine.program import Program
from sims.engine.results import KernelResult, collect
from sims.engine.running import LAUNCH, Running
from sims.engine.smstate import IN_FLIGHT, LOAD_SLOTS, MBARRIERS, MESSAGES, SM_STATE
from sims.engine.team import TEAM
from sims.engine.threads import MAX_THREADS
from sims.engine.totals import TOTALS, add_up
from sims.gpus.spec import GpuSpec

SLICE_SECONDS = 0.1
"""How long compiled code should run before it looks up; the budget of quanta adapts to it."""


def pool_for(threads: int) -> ThreadPoolExecutor:
    """The threads beside the one that asks for them."""
    return ThreadPoolExecutor(max(1, threads - 1), "engine")


@dataclass(frozen=True)
class Progress:
    """Where a running kernel is."""

    ctas_ended: int
    ctas: int
    instructions: int
    cycles: int


@dataclass
class Machine:
    """One GPU with its caches, open rows and round-robin pointers, which persist over kernels."""

    spec: GpuSpec
    threads: int = 1
    pool: ThreadPoolExecutor | None = None
    """Where the other threads come from. They can do other work first: the simulation counts on those that are there."""

    def __post_init__(self) -> None:
        self._gpu = parameters_of(self.spec)
        self._team = np.zeros(1, TEAM)[0]
        self.threads = min(self.threads, MAX_THREADS)
        self._pool = self.pool or pool_for(self.threads)
        self._crowding = Crowding()
        self._storage = Storage(self.spec, int(self._gpu["register_banks"]))
        self._reset()

    def _reset(self) -> None:
        self._memory: Memory = new_memory(self.spec)
        self._networks: Networks = new_networks(self.spec)
        self._sms = new_sms(self.spec, self._gpu)
        self._hardware = struct(self._gpu), bundle(self._memory), bundle(self._networks)
        self._last_sm = self.spec.sms - 1
        self._cycle = 0
        self._totals = self._add_up()

    @property
    def cycle(self) -> int:
        """Core cycles since the machine was made, launch latencies included."""
        return self._cycle

    def memcpy_to_device(self, address: int, size_bytes: int) -> None:
        """A MemcpyHtoD line: fills L2 tags, costs no time."""
        if self.spec.memcpy_fills_l2 and size_bytes > 0:
            gpu, memory, _ = self._hardware
            l2.copy_from_host(gpu, memory, address, size_bytes, self._cycle)

    def cold(self) -> None:
        """Empty all caches, close all rows, set pointers back: as if the machine were new."""
        self._reset()

    def run(
        self,
        program: Program,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        on_ctas_needed: Callable[[int, int], None] | None = None,
    ) -> KernelResult:
        """Run one kernel to its end.

        ``on_ctas_needed(handed_out, cycle)`` hears when the SMs want CTAs that are not loaded yet; it may shorten the
        program, whose ``shape`` is looked at again after it.

        Raises :class:`KernelError` when it cannot run (then the machine is cold again), ``Cancelled`` when
        ``should_stop()`` says so between two slices of at most about 0.2 s, and what the program's reader raises for a
        bad trace.
        """
        occupancy = occupancy_of(program.shape, self.spec)
        try:
            return self._run(program, occupancy, on_progress, should_stop, on_ctas_needed)
        except BaseException:
            self._reset()
            raise

    def _run(
        self,
        program: Program,
        occupancy: Occupancy,
        on_progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
        on_ctas_needed: Callable[[int, int], None] | None,
    ) -> KernelResult:
        launch = self._start(program, occupancy)
        before = self._totals
        issued_before = int(before["sm"][WARP_INSTRUCTIONS])
        store = ChunkStore(program, self._storage)
        for _ in self._slices(store, launch, on_ctas_needed):
            if should_stop is not None and should_stop():
                raise Cancelled(f"{program.shape.name}: stopped on request")
            if on_progress is not None:
                on_progress(self._progress(program, launch, issued_before))
        self._last_sm = int(launch["last_sm"])
        cycles = int(launch["end"]) + 1
        self._cycle += cycles
        self._totals = self._add_up()
        return collect(program, self.spec, occupancy, cycles, before, self._totals)

    def _compile(self, running: Pointer, trace: Pointer) -> Iterator[None]:
        """Compile what runs kernels, or load it, and stop for the caller in between.

        The SM comes last, since another process may be at it.
        """
        _, memory, networks = self._hardware
        arguments = running.type, memory.type, networks.type, trace.type
        quantum.advance.compile((*arguments, int64))  # type: ignore[attr-defined]
        yield
        if self.threads > 1:
            sharing.help_out.compile((*arguments, int64, int64))  # type: ignore[attr-defined]
        beside.collect_sm()
        yield
        self._gpu["sm_run"] = sm_run_address(running, memory, trace)

    def compile_sm(self, store: ChunkStore) -> None:
        """Compile what runs an SM, for whoever will want it."""
        launch, stopped = np.zeros(1, LAUNCH)[0], np.zeros(self.spec.sms, np.int64)
        running = bundle(Running(self._gpu, self._sms, launch, stopped, self._team))
        sm_run_address(running, self._hardware[1], bundle(store.trace()))

    def _slices(
        self, store: ChunkStore, launch: np.void, on_ctas_needed: Callable[[int, int], None] | None
    ) -> Iterator[None]:
        """Run the kernel to its end, and stop for the caller now and then."""
        stopped = np.zeros(self.spec.sms, np.int64)
        _, memory, networks = self._hardware
        running = bundle(Running(self._gpu, self._sms, launch, stopped, self._team))
        trace = self._load_ctas(store, launch, 0, on_ctas_needed)
        if not self._gpu["sm_run"]:
            yield from self._compile(running, trace)
        budget = 64
        while True:
            began = time.monotonic()
            with self._helpers(running, trace):
                status = quantum.advance(running, memory, networks, trace, budget)
            budget = _next_budget(budget, time.monotonic() - began)
            if status == quantum.ENDED:
                return
            if status == quantum.NEEDS_CTAS:
                # The SM that waits longest for a CTA stopped in this cycle; `launch` only knows the quantum.
                trace = self._load_ctas(store, launch, int(stopped[stopped >= 0].min()), on_ctas_needed)
            elif status != quantum.GOES_ON:
                raise KernelError(self._explain(status, store.program, launch))
            yield

    def _load_ctas(
        self, store: ChunkStore, launch: np.void, cycle: int, on_ctas_needed: Callable[[int, int], None] | None
    ) -> Pointer:
        """Load the next CTAs, which the SMs want in ``cycle``; returns the trace that holds them."""
        if on_ctas_needed is not None:
            on_ctas_needed(int(launch["next_cta"]), cycle)
        store.load(int(launch["next_cta"]) + self.spec.sms)
        launch["loaded"] = store.loaded
        launch["ctas"] = store.program.shape.ctas
        launch["has_clusters"] = store.has_clusters
        return bundle(store.trace())

    @contextmanager
    def _helpers(self, running: Pointer, trace: Pointer) -> Iterator[None]:
        """The other threads, for as long as compiled code runs; it sends them home itself."""
        alone = self.threads == 1 or self._crowding.is_crowded()
        self._team["threads"] = 1 if alone else self.threads
        self._team["arrivals"] = 0
        if alone:
            yield
        else:
            with self._crowding.watch(), self._called_helpers(running, trace):
                yield

    @contextmanager
    def _called_helpers(self, running: Pointer, trace: Pointer) -> Iterator[None]:
        _, memory, networks = self._hardware
        generation = int(self._team["generation"])
        called: list[Future[None]] = []
        try:
            for thread in range(1, self.threads):
                called.append(self._pool.submit(sharing.help_out, running, memory, networks, trace, generation, thread))
            yield
        finally:
            if called and int(self._team["generation"]) == generation:
                # Interrupted before compiled code began: nobody else sends them home. The task is DONE between two runs.
                self._team["generation"] += 1
            for helper in called:
                # Who had something else to do may not have come at all.
                if not helper.cancel():
                    helper.result()

    def _start(self, program: Program, occupancy: Occupancy) -> np.void:
        launch = np.zeros(1, LAUNCH)[0]
        latency = self.spec.launch_latency_cycles
        gpu, memory, networks = self._hardware
        if not self._gpu["channel_run"]:
            self._gpu["channel_run"] = channel_run_address(gpu, memory)
        exchange.idle(gpu, memory, networks, self._cycle, latency)
        self._cycle += latency
        launch["ctas"] = program.shape.ctas
        launch["warps_per_cta"] = occupancy.warps_per_cta
        launch["ctas_per_sm"] = occupancy.ctas_per_sm
        launch["l1_ways"] = occupancy.l1_ways
        launch["last_sm"] = self._last_sm
        launch["start"] = self._cycle
        # One of the load/store unit and one of the L1's misses; a bulk copy sends one per L1 bank (since Hopper).
        launch["packets_per_cycle"] = 1 + (self.spec.l1_banks if program.shape.binary_version >= 90 else 1)
        prepare_sms(gpu, rows(self._sms))
        return launch

    def _add_up(self) -> np.void:
        """All counters as they are now."""
        gpu, memory, _ = self._hardware
        totals = np.zeros(1, TOTALS)[0]
        add_up(gpu, rows(self._sms), memory, self._cycle, struct(totals))
        return totals

    def _progress(self, program: Program, launch: np.void, issued_before: int) -> Progress:
        resident = int(self._sms["resident"].sum())
        instructions = int(self._sms["counter"][:, WARP_INSTRUCTIONS].sum()) - issued_before
        return Progress(int(launch["next_cta"]) - resident, program.shape.ctas, instructions, int(launch["cycle"]))

    def _explain(self, status: int, program: Program, launch: np.void) -> str:
        name = program.shape.name
        if status == quantum.BAD_WARP:
            sm = self._sms[np.flatnonzero(self._sms["error"])[0]]
            if sm["error"] != NO_EXIT:
                return f"{name}: CTA {sm['error_cta']} {_TOO_MUCH[int(sm['error'])]}"
            return f"{name}: warp {sm['error_warp']} of CTA {sm['error_cta']} does not end with EXIT"
        return f"{name}: deadlock at cycle {launch['cycle']}: {_who_waits(self._sms)}"


_TOO_MUCH = {
    TOO_MANY_MBARRIERS: f"needs more mbarriers than the {MBARRIERS} that the model has room for on an SM",
    TOO_MANY_MESSAGES: f"has more than {MESSAGES} operations under way to mbarriers of CTAs that have not started",
}


def _next_budget(budget: int, seconds: float) -> int:
    """Aim at slices of :data:`SLICE_SECONDS`; change by at most a factor of two at a time."""
    wanted = budget * SLICE_SECONDS / max(seconds, 1e-4)
    return int(max(1, min(2 * budget, max(budget // 2, wanted), 1 << 16)))


def _who_waits(sms: NDArray[np.void]) -> str:
    """The first waiting warp, in words."""
    names = {
        scoreboard.AT_BARRIER: "at a barrier that can no longer be met",
        scoreboard.COPY_WAIT: "for asynchronous copies that never complete",
        scoreboard.GMMA_WAIT: "for warpgroup matrix operations that never complete",
        scoreboard.MBARRIER_WAIT: "for an mbarrier phase that never completes",
    }
    for sm in sms:
        for warp in np.flatnonzero(sm["warp_state"]):
            state = int(sm["warp_state"][warp])
            slot = int(sm["warp_slot"][warp])
            if state in names and sm["cta_used"] >> np.uint64(slot) & np.uint64(1):
                return f"a warp of CTA {sm['cta_number'][slot]} waits {names[state]}"
    return "no warp can issue and nothing is under way"


def new_sms(spec: GpuSpec, gpu: np.void) -> NDArray[np.void]:
    """SMs without work, most of whose memory has not been touched yet."""
    sms = sparse_zeros(spec.sms, SM_STATE)
    subcores = int(gpu["subcores"])
    sms["index"] = np.arange(spec.sms)
    sms["warp_subcore"] = np.arange(MAX_WARPS) % subcores
    sms["warp_phase"] = np.arange(MAX_WARPS) % int(gpu["register_banks"])
    # The first warp a scheduler looks at is its first one: the search starts after the last.
    sms["last_issued"] = spec.warps_per_sm - 1
    sms["fetched"] = -1
    sms["free_operation"] = np.arange(IN_FLIGHT)
    sms["free_operations"] = IN_FLIGHT
    sms["dispatching"] = sms["write_back"] = sms["bypass_reply"] = -1
    sms["free_loads"] = LOAD_SLOTS
    sms["mbarrier_first"] = -1
    return sms
