"""Hopper's asynchronous instructions in the load/store unit: bulk copies, mbarrier operations, the proxy fence.

As Accel-Sim 2.0 has them:

* a bulk load (TMA) sends its sectors past the L1, up to one per L1 bank and cycle; when the last is back, its bytes are
  complete at the mbarrier, those out of bounds too, and with a multicast at those of the other CTAs. Its warp cannot end
  before. A bulk store sends its sectors likewise
* an mbarrier operation (SYNCS) goes through the shared-memory pipe like a load and takes effect when it leaves it
* an asynchronous proxy fence does so, too; until then no shared-memory access, mbarrier operation or bulk load enters the unit
* ARRIVES waits in a queue of the SM until the copies (LDGSTS) that its warp issued before are done

A group of bulk stores, closed by UTMACMDFLUSH, counts among the groups of asynchronous copies: it is done when its last packet
has been sent, since from then on its source may be overwritten.
"""

import numpy as np

from sims.engine import cluster, mbarrier
from sims.engine.jit import Record, compiled
from sims.engine.program import (
    KIND_ASYNC_FENCE,
    KIND_MBARRIER_ARRIVE,
    KIND_MBARRIER_INIT,
    KIND_TMA_LOAD,
    SPACE_SHARED,
)
from sims.engine.smstate import ARRIVALS
from sims.engine.trace import Trace


@compiled
def is_fenced(code: Record) -> bool:
    """Whether an asynchronous proxy fence keeps the instruction back."""
    return code.space == SPACE_SHARED or code.kind == KIND_TMA_LOAD or code.kind >= KIND_MBARRIER_INIT


@compiled
def enter_pipe(sm: Record, slot: Record, place: int) -> None:
    """An mbarrier operation (``place``: its list, -1 for none) or a fence enters the shared-memory pipe."""
    slot.group = place
    if slot.kind == KIND_ASYNC_FENCE:
        sm.async_fences += 1


@compiled
def leave_pipe(trace: Trace, sm: Record, slot: Record, now: int) -> None:
    """It has left the pipe: it takes effect."""
    if slot.kind == KIND_ASYNC_FENCE:
        sm.async_fences -= 1
    elif slot.kind == KIND_MBARRIER_INIT and slot.group >= 0:
        at = slot.group
        address, expected = trace.sector_addresses[at], trace.sector_addresses[at + 1]
        mbarrier.initialise(trace, sm, sm.warp_slot[slot.warp], address, expected, now)
    elif slot.kind == KIND_MBARRIER_ARRIVE and slot.group >= 0:
        arrive(trace, sm, slot.warp, slot.group, now)


@compiled
def arrive(trace: Trace, sm: Record, warp: int, place: int, now: int) -> None:
    """Everything in the list at ``place`` happens."""
    for i in range(np.int64(trace.sector_masks[place])):
        at = place + 3 * i
        address, arrivals, byte_count = (
            trace.sector_addresses[at],
            trace.sector_addresses[at + 1],
            trace.sector_addresses[at + 2],
        )
        cluster.act(trace, sm, sm.warp_slot[warp], address, arrivals, byte_count, now)


@compiled
def load_done(trace: Trace, sm: Record, warp: int, place: int, now: int) -> None:
    """A bulk load's last sector is back; ``place`` is where its fields lie behind its sectors."""
    address, byte_count, cta_mask = (
        trace.sector_addresses[place],
        trace.sector_addresses[place + 1],
        trace.sector_addresses[place + 2],
    )
    slot = sm.warp_slot[warp]
    cluster.act(trace, sm, slot, address, 0, -byte_count, now)
    if cta_mask:
        cluster.act_on_others(trace, sm, slot, address, -byte_count, cta_mask)


@compiled
def queue_arrival(sm: Record, warp: int, place: int) -> None:
    """ARRIVES: the list at ``place`` happens when the copies that the warp has issued so far are done."""
    entry = sm.arrival[(sm.arrival_head + sm.arrivals) % ARRIVALS]
    sm.arrivals += 1
    entry.warp = warp
    entry.place = place
    entry.copies = sm.copies_issued[warp]
    sm.warp_in_flight[warp] += 1


@compiled
def first_arrival_due(sm: Record) -> bool:
    """Whether the oldest of them can happen; the others wait behind it."""
    if sm.arrivals == 0:
        return False
    entry = sm.arrival[sm.arrival_head]
    return sm.copies_done[entry.warp] >= entry.copies


@compiled
def take_arrival(trace: Trace, sm: Record, now: int) -> int:
    """The oldest happens; returns its warp, which has one instruction less in flight."""
    entry = sm.arrival[sm.arrival_head]
    sm.arrival_head = (sm.arrival_head + 1) % ARRIVALS
    sm.arrivals -= 1
    arrive(trace, sm, entry.warp, entry.place, now)
    return entry.warp


@compiled
def forget(sm: Record, warp: int) -> None:
    """The warp slot has a new occupant."""
    sm.copies_issued[warp] = 0
    sm.copies_done[warp] = 0
