"""Accel-Sim's cycles, point by point: a share of the microbenchmarks in every test run, all of them in the benchmark."""

import csv
from functools import cache
from pathlib import Path

import pytest

from sims.gpus import load_shipped
from tests.benchmarks.engine import run_folder

FOLDER = Path(__file__).parent / "fixtures" / "microbench"
POINTS = list(csv.DictReader((FOLDER / "expected.csv").open()))


@cache
def cycles_of(bench: str, traces: str, config: str) -> list[int]:
    """All kernels of a bench, in order on one machine: caches, open rows and pointers carry over."""
    return run_folder(FOLDER / bench / traces, load_shipped()[config]).cycles


@pytest.mark.parametrize("point", POINTS, ids=[f"{p['bench']}-{p['config']}-{p['kernel']}" for p in POINTS])
def test_it_takes_exactly_accel_sims_cycles(point: dict[str, str]) -> None:
    cycles = cycles_of(point["bench"], point["traces"], point["config"])
    assert cycles[int(point["kernel"]) - 1] == int(point["cycles"]), point["what"]


def test_a_config_without_launch_latency_gives_the_same_cycles_on_the_sm() -> None:
    spec = load_shipped()["SM86_RTX3070"].with_overrides({"launch_latency_cycles": 0})
    assert run_folder(FOLDER / "op_chain" / "sm86", spec).cycles == cycles_of("op_chain", "sm86", "SM86_RTX3070")
