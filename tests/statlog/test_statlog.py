"""The incremental parser over small made logs and a real one."""

import json
import lzma
from csv import DictReader
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sims.statlog import KernelBlock, StatLog
from tests.conftest import FIXTURES

BANNER = """Accel-Sim [build accelsim-commit-73f9fac_modified_0.0]
        *** GPGPU-Sim Simulator Version 4.2.0  [build gpgpu-sim_git-commit-667834cf_modified_0.0] ***
GPGPU-Sim: Configuration options:

-gpgpu_kernel_launch_latency                 5000 #
-gpgpu_deadlock_detect                    1 # Stop the simulation at deadlock (1=on (default), 0=off)
DRAM Timing Options:
nbk                                    16 # number of banks
GPGPU-Sim uArch: clock freqs: 1132000000.000000:1132000000.000000:1132000000.000000:3500500000.000000
"""
EXIT = "GPGPU-Sim: *** simulation thread exiting ***\nGPGPU-Sim: *** exit detected ***\n"


def stats_block(
    uids: str = "1",
    names: str = "_Z4axpyf",
    stream: str | None = "0",
    cycles: int = 6000,
    total: int = 100,
    **lines: Any,
) -> str:
    """A short stats block; ``total`` is gpu_tot_sim_insn, ``lines`` are further statistics."""
    head = [f"kernel_name = {names} ", f"kernel_launch_uid = {uids} "]
    head += [f"kernel_stream_id = {stream}"] if stream is not None else []
    body = [f"gpu_sim_cycle = {cycles}", "gpu_sim_insn = 100", f"gpu_tot_sim_insn = {total}"]
    body += [f"{name} = {value}" for name, value in lines.items()]
    return "\n".join([*head, *body, "gpgpu_silicon_slowdown = 97796x", ""])


def parse(text: str) -> list[KernelBlock]:
    log = StatLog()
    return log.feed(text.encode()) + log.finish()


def only(text: str) -> KernelBlock:
    (block,) = parse(text)
    return block


@pytest.fixture(scope="module")
def babelstream() -> bytes:
    return lzma.decompress((FIXTURES / "statlog" / "babelstream_SM86_RTX3070.log.xz").read_bytes())


# What a block says


def test_a_block_gives_cycles_instructions_and_identity() -> None:
    block = only(BANNER + stats_block())
    assert (block.name, block.launch_uid, block.stream) == ("_Z4axpyf", 1, 0)
    assert (block.cycles, block.instructions, block.launch_cycles) == (6000, 100, 5000)


def test_counters_become_differences_and_the_printed_value_is_kept() -> None:
    first, second = parse(
        BANNER + stats_block(gpgpu_n_mem_read_global=40) + stats_block("2", total=200, gpgpu_n_mem_read_global=100)
    )
    assert (first.stats["gpgpu_n_mem_read_global"], second.stats["gpgpu_n_mem_read_global"]) == (40, 60)
    assert second.cumulative["gpgpu_n_mem_read_global"] == 100


@pytest.mark.parametrize(
    "name",
    ["gpu_ipc", "gpu_tot_sim_cycle", "maxmflatency", "averagemflatency", "gpgpu_simulation_time", "cascade_tail"],
)
def test_what_is_no_counter_stands_as_printed(name: str) -> None:
    printed = "0 days, 0 hrs, 0 min, 7 sec (7 sec)" if name.endswith("time") else "7"
    lines = {name: printed}
    assert parse(BANNER + stats_block(**lines) + stats_block("2", total=200, **lines))[1].stats[name] == 7


def test_a_ratio_with_a_decimal_point_stands_as_printed() -> None:
    blocks = parse(BANNER + stats_block(bwutil=0.5) + stats_block("2", total=200, bwutil=0.75))
    assert blocks[1].stats["bwutil"] == 0.75


def test_cache_outcomes_are_counted_per_stream() -> None:
    line = "L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]"
    blocks = parse(
        BANNER
        + stats_block("1", stream="7", **{line: 50})
        + stats_block("2", stream="8", total=200, **{line: 30})
        + stats_block("3", stream="7", total=300, **{line: 60})
    )
    assert [block.stats[line] for block in blocks] == [50, 30, 10]


def test_hit_rates_and_dram_bytes_are_the_kernels_own() -> None:
    def counts(accesses: int, misses: int) -> dict[str, int]:
        dram = {"total dram reads": misses, "total dram writes": 0}
        return {"L2_total_cache_accesses": accesses, "L2_total_cache_misses": misses, **dram}

    second = parse(BANNER + stats_block(**counts(100, 100)) + stats_block("2", total=200, **counts(200, 125)))[1]
    assert (second.l2_hit_rate, second.dram_bytes) == (0.75, 25 * 32)
    assert second.stats["L2_total_cache_miss_rate"] == 0.25


def test_lines_of_a_dram_channel_carry_its_number() -> None:
    text = "DRAM[3]: 16 bks, busW=2 BL=16\nn_cmd=9 n_nop=8\ntotal_CMD = 9 \nmrqq: max=2 avg=0.5\n"
    text += "========= L2 cache stats =========\nL2_total_cache_misses = 1\n"
    block = only(BANNER + stats_block().replace("gpgpu_silicon", text + "gpgpu_silicon"))
    assert block.stats.items() >= {"DRAM[3].n_cmd": 9, "DRAM[3].total_CMD": 9, "DRAM[3].mrqq.max": 2}.items()
    assert block.stats["L2_total_cache_misses"] == 1


def test_table_cells_carry_heading_row_and_column_and_leave_zeros_out() -> None:
    text = "number of total read accesses:\ndram[0]:         0        16 \ndram[1]:      none        4 \n"
    block = only(BANNER + stats_block().replace("gpgpu_silicon", text + "gpgpu_silicon"))
    cells = {name: value for name, value in block.stats.items() if name.startswith("number of")}
    assert cells == {"number of total read accesses[0][1]": 16, "number of total read accesses[1][1]": 4}


def test_the_same_as_line_names_the_source() -> None:
    assert only(BANNER + stats_block(cascade_same_as=1)).source == "same-as 1"


def test_the_built_in_simulators_words_are_kept() -> None:
    text = "Cascade built-in simulator [SM86_RTX3070: GeForce RTX 3070]\n"
    text += stats_block(cascade_limiter="DRAM bandwidth", cascade_tail="0.5").replace(
        "gpgpu_silicon_slowdown = 97796x\n", ""
    )
    log = StatLog()
    (block,) = log.feed((text + "cascade: ERROR kernel-2.traceg is cut.\n").encode())
    assert (block.texts, block.stats["cascade_tail"]) == ({"cascade_limiter": "DRAM bandwidth"}, 0.5)
    assert log.facts.own_error == "kernel-2.traceg is cut."


def test_a_fork_prints_each_kernels_own_cycles() -> None:
    line = "gpgpu_sim::update_stats() last_streamID=0, last_uid=2, start_cycle=9, sim cycle for this kernel is 10"
    block = only(BANNER + stats_block("1 2", "a b").replace("gpgpu_silicon", line + "\ngpgpu_silicon"))
    assert block.cycles_by_uid == {2: 10}


# Names, uids, streams


def test_several_kernels_in_one_block_share_its_cycles() -> None:
    block = only(BANNER + stats_block("1 3", "_Z5saxpyi _Z5saxpyi"))
    assert (block.names, block.uids) == (["_Z5saxpyi", "_Z5saxpyi"], [1, 3])


def test_an_idle_interval_is_no_kernel() -> None:
    log = StatLog()
    (block,) = log.feed((BANNER + stats_block("", "")).encode())
    assert (block.is_kernel, block.launch_uid, block.name, log.facts.kernels) == (False, None, "", 0)


def test_a_name_may_hold_blanks() -> None:
    assert only(BANNER + stats_block("1", "void gemm<float, 4>(float*, int)")).names == [
        "void gemm<float, 4>(float*, int)"
    ]


def test_launch_lines_tell_names_with_blanks_apart() -> None:
    launches = "launching kernel name: f(int, int) uid: 1\nlaunching kernel name: g uid: 2 cuda_stream_id: 0\n"
    assert only(BANNER + launches + stats_block("1 2", "f(int, int) g")).names == ["f(int, int)", "g"]


@pytest.mark.parametrize("garbage", ["140340347922992", "18446744073709551615", "-1", ""])
def test_a_garbage_stream_is_unknown(garbage: str) -> None:
    assert only(BANNER + stats_block(stream=garbage)).stream is None


def test_a_launch_line_vouches_for_a_pointer_as_stream() -> None:
    launch = "launching kernel name: _Z4axpyf uid: 1 cuda_stream_id: 93864869445264\n"
    assert only(BANNER + launch + stats_block(stream="93864869445264")).stream == 93864869445264


def test_cycle_counts_without_names_are_blocks_of_their_own() -> None:
    blocks = parse("gpu_sim_cycle = 11080\nSHRD-1: 25\ngpu_sim_cycle = 12676\n")
    assert [(block.names, block.cycles) for block in blocks] == [(None, 11080), (None, 12676)]


def test_a_longer_key_with_the_same_beginning_is_not_the_cycle_count() -> None:
    assert only(BANNER + stats_block(gpu_sim_cycle_parition_util=457494)).cycles == 6000


# Where a block ends


def test_a_block_is_handed_out_at_its_last_line() -> None:
    assert len(StatLog().feed((BANNER + stats_block()).encode())) == 1


def test_an_older_simulators_block_ends_at_the_next_launch() -> None:
    text = stats_block().replace("gpgpu_silicon_slowdown = 97796x\n", "gpgpu_simulation_rate = 5 (cycle/sec)\n")
    log = StatLog()
    assert log.feed((BANNER + text).encode()) == []
    assert len(log.feed(b"GPGPU-Sim PTX: pushing kernel 'a' to stream 0\n")) == 1


def test_a_block_that_the_log_cuts_is_marked_incomplete() -> None:
    text = stats_block().partition("gpgpu_silicon")[0]
    log = StatLog()
    log.feed((BANNER + text).encode())
    (block,) = log.finish()
    assert (block.complete, block.cycles, log.facts.kernels) == (False, 6000, 0)


def test_a_last_line_without_newline_is_never_used() -> None:
    text = BANNER + stats_block().partition("6000")[0] + "60"
    assert only(text).cycles is None


def test_the_end_of_a_block_whose_beginning_is_cut_counts() -> None:
    log = StatLog()
    log.feed(b"L2_total_cache_misses = 5\ngpgpu_silicon_slowdown = 97796x\n")
    assert (log.facts.headless_blocks, log.facts.blocks) == (1, 0)


# Runs that do not begin at the beginning


def test_counters_of_a_log_that_begins_midway_have_no_difference() -> None:
    first, second = parse(stats_block("9", total=900, reads=70) + stats_block("10", total=1000, reads=90))
    assert ("reads" in first.stats, first.cumulative["reads"], first.cycles) == (False, 70, 6000)
    assert second.stats["reads"] == 20


def test_a_second_run_in_the_same_log_begins_anew() -> None:
    blocks = parse(BANNER + stats_block(reads=70) + EXIT + BANNER + stats_block(reads=80))
    assert [block.stats["reads"] for block in blocks] == [70, 80]


def test_an_appended_run_without_a_banner_begins_anew() -> None:
    blocks = parse(
        BANNER + stats_block("1", total=100, reads=7) + stats_block("2", total=200, reads=9) + stats_block(reads=8)
    )
    assert [block.stats["reads"] for block in blocks] == [7, 2, 8]


# What the log says about the run


def test_facts_of_a_run() -> None:
    log = StatLog()
    text = (
        BANNER
        + "launching memcpy command : MemcpyHtoD,0x00007f6f5f100000,1048576\nProcessing kernel /t/kernel-1.traceg\n"
    )
    log.feed((text + "launching kernel name: f uid: 1\nthread block = 0,0,0\nthread block = 1,0,0\n").encode())
    facts = log.facts
    assert (facts.gpgpusim_version, facts.accelsim_build) == ("4.2.0", "accelsim-commit-73f9fac_modified_0.0")
    assert (facts.core_clock_mhz, facts.options["nbk"], facts.launch_latency_cycles) == (1132.0, "16", 5000)
    assert (facts.memcpys, facts.memcpy_bytes, facts.last_file) == (1, 1048576, "/t/kernel-1.traceg")
    assert (facts.launched, facts.thread_blocks, facts.open_launches[1].name) == (1, 2, "f")


def test_words_in_the_option_dump_are_no_failure() -> None:
    log = StatLog()
    log.feed((BANNER + EXIT).encode())
    assert (log.facts.deadlock, log.facts.exit_detected) == (None, True)


def test_the_deadlock_line_is_kept_as_printed() -> None:
    log = StatLog()
    line = "GPGPU-Sim uArch: ERROR ** deadlock detected: last writeback core 15 @ gpu_sim_cycle 5054"
    log.feed(f"{line} (+ gpu_tot_sim_cycle 4294867296) (94946 cycles ago)\n".encode())
    assert (log.facts.deadlock_core, log.facts.deadlock_cycle) == ("15", "5054")


# Chunks and memory


def test_a_real_log_of_six_kernels(babelstream: bytes) -> None:
    blocks = parse(babelstream.decode())
    assert [block.launch_uid for block in blocks] == [1, 2, 3, 4, 5, 6]
    assert blocks[0].occupancy is None
    assert sum(block.stats["gpgpu_n_tot_w_icount"] for block in blocks) == blocks[-1].cumulative["gpgpu_n_tot_w_icount"]
    assert sum(block.instructions or 0 for block in blocks) == blocks[-1].cumulative["gpu_tot_sim_insn"]


@settings(deadline=None, max_examples=20)
@given(cuts=st.lists(st.integers(0, 4000), max_size=30), through_state=st.booleans())
def test_it_does_not_matter_where_the_log_is_cut(cuts: list[int], through_state: bool) -> None:
    text = (
        BANNER + stats_block(reads=7) + "thread block = 0,0,0\n" * 50 + stats_block("2", total=200, reads=9) + EXIT
    ).encode()
    whole = StatLog()
    expected = whole.feed(text) + whole.finish()
    log, blocks, position = StatLog(), [], 0
    for cut in [*sorted(cut % len(text) for cut in cuts), len(text)]:
        blocks += log.feed(text[position:cut])
        position = cut
        log = StatLog.from_state(log.to_state()) if through_state else log
    assert blocks + log.finish() == expected
    assert log.facts == whole.facts


def test_the_state_does_not_grow_with_the_log(babelstream: bytes) -> None:
    log = StatLog()
    log.feed(babelstream)
    once = len(log.to_state())
    for _ in range(5):
        log.feed(babelstream)
    assert len(log.to_state()) < 1.2 * once


def test_a_line_without_end_is_cut() -> None:
    log = StatLog()
    for _ in range(64):
        log.feed(b"x" * 65536)
    assert len(log.to_state()) < 65536
    assert [block.cycles for block in log.feed(b"\n" + (BANNER + stats_block()).encode())] == [6000]


@pytest.mark.parametrize("state", [b"", b"garbage", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_state_is_refused(state: bytes) -> None:
    with pytest.raises(ValueError, match="saved state cannot be read"):
        StatLog.from_state(state)


@settings(deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_are_survived(data: bytes) -> None:
    log = StatLog()
    log.feed(BANNER.encode() + b"kernel_name = x\n" + data)
    log.finish()
    assert StatLog.from_state(log.to_state()).facts == log.facts


@pytest.mark.parametrize(
    "line",
    [
        "gpu_sim_cycle = {}", "kernel_launch_uid = {}", "kernel_stream_id = {}", "cascade_same_as = {}", "bk0: {}a {}i",
        "Stall:{}", "traffic_breakdown[R] = 1 {{8:{},}}", "launching kernel name: f uid: {}", "dram[0]: {} {}",
        "launching memcpy command : MemcpyHtoD,0x0,{}",
        "gpgpu_sim::update_stats() last_uid={}, x, sim cycle for this kernel is {}",
    ],
)  # fmt: skip
def test_a_number_of_any_length_is_survived(line: str) -> None:
    digits = "9" * 5000
    for text in (line, f"kernel_name = f\n{line}", f"kernel_name = f\nnumber of total reads:\n{line}"):
        for block in parse(BANNER + text.format(digits, digits) + "\n"):
            assert (block.cycles, block.uids, block.stream, block.same_as) == (None, [], None, None)


# Over the reference material, where it exists


def test_cycles_are_those_of_every_reference_log(shared: Path) -> None:
    folder = shared / "reference" / "accelsim" / "logs"
    expected: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for row in DictReader((folder / "kernels.csv").open()):
        figures = (row["name"], *(int(row[key]) for key in ("uid", "gpu_sim_cycle", "gpu_sim_insn", "warp_insn")))
        expected.setdefault((row["config"], row["workload"]), []).append(figures)
    for (config, workload), kernels in expected.items():
        blocks = parse(lzma.decompress((folder / config / f"{workload}.log.xz").read_bytes()).decode())
        got = [(b.name, b.launch_uid, b.cycles, b.instructions, b.stats["gpgpu_n_tot_w_icount"]) for b in blocks]
        assert got == kernels, (config, workload)


def test_it_reads_every_real_log_as_expected(shared: Path) -> None:
    folder = shared / "reference" / "real"
    for name, expected in json.loads((folder / "expected.json").read_text()).items():
        log = StatLog()
        blocks = log.feed((folder / name).read_bytes()) + log.finish()
        facts = log.facts
        assert len(blocks) == expected["n_blocks"], name
        assert (facts.gpgpusim_version, facts.gpgpusim_build, facts.accelsim_build) == (
            expected["gpgpusim"], expected["gpgpusim_build"], expected["accelsim_build"],
        ), name  # fmt: skip
        assert _ends(log) == {key: expected[key] for key in _ends(log)}, name
        for block, want in zip(blocks, expected["blocks"], strict=True):
            assert (block.line, block.names) == (want["line"], want["names"]), name
            assert block.uids == [int(uid) for uid in want.get("kernel_launch_uid", "").split()], name
            for key in ("gpu_sim_cycle", "gpu_sim_insn", "gpu_ipc", "gpu_occupancy", "L2_BW", "kernel_avg_power"):
                assert block.stats.get(key) == _number(want.get(key)), (name, key)
            for key in ("gpu_tot_sim_cycle", "gpu_tot_sim_insn", "L2_total_cache_miss_rate"):
                assert block.cumulative.get(key) == _number(want.get(key)), (name, key)
            assert block.cumulative.get("gpgpu_simulation_time") == want.get("wall_cum_s"), name


def _ends(log: StatLog) -> dict[str, Any]:
    facts = log.facts
    return {
        "exit_detected": facts.exit_detected,
        "max_break": facts.max_break,
        "deadlock": [facts.deadlock_core, facts.deadlock_cycle] if facts.deadlock else None,
        "segfault": facts.segfault,
        "assertion": facts.assertion is not None,
        "unsupported_binary": facts.unsupported_binary is not None,
        "ends_newline": facts.ends_with_newline,
        "memcpy": facts.memcpys,
        "launched": facts.launched,
        "pushed": facts.pushed,
        "nan": facts.nan_values,
    }


def _number(text: str | None) -> float | None:
    if text is None or "nan" in text:
        return None
    return float(text.split("%")[0].split(" GB")[0])
