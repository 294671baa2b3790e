"""From Accel-Sim's config files to a :class:`GpuSpec`.

Any well-formed configuration is accepted. What it leaves out takes Accel-Sim's own default; options nobody knows are
listed; what the timing model has no part for is said by :mod:`sims.gpus.support`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sims.gpus.datasheets import architecture_of, datasheet_bandwidth_gbs
from sims.gpus.limits import problems_of
from sims.gpus.optionfile import ConfigError, Option, parse_options, read_option_file
from sims.gpus.options import OptionValues, is_known
from sims.gpus.spec import LINE_BYTES, GpuSpec, UnitTiming
from sims.gpus.support import unsupported_options

CONFIG_FILES = ("gpgpusim.config", "trace.config")

ESSENTIAL = (
    "gpgpu_n_clusters", "gpgpu_n_mem", "gpgpu_clock_domains", "gpgpu_shader_core_pipeline", "gpgpu_cache:dl2",
    "gpgpu_dram_timing_opt",
)  # fmt: skip
"""Without these a configuration describes no GPU in particular."""

PLAIN_UNITS = ("int", "sp", "dp", "sfu")
SPECIALIZED_UNITS = {1: "branch", 2: "texture", 3: "tensor", 4: "uniform", 5: "gmma"}
"""Accel-Sim's opcode tables send a family to a specialised unit by number; its name in the config is only a label."""

DRAM_TIMING_KEYS = ("nbk", "CCD", "RRD", "RCD", "RAS", "RP", "RC", "CL", "WL", "CDLR", "WR", "nbkgrp", "CCDL", "RTPL")
"""In the order of the old form without names (``4:2:8:...``)."""


@dataclass
class ConfigReport:
    """A configuration as read. ``options`` are the final values by Accel-Sim's present names."""

    spec: GpuSpec
    options: dict[str, str]
    warnings: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Options that this Accel-Sim does not have, as ``-name (file:line)``: it would stop at them."""
    includes: list[str] = field(default_factory=list)
    """Further files that the config names and Accel-Sim opens, relative to the folder it is started in."""


def read_accelsim_config(source: Path | Iterable[Path], config_id: str | None = None) -> ConfigReport:
    """Read a folder with ``gpgpusim.config`` (+ ``trace.config``), one config file, or several in the order given.

    ``config_id`` defaults to the folder's name. Raises :class:`ConfigError` with every problem found.
    """
    paths = _config_paths(source)
    options: list[Option] = []
    problems: list[str] = []
    warnings: list[str] = []
    for path in paths:
        text = read_option_file(path)
        options += text.options
        problems += text.problems
        warnings += text.warnings
    if problems:
        raise ConfigError(problems)
    return _report(options, config_id or _default_id(source, paths), warnings)


def read_accelsim_text(text: str, config_id: str, file_name: str = "gpgpusim.config") -> ConfigReport:
    """As :func:`read_accelsim_config`, for pasted or uploaded text (both files may follow one another)."""
    parsed = parse_options(text, file_name)
    if parsed.problems:
        raise ConfigError(parsed.problems)
    return _report(parsed.options, config_id, parsed.warnings)


def _config_paths(source: Path | Iterable[Path]) -> list[Path]:
    if not isinstance(source, Path):
        return list(source)
    if not source.is_dir():
        return [source]
    main, trace = (source / name for name in CONFIG_FILES)
    if main.is_dir() or trace.is_dir():
        return [main, trace]
    if not main.is_file():
        raise ConfigError([f"The folder {source} has no {CONFIG_FILES[0]}."])
    return [main, trace] if trace.is_file() else [main]


def _default_id(source: Path | Iterable[Path], paths: list[Path]) -> str:
    if isinstance(source, Path) and source.is_dir():
        return source.resolve().name
    return paths[0].name.split(".")[0] if paths else "config"


def _report(options: list[Option], config_id: str, warnings: list[str]) -> ConfigReport:
    if not options:
        raise ConfigError([f"{config_id} has no options at all (-name value): it is no Accel-Sim config."])
    values = OptionValues(options)
    fields: dict[str, Any] = {"id": config_id, "name": config_id, "sources": {"": "the user's Accel-Sim config"}}
    for part in (_identity, _clocks, _multiprocessors, _units, _shared_memory_and_l1, _l2_and_crossbar, _dram):
        fields |= part(values)
    if values.problems:
        raise ConfigError(values.problems)
    if missing := [f"-{name}" for name in ESSENTIAL if not values.given(name)]:
        warnings = [
            *warnings,
            f"The config leaves out {', '.join(missing)}: Accel-Sim's own defaults are used, which are no real GPU's.",
        ]
    spec = GpuSpec(**fields)
    if impossible := problems_of(spec):
        raise ConfigError([f"{config_id}: {problem}" for problem in impossible])
    datasheet_gbs = datasheet_bandwidth_gbs(config_id, spec.memory_bandwidth_gbs)
    spec = spec.with_overrides({"datasheet_bandwidth_gbs": datasheet_gbs})
    unknown = [f"-{option.name} ({option.place})" for option in values.by_name.values() if not is_known(option.name)]
    final = {name: option.value for name, option in values.by_name.items()}
    notes = [*warnings, *values.warnings, *unsupported_options(final)]
    return ConfigReport(spec, final, notes, unknown, _includes(values))


def _includes(values: OptionValues) -> list[str]:
    """The interconnect's and the power model's files, where the config turns these on."""
    wanted = {
        "inter_config_file": values.text("network_mode") == "1" and values.given("inter_config_file"),
        "accelwattch_xml_file": values.flag("power_simulation_enabled"),
    }
    return [values.text(name) for name, is_wanted in wanted.items() if is_wanted]


def _identity(values: OptionValues) -> dict[str, Any]:
    major, minor = values.integer("gpgpu_compute_capability_major"), values.integer("gpgpu_compute_capability_minor")
    version = major * 10 + minor
    if not values.given("gpgpu_compute_capability_major"):
        version = (
            values.integer("gpgpu_ptx_force_max_capability") or values.integer("gpgpu_occupancy_sm_number") or version
        )
    return {"binary_version": version, "architecture": architecture_of(version)}


def _clocks(values: OptionValues) -> dict[str, Any]:
    core, icnt, l2, dram = values.numbers("gpgpu_clock_domains", ":", 4)
    return {"core_clock_mhz": core, "icnt_clock_mhz": icnt, "l2_clock_mhz": l2, "memory_clock_mhz": dram}


def _multiprocessors(values: OptionValues) -> dict[str, Any]:
    threads, warp_size, *_ = values.integers("gpgpu_shader_core_pipeline", ":", 2)
    return {
        "sms": values.integer("gpgpu_n_clusters") * values.integer("gpgpu_n_cores_per_cluster"),
        "warps_per_sm": threads // max(1, warp_size),
        "ctas_per_sm": values.integer("gpgpu_shader_cta"),
        "registers_per_sm": values.integer("gpgpu_shader_registers"),
        "schedulers_per_sm": values.integer("gpgpu_num_sched_per_core"),
        "scheduler": values.text("gpgpu_scheduler"),
        "register_banks_per_sm": values.integer("gpgpu_num_reg_banks"),
        # 0 generic collectors means a set per unit class: the model has generic ones only, so it keeps the usual 8.
        "collector_units_per_sm": values.integer("gpgpu_operand_collector_num_units_gen") or 8,
        "launch_latency_cycles": values.integer("gpgpu_kernel_launch_latency"),
        "cta_launch_latency_cycles": values.integer("gpgpu_TB_launch_latency"),
        "memcpy_fills_l2": values.flag("gpgpu_perf_sim_memcpy"),
        "clock_gated_lanes": values.flag("gpgpu_clock_gated_lanes"),
    }


def _units(values: OptionValues) -> dict[str, Any]:
    units = {name: _timing(values, f"trace_opcode_latency_initiation_{name}") for name in PLAIN_UNITS}
    for number, name in SPECIALIZED_UNITS.items():
        enabled = values.text(f"specialized_unit_{number}").split(",")[0].strip()
        if enabled not in ("", "0"):
            units[name] = _timing(values, f"trace_opcode_latency_initiation_spec_op_{number}")
    return {"units": units}


def _timing(values: OptionValues, option: str) -> UnitTiming:
    latency, initiation, *_ = values.integers(option, ",", 2)
    return UnitTiming(latency, initiation)


def _shared_memory_and_l1(values: OptionValues) -> dict[str, Any]:
    l1 = None if values.given("gpgpu_no_dl1") else values.cache("gpgpu_cache:dl1")
    fields: dict[str, Any] = {
        "shared_memory_per_sm_bytes": values.integer("gpgpu_shmem_size"),
        "shared_memory_per_cta_bytes": values.integer("gpgpu_shmem_per_block"),
        "shared_memory_latency_cycles": values.integer("gpgpu_smem_latency"),
        "l1_latency_cycles": values.integer("gpgpu_l1_latency"),
        "l1_banks": values.integer("gpgpu_l1_banks"),
        "l1_write_ratio_percent": values.integer("gpgpu_l1_cache_write_ratio"),
        "global_skips_l1": l1 is None or values.flag("gpgpu_gmem_skip_L1D"),
    }
    if l1 is None:
        return fields
    fields |= {
        "l1_sets": l1.sets, "l1_ways": l1.ways, "l1_set_index": l1.set_index,
        "l1_mshr_entries": l1.mshr_entries, "l1_mshr_merges": l1.mshr_merges, "l1_miss_queue": l1.miss_queue,
    }  # fmt: skip
    unified_kib = values.integer("gpgpu_unified_l1d_size")
    if values.flag("gpgpu_adaptive_cache_config") and unified_kib:
        carve_outs = sorted({1024 * kib for kib in values.integers("gpgpu_shmem_option", ",", 1)})
        return fields | {"unified_l1_bytes": unified_kib * 1024, "shared_memory_options_bytes": tuple(carve_outs)}
    return fields | {"unified_l1_bytes": l1.sets * l1.ways * LINE_BYTES, "shared_memory_options_bytes": (0,)}


def _l2_and_crossbar(values: OptionValues) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "l2_slices_per_channel": values.integer("gpgpu_n_sub_partition_per_mchannel"),
        "l2_rop_latency_cycles": values.integer("gpgpu_l2_rop_latency"),
        "l2_queue": values.integers("gpgpu_dram_partition_queues", ":", 1)[0],
        "icnt_buffer_packets": values.integer("icnt_in_buffer_limit"),
        "partition_indexing": values.integer("gpgpu_memory_partition_indexing"),
    }
    l2 = values.cache("gpgpu_cache:dl2")
    if l2 is None:
        values.warnings.append(
            "The config has no L2 (-gpgpu_cache:dl2 none): the model keeps its default L2 of 64 sets x 16 ways a slice."
        )
        return fields
    return fields | {
        "l2_sets": l2.sets, "l2_ways": l2.ways, "l2_set_index": l2.set_index,
        "l2_mshr_entries": l2.mshr_entries, "l2_mshr_merges": l2.mshr_merges, "l2_miss_queue": l2.miss_queue,
    }  # fmt: skip


def _dram(values: OptionValues) -> dict[str, Any]:
    timing = values.timing("gpgpu_dram_timing_opt", DRAM_TIMING_KEYS)
    fields: dict[str, Any] = {
        "memory_channels": values.integer("gpgpu_n_mem"),
        "dram_latency_cycles": values.integer("dram_latency"),
        "dram_bus_bytes": values.integer("gpgpu_dram_buswidth"),
        "dram_devices_per_channel": values.integer("gpgpu_n_mem_per_ctrlr"),
        "dram_burst_length": values.integer("gpgpu_dram_burst_length"),
        "dram_data_command_ratio": values.integer("dram_data_command_freq_ratio"),
        "dram_dual_bus": values.flag("dram_dual_bus_interface"),
        "dram_simple": values.flag("gpgpu_simple_dram_model"),
        "dram_banks": timing.pop("nbk"),
        "dram_bank_groups": timing.pop("nbkgrp"),
    }
    # 0 means "no limit" in Accel-Sim; the model's queues are finite, so its defaults stand.
    for name, option in (
        ("dram_scheduler_queue", "gpgpu_frfcfs_dram_sched_queue_size"),
        ("dram_return_queue", "gpgpu_dram_return_queue_size"),
    ):
        if size := values.integer(option):
            fields[name] = size
    if address_map := values.address_map("gpgpu_mem_addr_mapping"):
        fields["dram_address_map"] = address_map
    return fields | {f"dram_{key.lower()}_ticks": ticks for key, ticks in timing.items()}
