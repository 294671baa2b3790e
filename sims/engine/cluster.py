"""Thread block clusters: what a CTA does to the mbarriers of the others of its cluster.

The CTAs of a cluster run on different SMs, so an arrival or completed bytes become a message, and messages are delivered when a
quantum ends; while clusters run, quanta are short (:data:`QUANTUM_CYCLES`), so a message comes that much too late at most.
A message for a CTA that has not started waits for it; one for a CTA that has ended is lost, as it is on the GPU. Cluster barriers
(``UCGABAR``) order nothing, as in Accel-Sim 2.0.
"""

import numpy as np

from sims.engine import mbarrier
from sims.engine.jit import Record, Table, compiled
from sims.engine.smstate import CTA_SLOTS, MESSAGES
from sims.engine.trace import Trace

QUANTUM_CYCLES = 16
MAX_RANKS = 16
TOO_MANY_MESSAGES = 3
"""Error of an SM."""


@compiled
def act(trace: Trace, sm: Record, slot: int, address: int, arrivals: int, byte_count: int, now: int) -> None:
    """Arrivals and bytes for the mbarrier at ``address`` of the CTA in ``slot``, or of another in its cluster."""
    index = mbarrier.find(sm, slot, address)
    if index < 0:
        cta = sm.cta_number[slot]
        row = cta & (trace.cta_rows[0] - 1)
        rank = address >> 24
        if trace.cta_peer[row] != cta and rank != trace.cta_rank[row] and rank < MAX_RANKS:
            send(sm, cta, rank, address, arrivals, byte_count)
            return
        index = mbarrier.find_or_add(sm, slot, address)
        if index < 0:
            return
    mbarrier.change(trace, sm, index, arrivals, byte_count, now)


@compiled
def act_on_others(trace: Trace, sm: Record, slot: int, address: int, byte_count: int, cta_mask: int) -> None:
    """A multicast: the bytes have come in the other CTAs that ``cta_mask`` names, too."""
    cta = sm.cta_number[slot]
    row = cta & (trace.cta_rows[0] - 1)
    if trace.cta_peer[row] == cta:
        return
    for rank in range(MAX_RANKS):
        if (cta_mask >> rank) & 1 and rank != trace.cta_rank[row]:
            send(sm, cta, rank, address, 0, byte_count)


@compiled
def send(sm: Record, cta: int, rank: int, address: int, arrivals: int, byte_count: int) -> None:
    """Leave a message for the CTA of this rank."""
    if sm.messages == MESSAGES:
        sm.error = TOO_MANY_MESSAGES
        sm.error_cta = cta
        return
    message = sm.message[sm.messages]
    sm.messages += 1
    message.from_cta = cta
    message.rank = rank
    message.address = address
    message.arrivals = arrivals
    message.bytes = byte_count


@compiled
def deliver(gpu: Record, trace: Trace, sms: Table, now: int) -> None:
    """All messages whose receivers have started take effect in cycle ``now``, which no SM has reached yet."""
    for index in range(gpu.sms):
        sm = sms[index]
        kept = 0
        for i in range(sm.messages):
            message = sm.message[i]
            if _delivered(trace, sms, message, now):
                continue
            _copy(sm.message[kept], message)
            kept += 1
        sm.messages = kept


@compiled
def _copy(to: Record, message: Record) -> None:
    to.from_cta = message.from_cta
    to.rank = message.rank
    to.address = message.address
    to.arrivals = message.arrivals
    to.bytes = message.bytes


@compiled
def _delivered(trace: Trace, sms: Table, message: Record, now: int) -> bool:
    """Deliver one message; False if its receiver has not started."""
    last_row = trace.cta_rows[0] - 1
    cta = trace.cta_peer[message.from_cta & last_row]
    while trace.cta_rank[cta & last_row] != message.rank:
        if cta == message.from_cta:
            return False
        cta = trace.cta_peer[cta & last_row]
    if trace.cta_finished[cta & last_row]:
        return True
    place = trace.cta_place[cta & last_row] - 1
    if place < 0:
        return False
    receiver = sms[place // CTA_SLOTS]
    slot = place % CTA_SLOTS
    found = mbarrier.find_by_offset(receiver, slot, message.address)
    if found < 0:
        # Not initialised yet. Its own CTA knows it under its own rank.
        own = (message.address & mbarrier.OFFSET_MASK) | (np.int64(trace.cta_rank[cta & last_row]) << 24)
        found = mbarrier.find_or_add(receiver, slot, own)
        if found < 0:
            return True
    mbarrier.change(trace, receiver, found, message.arrivals, message.bytes, now)
    receiver.time = min(receiver.time, now)
    return True
