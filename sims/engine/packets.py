"""Packets between SMs and memory, and the queues they wait in.

A packet is one sector's request (and, on the way back, its reply) or a write-back of a line. It lies in a pool and is passed
on by index; a queue is a linked list through ``next``, so no queue has a compiled-in length. Each SM and each memory channel
has a pool of its own: nothing is shared between threads, and a run does not depend on their number.
"""

import numpy as np

from sims.engine.freelist import distance, follower
from sims.engine.jit import Record, Table, compiled
from sims.engine.pointers import prefetch

LOAD, STORE, BYPASS_LOAD, ATOMIC, WRITE_BACK = range(5)

LOCAL_FLAG = 1
"""The access is to local memory (counted apart)."""
MISSED_L2_FLAG = 2
"""The request waited for DRAM (for the account of where cycles went)."""

PACKETS_PER_SM = 4096
PACKETS_PER_CHANNEL = 1024

PACKET = np.dtype(
    {
        "names": [
            "address", "time", "next", "waiter", "byte_mask", "set", "reference", "row", "sm", "slice", "mshr", "bytes",
            "bank", "kind", "flags", "line",
        ],
        "formats": ["i8", "i8", "i4", "i4", "u4", "i4", "i4", "i4", "i2", "i2", "i2", "i2", "u1", "u1", "u1", "i4"],
        "offsets": [0, 8, 16, 20, 24, 28, 32, 36, 40, 42, 44, 46, 48, 49, 50, 52],
        "itemsize": 64,
    }
)  # fmt: skip
"""One cache line each.

``time``: when it may leave the queue it is in (cycle; in the DRAM's bank queues unused). ``waiter``: next packet that waits for
the same L2 sector. ``reference``: on the SM's side the MSHR of a load, the warp of a store, the load slot of a bypassing access.
``mshr``: L2 MSHR of a request that went to DRAM. ``bytes``: still to be moved over the DRAM bus. ``line``: a line of the
request's L2 set, its own as far as that is known.

Free ones are chained by ``next`` as freelist.py has it: most are never used.
"""

DEPARTURES = 1024
"""Cycles for which departures of a tight buffer are kept; longer than a quantum."""

QUEUE = np.dtype([("head", "i4"), ("tail", "i4"), ("count", "i4")])

PORT = np.dtype(
    {
        # The SM's cache line, then the crossbars': both may be at work at once.
        "names": [
            "sent", "replies", "free", "free_count", "tight", "ahead", "ahead_cycle", "requests", "returned", "departures",
        ],
        "formats": [QUEUE, QUEUE, "i4", "i4", "i4", "i4", "i8", QUEUE, QUEUE, ("i2", (DEPARTURES,))],
        "offsets": [0, 12, 24, 28, 32, 36, 40, 64, 76, 128],
        "itemsize": 128 + 2 * DEPARTURES,
    }
)  # fmt: skip
"""An SM's side of the crossbars: its request input buffer, the replies that wait for it, its packet pool.

The buffer is what the SM ``sent`` since queues were last handed over, and the older ``requests``. ``returned`` are the newest of
the replies.

A ``tight`` buffer might fill within the quantum: the crossbar then runs first, and ``departures`` says how many packets left in
each cycle after the one the SM has reached (``ahead`` in all), so that the SM sees the buffer as it was.
"""


@compiled
def push(packets: Table, queue: Record, packet: int) -> None:
    """Append ``packet``."""
    if queue.count == 0:
        queue.head = packet
    else:
        packets[queue.tail].next = packet
    queue.tail = packet
    queue.count += 1


@compiled
def pop(packets: Table, queue: Record) -> int:
    """Take the oldest packet; the queue must not be empty."""
    packet = queue.head
    following = packets[packet].next
    queue.head = following
    queue.count -= 1
    # It was last touched by another part of the model, long ago: by the time it is wanted it will be here.
    prefetch(packets, following)
    return packet


@compiled
def append(packets: Table, queue: Record, newer: Record) -> None:
    """Move all of ``newer`` to the end of ``queue``."""
    if newer.count == 0:
        return
    if queue.count == 0:
        queue.head = newer.head
    else:
        packets[queue.tail].next = newer.head
    queue.tail = newer.tail
    queue.count += newer.count
    newer.count = 0


@compiled
def take_free(packets: Table, pool: Record) -> int:
    """A packet from the pool, which must not be empty."""
    packet = pool.free
    pool.free = follower(packet, packets[packet].next)
    pool.free_count -= 1
    prefetch(packets, pool.free)
    return packet


@compiled
def give_back(packets: Table, pool: Record, packet: int) -> None:
    """Return ``packet`` to the pool it came from."""
    packets[packet].next = distance(packet, pool.free)
    pool.free = packet
    pool.free_count += 1


@compiled
def has_room(gpu: Record, port: Record) -> bool:
    """Whether the SM's request buffer takes a packet; those that leave later than the SM's cycle still count."""
    if not port.tight and port.ahead == 0:
        return True
    return held_requests(port) + port.ahead < gpu.icnt_buffer


@compiled
def held_requests(port: Record) -> int:
    """Packets in the request buffer."""
    return port.requests.count + port.sent.count


@compiled
def pass_departures(port: Record, cycle: int) -> None:
    """The SM has reached ``cycle``: what left up to then no longer fills its buffer."""
    while port.ahead > 0 and port.ahead_cycle <= cycle:
        slot = port.ahead_cycle & (DEPARTURES - 1)
        port.ahead -= port.departures[slot]
        port.departures[slot] = 0
        port.ahead_cycle += 1


@compiled
def note_departure(port: Record, cycle: int) -> None:
    """A packet of a tight buffer left in ``cycle``, which the SM has not reached yet."""
    if port.ahead == 0:
        port.ahead_cycle = cycle
    port.ahead += 1
    port.departures[cycle & (DEPARTURES - 1)] += 1
