"""Reading a user's gpgpusim.config and trace.config."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.gpus import ConfigError, ConfigReport, read_accelsim_config, read_accelsim_text
from sims.gpus.options import accelsim_defaults

MINIMAL = """
-gpgpu_n_clusters 46  # SMs
-gpgpu_n_cores_per_cluster 1
-gpgpu_n_mem 16 -gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_clock_domains 1132:1132:1132:3500.5
-gpgpu_shader_core_pipeline 1536:32
-gpgpu_num_sched_per_core 4
-gpgpu_cache:dl1 S:4:128:256,L:T:m:L:L,A:384:48,16:0,32
-gpgpu_cache:dl2 S:64:128:16,L:B:m:L:P,A:192:4,32:0,32
-gpgpu_dram_timing_opt "nbk=16:CCD=4:RRD=12:RCD=24:RAS=55:RP=24:RC=78:
                        CL=24:WL=8:CDLR=10:WR=24:nbkgrp=4:CCDL=6:RTPL=4"
"""


def read(extra: str = "", base: str = MINIMAL) -> ConfigReport:
    return read_accelsim_text(base + extra, "SM86_MINE")


def refusal(extra: str = "", base: str = MINIMAL) -> str:
    with pytest.raises(ConfigError) as error:
        read(extra, base)
    return str(error.value)


def test_it_reads_several_options_on_one_line() -> None:
    assert (read().spec.memory_channels, read().spec.l2_slices) == (16, 32)


def test_it_reads_a_quoted_value_over_two_lines() -> None:
    spec = read().spec
    assert (spec.dram_rc_ticks, spec.dram_cl_ticks, spec.dram_rtpl_ticks) == (78, 24, 4)


def test_it_reads_timing_by_position() -> None:
    assert read("-gpgpu_dram_timing_opt 4:2:8:12:21:13:34:9:4:5:13:1:0:0").spec.dram_rcd_ticks == 12


def test_the_last_of_equal_options_wins() -> None:
    assert read("-gpgpu_n_clusters 10\n-gpgpu_n_clusters 28").spec.sms == 28


def test_a_later_file_wins_over_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "gpgpusim.config").write_text(MINIMAL + "-trace_opcode_latency_initiation_sp 9,9")
    (tmp_path / "trace.config").write_text("-trace_opcode_latency_initiation_sp 2,1")
    assert read_accelsim_config(tmp_path).spec.units["sp"].latency_cycles == 2


def test_the_folder_gives_the_id(tmp_path: Path) -> None:
    folder = tmp_path / "SM86_RTX3070"
    folder.mkdir()
    (folder / "gpgpusim.config").write_text(MINIMAL)
    spec = read_accelsim_config(folder).spec
    assert (spec.id, spec.datasheet_bandwidth_gbs) == ("SM86_RTX3070", 448)


def test_a_flag_may_stand_without_a_value() -> None:
    assert read("-gpgpu_cuda_sim\n-gpgpu_scheduler gto").spec.scheduler == "gto"


def test_minus_one_is_a_value_and_no_option() -> None:
    report = read("-gpgpu_warpdistro_shader -1")
    assert report.options["gpgpu_warpdistro_shader"] == "-1"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("-l1_latency 28", "l1_latency_cycles", 28),
        ("-smem_latency 19", "shared_memory_latency_cycles", 19),
        ("-memory_partition_indexing 2", "partition_indexing", 2),
        ("-rop_latency 120", "l2_rop_latency_cycles", 120),
        ("-perf_sim_memcpy 0", "memcpy_fills_l2", False),
    ],
)
def test_it_knows_the_old_names(line: str, field: str, value: object) -> None:
    assert getattr(read(line).spec, field) == value


def test_gpgpusim_2_counts_sms_by_n_shader() -> None:
    base = MINIMAL.replace("-gpgpu_n_clusters 46", "-gpgpu_n_shader 28").replace("-gpgpu_n_cores_per_cluster 1", "")
    assert read(base=base).spec.sms == 28


def test_a_comment_is_cut_even_inside_quotes() -> None:
    assert read('-gpgpu_scheduler "gto # greedy\n"').spec.scheduler == "gto"


def test_it_lists_options_that_accelsim_does_not_have() -> None:
    assert read("-tlb_size 32").unknown == ["-tlb_size (gpgpusim.config:12)"]


def test_it_names_the_files_that_a_config_includes() -> None:
    text = "-network_mode 1\n-inter_config_file config_volta_islip.icnt\n-power_simulation_enabled 0"
    assert read(text).includes == ["config_volta_islip.icnt"]


def test_it_says_what_the_model_lacks() -> None:
    assert any("-network_mode 1" in warning for warning in read("-network_mode 1").warnings)


def test_it_says_when_the_config_describes_no_gpu_in_particular() -> None:
    report = read(base="-trace_opcode_latency_initiation_int 2,2")
    assert any("leaves out -gpgpu_n_clusters" in warning for warning in report.warnings)


def test_an_l1_of_its_own_keeps_its_size() -> None:
    spec = read("-gpgpu_adaptive_cache_config 0 -gpgpu_unified_l1d_size 256").spec
    assert (spec.l1_max_ways, spec.shared_memory_options_bytes) == (256, (0,))


def test_the_unified_array_scales_the_ways() -> None:
    spec = read(
        "-gpgpu_adaptive_cache_config 1 -gpgpu_unified_l1d_size 96 -gpgpu_shmem_option 32,64\n"
        "-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:256:32,16:0,32"
    ).spec
    assert (spec.l1_max_ways, spec.shared_memory_options_bytes) == (192, (32768, 65536))


def test_no_l1_means_that_global_accesses_skip_it() -> None:
    assert read("-gpgpu_cache:dl1 none").spec.global_skips_l1


def test_a_disabled_unit_is_not_there() -> None:
    text = "-specialized_unit_1 1,4,4,4,4,BRA\n-specialized_unit_4 0,4,4,4,4,UDP"
    assert set(read(text).spec.units) == {"int", "sp", "dp", "sfu", "branch"}


def test_it_keeps_the_capacity_of_other_line_sizes() -> None:
    report = read("-gpgpu_cache:dl2 16:256:8,L:B:m:W:L,A:16:4,4")
    assert report.spec.l2_ways == 16
    assert any("256 bytes" in warning for warning in report.warnings)


# What is refused


def test_it_refuses_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "gpgpusim.config").mkdir()
    with pytest.raises(ConfigError, match="is a folder, not a config file"):
        read_accelsim_config(tmp_path)


def test_it_refuses_a_folder_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no gpgpusim\.config"):
        read_accelsim_config(tmp_path)


def test_it_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read_accelsim_config(tmp_path / "gpgpusim.config")


def test_it_refuses_conflict_markers_with_their_line() -> None:
    assert "gpgpusim.config:12 has the conflict marker <<<<<<<" in refusal("<<<<<<< HEAD\n-gpgpu_n_mem 8\n=======")


@pytest.mark.parametrize("value", ["X", "XX", "X:X:1132:850", "4,X"])
def test_it_refuses_tuner_placeholders_with_their_line(value: str) -> None:
    assert f"gpgpusim.config:12 still has the tuner's placeholder in -gpgpu_l1_latency {value}" in refusal(
        f"-gpgpu_l1_latency {value}"
    )


def test_the_letter_of_an_xor_set_index_is_no_placeholder() -> None:
    assert read("-gpgpu_cache:dl2 S:256:128:16,L:B:m:L:X,A:192:4,32:0,32").spec.l2_set_index == "X"


def test_it_refuses_a_quote_that_is_never_closed() -> None:
    assert "gpgpusim.config:12 opens a quote" in refusal('-gpgpu_scheduler "gto')


def test_it_refuses_text_without_options() -> None:
    assert "no options at all" in refusal(base="just some words")


def test_it_refuses_binary_data() -> None:
    assert "not a text file" in refusal(base="-a\0b")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("-gpgpu_n_clusters many", "a number of 0 or more"),
        ("-gpgpu_n_clusters 4.5", "whole numbers"),
        ("-gpgpu_n_clusters -4", "a number of 0 or more"),
        ("-gpgpu_clock_domains 1132:1132", "4 numbers joined by ':'"),
        ("-gpgpu_cache:dl2 big", "<sets>:<line bytes>:<ways>"),
        ("-gpgpu_dram_timing_opt nbk=many", "nbk=16"),
        ("-gpgpu_mem_addr_mapping dramid@8;0000RRRR", "64 letters"),
        ("-gpgpu_perf_sim_memcpy maybe", "0 or 1"),
    ],
)
def test_it_refuses_a_bad_value_at_its_line(line: str, wanted: str) -> None:
    message = refusal(line)
    assert message.startswith("gpgpusim.config:12: ")
    assert wanted in message


def test_it_refuses_a_gpu_without_sms() -> None:
    assert "sms cannot be 0" in refusal("-gpgpu_n_clusters 0")


def test_it_refuses_a_dram_without_column_commands() -> None:
    assert "dram_ccd_ticks cannot be 0" in refusal("-gpgpu_dram_timing_opt nbk=16:CCD=0")


def test_it_reports_every_problem_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        read("-gpgpu_n_clusters many\n-gpgpu_n_mem few")
    assert len(error.value.problems) == 2


def outcome(text: str) -> ConfigReport | ConfigError:
    try:
        return read_accelsim_text(text, "FUZZ")
    except ConfigError as error:
        return error


@given(st.text(max_size=200))
def test_any_text_gives_a_report_or_a_sentence(text: str) -> None:
    assert isinstance(outcome(text), ConfigReport | ConfigError)


@given(st.lists(st.tuples(st.sampled_from(sorted(accelsim_defaults())), st.text("0123456789:,.=SLX -", max_size=12))))
def test_any_value_gives_a_report_or_a_sentence(options: list[tuple[str, str]]) -> None:
    text = MINIMAL + "\n".join(f"-{name} {value}" for name, value in options)
    assert isinstance(outcome(text), ConfigReport | ConfigError)


# Over the reference material, where it exists


def test_every_real_config_is_accepted(shared: Path) -> None:
    folders = sorted((shared / "reference/accelsim/configs").iterdir())
    files = sorted((shared / "reference/real/configs").glob("*.gpgpusim.config"))
    assert all(read_accelsim_config(path).spec.sms > 0 for path in [*folders, *files])
