"""A :class:`GpuSpec` as the compiled code reads it: one flat record, everything derived once.

Nothing here is fitted: every number is a configuration value or follows from some by the simulator's own formulas. Sections
in comments, here and elsewhere in the engine, are those of the timing measurements.
"""

import math
import re
from dataclasses import dataclass

import numpy as np

from sims.engine.errors import ConfigurationError
from sims.engine.hashing import hash_tables
from sims.engine.packets import PACKETS_PER_CHANNEL
from sims.gpus.limits import SCHEDULERS
from sims.gpus.spec import LINE_BYTES, GpuSpec

MAX_ENDS = 512
"""SMs or L2 slices at one end of a crossbar."""
MAX_WARPS = 64
MAX_SUBCORES = 4
MAX_COLLECTORS = 4
MAX_BANKS = 16
MAX_L1_BANKS = 16
MAX_L1_SETS = 64
MAX_L1_LINES = 4096
MAX_L1_LATENCY = 256
MAX_L1_MSHRS = 1024
MAX_SHARED_LATENCY = 256
MAX_UNIT_LATENCY = 500
MAX_SLICES_PER_CHANNEL = 8
MAX_L2_MSHRS = 1024
MAX_ROP_LATENCY = 700
UNDER_WAY_PER_CHANNEL = 64 + 192 + 1
"""Requests of a channel that may have left its slices' queues and not be back (section 7)."""
MAX_WAITING_FOR_DRAM = PACKETS_PER_CHANNEL - UNDER_WAY_PER_CHANNEL - MAX_SLICES_PER_CHANNEL
"""A channel's write-backs come from one pool; besides those that wait or are under way, each slice may have made one."""
MAX_DRAM_BANKS = 64
MAX_DRAM_GROUPS = 16

LRR, GTO = range(2)
"""Numbers of :data:`sims.gpus.limits.SCHEDULERS`."""

INDEX_PLAIN, INDEX_XOR, INDEX_IPOLY = 0, 1, 2
INDEX_IPOLY_MODULO = 6

_INTEGERS = """
sms warps_per_sm subcores registers_per_sm scheduler register_banks collectors
shared_latency shared_ring l1_sets l1_lines l1_latency l1_ring l1_banks l1_mshrs l1_merges l1_miss_queue l1_write_percent
channels slices_per_channel slices l2_sets l2_ways l2_mshrs l2_merges l2_miss_queue rop_latency l2_queue icnt_buffer
has_odd_channels channel_shift channel_bits slice_bits indexing set_shift lowest_bank_bit lowest_bank_bit_packed
dram_latency dram_queue dram_banks dram_groups dual_bus atom_bytes burst_ticks
ccd rrd rcd ras rp rc cl wl ccdl rtpl rtw wtr wtp rcdw shared_credits
bank_bits row_bits
""".split()

PARAMETERS = np.dtype(
    [(name, "i8") for name in _INTEGERS]
    + [
        ("sm_run", "i8"),  # where compiled code lies that is called by its address, see far.py
        ("channel_run", "i8"),
        ("subcore_warps", "u8", (MAX_SUBCORES,)),
        ("bank_bit", "i8", (8,)),
        ("row_bit", "i8", (32,)),
        ("slice_hash", "i4", (8, 256)),
        ("set_hash", "i4", (8, 256)),
    ]
)
"""What compiled code knows of the configuration."""


@dataclass(frozen=True)
class AddressBits:
    """A mapping string, read: where the channel number sits and which address bits are bank and row."""

    channel_shift: int
    bank: tuple[int, ...]
    row: tuple[int, ...]


def read_address_map(mapping: str) -> AddressBits:
    """``dramid@8;0000...RRRR.BBBCCCC.BCCSSSSS``: 64 letters, highest bit first, before the channel bits are inserted."""
    match = re.fullmatch(r"dramid@(\d+);([01RBCSD.]+)", mapping.strip(), re.IGNORECASE)
    letters = match[2].replace(".", "").upper() if match else ""
    if not match or len(letters) != 64:
        raise ConfigurationError(f"the address mapping {mapping!r} is not `dramid@N;` and 64 letters R, B, C, S or 0")
    positions = {kind: tuple(63 - i for i, x in enumerate(letters) if x == kind)[::-1] for kind in "RB"}
    if not positions["B"] or len(positions["B"]) > 8 or len(positions["R"]) > 32:
        raise ConfigurationError(f"the address mapping {mapping!r} needs 1 to 8 bank bits and at most 32 row bits")
    return AddressBits(int(match[1]), positions["B"], positions["R"])


def _check(spec: GpuSpec, subcores: int, lines: int) -> None:
    limits = (
        ("sms", spec.sms, MAX_ENDS),
        ("memory_channels x l2_slices_per_channel", spec.l2_slices, MAX_ENDS),
        ("warps_per_sm", spec.warps_per_sm, MAX_WARPS),
        ("schedulers_per_sm", subcores, MAX_SUBCORES),
        ("l1_banks", spec.l1_banks, MAX_L1_BANKS),
        ("lines of the L1 (sets x ways after the carve-out)", lines, MAX_L1_LINES),
        ("l1_sets", spec.l1_sets, MAX_L1_SETS),
        ("l1_latency_cycles", spec.l1_latency_cycles, MAX_L1_LATENCY),
        ("l1_mshr_entries", spec.l1_mshr_entries, MAX_L1_MSHRS),
        ("shared_memory_latency_cycles", spec.shared_memory_latency_cycles, MAX_SHARED_LATENCY),
        ("l2_slices_per_channel", spec.l2_slices_per_channel, MAX_SLICES_PER_CHANNEL),
        ("l2_mshr_entries", spec.l2_mshr_entries, MAX_L2_MSHRS),
        ("l2_slices_per_channel x (l2_miss_queue + l2_queue)", _waiting_for_dram(spec), MAX_WAITING_FOR_DRAM),
        ("l2_rop_latency_cycles", spec.l2_rop_latency_cycles, MAX_ROP_LATENCY),
        ("dram_banks", spec.dram_banks, MAX_DRAM_BANKS),
        ("dram_bank_groups", spec.dram_bank_groups, MAX_DRAM_GROUPS),
        ("register banks of a scheduler", spec.register_banks_per_sm // subcores, MAX_BANKS),
        *((f"latency of units.{name}", unit.latency_cycles, MAX_UNIT_LATENCY) for name, unit in spec.units.items()),
    )
    for name, value, limit in limits:
        if not 1 <= value <= limit:
            raise ConfigurationError(f"{spec.id}: {name} is {value}; the built-in simulator takes 1 to {limit}")
    for name, value in (
        ("l1_sets", spec.l1_sets),
        ("l2_sets", spec.l2_sets),
        ("l1_banks", spec.l1_banks),
        ("l2_slices_per_channel", spec.l2_slices_per_channel),
        ("dram_bank_groups", spec.dram_bank_groups),
    ):
        if value & (value - 1):
            raise ConfigurationError(f"{spec.id}: {name} is {value}; it must be a power of two")


def _waiting_for_dram(spec: GpuSpec) -> int:
    """Requests that can wait in the queues of a channel's slices, all of which may be write-backs."""
    return spec.l2_slices_per_channel * (spec.l2_miss_queue + spec.l2_queue)


def l1_max_ways(spec: GpuSpec) -> int:
    """Ways of the L1 when the whole unified array is L1: the base ways scaled by unified size / base size."""
    base_bytes = spec.l1_sets * spec.l1_ways * LINE_BYTES
    return spec.l1_ways * max(1, spec.unified_l1_bytes // base_bytes) if spec.unified_l1_bytes else spec.l1_ways


def parameters_of(spec: GpuSpec) -> np.void:
    """The record for ``spec``; raises :class:`ConfigurationError` where a size is out of the model's range."""
    record = np.zeros((), PARAMETERS)[()]
    subcores = min(MAX_SUBCORES, max(1, spec.schedulers_per_sm))
    lines = spec.l1_sets * l1_max_ways(spec)
    _check(spec, subcores, lines)
    _fill_sm(record, spec, subcores, lines)
    _fill_memory(record, spec)
    _fill_address_map(record, spec)
    _fill_dram(record, spec)
    return record


def ring_mask(entries: int) -> int:
    """Index mask of a ring buffer: the next power of two less one. A short ring stays in the host's cache."""
    return (1 << (entries - 1).bit_length()) - 1


def _fill_sm(record: np.void, spec: GpuSpec, subcores: int, lines: int) -> None:
    for name in ("sms", "warps_per_sm", "registers_per_sm", "l1_sets", "l1_banks"):
        record[name] = getattr(spec, name)
    record["subcores"] = subcores
    policy = spec.scheduler.split(":")[0]
    record["scheduler"] = SCHEDULERS.index(policy) if policy in SCHEDULERS else LRR
    record["register_banks"] = max(1, spec.register_banks_per_sm // subcores)
    record["collectors"] = min(MAX_COLLECTORS, max(1, spec.collector_units_per_sm // subcores))
    record["shared_latency"] = spec.shared_memory_latency_cycles
    record["shared_ring"] = ring_mask(spec.shared_memory_latency_cycles)
    record["l1_ring"] = ring_mask(spec.l1_latency_cycles)
    record["l1_lines"] = lines
    record["l1_latency"] = spec.l1_latency_cycles
    record["l1_mshrs"] = spec.l1_mshr_entries
    record["l1_merges"] = spec.l1_mshr_merges
    record["l1_miss_queue"] = spec.l1_miss_queue
    record["l1_write_percent"] = spec.l1_write_ratio_percent
    for subcore in range(subcores):
        record["subcore_warps"][subcore] = sum(1 << w for w in range(subcore, spec.warps_per_sm, subcores))


def _fill_memory(record: np.void, spec: GpuSpec) -> None:
    record["channels"] = spec.memory_channels
    record["slices_per_channel"] = spec.l2_slices_per_channel
    record["slices"] = spec.l2_slices
    for name in ("l2_sets", "l2_ways", "l2_miss_queue", "l2_queue"):
        record[name] = getattr(spec, name)
    record["l2_mshrs"] = spec.l2_mshr_entries
    record["l2_merges"] = spec.l2_mshr_merges
    record["rop_latency"] = max(2, spec.l2_rop_latency_cycles)
    record["icnt_buffer"] = spec.icnt_buffer_packets


def _fill_address_map(record: np.void, spec: GpuSpec) -> None:
    bits = read_address_map(spec.dram_address_map)
    if 1 << len(bits.bank) > spec.dram_banks:
        raise ConfigurationError(
            f"{spec.id}: dram_banks is {spec.dram_banks}, but the address mapping's bank bits name {1 << len(bits.bank)}"
        )
    channels = spec.memory_channels
    channel_bits = channels.bit_length() - 1
    odd = channels != 1 << channel_bits
    if odd and spec.partition_indexing == INDEX_XOR:
        raise ConfigurationError(
            f"{spec.id}: partition_indexing {INDEX_XOR} takes a power of two of memory_channels, not {channels}"
        )
    # A power of two: the channel number is cut into the address, so higher mapping bits move up (section 7).
    shift = 0 if odd else channel_bits
    banks = [b + shift if b >= bits.channel_shift else b for b in bits.bank]
    rows = [b + shift if b >= bits.channel_shift else b for b in bits.row]
    record["has_odd_channels"] = odd
    record["channel_shift"] = bits.channel_shift
    record["channel_bits"] = channel_bits
    record["slice_bits"] = int(math.log2(spec.l2_slices_per_channel))
    known = (INDEX_PLAIN, INDEX_XOR, INDEX_IPOLY, INDEX_IPOLY_MODULO)
    record["indexing"] = spec.partition_indexing if spec.partition_indexing in known else INDEX_PLAIN
    record["lowest_bank_bit"] = banks[0]
    record["lowest_bank_bit_packed"] = bits.bank[0]
    record["bank_bits"], record["row_bits"] = len(banks), len(rows)
    record["bank_bit"][: len(banks)] = banks
    record["row_bit"][: len(rows)] = rows
    slots = (1 << (channels - 1).bit_length()) * spec.l2_slices_per_channel
    record["slice_hash"] = hash_tables(slots)
    record["set_hash"] = hash_tables(spec.l2_sets)
    record["set_shift"] = spec.l2_sets.bit_length() - 1


def _fill_dram(record: np.void, spec: GpuSpec) -> None:
    burst = spec.dram_burst_length // spec.dram_data_command_ratio
    record["dram_latency"] = spec.dram_latency_cycles
    record["dram_queue"] = spec.dram_scheduler_queue
    record["dram_banks"] = spec.dram_banks
    record["dram_groups"] = spec.dram_bank_groups
    record["dual_bus"] = spec.dram_dual_bus
    record["atom_bytes"] = spec.dram_burst_length * spec.dram_bus_bytes * spec.dram_devices_per_channel
    record["burst_ticks"] = burst
    for name in ("ccd", "rrd", "rcd", "ras", "rp", "rc", "cl", "wl", "ccdl", "rtpl"):
        record[name] = getattr(spec, f"dram_{name}_ticks")
    # Derived as Accel-Sim's config reader derives them (section 7).
    record["rtw"] = spec.dram_cl_ticks + burst + 2 - spec.dram_wl_ticks
    record["wtr"] = spec.dram_wl_ticks + burst + spec.dram_cdlr_ticks
    record["wtp"] = spec.dram_wl_ticks + burst + spec.dram_wr_ticks
    record["rcdw"] = max(0, spec.dram_rcd_ticks - spec.dram_wl_ticks - 1)
    # Each slice has one credit of its own besides.
    record["shared_credits"] = UNDER_WAY_PER_CHANNEL - spec.l2_slices_per_channel
