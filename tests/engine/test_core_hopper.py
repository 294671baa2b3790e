"""What Hopper's warps wait for: warpgroup MMAs."""

import io

import pytest

from sims.engine.decode import open_program
from sims.engine.machine import Machine
from sims.engine.results import KernelResult
from sims.gpus import load_shipped
from tests.engine.hopper_texts import ADD, gmma, gmma_wait, kernel

SPEC = load_shipped()["SM90_H100"]
CHAIN_CYCLES = SPEC.units["sp"].latency_cycles + 5


def run(text: str, machine: Machine | None = None) -> KernelResult:
    with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
        return (machine or Machine(SPEC)).run(program)


def cycles(*warps: list[str]) -> int:
    return run(kernel(*warps)).cycles


# ---- warpgroup MMA


def test_a_wait_for_an_mma_ends_when_it_delivers() -> None:
    free, waiting = cycles([gmma(), *[ADD] * 10]), cycles([gmma(), gmma_wait(0), *[ADD] * 10])
    assert waiting - free == pytest.approx(10 * CHAIN_CYCLES, abs=8)


def test_the_last_groups_may_be_left_pending() -> None:
    groups = [gmma(accumulator=24), gmma(accumulator=32), gmma(accumulator=40)]
    work = [ADD] * 60
    first, second, third = (cycles([*groups, gmma_wait(left), *work]) for left in (2, 1, 0))
    assert (second - first, third - second) == (128, 128)  # each takes its unit for N / 2 cycles


def test_an_open_group_is_not_waited_for() -> None:
    work = [ADD] * 60
    assert cycles([gmma(closes=False), gmma_wait(0), *work]) < cycles([gmma(), gmma_wait(0), *work])


def test_an_accumulator_is_a_register_like_any_other() -> None:
    assert cycles([gmma(), gmma()]) - cycles([gmma()]) == 128 + 5
