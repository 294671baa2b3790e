"""Two runners, a network that repeats and reorders: what is stored is always a prefix of the truth."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cascade_site.errors import Conflict
from runs.launch import LaunchRequest, launch
from sims.models import Sim
from sims.models.log import append_log, compact_log, read_log
from tests.api.conftest import make_trace
from tests.thoroughness import examples
from traces.models import Trace

TRUTH = bytes(range(256)) * 4
SPAN = st.tuples(st.integers(0, len(TRUTH)), st.integers(1, 300))


@pytest.fixture
def shared_sim(db: Any, settings: Any) -> Sim:
    settings.CASCADE_REPLAY_LOG = __file__
    trace = Trace.objects.filter(pk="logs").first() or make_trace("logs", 1)
    return launch(trace, LaunchRequest(["SM86_RTX3070"], simulator="replay")).sims.get()


def another(sim: Sim, attempt: int = 1) -> Sim:
    """A fresh sim of the same run."""
    return Sim.objects.create(run=sim.run, gpu_config="x", config=sim.config, simulator="replay", attempt=attempt)


@settings(max_examples=examples(50, 10_000), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(sends=st.lists(st.tuples(SPAN, st.booleans(), st.booleans()), max_size=15))
def test_the_stored_log_is_a_prefix_of_the_truth(
    shared_sim: Sim, sends: list[tuple[tuple[int, int], bool, bool]]
) -> None:
    sim = another(shared_sim, attempt=2)
    for (offset, size), is_stale, compacts in sends:
        before = Sim.objects.get(pk=sim.pk).log_bytes
        data = TRUTH[offset : offset + size]
        try:
            after = append_log(sim, data, offset, 1 if is_stale else 2)
        except Conflict as refusal:
            assert is_stale or offset > before
            after = refusal.facts["size_bytes"]
            assert after == before
        else:
            assert after == max(before, offset + len(data))
        if compacts:
            compact_log(Sim.objects.get(pk=sim.pk))
    size_bytes = Sim.objects.get(pk=sim.pk).log_bytes
    assert b"".join(read_log(sim, 2, 0, size_bytes + 1)) == TRUTH[:size_bytes]


@settings(max_examples=examples(20, 1000), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(cuts=st.lists(st.integers(1, len(TRUTH) - 1), max_size=8), span=SPAN)
def test_any_range_of_a_log_is_read_across_its_pieces(shared_sim: Sim, cuts: list[int], span: tuple[int, int]) -> None:
    sim = another(shared_sim)
    edges = sorted({0, *cuts, len(TRUTH)})
    for number, (start, end) in enumerate(pairwise(edges)):
        append_log(sim, TRUTH[start:end], None, None)
        if number == 2:
            compact_log(Sim.objects.get(pk=sim.pk))
    start, end = span[0], sum(span)
    assert b"".join(read_log(sim, 1, start, end)) == TRUTH[start:end]
