"""A specification as JSON, as Accel-Sim's files, and what is said about it."""

import json
from dataclasses import replace

import pytest

from sims.gpus import (
    GpuSpec,
    SpecError,
    apply_overrides,
    check,
    diff,
    load_shipped,
    read_accelsim_text,
    spec_from_dict,
    spec_to_dict,
    to_accelsim_options,
    unsupported,
)


@pytest.fixture(params=sorted(load_shipped()))
def shipped(request: pytest.FixtureRequest) -> GpuSpec:
    return load_shipped()[request.param]


@pytest.fixture
def spec() -> GpuSpec:
    return load_shipped()["SM86_RTX3070"]


def test_json_gives_the_same_specification_back(shipped: GpuSpec) -> None:
    assert spec_from_dict(json.loads(json.dumps(spec_to_dict(shipped)))) == shipped


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"l2_ways": "16"}, "l2_ways cannot be '16'"),
        ({"sms": True}, "sms cannot be True"),
        ({"unheard_of": 1}, "unheard_of: There is no such field"),
        ({"units": {"sp": [2]}}, "units cannot be"),
        ({"units": {"warp": [2, 2]}}, "units cannot be"),
        ({"core_clock_mhz": float("nan")}, "core_clock_mhz cannot be nan"),
        ({"id": "../up"}, "id cannot be '../up'"),
        ({"dram_address_map": "dramid@8;000"}, "dram_address_map cannot be"),
    ],
)
def test_bad_json_is_refused_at_its_field(spec: GpuSpec, change: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        spec_from_dict(spec_to_dict(spec) | change)


def test_a_missing_field_without_a_default_is_named(spec: GpuSpec) -> None:
    data = spec_to_dict(spec)
    del data["sms"]
    with pytest.raises(SpecError) as error:
        spec_from_dict(data)
    assert list(error.value.errors) == ["sms"]


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(SpecError, match="must be an object"):
        spec_from_dict([1, 2])


def test_accelsim_2_files_give_the_same_specification_back(shipped: GpuSpec) -> None:
    files = to_accelsim_options(shipped, accelsim_major=2)
    report = read_accelsim_text(files["gpgpusim.config"] + files["trace.config"], shipped.id)
    assert diff(shipped, report.spec) == []
    assert report.unknown == report.warnings == []


def test_accelsim_1_gets_no_partition_hash_it_lacks() -> None:
    files = to_accelsim_options(load_shipped()["SM90_H100"])
    assert "-gpgpu_memory_partition_indexing 0\n" in files["gpgpusim.config"]
    assert "GMMA" not in files["trace.config"]


def test_an_overridden_value_reaches_accelsims_file(spec: GpuSpec) -> None:
    files = to_accelsim_options(apply_overrides(spec, {"l2_bytes": 8388608}))
    assert "-gpgpu_cache:dl2 S:64:128:32," in files["gpgpusim.config"]


def test_bandwidth_off_the_data_sheet_is_said(spec: GpuSpec) -> None:
    (warning,) = check(replace(spec, memory_clock_mhz=4000.0))
    assert "512 GB/s, +14% off the data sheet's 448 GB/s" in warning


def test_bandwidth_within_three_percent_is_not(spec: GpuSpec) -> None:
    assert check(replace(spec, memory_clock_mhz=3590.0)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dram_ccdl_ticks": 17}, "peak bandwidth cannot be reached"),
        ({"unified_l1_bytes": 65536}, "does not fit the unified L1"),
        ({"core_clock_mhz": 1.0}, "no GPU runs at that"),
        ({"dram_rc_ticks": 10}, "shorter than tRAS"),
    ],
)
def test_figures_that_contradict_each_other_are_said(spec: GpuSpec, change: dict[str, float], words: str) -> None:
    assert any(words in warning for warning in check(replace(spec, **change)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scheduler": "cawa"}, "scheduler cawa"),
        ({"partition_indexing": 3}, "partition_indexing 3"),
        ({"icnt_clock_mhz": 2000.0}, "at the core clock"),
        ({"dram_simple": True}, "dram_simple"),
        ({"l2_coalescer_entries": 1024}, "l2_coalescer_entries 1024"),
        ({"l2_set_index": "L"}, "for 64 sets the model has P"),
        ({"l2_sets": 256}, "for 256 sets the model has X"),
        ({"l1_set_index": "X"}, "l1_set_index X"),
        ({"global_skips_l1": True}, "global_skips_l1"),
    ],
)
def test_what_the_model_lacks_is_said(spec: GpuSpec, change: dict[str, object], words: str) -> None:
    assert any(words in note for note in unsupported(replace(spec, **change)))
