"""A sim in shards is one sim to everybody who looks at it."""

from typing import Any

import pytest
from django.test import TestCase
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.lost import merge_forgotten
from sims.models import Sim, SimFile
from sims.models.log import append_log, read_log
from sims.models.states import Report
from sims.sharding import finish, make_shards
from sims.supervision import post_timeline
from tests.pages.conftest import make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _replay(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CASCADE_REPLAY_LOG = __file__  # any file: nothing is replayed here
    monkeypatch.setattr("sims.sharding._hand_to_finish", finish)


@pytest.fixture
def whole() -> Sim:
    trace = make_trace("long", kernels=8)
    with TestCase.captureOnCommitCallbacks(execute=False):
        run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", options={"shards": 4, "l2": "cold"}))
    return run.sims.get()


def block(uid: int, cycles: int = 6000) -> str:
    return (
        f"kernel_name = kernel_{uid} \nkernel_launch_uid = {uid} \ngpu_sim_cycle = {cycles}\n"
        f"gpu_sim_insn = 100\ngpgpu_silicon_slowdown = 1x\n"
    )


def work(shard: Sim, state: str = "finished", detail: str | None = None) -> None:
    """Play the runner of one shard."""
    with TestCase.captureOnCommitCallbacks(execute=True):
        Sim.everything.claim(shard.id, f"worker-{shard.position}")
        shard.heartbeat(Report("running", attempt=shard.attempt))
    text = f"shard {shard.position}\n" + "".join(block(n) for n in range(1, len(shard.kernel_indices) + 1))
    append_log(Sim.everything.get(pk=shard.pk), text.encode(), 0, shard.attempt)
    with TestCase.captureOnCommitCallbacks(execute=True):
        shard.heartbeat(Report(state, attempt=shard.attempt, detail=detail))


def shards_of(whole: Sim) -> list[Sim]:
    return list(whole.shards)


def fresh(sim: Sim) -> Sim:
    return Sim.everything.get(pk=sim.pk)


def test_its_shards_share_out_its_kernels(whole: Sim) -> None:
    assert [index for shard in shards_of(whole) for index in shard.kernel_indices] == list(range(1, 9))


def test_a_run_shows_one_sim(whole: Sim) -> None:
    assert len(Run.objects.with_sims().get().sims.all()) == 1


def test_it_runs_as_soon_as_a_shard_does(whole: Sim) -> None:
    Sim.everything.claim(shards_of(whole)[1].id, "w")
    assert fresh(whole).status == "running"
    assert Run.objects.get().status == "running"


def test_its_results_are_all_kernels_whatever_order_shards_end_in(whole: Sim) -> None:
    for shard in reversed(shards_of(whole)):
        work(shard)
    done = fresh(whole)
    assert (done.status, done.kernels_done, done.cycles) == ("finished", 8, 8 * 6000)
    assert list(done.kernels.order_by("index").values_list("index", flat=True)) == list(range(1, 9))


def test_its_log_is_the_shards_logs_in_their_order(whole: Sim) -> None:
    for shard in reversed(shards_of(whole)):
        work(shard)
    done = fresh(whole)
    log = b"".join(read_log(done, done.attempt, 0, done.log_bytes)).decode()
    assert [line for line in log.splitlines() if line.startswith("shard ")] == [f"shard {n}" for n in range(4)]


def test_its_step_timeline_is_over_all_shards_kernels(whole: Sim) -> None:
    rows = [{"name": "k", "duration_ns": 1, "start_ns": index, "trace_kernel": index} for index in range(1, 9)]
    whole.run.trace.set_real_times({}, {}, rows)
    for shard in shards_of(whole):
        work(shard)
    post_timeline(fresh(whole))
    assert fresh(whole).step_timeline.comparison["coverage"] == 1


def test_its_files_carry_their_shards_number(whole: Sim) -> None:
    first = shards_of(whole)[0]
    SimFile.objects.create(sim=first, name="stderr.txt", size_bytes=1, sha256="0", content_type="text/plain", key="k")
    for shard in shards_of(whole):
        work(shard)
    assert [file.name for file in fresh(whole).files.all()] == ["shard-1.stderr.txt"]


def test_it_fails_with_the_shard_that_failed_and_keeps_what_is_there(whole: Sim) -> None:
    shards = shards_of(whole)
    work(shards[0])
    work(shards[1], "failed", "kernel-3 is cut")
    done = fresh(whole)
    assert (done.status, done.detail) == ("failed", "Shard 2 of 4: kernel-3 is cut")
    assert [fresh(shard).status for shard in shards[2:]] == ["cancelled", "cancelled"]
    assert done.kernels.count() == len(shards[0].kernel_indices + shards[1].kernel_indices)


def test_cancelling_it_while_queued_cancels_it_at_once(whole: Sim) -> None:
    whole.request_stop()
    assert fresh(whole).status == "cancelled"


def test_cancelling_it_at_work_stops_every_shard(whole: Sim) -> None:
    shard = shards_of(whole)[0]
    Sim.everything.claim(shard.id, "w")
    whole.request_stop()
    assert fresh(whole).stop_requested
    assert fresh(shard).heartbeat(Report("running"))


def test_a_lost_shard_is_tried_again_by_itself(whole: Sim) -> None:
    shards = shards_of(whole)
    Sim.everything.claim(shards[0].id, "w")
    assert fresh(shards[0]).give_up(1, "The runner died")
    for shard in shards_of(whole):
        work(shard)
    assert fresh(whole).status == "finished"
    assert fresh(whole).attempt == 1


def test_a_merge_that_was_cut_short_is_taken_up_again(whole: Sim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sims.sharding._hand_to_finish", lambda whole_id: None)
    for shard in shards_of(whole):
        work(shard)
    assert fresh(whole).status == "running"
    monkeypatch.setattr("sims.tasks.finish_whole.delay", finish)
    merge_forgotten()
    assert fresh(whole).status == "finished"


def test_under_a_chained_l2_kernels_before_a_shard_warm_it_and_are_thrown_away() -> None:
    trace = make_trace("even", kernels=8)
    run = launch(trace, LaunchRequest(["SM80_A100"], simulator="replay", options={"shards": 1}))
    sim = run.sims.get()
    sim.options = {}
    kernels = [*trace.kernels.order_by("index")]
    for kernel, instructions in zip(kernels, (100, 100, 100, 10, 100, 100, 100, 10), strict=True):
        kernel.instructions = instructions
    second = make_shards(sim, kernels, 2)[1]
    assert second.warm_up_indices == second.kernel_indices[: len(second.warm_up_indices)]
    assert second.warm_up_indices


@settings(max_examples=20, deadline=None)
@given(work=st.lists(st.integers(1, 1000), min_size=1, max_size=30), shards=st.integers(1, 12))
def test_no_kernel_is_in_two_shards_and_none_is_left_out(work: list[int], shards: int) -> None:
    from traces.models import TraceKernel

    kernels = [TraceKernel(index=n, grid=[1, 1, 1], block=[1, 1, 1], instructions=w) for n, w in enumerate(work, 1)]
    made = make_shards(Sim(run=Run(), options={"l2": "cold"}), kernels, shards)
    if made:
        assert [index for shard in made for index in shard.kernel_indices] == [kernel.index for kernel in kernels]


def test_it_was_computed_with_what_its_shards_were(whole: Sim) -> None:
    for number, shard in enumerate(shards_of(whole)):
        Sim.everything.filter(pk=shard.pk).update(software={"engine": "a", "numba": "0.68.0" if number else "0.68.1"})
        work(shard)
    assert fresh(whole).software == {"engine": "a", "numba": "0.68.0, 0.68.1"}
