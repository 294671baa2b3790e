"""A kernel's result is a function of the trace and the machine's state: not of threads, and not of the day."""

import io
from itertools import cycle
from random import Random
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sims.engine import machine, quantum
from sims.engine.crowding import Crowding
from sims.engine.decode import open_program
from sims.engine.machine import Machine, pool_for
from sims.engine.results import KernelResult
from sims.gpus import GpuSpec, load_shipped
from tests.engine.random_kernels import random_kernel, store_flood


def spec_of(config: str) -> GpuSpec:
    """SMs and channels for several threads to share, and an L2 that writes back."""
    values = {"sms": 14, "memory_channels": 16, "l2_sets": 16, "l2_ways": 2}
    return load_shipped()[config].with_overrides(values)


def run(machine: Machine, *texts: str) -> list[KernelResult]:
    """Kernels one after the other."""
    results = []
    for text in texts:
        with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
            results.append(machine.run(program))
    return results


@settings(max_examples=8, deadline=None)
@given(config=st.sampled_from(["SM86_RTX3070", "SM7_QV100"]), random=st.randoms(use_true_random=True))
def test_threads_change_no_result_of_kernels_in_a_row(config: str, random: Random) -> None:
    texts = [random_kernel(random, max_ctas=60) for _ in range(3)]
    alone = run(Machine(spec_of(config)), *texts)
    assert run(Machine(spec_of(config), threads=2), *texts) == alone
    assert run(Machine(spec_of(config), threads=3), *texts) == alone


def test_threads_change_no_result_of_a_store_flood() -> None:
    # So many stores that request buffers might overflow: SMs and crossbar take turns, a few cycles each.
    spec = spec_of("SM86_RTX3070").with_overrides({"icnt_buffer_packets": 80, "memory_channels": 8})
    texts = [store_flood(42, 12)] * 2
    machine = Machine(spec)
    alone = run(machine, *texts)
    assert machine._memory.ports["ahead_cycle"].any()
    assert run(Machine(spec, threads=2), *texts) == alone
    assert run(Machine(spec, threads=3), *texts) == alone


@settings(max_examples=8, deadline=None)
@given(threads=st.integers(1, 3), random=st.randoms(use_true_random=True))
def test_a_cold_machine_answers_as_it_did_when_it_was_new(threads: int, random: Random) -> None:
    machine = Machine(spec_of("SM86_RTX3070"), threads)
    texts = [random_kernel(random, max_ctas=60) for _ in range(2)]
    first = run(machine, *texts)
    machine.cold()
    assert run(machine, *texts) == first


def test_an_interrupt_between_two_slices_leaves_no_thread_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_for(2)
    machine = Machine(spec_of("SM86_RTX3070"), 2, pool)
    run(machine, store_flood(42, 12))

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(quantum, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(machine, store_flood(42, 12))
    # The helper's thread takes other work only when it has come home.
    assert pool.submit(int).result(timeout=10) == 0


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random=st.randoms(use_true_random=True))
def test_doing_without_helpers_now_and_then_changes_no_result(monkeypatch: pytest.MonkeyPatch, random: Random) -> None:
    texts = [random_kernel(random, max_ctas=60) for _ in range(3)]
    alone = run(Machine(spec_of("SM86_RTX3070")), *texts)
    monkeypatch.setattr(machine, "SLICE_SECONDS", 0.0)
    crowded = cycle([False, True, True])
    monkeypatch.setattr(Crowding, "is_crowded", lambda _: next(crowded))
    assert run(Machine(spec_of("SM86_RTX3070"), threads=2), *texts) == alone


@pytest.mark.parametrize("comes", ["late", "never"])
def test_a_helper_that_has_something_else_to_do_changes_no_result(comes: str) -> None:
    text = store_flood(42, 12)
    (alone,) = run(Machine(spec_of("SM86_RTX3070")), text)
    pool = pool_for(2)
    machine = Machine(spec_of("SM86_RTX3070"), 2, pool)
    busy = Event()
    pool.submit(busy.wait)
    with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
        result = machine.run(program, on_progress=lambda _: busy.set() if comes == "late" else None)
    assert (result, busy.is_set()) == (alone, comes == "late")
    busy.set()
