"""The answer of a run in one sentence."""

import pytest

from runs.answer import answer
from sims.gpus import is_captured_gpu

NAMES = {"SM90_H100": "H100 SXM 80 GB", "SM86_RTX3070": "GeForce RTX 3070"}


def test_it_names_the_fastest_config_and_how_far_the_captured_one_is_off() -> None:
    summary = {
        "SM90_H100": {"simulated_ns": 1.0e6, "real_ns": 2.5e6, "error": -0.6},
        "SM86_RTX3070": {"simulated_ns": 2.4e6, "real_ns": 2.5e6, "error": -0.04},
    }
    text = answer(summary, NAMES, "NVIDIA GeForce RTX 3070", 2.5e6)
    assert text == (
        "H100 SXM 80 GB would take 1.00 ms, 2.40× faster than the GeForce RTX 3070 in the same simulation. "
        "Simulated against real on the GeForce RTX 3070: 4.0 % too fast."
    )


def test_it_says_which_values_were_changed() -> None:
    summary = {"SM86_RTX3070": {"simulated_ns": 2e6}, "SM86_RTX3070 sms=80": {"simulated_ns": 1e6}}
    text = answer(summary, dict.fromkeys(summary, "GeForce RTX 3070"), "NVIDIA GeForce RTX 3070", 1.0)
    assert text == (
        "GeForce RTX 3070 with sms=80 would take 1.00 ms, 2.00× faster than the GeForce RTX 3070 in the same simulation."
    )


def test_a_changed_config_is_not_the_gpu_that_was_captured() -> None:
    summary = {"SM86_RTX3070 sms=80": {"simulated_ns": 1e6, "real_ns": 2e6, "error": -0.5}}
    text = answer(summary, dict.fromkeys(summary, "GeForce RTX 3070"), "NVIDIA GeForce RTX 3070", 2e6)
    assert text == (
        "GeForce RTX 3070 with sms=80 would take 1.00 ms, 2.00× faster than the NVIDIA GeForce RTX 3070 it was captured on."
    )


def test_it_says_so_when_nothing_tells_how_far_off_it_is() -> None:
    text = answer({"SM90_H100": {"simulated_ns": 1.0e6, "real_ns": None}}, NAMES, None, None)
    assert "No real times are known" in text


def test_it_is_silent_before_the_first_result() -> None:
    assert answer({"SM90_H100": {"simulated_ns": None}}, NAMES, None, None) == ""


@pytest.mark.parametrize(
    ("gpu", "config", "same"),
    [
        ("NVIDIA GeForce RTX 3070", "GeForce RTX 3070", True),
        ("NVIDIA H100 80GB HBM3", "H100 SXM 80 GB", True),
        ("NVIDIA GeForce RTX 3070", "SM86_RTX3070", True),
        ("NVIDIA A100-SXM4-80GB", "SM80_A100", True),
        ("NVIDIA GeForce RTX 3070 Ti", "SM86_RTX3070", False),
        ("NVIDIA GeForce RTX 3070 Ti", "GeForce RTX 3070", False),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 3070", False),
        ("Tesla V100-SXM2-16GB", "A100 SXM 80 GB", False),
        (None, "A100 SXM 80 GB", False),
    ],
)
def test_it_knows_the_gpu_a_trace_was_captured_on(gpu: str | None, config: str, same: bool) -> None:
    assert is_captured_gpu(gpu, config) is same
