"""What the timing model lacks: said for a configuration, so that nobody takes an approximation for the real thing."""

from sims.gpus.limits import SCHEDULERS
from sims.gpus.options import accelsim_defaults
from sims.gpus.spec import GpuSpec

IPOLY_SETS = (16, 32, 64)
"""Set counts for which the IPOLY hash is defined; others are indexed by an XOR of address bits."""

_ONLY: dict[str, tuple[tuple[str, ...], str]] = {
    "gpgpu_sub_core_model": (
        ("1",),
        "schedulers that share units and registers; the model gives each scheduler its own",
    ),
    "gpgpu_enable_specialized_operand_collector": (
        ("0",),
        "operand collectors per unit class; the model has generic ones",
    ),
    "gpgpu_reg_file_port_throughput": (("2",), "another register file throughput than two reads a bank and cycle"),
    "gpgpu_max_insn_issue_per_warp": (("1",), "more than one instruction per warp and cycle; the model issues one"),
    "gpgpu_n_cores_per_cluster": (("1",), "several SMs behind one crossbar port; the model gives each SM its own"),
    "gpgpu_shmem_num_banks": (("32",), "another number of shared memory banks than 32"),
    "gpgpu_perfect_inst_const_cache": (("1",), "instruction and constant caches that miss; the model's always hit"),
    "gpgpu_perfect_mem": (("0",), "a perfect memory; the model simulates it"),
    "gpgpu_concurrent_kernel_sm": (("0",), "kernels that share an SM; the model runs one kernel at a time"),
    "gpgpu_flush_l2_cache": (
        ("0",),
        "an L2 flushed between kernels; the model keeps it unless the run asks for a cold L2",
    ),
    "gpgpu_cache:dl2_texture_only": (("0",), "an L2 for textures alone; the model caches everything in it"),
    "network_mode": (("2",), "the detailed interconnect; the model has Accel-Sim's local crossbar"),
    "l2_ideal": (("0",), "an ideal L2; the model simulates it"),
    "gpgpu_dram_scheduler": (("1",), "a FIFO DRAM scheduler; the model has FR-FCFS"),
    "dram_seperate_write_queue_enable": (("0",), "a separate DRAM write queue; the model has one queue"),
    "dram_elimnate_rw_turnaround": (("0",), "a DRAM without read/write turnaround; the model charges it"),
    "dram_bnk_indexing_policy": (("0",), "hashed DRAM banks; the model takes the map's bits"),
    "dram_bnkgrp_indexing_policy": (("1",), "bank groups from the high bank bits; the model takes the low ones"),
    "gpgpu_l1_banks_hashing_function": (("0",), "hashed L1 banks; the model takes the address bits"),
    "gpgpu_n_chiplet_partition": (("0", "1"), "an L2 split into chiplet partitions; the model's is one"),
}
"""Options with the values that the model stands for, and what any other value would ask for."""

_POLICIES = {
    "gpgpu_cache:dl1": ("L", "T", "m", "L"),
    "gpgpu_cache:dl2": ("L", "B", "m", "L"),
}
"""Replacement, write policy, allocation and write-allocation that the model has (Accel-Sim's letters)."""


def unsupported_options(options: dict[str, str]) -> list[str]:
    """What a user's options ask for and the model lacks; options left out count with Accel-Sim's default."""
    notes = []
    for name, (supported, asked) in _ONLY.items():
        value = options.get(name, accelsim_defaults()[name])
        if value not in supported:
            notes.append(f"-{name} {value} asks for {asked}.")
    for name, policies in _POLICIES.items():
        given = tuple(options.get(name, "").partition(",")[2].partition(",")[0].split(":"))[:4]
        if len(given) == 4 and given != policies:
            notes.append(
                f"-{name} has the policies {':'.join(given)} (replacement:write:allocate:write-allocate); "
                f"the model has {':'.join(policies)}."
            )
    queues = options.get("gpgpu_dram_partition_queues", "").split(":")
    if len(set(queues)) > 1:
        notes.append(
            f"-gpgpu_dram_partition_queues {':'.join(queues)}: the model gives all four queues the first one's depth."
        )
    return notes


def unsupported(spec: GpuSpec) -> list[str]:
    """What a specification asks for and the model lacks, one sentence each."""
    notes = []
    if spec.scheduler.split(":")[0] not in SCHEDULERS:
        notes.append(f"scheduler {spec.scheduler}: the model has {' and '.join(SCHEDULERS)}; it uses lrr.")
    if spec.partition_indexing not in (0, 1, 2, 6):
        notes.append(f"partition_indexing {spec.partition_indexing}: the model has 0, 1, 2 and 6; it uses 0.")
    if spec.l1_set_index != "L":
        notes.append(f"l1_set_index {spec.l1_set_index}: the model indexes the L1's sets by plain address bits (L).")
    modelled = "P" if spec.l2_sets in IPOLY_SETS else "X"
    if spec.l2_set_index != modelled:
        notes.append(f"l2_set_index {spec.l2_set_index}: for {spec.l2_sets} sets the model has {modelled}.")
    if spec.global_skips_l1:
        notes.append("global_skips_l1: the model keeps its L1 for global accesses.")
    if len({spec.core_clock_mhz, spec.icnt_clock_mhz, spec.l2_clock_mhz}) > 1:
        notes.append(
            f"icnt_clock_mhz {spec.icnt_clock_mhz:g} and l2_clock_mhz {spec.l2_clock_mhz:g}: "
            f"the model runs crossbar and L2 at the core clock, {spec.core_clock_mhz:g} MHz."
        )
    if spec.dram_simple:
        notes.append("dram_simple: the model keeps banks, rows and FR-FCFS, with the configuration's timing.")
    if spec.l2_coalescer_entries:
        notes.append(f"l2_coalescer_entries {spec.l2_coalescer_entries}: the model has no request coalescer at the L2.")
    if spec.cta_launch_latency_cycles:
        notes.append(f"cta_launch_latency_cycles {spec.cta_launch_latency_cycles}: the model starts a CTA at once.")
    if spec.dram_atom_bytes not in (16, 32, 64):
        notes.append(f"A DRAM column of {spec.dram_atom_bytes} bytes: the model moves 16, 32 or 64.")
    return notes
