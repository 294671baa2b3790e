"""Where an address lives: L2 slice, set of the slice, DRAM bank and row (timing measurements, section 7).

With a power of two of channels the channel number is a field of the address; with any other number (12, 80) the address
above ``channel_shift`` is divided by the number of channels. The *partition address* is what remains when channel and
sub-partition bits are taken out; L2 sets are indexed by it. Microbenchmarks: ``map_check``, ``dram_bank``.
"""

from sims.engine.hashing import hashed
from sims.engine.jit import Record, compiled
from sims.engine.parameters import INDEX_IPOLY, INDEX_IPOLY_MODULO, INDEX_PLAIN, INDEX_XOR


@compiled
def without_channel(gpu: Record, address: int) -> int:
    """The address as the mapping bits see it: divided by the number of channels when that is no power of two."""
    if gpu.has_odd_channels:
        low = address & ((1 << gpu.channel_shift) - 1)
        return (((address >> gpu.channel_shift) // gpu.channels) << gpu.channel_shift) | low
    return address


@compiled
def slice_of(gpu: Record, address: int) -> int:
    """Index of the L2 slice (sub-partition) that serves ``address``."""
    block = address >> gpu.channel_shift
    if gpu.has_odd_channels:
        channel = block % gpu.channels
        high = block // gpu.channels
    else:
        channel = block & (gpu.channels - 1)
        high = block >> (gpu.channel_bits + gpu.slice_bits)
    sub = (without_channel(gpu, address) >> gpu.lowest_bank_bit) & (gpu.slices_per_channel - 1)
    plain = (channel << gpu.slice_bits) | sub
    if gpu.indexing == INDEX_PLAIN:
        return plain
    if gpu.indexing == INDEX_XOR:
        return ((channel ^ (high & (gpu.channels - 1))) << gpu.slice_bits) | sub
    hashed_slice = hashed(gpu.slice_hash, high) ^ plain
    if gpu.indexing in (INDEX_IPOLY, INDEX_IPOLY_MODULO) and gpu.has_odd_channels:
        return hashed_slice % gpu.slices
    return hashed_slice


@compiled
def partition_address(gpu: Record, address: int) -> int:
    """The address without its channel bits and without the bits that choose the slice of a channel."""
    if gpu.has_odd_channels:
        packed = without_channel(gpu, address)
        low_bit = gpu.lowest_bank_bit
    else:
        low = address & ((1 << gpu.channel_shift) - 1)
        packed = ((address >> (gpu.channel_shift + gpu.channel_bits)) << gpu.channel_shift) | low
        low_bit = gpu.lowest_bank_bit_packed
    return ((packed >> (low_bit + gpu.slice_bits)) << low_bit) | (packed & ((1 << low_bit) - 1))


@compiled
def l2_set_of(gpu: Record, address: int) -> int:
    """Set of the slice: IPOLY hash of the partition address' line number."""
    line = partition_address(gpu, address) >> 7
    return hashed(gpu.set_hash, line >> gpu.set_shift) ^ (line & (gpu.l2_sets - 1))


@compiled
def bank_of(gpu: Record, address: int) -> int:
    """DRAM bank: the mapping's B bits, lowest first; not hashed."""
    packed = without_channel(gpu, address)
    bank = 0
    for i in range(gpu.bank_bits):
        bank |= ((packed >> gpu.bank_bit[i]) & 1) << i
    return bank


@compiled
def row_of(gpu: Record, address: int) -> int:
    """DRAM row: the mapping's R bits, lowest first; address bits above them are ignored."""
    packed = without_channel(gpu, address)
    row = 0
    for i in range(gpu.row_bits):
        row |= ((packed >> gpu.row_bit[i]) & 1) << i
    return row
