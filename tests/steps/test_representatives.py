"""Choosing kernels to simulate: the repeating layer is found, the rest stays, and the step's time stays right."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.representatives import ListedKernel, Plan, Repetition, plan

# A decode layer of eight kernels, and what a real Accel-Sim took for each in three layers (SM86_RTX3070, core cycles).
LAYER = [
    ("rmsnorm", 1, 256, 288), ("gemv", 192, 128, 36096), ("rope", 8, 32, 160), ("attention", 4, 128, 8008),
    ("gemv", 64, 128, 12032), ("gemv", 128, 128, 24064), ("gemv", 128, 128, 24064), ("gemv", 64, 128, 17152),
]  # fmt: skip
CYCLES = [
    6495, 7938, 5534, 24630, 6951, 7333, 7337, 8143,
    6232, 7958, 5534, 24632, 6957, 7296, 7330, 8184,
    6233, 7990, 5534, 24631, 6976, 7325, 7357, 8210,
]  # fmt: skip
LAUNCH_LATENCY_CYCLES = 5000


def listed(*rows: tuple[str, int, int, int]) -> list[ListedKernel]:
    return [
        ListedKernel(index, name, (grid, 1, 1), (block, 1, 1), instructions)
        for index, (name, grid, block, instructions) in enumerate(rows, start=1)
    ]


def letters(text: str) -> list[ListedKernel]:
    return listed(*((letter, 1, 32, 1000) for letter in text))


def estimated(found: Plan, cycles: list[int]) -> int:
    return sum(cycles[found.stands_in.get(index, index) - 1] for index in range(1, len(cycles) + 1))


def test_three_layers_need_two_and_a_half_times_fewer_instructions_and_keep_the_step_time() -> None:
    found = plan(listed(*LAYER * 3))
    assert found.reduction >= 2.5
    launch = LAUNCH_LATENCY_CYCLES * len(CYCLES)
    assert estimated(found, CYCLES) - launch == pytest.approx(sum(CYCLES) - launch, rel=0.02)


@pytest.mark.parametrize(("layers", "least"), [(32, 20), (80, 50)])
def test_a_models_step_needs_as_many_times_fewer_instructions_as_it_has_layers(layers: int, least: int) -> None:
    around = [("embed", 4, 128, 5000)], [("norm", 1, 128, 300), ("lm_head", 64, 128, 60_000)]
    assert plan(listed(*around[0], *LAYER * layers, *around[1])).reduction >= least


def test_the_instance_that_is_simulated_is_not_the_first() -> None:
    found = plan(letters("xabcabcabcabcy"))
    assert found.repetitions == [Repetition(start=1, period=3, times=4)]
    assert found.simulate == [1, 5, 6, 7, 14]


def test_each_kernel_of_a_repetition_has_a_stand_in_of_its_class() -> None:
    text = "xabcabcabcabcy"
    found = plan(letters(text))
    assert found.stands_in == {2: 5, 3: 6, 4: 7, 8: 5, 9: 6, 10: 7, 11: 5, 12: 6, 13: 7}


def test_a_list_without_repetition_is_simulated_in_full() -> None:
    found = plan(letters("abcdefg"))
    assert (found.simulate, found.reduction, found.coverage) == (list(range(1, 8)), 1.0, 1.0)


def test_layers_inside_of_steps_that_repeat_are_found_too() -> None:
    found = plan(letters(("e" + "abc" * 10 + "h") * 5))
    assert len(found.simulate) == 5
    assert {repetition.period for repetition in found.repetitions} == {32, 3}


def test_kernels_of_one_class_inside_of_a_layer_are_simulated_once_unless_told_otherwise() -> None:
    text = "abbc" * 4
    assert len(plan(letters(text)).simulate) == 3
    assert len(plan(letters(text), once_per_class=False).simulate) == 4


def test_kernels_whose_work_differs_are_of_different_classes() -> None:
    growing = listed(*(("attention", 4, 128, 1000 + 100 * step) for step in range(6)))
    assert plan(growing).reduction == 1.0


def test_a_little_noise_in_the_work_makes_no_new_class() -> None:
    assert len(plan(listed(*(("k", 4, 128, 10_000 + step) for step in range(6)))).simulate) == 1


def test_the_kernel_before_the_instance_warms_the_caches_when_it_is_cheap() -> None:
    cheap_last = listed(*[("big", 1, 32, 9000), ("small", 1, 32, 500)] * 4)
    assert plan(cheap_last).warm_up == [2]
    assert plan(letters("ab" * 4)).warm_up == []


def test_what_a_simulator_runs_is_in_launch_order() -> None:
    found = plan(listed(*LAYER * 3))
    assert found.launches() == sorted(found.launches())


def test_an_empty_list_is_a_plan() -> None:
    assert (plan([]).simulate, plan([]).reduction) == ([], 1.0)


@given(st.text("abc", max_size=60))
def test_every_kernel_is_simulated_or_has_a_simulated_kernel_of_its_class(text: str) -> None:
    found = plan(letters(text))
    for index, letter in enumerate(text, start=1):
        stand_in = found.stands_in.get(index, index)
        assert stand_in in found.simulate
        assert text[stand_in - 1] == letter


def test_a_hundred_thousand_kernels_are_planned() -> None:
    chance = random.Random(3)
    text = "".join("E" + "abcdefgh" * 32 + chance.choice("xyz") for _ in range(380))
    assert len(plan(letters(text)).simulate) == 12
