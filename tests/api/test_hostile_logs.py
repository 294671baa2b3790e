"""Whatever a simulator prints is stored, and its numbers never break an answer."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sims.models import Sim
from tests.api.conftest import body_of
from tests.thoroughness import examples

BLOCK = """kernel_name = {name}
kernel_launch_uid = {uid}
kernel_stream_id = {stream}
gpu_sim_cycle = {cycles}
gpu_sim_insn = {instructions}
gpu_ipc =     {ipc}
gpu_tot_sim_cycle = {cycles}
gpu_tot_sim_insn = {instructions}
gpu_occupancy = {ipc}%
L2_total_cache_miss_rate = {ipc}
gpgpu_simulation_time = 0 days, 0 hrs, 0 min, 1 sec (1 sec)
"""
NUMBER = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["nan", "-nan", "inf", "-inf", "1e400", "", "x", "1e5", "0x10", "9" * 400, "-1", "0", "1.5.2"]),
)
NAME = st.text(max_size=40).filter(lambda text: "\n" not in text)


def block(
    name: str = "k", uid: str = "1", stream: str = "0", cycles: str = "7000", instructions: str = "5", ipc: str = "1"
) -> str:
    return BLOCK.format(name=name, uid=uid, stream=stream, cycles=cycles, instructions=instructions, ipc=ipc)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "9" * 30, "9" * 400, "-5", "1e999", "", "text"])
@pytest.mark.parametrize("field", ["uid", "stream", "cycles", "instructions", "ipc"])
def test_no_number_in_a_log_breaks_its_route(
    api: Client, post: Callable[..., Any], sim: Sim, field: str, value: str
) -> None:
    answer = post(f"/api/sims/{sim.id}/logs", {"text": block(**{field: value}) + block(uid="2")})
    assert answer.status_code == 200
    assert post(f"/api/sims/{sim.id}/heartbeat", {"state": "finished"}).status_code == 200
    json.loads(body_of(api.get(f"/api/sims/{sim.id}/results")))


def test_two_blocks_of_the_same_launch_leave_the_last(api: Client, post: Callable[..., Any], sim: Sim) -> None:
    post(f"/api/sims/{sim.id}/logs", {"text": block(cycles="7000") + block(cycles="8000") + "\n"})
    post(f"/api/sims/{sim.id}/heartbeat", {"state": "finished"})
    kernels = json.loads(body_of(api.get(f"/api/sims/{sim.id}/results")))["kernels"]
    assert len({kernel["index"] for kernel in kernels}) == len(kernels)


@settings(max_examples=examples(60, 3000), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(blocks=st.lists(st.tuples(NAME, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER), min_size=1, max_size=4))
def test_no_log_breaks_the_routes_that_read_it(
    api: Client, post: Callable[..., Any], sim: Sim, blocks: list[tuple[str, str, str, str, str, str]]
) -> None:
    Sim.objects.exclude(pk=sim.pk).delete()
    sim = Sim.objects.create(run=sim.run, gpu_config="x", config=sim.config, simulator="replay")
    text = "".join(block(*values) for values in blocks)
    assert post(f"/api/sims/{sim.id}/logs", {"text": text}).status_code == 200
    assert post(f"/api/sims/{sim.id}/heartbeat", {"state": "failed"}).status_code == 200
    of_run = [f"runs/{sim.run_id}/{name}" for name in ("comparison", "kernels", "perfetto")]
    for path in (f"sims/{sim.id}/results", *of_run):
        answer = api.get(f"/api/{path}")
        assert answer.status_code == 200
        json.loads(body_of(answer), parse_constant=pytest.fail)
