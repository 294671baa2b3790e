"""A signed-in browser, and a run with results to look at."""

from typing import Any

import pytest
from django.test import Client, RequestFactory

from cascade_site.auth import sign_in_code
from cascade_site.packing import packed
from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.models import SimKernel
from sims.models.states import Report
from traces.models import Trace, TraceKernel, TraceStatus

CONFIGS = ["SM86_RTX3070", "SM80_A100"]


@pytest.fixture(autouse=True)
def _database(db: None, settings: Any) -> None:
    settings.CASCADE_REPLAY_LOG = __file__  # any file: nothing is replayed here


@pytest.fixture
def browser() -> Client:
    client = Client()
    assert client.get("/sign-in", {"code": sign_in_code()}).status_code == 302
    return client


@pytest.fixture
def rf() -> RequestFactory:
    return RequestFactory()


def make_trace(name: str = "decode", kernels: int = 3, **values: Any) -> Trace:
    trace = Trace.objects.create(
        pk=name, status=TraceStatus.READY, kernels_total=kernels, gpu="NVIDIA GeForce RTX 3070", **values
    )
    trace.replace_kernels(
        [
            TraceKernel(
                trace=trace,
                index=n,
                name=f"kernel_{n % 2}",
                trace_file=f"kernel-{n}.traceg",
                grid=[n, 1, 1],
                block=[128, 1, 1],
                real_ns=1000 * n,
            )
            for n in range(1, kernels + 1)
        ]
    )
    trace.real_ns = sum(1000 * n for n in range(1, kernels + 1))
    trace.save()
    return trace


def finish(run: Run, factor: float = 1.1) -> None:
    """Give every sim a result for each kernel, ``factor`` times its real time, and end it."""
    for sim in run.sims.all():
        SimKernel.objects.bulk_create(
            [
                SimKernel(
                    sim=sim,
                    index=kernel.index,
                    launch_uid=kernel.index,
                    name=kernel.name,
                    cycles=6000,
                    launch_cycles=5000,
                    instructions=32_000,
                    ipc=5.3,
                    simulated_ns=factor * kernel.real_ns,
                    stats_packed=packed({"gpu_sim_cycle": 6000}),
                )
                for kernel in run.trace.kernels.all()
            ]
        )
        sim.heartbeat(Report("finished", kernels_done=run.trace.kernels_total))


@pytest.fixture
def trace() -> Trace:
    return make_trace()


@pytest.fixture
def run(trace: Trace) -> Run:
    return launch(trace, LaunchRequest(CONFIGS, simulator="replay", name="first"))


@pytest.fixture
def finished(run: Run) -> Run:
    finish(run)
    return Run.objects.get(pk=run.pk)
