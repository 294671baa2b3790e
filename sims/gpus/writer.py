"""A specification as ``gpgpusim.config`` and ``trace.config`` text, so that the user's own Accel-Sim can run it."""

from sims.gpus.accelsim import PLAIN_UNITS, SPECIALIZED_UNITS
from sims.gpus.spec import LINE_BYTES, GpuSpec, UnitTiming

_TIMING = ("CCD", "RRD", "RCD", "RAS", "RP", "RC", "CL", "WL", "CDLR", "WR")
_LABELS = {"branch": "BRA", "texture": "TEX", "tensor": "TENSOR", "uniform": "UDP", "gmma": "GMMA"}


def to_accelsim_options(spec: GpuSpec, accelsim_major: int = 1) -> dict[str, str]:
    """Both files' text by name. ``accelsim_major`` 1 leaves out what only Accel-Sim 2.0 has.

    The partition hash 6 is such a thing; version 1 gets 0 for it, since its own hash (2) stops at slice counts that
    are no power of two.
    """
    parts = [_chip(spec), _multiprocessor(spec), _l1(spec), _l2(spec, accelsim_major), _dram(spec, accelsim_major)]
    main = "\n".join(f"-{name} {value}" for part in parts for name, value in part.items())
    trace = "\n".join(f"-{name} {value}" for name, value in _units(spec, accelsim_major).items())
    header = f"# {spec.id}, written by Cascade\n"
    return {"gpgpusim.config": f"{header}{main}\n", "trace.config": f"{header}{trace}\n"}


def _chip(spec: GpuSpec) -> dict[str, object]:
    major, minor = divmod(spec.binary_version, 10)
    clocks = (spec.core_clock_mhz, spec.icnt_clock_mhz, spec.l2_clock_mhz, spec.memory_clock_mhz)
    return {
        "gpgpu_ptx_force_max_capability": spec.binary_version,
        "gpgpu_occupancy_sm_number": spec.binary_version,
        "gpgpu_coalesce_arch": spec.binary_version,
        "gpgpu_compute_capability_major": major,
        "gpgpu_compute_capability_minor": minor,
        "gpgpu_clock_domains": ":".join(f"{clock:.6f}".rstrip("0").rstrip(".") for clock in clocks),
        "gpgpu_n_clusters": spec.sms,
        "gpgpu_n_cores_per_cluster": 1,
        "gpgpu_n_cluster_ejection_buffer_size": 32,
        "gpgpu_n_mem": spec.memory_channels,
        "gpgpu_n_sub_partition_per_mchannel": spec.l2_slices_per_channel,
        "gpgpu_kernel_launch_latency": spec.launch_latency_cycles,
        "gpgpu_TB_launch_latency": spec.cta_launch_latency_cycles,
        "gpgpu_max_concurrent_kernel": 128,
        "gpgpu_perf_sim_memcpy": int(spec.memcpy_fills_l2),
        "gpgpu_clock_gated_lanes": int(spec.clock_gated_lanes),
        "visualizer_enabled": 0,
        "power_simulation_enabled": 0,
        "gpgpu_memlatency_stat": 14,
        "gpgpu_runtime_stat": 500,
    }


def _multiprocessor(spec: GpuSpec) -> dict[str, object]:
    schedulers = spec.schedulers_per_sm
    return {
        "gpgpu_shader_core_pipeline": f"{spec.warps_per_sm * 32}:32",
        "gpgpu_shader_cta": spec.ctas_per_sm,
        "gpgpu_shader_registers": spec.registers_per_sm,
        "gpgpu_registers_per_block": spec.registers_per_sm,
        "gpgpu_num_sched_per_core": schedulers,
        "gpgpu_scheduler": spec.scheduler,
        "gpgpu_max_insn_issue_per_warp": 1,
        "gpgpu_dual_issue_diff_exec_units": 1,
        "gpgpu_sub_core_model": 1,
        "gpgpu_simd_model": 1,
        "gpgpu_num_reg_banks": spec.register_banks_per_sm,
        "gpgpu_reg_file_port_throughput": 2,
        "gpgpu_enable_specialized_operand_collector": 0,
        "gpgpu_operand_collector_num_units_gen": spec.collector_units_per_sm,
        "gpgpu_operand_collector_num_in_ports_gen": 8,
        "gpgpu_operand_collector_num_out_ports_gen": 8,
        # One latch per scheduler in every stage; write-back takes two results per scheduler and cycle.
        "gpgpu_pipeline_widths": ",".join(map(str, [schedulers] * 10 + [2 * schedulers] + [schedulers] * 2)),
        "gpgpu_num_sp_units": schedulers,
        "gpgpu_num_sfu_units": schedulers,
        "gpgpu_num_dp_units": schedulers,
        "gpgpu_num_int_units": schedulers,
        "gpgpu_tensor_core_avail": 1,
        "gpgpu_num_tensor_core_units": schedulers,
        "gpgpu_inst_fetch_throughput": 4,
        "gpgpu_perfect_inst_const_cache": 1,
        "gpgpu_cache:il1": "N:64:128:16,L:R:f:N:L,S:2:48,4",
        "gpgpu_tex_cache:l1": "N:4:128:256,L:R:m:N:L,T:512:8,128:2",
        "gpgpu_const_cache:l1": "N:128:64:8,L:R:f:N:L,S:2:64,4",
    }


def _l1(spec: GpuSpec) -> dict[str, object]:
    adaptive = spec.shared_memory_options_bytes != (0,)
    options: dict[str, object] = {
        "gpgpu_shmem_size": spec.shared_memory_per_sm_bytes,
        "gpgpu_shmem_sizeDefault": spec.shared_memory_per_sm_bytes,
        "gpgpu_shmem_per_block": spec.shared_memory_per_cta_bytes,
        "gpgpu_smem_latency": spec.shared_memory_latency_cycles,
        "gpgpu_shmem_num_banks": 32,
        "gpgpu_shmem_limited_broadcast": 0,
        "gpgpu_shmem_warp_parts": 1,
        "gpgpu_adaptive_cache_config": int(adaptive),
        "gpgpu_cache:dl1": f"S:{spec.l1_sets}:{LINE_BYTES}:{spec.l1_ways},L:T:m:L:{spec.l1_set_index},"
        f"A:{spec.l1_mshr_entries}:{spec.l1_mshr_merges},{spec.l1_miss_queue}:0,32",
        "gpgpu_l1_latency": spec.l1_latency_cycles,
        "gpgpu_l1_banks": spec.l1_banks,
        "gpgpu_l1_cache_write_ratio": spec.l1_write_ratio_percent,
        "gpgpu_gmem_skip_L1D": int(spec.global_skips_l1),
        "gpgpu_flush_l1_cache": 1,
    }
    if adaptive:
        options["gpgpu_shmem_option"] = ",".join(str(size // 1024) for size in spec.shared_memory_options_bytes)
        options["gpgpu_unified_l1d_size"] = spec.unified_l1_bytes // 1024
    return options


def _l2(spec: GpuSpec, accelsim_major: int) -> dict[str, object]:
    indexing = 0 if spec.partition_indexing == 6 and accelsim_major < 2 else spec.partition_indexing
    return {
        "gpgpu_cache:dl2": f"S:{spec.l2_sets}:{LINE_BYTES}:{spec.l2_ways},L:B:m:L:{spec.l2_set_index},"
        f"A:{spec.l2_mshr_entries}:{spec.l2_mshr_merges},{spec.l2_miss_queue}:0,32",
        "gpgpu_cache:dl2_texture_only": 0,
        "gpgpu_l2_rop_latency": spec.l2_rop_latency_cycles,
        "gpgpu_dram_partition_queues": ":".join([str(spec.l2_queue)] * 4),
        "gpgpu_memory_partition_indexing": indexing,
        "network_mode": 2,
        "icnt_in_buffer_limit": spec.icnt_buffer_packets,
        "icnt_out_buffer_limit": spec.icnt_buffer_packets,
        "icnt_subnets": 2,
        "icnt_flit_size": 40,
        "icnt_arbiter_algo": 1,
    }


def _dram(spec: GpuSpec, accelsim_major: int) -> dict[str, object]:
    ticks = ":".join(f"{key}={getattr(spec, f'dram_{key.lower()}_ticks')}" for key in _TIMING)
    groups = f"nbkgrp={spec.dram_bank_groups}:CCDL={spec.dram_ccdl_ticks}:RTPL={spec.dram_rtpl_ticks}"
    options: dict[str, object] = {
        "dram_latency": spec.dram_latency_cycles,
        "gpgpu_dram_scheduler": 1,
        "gpgpu_frfcfs_dram_sched_queue_size": spec.dram_scheduler_queue,
        "gpgpu_dram_return_queue_size": spec.dram_return_queue,
        "gpgpu_n_mem_per_ctrlr": spec.dram_devices_per_channel,
        "gpgpu_dram_buswidth": spec.dram_bus_bytes,
        "gpgpu_dram_burst_length": spec.dram_burst_length,
        "dram_data_command_freq_ratio": spec.dram_data_command_ratio,
        "dram_dual_bus_interface": int(spec.dram_dual_bus),
        "dram_bnk_indexing_policy": 0,
        "dram_bnkgrp_indexing_policy": 1,
        "gpgpu_mem_address_mask": 1,
        "gpgpu_mem_addr_mapping": spec.dram_address_map,
        "gpgpu_dram_timing_opt": f'"nbk={spec.dram_banks}:{ticks}:{groups}"',
    }
    return options | ({"gpgpu_simple_dram_model": 1} if spec.dram_simple and accelsim_major >= 2 else {})


def _units(spec: GpuSpec, accelsim_major: int) -> dict[str, object]:
    options: dict[str, object] = {}
    for name in PLAIN_UNITS:
        if timing := spec.units.get(name):
            options[f"trace_opcode_latency_initiation_{name}"] = _pair(timing)
    if tensor := spec.units.get("tensor"):
        options["trace_opcode_latency_initiation_tensor"] = _pair(tensor)
    for number, name in SPECIALIZED_UNITS.items():
        timing = spec.units.get(name)
        if timing and (name != "gmma" or accelsim_major >= 2):
            units = spec.schedulers_per_sm
            options[f"specialized_unit_{number}"] = f"1,{units},{timing.latency_cycles},{units},{units},{_LABELS[name]}"
            options[f"trace_opcode_latency_initiation_spec_op_{number}"] = _pair(timing)
    return options


def _pair(timing: UnitTiming) -> str:
    return f"{timing.latency_cycles},{timing.initiation_cycles}"
