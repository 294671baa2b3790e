"""The log of the built-in simulator reads like Accel-Sim's: the service's parser finds the same numbers in it."""

import io
from pathlib import Path

import pytest

from sims.engine.counters import ACCESS_TYPES, OUTCOMES
from sims.engine.front.logwriter import LogWriter
from sims.engine.front.plan import Launch
from sims.engine.front.report import KernelReport
from sims.gpus import load_shipped
from sims.statlog import KernelBlock, StatLog
from tests.engine.kernel_texts import kernel

SPEC = load_shipped()["SM86_RTX3070"]


def report(uid: int, factor: int, *, stream: int = 0, source: str = "simulated") -> KernelReport:
    caches = ("accesses", "misses", "pending_hits", "reservation_fails")
    counters = {
        "gpu_sim_cycle": 5000 + 100 * factor,
        "gpu_sim_insn": 640 * factor,
        "gpgpu_n_tot_w_icount": 20 * factor,
        "gpgpu_n_tot_thrd_icount": 640 * factor,
        "gpu_tot_issued_cta": factor,
        "total dram reads": 8 * factor,
        "total dram writes": factor,
        "n_act": 2 * factor,
        "n_rd": 8 * factor,
        "n_wr_bk": factor,
        "n_pre": 0,
        "icnt_total_pkts_mem_to_simt": 10 * factor,
        "icnt_total_pkts_simt_to_mem": 10 * factor,
        **{f"L1D_total_cache_{name}": 4 * factor for name in caches},
        **{f"L2_total_cache_{name}": 3 * factor for name in caches},
        **{f"L2_cache_stats_breakdown[{kind}][{outcome}]": factor for kind in ACCESS_TYPES for outcome in OUTCOMES},
    }
    own = {"cascade_limiter": "DRAM latency", "cascade_share_dram": 0.5}
    same = {"cascade_same_as": int(source.split()[1])} if source != "simulated" else {}
    return KernelReport(
        index=uid,
        uid=uid,
        name="_Z4testPKfi",
        stream=stream,
        cycles=5000 + 100 * factor,
        launch_cycles=5000,
        instructions=640 * factor,
        warp_instructions=20 * factor,
        simulated_ns=88.3 * factor,
        occupancy=0.5,
        l1_hit_rate=0.0,
        l2_hit_rate=0.0,
        dram_bytes=9 * 32 * factor,
        source=source,
        limiter="DRAM latency",
        stats=counters | own | same,
    )


def written(*reports: KernelReport, end: bool = True) -> StatLog:
    stream = io.StringIO()
    log = LogWriter(stream, SPEC)
    log.begin({"l2": "chain"}, ["a note"])
    for item in reports:
        log.kernel(item)
    if end:
        log.end()
    parser = StatLog()
    parser.blocks = parser.feed(stream.getvalue().encode())  # type: ignore[attr-defined]
    return parser


def blocks(*reports: KernelReport) -> list[KernelBlock]:
    parser = written(*reports)
    return parser.blocks  # type: ignore[attr-defined, no-any-return]


def test_a_kernel_is_read_back_as_it_was_reported() -> None:
    block = blocks(report(1, 3))[0]
    assert (block.name, block.uids, block.stream, block.cycles, block.instructions, block.occupancy) == (
        "_Z4testPKfi", [1], 0, 5300, 1920, 0.5,
    )  # fmt: skip
    assert block.dram_bytes == 9 * 32 * 3


def test_the_launch_latency_is_known_from_the_options() -> None:
    assert blocks(report(1, 1))[0].launch_cycles == SPEC.launch_latency_cycles


@pytest.mark.parametrize(
    "name", ["gpgpu_n_tot_w_icount", "L1D_total_cache_misses", "n_act", "icnt_total_pkts_mem_to_simt"]
)
def test_counters_grow_over_the_run(name: str) -> None:
    first, second = blocks(report(1, 3), report(2, 5))
    assert second.stats[name] == report(2, 5).stats[name]
    assert second.cumulative[name] == first.cumulative[name] + second.stats[name]


def test_cache_breakdowns_grow_per_stream() -> None:
    found = blocks(report(1, 3, stream=7), report(2, 5, stream=8), report(3, 2, stream=7))
    assert [block.stats["L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]"] for block in found] == [3, 5, 2]


def test_a_stand_in_is_named() -> None:
    assert blocks(report(1, 3), report(2, 3, source="same-as 1"))[1].source == "same-as 1"


def test_what_accelsim_does_not_tell_is_kept() -> None:
    assert blocks(report(1, 1))[0].stats["cascade_share_dram"] == 0.5


def test_a_launch_is_announced_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "kernel-1.traceg").write_text(kernel())
    stream = io.StringIO()
    LogWriter(stream, SPEC).step(Launch(4, 2, tmp_path / "kernel-1.traceg", 1))
    parser = StatLog()
    parser.feed(stream.getvalue().encode())
    assert [(launch.uid, launch.name) for launch in parser.facts.open_launches.values()] == [(2, "_Z4testv")]


def test_the_normal_end_is_recognised() -> None:
    assert (written(report(1, 1)).facts.exit_detected, written(report(1, 1), end=False).facts.exit_detected) == (
        True,
        False,
    )


def test_clocks_and_options_are_read_back() -> None:
    facts = written(report(1, 1)).facts
    assert facts.core_clock_mhz == SPEC.core_clock_mhz
    assert facts.options["gpgpu_n_clusters"] == str(SPEC.sms)


def test_a_name_cannot_break_the_log() -> None:
    stream = io.StringIO()
    LogWriter(stream, SPEC).failure("first\nGPGPU-Sim: *** exit detected ***")
    assert stream.getvalue().count("\n") == 1
