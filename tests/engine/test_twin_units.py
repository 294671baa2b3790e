"""The execution units and their plain twin start the same instructions in the same cycles."""

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.engine import units
from sims.engine.jit import Table, compiled
from sims.engine.machine import new_sms
from sims.engine.parameters import parameters_of
from sims.engine.pointers import bundle, rows
from sims.engine.smstate import IN_FLIGHT
from sims.engine.statics import CODE
from sims.engine.trace import Trace
from sims.gpus import load_shipped
from tests.engine.test_twin_collector import SUBCORES, bits, trace_with
from tests.engine.twins.units import ASKING_ORDER, Operation, Units


@compiled
def run_cycle(trace: Trace, sms: Table, now: int) -> None:
    units.units_cycle(trace, sms[0], now)


def wait_for_unit(sm: np.void, code: np.ndarray, subcore: int, pipe: int, operation: Operation) -> None:  # type: ignore[type-arg]
    """Put an instruction without a result register into an operand latch."""
    sm["free_operations"] -= 1
    index = int(sm["free_operation"][sm["free_operations"]])
    code[index]["latency"], code[index]["interval"] = operation.latency, operation.interval
    code[index]["destination"] = -1
    sm["operation"][index]["code"], sm["operation"][index]["warp"] = index, subcore
    sm["operands"][subcore, pipe] = index
    sm["waiting_subcores"][pipe] |= 1 << subcore
    sm["waiting_pipes"] |= 1 << pipe


@settings(max_examples=100, deadline=None)
@given(
    latencies=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    length=st.sampled_from([300, 10, 60]),
    random=st.randoms(use_true_random=True),
)
def test_every_instruction_starts_as_in_the_twin(latencies: list[int], length: int, random: Random) -> None:
    plain = Units(SUBCORES)
    spec = load_shipped()["SM86_RTX3070"].with_overrides({"sms": 1})
    gpu = parameters_of(spec)
    sms, code = new_sms(spec, gpu), np.zeros(IN_FLIGHT, CODE)
    sm = sms[0]
    sm["bus"]["time"] = -1
    arguments = bundle(trace_with(code, spec)), rows(sms)
    coming = random.uniform(0.1, 1)
    for now in range(1, length):
        for place in [(subcore, pipe) for subcore in range(SUBCORES) for pipe in ASKING_ORDER]:
            if place not in plain.waiting and random.random() < coming:
                operation = Operation(random.choice(latencies), random.choice([1, 1, 2, 4]))
                plain.waiting[place] = operation
                wait_for_unit(sm, code, *place, operation)
        plain.cycle(now)
        run_cycle(*arguments, now)
        waiting = {(s, pipe) for pipe in bits(sm["waiting_pipes"]) for s in bits(sm["waiting_subcores"][pipe])}
        assert waiting == set(plain.waiting), now
