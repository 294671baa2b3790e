"""A trace on a GPU, from the list to the reports. Small traces, the real engine."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sims.engine.errors import Cancelled
from sims.engine.front import (
    KernelReport,
    Options,
    Simulation,
    SimulationError,
    SimulationProgress,
    read_plan,
    simulate,
)
from sims.gpus import load_shipped
from tests.engine.kernel_texts import EXIT, cta, header

SPEC = load_shipped()["SM86_RTX3070"]
EXACT = Options().exact()
BASE = 0x20000000


def kernel_text(base: int, ctas: int = 2) -> str:
    """Each CTA loads a line, waits for it in an addition, and stores it a MiB further up."""
    return header(ctas=ctas) + "".join(
        cta(
            [
                f"0010 ffffffff 1 R4 LDG.E 1 R2 4 1 {base + 128 * i:#x} 4 0 ",
                "0020 ffffffff 1 R5 IADD3 2 R4 R6 0 0 ",
                f"0030 ffffffff 0 STG.E 2 R2 R5 4 1 {base + (1 << 20) + 128 * i:#x} 4 0 ",
                EXIT,
            ]
        )
        for i in range(ctas)
    )


@pytest.fixture
def trace(tmp_path: Path) -> Callable[..., Path]:
    def write(*kernels: str, copies: str = "") -> Path:
        for i, text in enumerate(kernels, start=1):
            (tmp_path / f"kernel-{i}.traceg").write_text(text)
        names = "".join(f"kernel-{i}.traceg\n" for i in range(1, len(kernels) + 1))
        (tmp_path / "kernelslist.g").write_text(copies + names)
        return tmp_path

    return write


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sims.engine.front.decodedcache.default_folder", lambda: tmp_path / "decoded")


def run(path: Path, options: Options = EXACT, **others: object) -> list[KernelReport]:
    return list(simulate(read_plan(path), SPEC, options, **others))  # type: ignore[arg-type]


def test_every_instruction_is_counted_once(trace: Callable[..., Path]) -> None:
    report = run(trace(kernel_text(BASE)))[0]
    assert (report.warp_instructions, report.instructions, report.stats["gpgpu_n_tot_w_icount"]) == (8, 256, 8)


@pytest.mark.parametrize(("gated", "lanes"), [(False, 32), (True, 16)])
def test_thread_instructions_are_lanes_that_are_clocked(trace: Callable[..., Path], gated: bool, lanes: int) -> None:
    path = trace(header(ctas=1) + cta(["0010 0000ffff 1 R4 IADD3 2 R5 R6 0 0 ", EXIT]))
    (report,) = simulate(read_plan(path), SPEC.with_overrides({"clock_gated_lanes": gated}), EXACT)
    assert report.stats["gpgpu_n_tot_thrd_icount"] == lanes + 32


def test_every_sector_is_accounted_for(trace: Callable[..., Path]) -> None:
    stats = run(trace(kernel_text(BASE)))[0].stats
    assert (stats["gpgpu_n_mem_read_global"], stats["gpgpu_n_mem_write_global"], stats["total dram reads"]) == (8, 8, 8)


def test_cycles_hold_the_launch_latency_and_the_time_does_not(trace: Callable[..., Path]) -> None:
    report = run(trace(kernel_text(BASE)))[0]
    assert report.launch_cycles == SPEC.launch_latency_cycles
    assert report.simulated_ns == pytest.approx((report.cycles - report.launch_cycles) * 1e3 / SPEC.core_clock_mhz)


def test_a_chained_l2_keeps_what_kernels_before_it_left(trace: Callable[..., Path]) -> None:
    first, second = run(trace(kernel_text(BASE), kernel_text(BASE)))
    assert (first.l2_hit_rate < second.l2_hit_rate, second.stats["total dram reads"]) == (True, 0)


def test_a_cold_l2_holds_nothing(trace: Callable[..., Path]) -> None:
    first, second = run(trace(kernel_text(BASE), kernel_text(BASE)), Options(l2="cold").exact())
    assert first.cycles == second.cycles


def test_a_warm_l2_holds_the_kernels_own_data(trace: Callable[..., Path]) -> None:
    assert run(trace(kernel_text(BASE)), Options(l2="warm").exact())[0].stats["total dram reads"] == 0


def test_copies_to_the_device_fill_the_l2(trace: Callable[..., Path]) -> None:
    report = run(trace(kernel_text(BASE), copies=f"MemcpyHtoD,{BASE:#x},4096\n"))[0]
    assert report.stats["total dram reads"] == 0


def test_an_equal_launch_is_simulated_once(trace: Callable[..., Path]) -> None:
    elsewhere = kernel_text(BASE + (64 << 20))
    reports = run(trace(kernel_text(BASE), kernel_text(BASE), elsewhere), Options())
    # The second follows another kernel than the first did, so it is simulated; the third is its equal.
    assert [report.source for report in reports] == ["simulated", "simulated", "same-as 2"]
    assert (reports[2].index, reports[2].uid, reports[2].cycles) == (3, 3, reports[1].cycles)


def test_exact_simulates_every_launch(trace: Callable[..., Path]) -> None:
    reports = run(trace(*[kernel_text(BASE)] * 3))
    assert {report.source for report in reports} == {"simulated"}


def test_shortcuts_that_change_no_result_change_no_result(trace: Callable[..., Path]) -> None:
    path = trace(kernel_text(BASE, 300), kernel_text(BASE, 200))
    exact = [report.to_dict() for report in run(path)]
    options = Options(same_launches=False, steady_waves=False)
    assert [report.to_dict() for report in run(path, options)] == exact
    assert [report.to_dict() for report in run(path, options)] == exact, "from the decoded cache"


def copy_warps(base: int) -> list[list[str]]:
    """Eight warps that copy 4 KiB."""
    return [
        [
            f"0010 ffffffff 1 R4 LDG.E.128 1 R2 16 1 {base + 512 * warp:#x} 16 0 ",
            f"0020 ffffffff 0 STG.E.128 2 R2 R4 16 1 {base + (1 << 28) + 512 * warp:#x} 16 0 ",
            EXIT,
        ]
        for warp in range(8)
    ]


def test_a_large_even_grid_leaves_waves_out_and_says_so(trace: Callable[..., Path]) -> None:
    text = header(ctas=5000, threads=256) + "".join(cta(*copy_warps(BASE + 4096 * i)) for i in range(5000))
    path = trace(text)
    exact, quick = run(path)[0], run(path, Options())[0]
    assert quick.stats["cascade_steady_ctas_left_out"] > 0
    assert (quick.instructions, quick.stats["gpu_tot_issued_cta"]) == (exact.instructions, 5000)
    assert quick.cycles == pytest.approx(exact.cycles, rel=0.01)


def test_a_kernel_too_large_to_keep_gives_the_same_result(
    trace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trace(header(ctas=5000, threads=256) + "".join(cta(*copy_warps(BASE + 4096 * i)) for i in range(5000)))
    options = Options(decoded_cache=False, shared_streams=False)
    kept = run(path, options)[0]
    monkeypatch.setattr("sims.engine.front.preparer.KEEP_BYTES", 0)
    assert run(path, options)[0].to_dict() == kept.to_dict()


def test_a_bad_kernel_keeps_the_finished_ones(trace: Callable[..., Path]) -> None:
    finished: list[KernelReport] = []
    path = trace(kernel_text(BASE), kernel_text(BASE)[:-60])
    with pytest.raises(SimulationError, match=r"kernel 2 \(kernel-2\.traceg\): .*cut") as caught:
        finished.extend(simulate(read_plan(path), SPEC, EXACT))
    assert (len(finished), caught.value.index) == (1, 2)


def test_a_missing_kernel_file_is_named(trace: Callable[..., Path]) -> None:
    path = trace(kernel_text(BASE))
    (path / "kernel-1.traceg").unlink()
    with pytest.raises(SimulationError, match=r"kernel-1\.traceg.*cannot be opened"):
        run(path)


def test_a_cta_too_large_for_the_gpu_is_refused(trace: Callable[..., Path]) -> None:
    text = kernel_text(BASE).replace("shmem = 0", "shmem = 999999")
    with pytest.raises(SimulationError, match="shared memory"):
        run(trace(text))


def test_it_stops_when_asked(trace: Callable[..., Path]) -> None:
    with pytest.raises(Cancelled):
        run(trace(kernel_text(BASE)), should_stop=lambda: True)


def test_progress_ends_at_one(trace: Callable[..., Path]) -> None:
    seen: list[SimulationProgress] = []
    run(trace(kernel_text(BASE), kernel_text(BASE)), on_progress=seen.append)
    assert (seen[-1].share, seen[-1].kernels_done, seen[-1].instructions) == (1.0, 2, 16)


def test_an_unknown_opcode_is_named_in_the_report(trace: Callable[..., Path]) -> None:
    report = run(trace(kernel_text(BASE).replace("IADD3", "XYZZY")))[0]
    assert report.unknown_opcodes == {"XYZZY": 2}
    assert report.stats["cascade_unknown_opcode[XYZZY]"] == 2


def test_the_limiter_is_a_phrase(trace: Callable[..., Path]) -> None:
    assert "work to fill the GPU" in run(trace(kernel_text(BASE)))[0].limiter


@pytest.mark.parametrize("l2", ["cold", "warm"])
def test_threads_change_nothing(trace: Callable[..., Path], l2: str) -> None:
    path = trace(*[kernel_text(BASE + 4096 * i, 10 + i) for i in range(4)])
    one, two = (run(path, Options(l2=l2, threads=threads).exact()) for threads in (1, 2))
    assert [report.to_dict() for report in one] == [report.to_dict() for report in two]


def test_kernels_are_announced_in_order(trace: Callable[..., Path]) -> None:
    steps: list[object] = []
    plan = read_plan(trace(kernel_text(BASE), kernel_text(BASE), copies=f"MemcpyHtoD,{BASE:#x},64\n"))
    list(Simulation(plan, SPEC, EXACT, on_step=steps.append).kernels())
    assert steps == list(plan.steps)


def test_threads_leave_out_the_same_waves_of_a_kernel_too_large_to_keep(
    trace: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sims.engine.front.preparer.KEEP_BYTES", 0)
    # The package exports the module's function under the module's name.
    monkeypatch.setattr(sys.modules["sims.engine.front.simulate"], "KEPT_CHUNK_INSTRUCTIONS", 8)
    small = SPEC.with_overrides({"sms": 2, "l2_sets": 16, "l2_ways": 2, "ctas_per_sm": 4})
    path = trace(kernel_text(BASE, ctas=1600))
    one, two = (
        [report.stats for report in simulate(read_plan(path), small, Options(threads=threads))] for threads in (1, 2)
    )
    assert one[0]["cascade_steady_ctas_left_out"] > 0
    assert two == one
