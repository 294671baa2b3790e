"""What-if: overriding configuration values by name."""

import re
from typing import Any

import pytest

from sims.gpus import (
    Difference,
    GpuSpec,
    OverrideError,
    UnitTiming,
    apply_overrides,
    diff,
    load_shipped,
    parse_override,
)


@pytest.fixture
def spec() -> GpuSpec:
    return load_shipped()["SM86_RTX3070"]


def override(spec: GpuSpec, *texts: str) -> GpuSpec:
    return apply_overrides(spec, dict(map(parse_override, texts)))


def test_a_field_is_replaced_by_name(spec: GpuSpec) -> None:
    assert override(spec, "sms=92", "l1_latency_cycles=20").sms == 92


def test_the_original_stays_as_it_was(spec: GpuSpec) -> None:
    override(spec, "sms=92")
    assert spec.sms == 46


def test_l2_bytes_changes_the_ways(spec: GpuSpec) -> None:
    changed = override(spec, "l2_bytes=8388608")
    assert (changed.l2_bytes, changed.l2_ways) == (8388608, 32)


def test_bandwidth_changes_the_clock_and_keeps_dram_delays_in_ns(spec: GpuSpec) -> None:
    changed = override(spec, "memory_bandwidth_gbs=896.128")
    assert changed.memory_bandwidth_gbs == pytest.approx(896.128)
    assert (changed.memory_clock_mhz, changed.dram_rcd_ticks, changed.dram_ccd_ticks) == (7001.0, 48, 4)


def test_fields_are_applied_before_derived_names(spec: GpuSpec) -> None:
    assert override(spec, "l2_bytes=8388608", "memory_channels=32").l2_bytes == 8388608


def test_a_units_timing_is_latency_and_interval(spec: GpuSpec) -> None:
    assert override(spec, "units.tensor=16,8").units["tensor"] == UnitTiming(16, 8)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("memcpy_fills_l2=false", "memcpy_fills_l2", False),
        ("shared_memory_options_bytes=0,65536", "shared_memory_options_bytes", (0, 65536)),
        ("core_clock_mhz=1800", "core_clock_mhz", 1800.0),
        ("scheduler=gto", "scheduler", "gto"),
    ],
)
def test_text_becomes_the_fields_type(spec: GpuSpec, text: str, field: str, value: Any) -> None:
    assert getattr(override(spec, text), field) == value


def test_json_values_are_taken_as_well(spec: GpuSpec) -> None:
    values = {
        "l2_bytes": 8388608,
        "core_clock_mhz": 1800,
        "units.sp": [4, 2],
        "shared_memory_options_bytes": [0, 65536],
    }
    assert apply_overrides(spec, values).units["sp"] == UnitTiming(4, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("l2_bytes", "write NAME=VALUE"),
        ("l2_byte=1", "Did you mean l2_bytes"),
        ("sms=0", "sms cannot be 0: it is a whole number, at least 1"),
        ("sms=many", "sms cannot be 'many'"),
        ("l1_sets=3", "a power of two"),
        ("l2_bytes=8388609", "a multiple of 262144 bytes; the nearest is 8388608"),
        ("memory_clock_mhz=inf", "above 0 (MHz)"),
        ("memory_bandwidth_gbs=-1", "a number above 0"),
        ("units.tensor=16", "latency,initiation interval in core cycles"),
        ("units.warp=1,1", "There is no configuration value 'units.warp'"),
        ("id=mine", "cannot be overridden"),
        ("scheduler=random", "one of lrr, gto"),
        ("partition_indexing=9", "one of 0, 1, 2"),
        ("shared_memory_options_bytes=5,1", "ascending"),
        ("register_banks_per_sm=2", "each of the 4 schedulers needs one"),
    ],
)
def test_it_refuses_with_field_unit_and_allowed_values(spec: GpuSpec, text: str, message: str) -> None:
    with pytest.raises(OverrideError, match=re.escape(message)):
        override(spec, text)


def test_diff_names_each_field_that_differs(spec: GpuSpec) -> None:
    assert diff(spec, override(spec, "sms=92", "units.sp=4,2")) == [
        Difference("sms", 46, 92),
        Difference("units.sp", UnitTiming(2, 1), UnitTiming(4, 2)),
    ]
