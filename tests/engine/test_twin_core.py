"""A whole SM and its plain twin do the same in every cycle: fetch, issue, barriers, units, load/store unit.

Memory is the test: it takes the SM's requests when it likes and answers in any order.
"""

import io
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import ctas
from sims.engine import program as p
from sims.engine import sm as core
from sims.engine.chunks import ChunkStore, Storage
from sims.engine.counters import CACHE_COUNTERS, cache_counters
from sims.engine.decode import open_program
from sims.engine.jit import Record, Table, compiled
from sims.engine.machine import new_sms
from sims.engine.memory import Memory, new_memory
from sims.engine.packets import ATOMIC, BYPASS_LOAD, LOAD, STORE
from sims.engine.parameters import MAX_WARPS, parameters_of
from sims.engine.pointers import bundle, rows, struct
from sims.engine.program import CtaChunk
from sims.engine.running import LAUNCH
from sims.engine.scoreboard import EMPTY
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace
from sims.gpus import GpuSpec, load_shipped
from tests.engine.kernel_texts import EXIT, cta, header
from tests.engine.memory_side import pop, push
from tests.engine.random_kernels import GLOBAL_BASE, WAIT_FOR_COPIES, random_line
from tests.engine.twins.collector import Collector
from tests.engine.twins.core import Core
from tests.engine.twins.fetch import Fetch
from tests.engine.twins.issue import Issue
from tests.engine.twins.l1 import L1
from tests.engine.twins.loadstore import LoadStore, Request
from tests.engine.twins.units import Units
from tests.engine.twins.warps import Operation

KINDS = {
    p.KIND_ALU: "alu", p.KIND_LOAD: "load", p.KIND_STORE: "store", p.KIND_BARRIER: "barrier", p.KIND_BARRIER_ARRIVE: "arrive",
    p.KIND_EXIT: "exit", p.KIND_MEMBAR: "membar", p.KIND_LDGSTS: "copy", p.KIND_LDGDEPBAR: "close", p.KIND_DEPBAR: "wait",
    p.KIND_ATOMIC: "atomic",
}  # fmt: skip
SPACES = {p.SPACE_NONE: "none", p.SPACE_GLOBAL: "global", p.SPACE_SHARED: "shared", p.SPACE_LOCAL: "local"}
PACKETS = {LOAD: "load", STORE: "store", BYPASS_LOAD: "bypass", ATOMIC: "atomic"}
CYCLES = 1500
QUIET_CYCLES = 300
"""Longer than anything takes: where nothing has moved for so long, nothing will."""
GLOBAL_BYTES = 1 << 12


@compiled
def prepare(gpu: Record, sms: Table, launch: Record) -> None:
    ctas.prepare_sms(gpu, sms)
    ctas.clean(gpu, sms[0], launch)


@compiled
def start_cta(trace: Trace, sms: Table, launch: Record, cta: int, now: int) -> None:
    ctas.start_cta(trace, sms[0], launch, cta, now)


@compiled
def run(gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, limit: int) -> Any:
    return core.run(gpu, trace, memory.packets, memory.ports[0], sms[0], launch, limit, False)


class Compiled:
    """The engine's SM, alone on its GPU, with a kernel."""

    def __init__(self, spec: GpuSpec, text: str, l1_ways: int, ctas_per_sm: int) -> None:
        with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
            self.chunks = list(program.chunks())
            self.program = program
        program.chunks = lambda: iter(self.chunks)  # type: ignore[method-assign]
        self.store = ChunkStore(program, Storage(spec, spec.register_banks_per_scheduler))
        self.store.load(program.shape.ctas)
        self.launch = np.zeros(1, LAUNCH)[0]
        self.launch["warps_per_cta"] = program.shape.warps_per_cta
        self.launch["ctas_per_sm"], self.launch["l1_ways"] = ctas_per_sm, l1_ways
        gpu = parameters_of(spec)
        self.memory, self.sms = new_memory(spec), new_sms(spec, gpu)
        self.memory.ports["tight"] = 1  # its request buffer may fill
        self.trace = self.store.trace()
        self.arguments = struct(gpu), bundle(self.trace), bundle(self.memory), rows(self.sms), struct(self.launch)
        prepare(self.arguments[0], self.arguments[3], self.arguments[4])

    @property
    def sm(self) -> np.void:
        return self.sms[0]

    def start_cta(self, number: int, now: int) -> None:
        _, trace, _, sms, launch = self.arguments
        start_cta(trace, sms, launch, number, now)

    def cycle(self, now: int) -> None:
        run(*self.arguments, now + 1)

    def progress(self) -> dict[int, tuple[int, int]]:
        """By slot of a warp that has not ended: instructions left to issue, instructions decoded."""
        sm, live = self.sm, np.flatnonzero(self.sm["warp_state"] != EMPTY)
        return {
            int(w): (int(sm["warp_end"][w]) - int(sm["warp_next"][w]), int(sm["warp_buffered"][w]))
            for w in live
            if int(sm["cta_used"]) >> int(sm["warp_slot"][w]) & 1
        }

    def at_membar(self) -> set[int]:
        """Slots of the warps whose MEMBAR has not ended."""
        return {slot for slot in range(MAX_WARPS) if int(self.sm["membars"]) >> slot & 1}

    def requests(self) -> list[int]:
        """Packets in the SM's request buffer, oldest first."""
        queue, found = self.memory.ports[0]["sent"], []
        index = int(queue["head"])
        for _ in range(queue["count"]):
            found.append(index)
            index = int(self.memory.packets[index]["next"])
        return found

    def describe(self, index: int) -> tuple[str, int, int]:
        """Kind, address, and the mask of those that have one (what a load through the L1 touches does not matter)."""
        packet = self.memory.packets[index]
        kind = PACKETS[int(packet["kind"])]
        return kind, int(packet["address"]), 0 if kind == "load" else int(packet["byte_mask"])

    def take_request(self) -> int:
        return pop(self.memory, self.memory.ports[0]["sent"])

    def reply(self, index: int, now: int) -> None:
        push(self.memory, self.memory.ports[0]["replies"], index, now)

    def operations(self, cta_number: int) -> list[list[Operation]]:
        """What each warp of the CTA runs, in the twin's words."""
        warps = self.program.shape.warps_per_cta
        first = next(chunk for chunk in self.chunks if chunk.first_cta <= cta_number < chunk.first_cta + chunk.ctas)
        at = (cta_number - first.first_cta) * warps
        return [
            [self._operation(first, int(i)) for i in range(start, start + length)]
            for start, length in zip(first.warp_start[at : at + warps], first.warp_length[at : at + warps], strict=True)
        ]

    def _operation(self, chunk: CtaChunk, i: int) -> Operation:
        code, place = self.trace.code[chunk.static_ids[i]], int(chunk.operands[i])
        space = SPACES[int(code["space"])]
        operand: Any = place if place >= 0 else None
        if space in ("global", "local") and operand is not None:
            listed = slice(place + 1, place + 1 + int(chunk.sector_addresses[place]))
            operand = tuple(
                zip(chunk.sector_addresses[listed].tolist(), chunk.sector_masks[listed].tolist(), strict=True)
            )
        return Operation(
            kind=KINDS[int(code["kind"])],
            pipe=int(code["pipe"]),
            latency=int(code["latency"]),
            interval=int(code["interval"]),
            sources=tuple(code["source"][: code["sources"]].tolist()),
            destination=int(code["destination"]) if code["destination"] >= 0 else None,
            space=space,
            bypasses_l1=bool(code["bypasses_l1"]),
            operand=operand,
        )


def twin_of(spec: GpuSpec, l1_ways: int, threads: int) -> Core:
    subcores, slots, banks = spec.schedulers_per_sm, spec.warps_per_sm, spec.register_banks_per_scheduler
    l1 = L1(
        spec.l1_sets,
        l1_ways,
        spec.l1_mshr_entries,
        spec.l1_mshr_merges,
        spec.l1_miss_queue,
        spec.l1_write_ratio_percent,
    )
    loadstore = LoadStore(
        l1=l1,
        l1_latency=spec.l1_latency_cycles,
        l1_banks=spec.l1_banks,
        shared_latency=spec.shared_memory_latency_cycles,
        buffer=spec.icnt_buffer_packets,
        register_banks=banks,
        subcores=subcores,
        threads=threads,
    )
    collector = Collector(subcores, spec.collector_units_per_sm // subcores)
    return Core(Fetch(slots), Issue(subcores, slots), collector, Units(subcores), loadstore, banks, MEMORY_PIPE)


def free_slot(twin: Core, warps: int) -> int:
    """The first slot of the lowest run of ``warps`` free ones, aligned to its length."""
    first = 0
    while any(slot in twin.warps for slot in range(first, first + warps)):
        first += warps
    return first


def random_barrier_line(random: Random, threads: dict[int, int]) -> str:
    """A named barrier; ``threads`` take part in each, the same number wherever it is named (0: all of the CTA)."""
    barrier = random.choice(sorted(threads))
    opcode = random.choice(["BAR.SYNC", "BAR.SYNC", "BAR.ARV"])
    return f"00e0 ffffffff 0 {opcode} 0 0 {barrier} {threads[barrier]} "


def busy_line(random: Random) -> str:
    """Loads and arithmetic that want the write-back slot and the register banks at the same time."""
    register, sources = random.randrange(8, 40), f"R{random.randrange(8, 40)} R{random.randrange(8, 40)}"
    return random.choice(
        [
            f"0010 ffffffff 1 R{register} FADD 2 {sources} 0 0 ",
            f"0020 ffffffff 1 R{register} LDG.E 1 R2 4 1 {GLOBAL_BASE + 128 * random.randrange(8):#x} 4 0 ",
            f"0060 ffffffff 1 R{register} LDS 1 R2 4 1 {128 * random.randrange(4):#x} 4 0 ",
        ]
    )


def random_kernel(random: Random, warps: int, number: int) -> str:
    """CTAs whose barriers may be met or not: where the engine waits for ever, so must the twin."""
    threads = {0: 0, 1: random.choice([0, 32, 64]), 2: random.choice([0, 32, 64])}
    barriers = random.choice([0, 0, 1, 3])
    kinds = [random_line(random, GLOBAL_BYTES) for _ in range(3)]
    style = random.choice(["all", "all", "few kinds", "busy"])

    def line() -> str:
        if style == "few kinds":
            return random.choice(kinds)
        return busy_line(random) if style == "busy" else random_line(random, GLOBAL_BYTES)

    def warp() -> list[str]:
        lines = [line() for _ in range(random.choice([0, 1, 3, 10, 30]))]
        lines += [random_barrier_line(random, threads) for _ in range(barriers)]
        if random.random() < 0.3:
            lines.append("0fe0 0000ffff 0 EXIT 0 0 0 ")
        random.shuffle(lines)
        return [*lines, *WAIT_FOR_COPIES, EXIT]

    return header(ctas=number, threads=32 * warps) + "".join(
        cta(*(warp() for _ in range(warps))) for _ in range(number)
    )


@settings(max_examples=30, deadline=None)
@given(
    config=st.sampled_from(["SM86_RTX3070", "SM75_RTX2060", "SM7_QV100"]),
    sizes=st.fixed_dictionaries(
        {
            "l1_sets": st.sampled_from([1, 4]),
            "l1_mshr_entries": st.sampled_from([3, 12, 256]),
            "l1_mshr_merges": st.sampled_from([1, 3, 8]),
            "l1_miss_queue": st.sampled_from([3, 16]),
            "icnt_buffer_packets": st.sampled_from([2, 8, 512]),
            "shared_memory_latency_cycles": st.sampled_from([3, 20, 29]),
        }
    ),
    ways=st.sampled_from([1, 4, 64]),
    warps=st.integers(1, 8),
    number=st.integers(1, 4),
    random=st.randoms(use_true_random=True),
)
def test_an_sm_does_in_every_cycle_what_its_twin_does(
    config: str, sizes: dict[str, int], ways: int, warps: int, number: int, random: Random
) -> None:
    spec = load_shipped()[config].with_overrides({"sms": 1, "memory_channels": 2, **sizes})
    engine = Compiled(spec, random_kernel(random, warps, number), ways, number)
    twin = twin_of(spec, ways, 32 * warps * number)
    patience, speed, eagerness = random.choice([1, 20, 200]), random.choice([0.2, 1]), random.choice([0.1, 1])
    on_their_way: list[tuple[int, int, Request]] = []  # when they come back, packet, request
    started, moved, before = 0, 0, dict[int, tuple[int, int]]()
    for now in range(1, CYCLES):
        while on_their_way and on_their_way[0][0] <= now:
            _, packet, request = on_their_way.pop(0)
            engine.reply(packet, now)
            twin.loadstore.replies.append((now, request))
        engine.cycle(now)
        twin.cycle(now)
        progress = {warp.slot: (len(warp.operations) - warp.next, warp.buffered) for warp in twin.warps.values()}
        assert engine.progress() == progress, now
        assert engine.at_membar() == {warp.slot for warp in twin.warps.values() if warp.waits_for == "membar"}, now
        requests = [(request.kind, request.address, request.mask) for request in twin.loadstore.requests]
        assert [engine.describe(index) for index in engine.requests()] == requests, now
        if requests and random.random() < speed:
            due = now + random.randint(1, patience)
            on_their_way.append((due, engine.take_request(), twin.loadstore.requests.popleft()))
            on_their_way.sort(key=lambda one: one[0])
        if started < number and random.random() < eagerness:
            engine.start_cta(started, now)
            twin.start_cta(free_slot(twin, warps), engine.operations(started))
            started += 1
        if progress != before or on_their_way:
            moved, before = now, progress
        if started == number and (not twin.warps or now - moved > QUIET_CYCLES):
            break
    outcomes = cache_counters("", "fail", engine.sm["counter"][:CACHE_COUNTERS].tolist())
    if not twin.warps:
        assert {name: value for name, value in outcomes.items() if value} == twin.loadstore.l1.outcomes
