"""The instructions of the CTAs in flight, as compiled code reads them."""

from typing import NamedTuple

from sims.engine.jit import Table


class Trace(NamedTuple):
    """Arrays of the chunk store (:mod:`sims.engine.chunks`); a CTA's slot says where its part begins."""

    code: Table
    """Static instructions, :data:`sims.engine.statics.CODE`."""
    static_ids: Table
    operands: Table
    sector_addresses: Table
    sector_masks: Table
    warp_start: Table
    """First instruction of each warp of each loaded CTA."""
    warp_length: Table
    cta_warps: Table
    """By CTA number modulo ``cta_rows[0]``: where its warps begin in ``warp_start``."""
    cta_sectors: Table
    """Likewise: what to add to a memory operand to get its place in ``sector_addresses``."""
    cta_finished: Table
    """Likewise: set to 1 when the CTA has ended, so that its storage can be used again."""
    cta_place: Table
    """Likewise: SM and CTA slot it runs in (SM x ``CTA_SLOTS`` + slot + 1), 0 before it was started."""
    cta_peer: Table
    """Likewise: the next CTA of its cluster, in a ring; itself where it is alone."""
    cta_rank: Table
    """Likewise: its rank in the cluster."""
    cta_rows: Table
    """One number: the length of these tables, a power of two."""
