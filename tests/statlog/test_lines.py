"""The grammar of one statistics line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.statlog.lines import parse_stat_line


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("gpu_sim_cycle = 5646", {"gpu_sim_cycle": 5646}),
        ("gpu_stall_icnt2sh    = 7279", {"gpu_stall_icnt2sh": 7279}),
        ("gpu_total_sim_rate=53248", {"gpu_total_sim_rate": 53248}),
        ("gpu_ipc =     626.1253", {"gpu_ipc": 626.1253}),
        ("gpu_ipc =          nan", {}),
        ("gpu_occupancy = -nan% ", {}),
        ("gpu_occupancy = 80.6279% ", {"gpu_occupancy": 80.6279}),
        ("L2_BW  =      77.9264 GB/Sec", {"L2_BW": 77.9264}),
        ("gpgpu_silicon_slowdown = 6445012x", {"gpgpu_silicon_slowdown": 6445012}),
        ("gpgpu_simulation_rate = 750 (cycle/sec)", {"gpgpu_simulation_rate[cycle/sec]": 750}),
        ("gpgpu_simulation_rate = 9 (inst/sec)", {"gpgpu_simulation_rate[inst/sec]": 9}),
        ("gpgpu_simulation_time = 0 days, 19 hrs, 27 min, 26 sec (70046 sec)", {"gpgpu_simulation_time": 70046}),
        ("gpu_avg_IBP, = 0.21069", {"gpu_avg_IBP": 0.21069}),
        ("gpu_avg_SP_ACC, = 4.6185e+06", {"gpu_avg_SP_ACC": 4618500.0}),
        ("gpu_sim_insn calculated by classic = 95", {"gpu_sim_insn calculated by classic": 95}),
        ("\tL2_cache_stats_breakdown[GLOBAL_ACC_R][HIT] = 2", {"L2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]": 2}),
        ("gpgpu_stall_shd_mem[c_mem][resource_stall] = 3", {"gpgpu_stall_shd_mem[c_mem][resource_stall]": 3}),
        (
            "\tL1D_cache_core[0]: Access = 96, Miss = 48, Miss_rate = -nan, Pending_hits = 1",
            {"L1D_cache_core[0].Access": 96, "L1D_cache_core[0].Miss": 48, "L1D_cache_core[0].Pending_hits": 1},
        ),
        ("n_cmd=35791 n_nop=35723 bw_util=0.007", {"n_cmd": 35791, "n_nop": 35723, "bw_util": 0.007}),
        ("mrqq: max=22 avg=0.0825347", {"mrqq.max": 22, "mrqq.avg": 0.0825347}),
        ("average row locality = 1000/10 = 100.0", {"average row locality": 100.0}),
        ("average row locality = 1000/0 = inf", {}),
        ("traffic_breakdown[R] = 512 {8:64,}", {"traffic_breakdown[R]": 512, "traffic_breakdown[R]{8}": 64}),
        ("Stall:314\tW0_Idle:3", {"Warp_Occupancy[Stall]": 314, "Warp_Occupancy[W0_Idle]": 3}),
        ("single_issue_nums: WS0:1024\tWS1:7", {"single_issue_nums[WS0]": 1024, "single_issue_nums[WS1]": 7}),
        ("mrq_lat_table:232 \t0 \t71 ", {"mrq_lat_table[0]": 232, "mrq_lat_table[2]": 71}),
        ("dram_util_bins: 0 3 0", {"dram_util_bins[1]": 3}),
        ("bk0: 16a 35663i bk1: 0a 9i", {"bk0.a": 16, "bk0.i": 35663, "bk1.a": 0, "bk1.i": 9}),
        ("total accesses: 7", {"total accesses": 7}),
        ("min_bank_accesses = 0!", {"min_bank_accesses": 0}),
        ("Memory Partition 0: ", {}),
        ("L1D_cache:", {}),
        ("", {}),
        ("=====", {}),
        ("= 5", {}),
        ("x = " + "9" * 5000, {}),
        ("n" * 300 + " = 5", {}),
    ],
)  # fmt: skip
def test_a_line_gives_its_names_and_finite_numbers(line: str, pairs: dict[str, float]) -> None:
    assert parse_stat_line(line.encode()) == pairs


@given(st.binary(max_size=200))
def test_any_bytes_give_finite_numbers(line: bytes) -> None:
    assert all(value - value == 0 for value in parse_stat_line(line).values())
