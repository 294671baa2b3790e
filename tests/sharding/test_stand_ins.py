"""Kernels of a repeating layer are simulated once, and their result stands for the others'."""

from typing import Any

import pytest
from django.test import TestCase

from runs.launch import LaunchRequest, launch
from sims.models import Sim
from sims.models.log import append_log
from sims.models.states import Report
from tests.sharding.test_sharded_sims import block
from traces.models import Trace, TraceKernel, TraceStatus

pytestmark = pytest.mark.django_db
LAYERS, LAYER = 12, ("norm", "qkv", "attention", "mlp")


@pytest.fixture(autouse=True)
def _replay(settings: Any) -> None:
    settings.CASCADE_REPLAY_LOG = __file__  # any file: nothing is replayed here


@pytest.fixture
def sim() -> Sim:
    total = LAYERS * len(LAYER)
    trace = Trace.objects.create(pk="decode", status=TraceStatus.READY, kernels_total=total)
    trace.replace_kernels(
        [
            TraceKernel(
                trace=trace, index=n, name=LAYER[(n - 1) % 4], trace_file=f"kernel-{n}.traceg", grid=[8, 1, 1],
                block=[128, 1, 1], instructions=1000 * ((n - 1) % 4 + 1), real_ns=1000,
            )
            for n in range(1, total + 1)
        ]
    )  # fmt: skip
    with TestCase.captureOnCommitCallbacks(execute=False):
        run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", options={"representatives": True}))
    return run.sims.get()


def finish(sim: Sim) -> Sim:
    Sim.everything.claim(sim.id, "w")
    text = "".join(block(n, 5000 + 100 * n) for n in range(1, len(sim.kernel_indices) + 1))
    append_log(Sim.everything.get(pk=sim.pk), text.encode(), 0, 1)
    sim.heartbeat(Report("finished"))
    return Sim.objects.get(pk=sim.pk)


def test_few_kernels_are_simulated(sim: Sim) -> None:
    assert len(sim.kernel_indices) < 12
    assert sim.stand_ins["reduction"] > 4


def test_every_kernel_has_a_result_in_the_end(sim: Sim) -> None:
    assert finish(sim).kernels.count() == LAYERS * len(LAYER)


def test_a_result_that_stands_in_says_whose_it_is(sim: Sim) -> None:
    done = finish(sim)
    for index, source in done.stand_ins["of"].items():
        kernel = done.kernels.get(index=int(index))
        assert (kernel.source, kernel.cycles) == (f"same-as {source}", done.kernels.get(index=source).cycles)


def test_a_stand_in_is_of_the_same_name(sim: Sim) -> None:
    done = finish(sim)
    names = dict(done.run.trace.kernels.values_list("index", "name"))
    assert all(names[int(index)] == names[source] for index, source in done.stand_ins["of"].items())
