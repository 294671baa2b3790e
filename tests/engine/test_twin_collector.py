"""The operand collector and its plain twin move every instruction in the same cycle."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import collector, issue
from sims.engine.chunks import ChunkStore, Storage
from sims.engine.jit import Record, Table, compiled
from sims.engine.machine import new_sms
from sims.engine.parameters import parameters_of
from sims.engine.pointers import bundle, rows, struct
from sims.engine.smstate import IN_FLIGHT
from sims.engine.statics import CODE, PIPES
from sims.engine.trace import Trace
from sims.engine.units import release_operation, write_bank
from sims.gpus import GpuSpec, load_shipped
from tests.engine.kernel_texts import decode, kernel
from tests.engine.twins.collector import Collector, Instruction

SUBCORES = 4


# Arguments have the types they have in a kernel: another type would be compiled, and kept, apart.


@compiled
def latch(sms: Table, subcore: int, warp: int, pipe: int, code: int) -> Any:
    """An instruction is issued; the number of its record."""
    sm = sms[0]
    issue._latch(sm, subcore, warp, np.uint8(pipe), np.uint16(code), np.int32(-1))
    return np.int64(sm.latch[subcore, pipe])


@compiled
def run_cycle(gpu: Record, trace: Trace, sms: Table, now: int) -> None:
    collector.collector_cycle(gpu, trace, sms[0], now)


@compiled
def write_banks(sms: Table, subcore: int, banks: int, now: int) -> None:
    write_bank(sms[0], subcore, np.uint64(banks), now)


@compiled
def take_operands(sms: Table, subcore: int, pipe: int) -> Any:
    """A unit takes its operand latch; the number of the instruction's record."""
    sm = sms[0]
    index = sm.operands[subcore, pipe]
    collector.operands_taken(sm, subcore, pipe)
    release_operation(sm, index)
    return np.int64(index)


def packed(banks: Counter[int]) -> int:
    """Reads per bank, four bits each."""
    return sum(count << 4 * bank for bank, count in banks.items())


def trace_with(code: np.ndarray[Any, Any], spec: GpuSpec) -> Trace:
    """A trace of nothing but static instructions."""
    program, _ = decode(kernel())
    return ChunkStore(program, Storage(spec, spec.register_banks_per_scheduler)).trace()._replace(code=code)


@settings(max_examples=100, deadline=None)
@given(
    banks=st.sampled_from([2, 4]),
    units=st.integers(1, 4),
    length=st.sampled_from([300, 10, 60, 300]),
    random=st.randoms(use_true_random=True),
)
def test_every_instruction_moves_as_in_the_twin(banks: int, units: int, length: int, random: Random) -> None:
    plain = Collector(SUBCORES, units)
    spec = load_shipped()["SM86_RTX3070"].with_overrides({"sms": 1, "collector_units_per_sm": SUBCORES * units})
    gpu = parameters_of(spec)
    sms, code = new_sms(spec, gpu), np.zeros(IN_FLIGHT, CODE)
    sm = sms[0]
    arguments = struct(gpu), bundle(trace_with(code, spec)), rows(sms)
    names: dict[int, int] = {}  # of the instructions in flight, by record
    pipes, issuing, starting = random.randint(1, PIPES), random.uniform(0.1, 1), random.uniform(0.1, 1)
    for now in range(1, length):
        for place in list(plain.operands):
            if random.random() < starting:
                index = take_operands(arguments[2], *place)
                assert names.pop(index) == plain.operands.pop(place).name
        written = [{random.randrange(banks)} if random.random() < 0.3 else set() for _ in range(SUBCORES)]
        for subcore, taken in enumerate(written):
            write_banks(arguments[2], subcore, sum(1 << 4 * bank for bank in taken), now)
        plain.cycle(written)
        run_cycle(*arguments, now)
        assert sorted(names[i] for i in latched(sm)) == sorted(i.name for i in plain.latches)
        assert collecting(sm, names, units) == [[i and i.name for i in row] for row in plain.collecting]
        assert in_operand_latches(sm, names) == {place: i.name for place, i in plain.operands.items()}
        for subcore in random.sample(range(SUBCORES), SUBCORES):
            pipe = random.randrange(pipes)
            if random.random() < issuing and not any((i.subcore, i.pipe) == (subcore, pipe) for i in plain.latches):
                warp = subcore + SUBCORES * random.randrange(8)
                reads = Counter(random.choices(range(banks), k=random.randint(0, 5)))
                free = int(sm["free_operation"][int(sm["free_operations"]) - 1])
                code[free]["reads"] = packed(reads)
                names[latch(arguments[2], subcore, warp, pipe, free)] = now * SUBCORES + subcore
                plain.latches.append(Instruction(now * SUBCORES + subcore, pipe, subcore, reads))


def bits(mask: int) -> list[int]:
    return [i for i in range(32) if int(mask) >> i & 1]


def latched(sm: np.void) -> list[int]:
    """Records in the latches between issue and collector."""
    return [int(sm["latch"][s, pipe]) for s in range(SUBCORES) for pipe in bits(sm["latch_full"][s])]


def collecting(sm: np.void, names: dict[int, int], units: int) -> list[list[int | None]]:
    """What is in each unit of each sub-core."""
    used = [bits(sm["collector_used"][s]) for s in range(SUBCORES)]
    return [
        [names[int(sm["collector"][s, unit])] if unit in used[s] else None for unit in range(units)]
        for s in range(SUBCORES)
    ]


def in_operand_latches(sm: np.void, names: dict[int, int]) -> dict[tuple[int, int], int]:
    """What waits for its unit, by sub-core and pipe."""
    return {
        (s, pipe): names[int(sm["operands"][s, pipe])]
        for pipe in bits(sm["waiting_pipes"])
        for s in bits(sm["waiting_subcores"][pipe])
    }
