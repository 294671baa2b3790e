"""The machine: what it refuses, what it counts, that it can be stopped, and that it always answers the same."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sims.engine import beside
from sims.engine import machine as machine_module
from sims.engine.chunks import KEPT_CODES, Storage
from sims.engine.decode import open_program
from sims.engine.errors import Cancelled, ConfigurationError, KernelError
from sims.engine.machine import Machine, Progress
from sims.engine.memory import sparse_zeros
from sims.engine.program import STATIC_DTYPE
from sims.engine.results import KernelResult
from sims.gpus import load_shipped
from sims.gpus.spec import UnitTiming
from tests.engine.kernel_texts import EXIT, cta, decode, header

SPEC = load_shipped()["SM86_RTX3070"]
BASE = 0x20000000
ADD = "0010 ffffffff 1 R5 FADD 2 R5 R6 0 0 "
BARRIER = "0020 ffffffff 0 BAR.SYNC 0 0 0 0 "


def load(register: int, address: int) -> str:
    return f"0030 ffffffff 1 R{register} LDG.E 1 R2 4 1 {address:#x} 4 0 "


def store(address: int) -> str:
    return f"0040 ffffffff 0 STG.E 2 R2 R5 4 1 {address:#x} 4 0 "


def run(machine: Machine, text: str, **options: object) -> KernelResult:
    with open_program(io.BytesIO(text.encode()), "kernel-1.traceg") as program:
        return machine.run(program, **options)  # type: ignore[arg-type]


def copy_kernel(ctas: int) -> str:
    return header(ctas=ctas) + "".join(
        cta([load(5, BASE + 128 * i), store(BASE + (1 << 22) + 128 * i), EXIT]) for i in range(ctas)
    )


def test_a_chain_of_dependent_adds_takes_the_closed_form() -> None:
    # (latency + 5) n + 3 with a latency of 2; the exit adds no cycle to an FP32 chain.
    assert run(Machine(SPEC), header() + cta([ADD] * 20 + [EXIT])).cycles == 7 * 20 + 3


def test_every_instruction_is_issued_once() -> None:
    result = run(Machine(SPEC), header(ctas=300) + cta([ADD, ADD, EXIT]) * 300)
    assert result.counters["gpgpu_n_tot_w_icount"] == 900


def test_every_sector_is_accounted_for() -> None:
    counters = run(Machine(SPEC), copy_kernel(500)).counters
    assert counters["L1D_total_cache_accesses"] == 500 * 8
    assert counters["L2_total_cache_accesses"] == counters["icnt_total_pkts_simt_to_mem"] == 500 * 8
    assert counters["icnt_total_pkts_mem_to_simt"] == 500 * 8
    assert counters["n_rd"] == 500 * 4


def test_the_causes_of_all_cycles_add_up_to_one() -> None:
    shares = run(Machine(SPEC), copy_kernel(200)).cycles_by_cause
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["dram"] > shares["dependency"]


def test_the_l2_keeps_what_a_kernel_read_for_the_next() -> None:
    machine = Machine(SPEC)
    first, second = run(machine, copy_kernel(50)), run(machine, copy_kernel(50))
    assert second.counters["n_rd"] == 0
    assert second.cycles < first.cycles


def test_a_copy_from_the_host_fills_the_l2() -> None:
    machine = Machine(SPEC)
    machine.memcpy_to_device(BASE, 50 * 128)
    assert run(machine, copy_kernel(50)).counters["n_rd"] == 0


def test_an_sm_that_had_no_work_meanwhile_begins_with_an_empty_l1() -> None:
    machine = Machine(SPEC)
    counted = [run(machine, text).counters for text in (copy_kernel(SPEC.sms), copy_kernel(1), copy_kernel(SPEC.sms))]
    assert counted[2]["L1D_total_cache_misses"] == counted[0]["L1D_total_cache_misses"] > 0


def test_a_kernel_with_less_l1_does_not_leave_lines_to_one_with_more() -> None:
    machine, text = Machine(SPEC), copy_kernel(SPEC.sms)
    counted = [run(machine, text).counters for text in (text, text.replace("-shmem = 0", "-shmem = 65536"), text)]
    assert counted[2]["L1D_total_cache_misses"] == counted[0]["L1D_total_cache_misses"] > 0


def test_code_that_was_seen_before_is_not_worked_out_again() -> None:
    storage = Storage(SPEC, register_banks=2)
    statics = [decode(header() + cta([ADD] * count + [EXIT]))[0].statics for count in (1, 1)]
    assert storage.code(statics[0]) is storage.code(statics[1])


def test_of_all_code_ever_seen_only_the_latest_is_kept() -> None:
    storage = Storage(SPEC, register_banks=2)
    statics = np.zeros(KEPT_CODES + 1, STATIC_DTYPE)
    first = storage.code(statics[:1])
    for length in range(2, len(statics) + 1):
        storage.code(statics[:length])
    assert storage.code(statics[:1]) is not first


def test_a_cold_machine_has_forgotten_everything() -> None:
    machine = Machine(SPEC)
    first = run(machine, copy_kernel(50))
    machine.cold()
    assert run(machine, copy_kernel(50)) == first


def test_the_same_input_gives_the_same_answer() -> None:
    assert run(Machine(SPEC), copy_kernel(700)) == run(Machine(SPEC), copy_kernel(700))


def test_more_ctas_than_fit_run_in_waves() -> None:
    one = run(Machine(SPEC), header(ctas=SPEC.sms) + cta([ADD] * 50 + [EXIT]) * SPEC.sms).cycles
    many = SPEC.sms * SPEC.ctas_per_sm * 3
    assert run(Machine(SPEC), header(ctas=many) + cta([ADD] * 50 + [EXIT]) * many).cycles > 2 * one


def test_it_refuses_a_cta_that_does_not_fit_and_names_the_resource() -> None:
    text = header(threads=1024).replace("-nregs = 16", "-nregs = 255") + cta(*[[EXIT]] * 32)
    with pytest.raises(KernelError, match=r"does not fit on an SM of SM86_RTX3070 \(registers\)"):
        run(Machine(SPEC), text)


def test_it_reports_a_barrier_that_can_never_be_met() -> None:
    # Warp 1 waits at barrier 0 for 96 threads; the CTA has 64.
    waits = "0020 ffffffff 0 BAR.SYNC 0 0 1 64 "
    with pytest.raises(KernelError, match="CTA 0 waits at a barrier that can no longer be met"):
        run(Machine(SPEC), header(threads=96) + cta([waits, EXIT], [BARRIER, EXIT], [BARRIER, EXIT]))


def test_it_goes_on_after_a_kernel_that_failed() -> None:
    machine = Machine(SPEC)
    text = header(threads=1024).replace("-shmem = 0", "-shmem = 999999") + cta(*[[EXIT]] * 32)
    with pytest.raises(KernelError):
        run(machine, text)
    assert run(machine, header() + cta([EXIT])).cycles == 8


def test_it_stops_on_request() -> None:
    with pytest.raises(Cancelled):
        run(Machine(SPEC), header(ctas=2000) + cta([ADD] * 100 + [EXIT]) * 2000, should_stop=lambda: True)


def test_it_tells_how_far_it_is() -> None:
    seen: list[Progress] = []
    run(Machine(SPEC), header(ctas=2000) + cta([ADD] * 50 + [EXIT]) * 2000, on_progress=seen.append)
    assert [p.instructions for p in seen] == sorted(p.instructions for p in seen)
    assert all(0 <= p.ctas_ended <= p.ctas for p in seen)


def test_another_scheduler_changes_the_order_but_not_the_work() -> None:
    text = header(threads=512) + cta(*[[load(5, BASE + 4096 * w), ADD, ADD, EXIT] for w in range(16)])
    greedy = run(Machine(replace(SPEC, scheduler="gto")), text)
    assert greedy.counters["gpgpu_n_tot_w_icount"] == run(Machine(SPEC), text).counters["gpgpu_n_tot_w_icount"]


def test_a_warp_counts_as_resident_until_its_own_end() -> None:
    alone = run(Machine(SPEC), header() + cta([ADD] * 100 + [EXIT]))
    assert alone.achieved_occupancy == 1 / SPEC.warps_per_sm
    short_beside_long = run(Machine(SPEC), header(threads=64) + cta([EXIT], [ADD] * 100 + [EXIT]))
    assert 1 / SPEC.warps_per_sm < short_beside_long.achieved_occupancy < 1.2 / SPEC.warps_per_sm


def test_it_can_be_stopped_while_its_code_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for_code: list[bool] = []
    monkeypatch.setattr(beside, "collect_sm", lambda: asked_for_code.append(True))
    monkeypatch.setattr(machine_module, "sm_run_address", lambda *_: pytest.fail("compiled after it was stopped"))
    with pytest.raises(Cancelled):
        run(Machine(SPEC), header() + cta([EXIT]), should_stop=lambda: bool(asked_for_code))
    assert asked_for_code == [True]


def test_state_that_does_not_fit_into_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError, match="Unable to allocate 1125899906842624 bytes"):
        sparse_zeros(1 << 50, np.dtype("u1"))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"sms": 513}, "sms is 513; the built-in simulator takes 1 to 512"),
        ({"memory_channels": 512}, "memory_channels x l2_slices_per_channel is 1024;"),
        ({"warps_per_sm": 128}, "warps_per_sm is 128; the built-in simulator takes 1 to 64"),
        ({"l2_slices_per_channel": 16}, "l2_slices_per_channel is 16; the built-in simulator takes 1 to 8"),
        ({"l2_queue": 1000}, "takes 1 to 759"),  # its write-backs would need more packets than a channel has
        ({"units": {**SPEC.units, "dp": UnitTiming(501, 1)}}, "latency of units.dp is 501"),
        ({"dram_bank_groups": 3}, "dram_bank_groups is 3; it must be a power of two"),
        ({"dram_banks": 8}, "dram_banks is 8, but the address mapping's bank bits name 16"),
    ],
)
def test_it_refuses_a_size_beyond_its_range_and_names_it(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Machine(replace(SPEC, **values))


def test_it_refuses_an_address_mapping_it_cannot_read() -> None:
    with pytest.raises(ConfigurationError, match="64 letters"):
        Machine(replace(SPEC, dram_address_map="dramid@8;RRBB"))


def test_it_refuses_to_xor_channels_that_are_no_power_of_two() -> None:
    with pytest.raises(
        ConfigurationError, match="partition_indexing 1 takes a power of two of memory_channels, not 12"
    ):
        Machine(load_shipped()["SM75_RTX2060"].with_overrides({"partition_indexing": 1}))
