"""The state of one SM: one record, so that one pointer is passed and one SM's data lie together.

Each part's module documents its fields; here they are put into one dtype, small ones first, so that a cycle touches few
cache lines.
"""

import numpy as np

from sims.engine.accounts import ACCOUNT_NAMES
from sims.engine.counters import SM_COUNTERS
from sims.engine.packets import QUEUE
from sims.engine.parameters import (
    MAX_COLLECTORS,
    MAX_L1_BANKS,
    MAX_L1_LATENCY,
    MAX_L1_LINES,
    MAX_L1_MSHRS,
    MAX_L1_SETS,
    MAX_SHARED_LATENCY,
    MAX_SUBCORES,
    MAX_WARPS,
)
from sims.engine.statics import PIPES

WAKE_SLOTS = 256
"""Cycles the wake-up wheel looks ahead; a warp that waits longer is looked at again on the way."""
RESULT_SLOTS = 512
"""Cycles the register banks' write table looks ahead; longer than :data:`sims.engine.parameters.MAX_UNIT_LATENCY`."""
IN_FLIGHT = 128
"""Instructions between issue and their unit: at most 4 sub-cores x (10 latches + 4 collectors + 10 operand latches)."""
LOAD_SLOTS = 4096
WAITERS = 16384
L1_BUCKETS = 4096
GROUPS = 64
"""Asynchronous copy groups of a warp that may be open at once."""
CTA_SLOTS = 64
REGISTERS = 256
BARRIERS = 16
MBARRIERS = 1024
"""Of all CTAs on an SM."""
MESSAGES = 1024
"""What an SM's CTAs may do to mbarriers elsewhere in their clusters before it is delivered."""
ARRIVALS = 256
"""Arrivals of an SM that wait for copies to be done."""

OPERATION = np.dtype(
    [("operand", "i8"), ("age", "i4"), ("code", "i4"), ("group", "i4"), ("warp", "u1"), ("pipe", "u1")], align=True
)
"""An instruction between issue and its unit."""

BUSES_TAKEN = np.dtype([("time", "i4"), ("taken", "i4")])
"""How many results leave their units in cycle ``time``."""
BANK_WRITES = np.dtype([("banks", "u8"), ("time", "i8")])
"""Register banks of a sub-core that are written in cycle ``time``."""

LOAD_SLOT = np.dtype(
    [
        ("bank", "u8"),  # the destination's register bank
        ("remaining", "i4"),  # accesses that have not come back
        ("group", "i4"),  # asynchronous copy group (LDGSTS)
        ("epoch", "i4"),  # the warp slot's occupant when it was issued
        ("destination", "i2"),
        ("warp", "u1"),
        ("kind", "u1"),
        ("level", "u1"),  # deepest place an access was served from (an account's category)
    ],
    align=True,
)

LINE = np.dtype(
    [
        ("tag", "i8"),
        ("stamp", "i4"),
        ("older", "i2"),
        ("newer", "i2"),
        ("chain", "i2"),  # next line of the same hash bucket
        ("pending", "u1"),  # sectors that wait for data
        ("dirty", "u1"),  # sectors that were written
        ("ignore", "u1"),  # sectors written while pending: the fill leaves them dirty
        ("state", "u1", (4,)),
        ("mshr", "i2", (4,)),
        ("written", "u4", (4,)),  # bytes written so far
    ],
    align=True,
)

L1_MSHR = np.dtype(
    [("sector", "i8"), ("head", "i4"), ("tail", "i4"), ("count", "i4"), ("orphan", "u1"), ("level", "u1")], align=True
)
WAITER = np.dtype([("load", "i4"), ("next", "i4")])
BANK_ENTRY = np.dtype(
    [("address", "i8"), ("time", "i4"), ("reference", "i4"), ("byte_mask", "u4"), ("flags", "u1")], align=True
)

MBARRIER = np.dtype(
    [
        ("address", "i8"),
        ("bytes", "i8"),  # expected and not come
        ("waiting", "u8"),  # warps
        ("expected", "i4"),  # arrivals of a phase; 0: not initialised
        ("pending", "i4"),
        ("phase", "i4"),
        ("next", "i2"),  # of the same CTA, or of the free ones
    ],
    align=True,
)
MESSAGE = np.dtype(
    [("address", "i8"), ("bytes", "i8"), ("from_cta", "i8"), ("rank", "i4"), ("arrivals", "i4")], align=True
)
ARRIVAL = np.dtype([("place", "i8"), ("copies", "i4"), ("warp", "u1")], align=True)

_FIELDS = [
    # time and CTAs
    ("index", "i4"), ("time", "i8"), ("last_visit", "i8"), ("resident", "i4"), ("launch_pending", "i4"), ("active_since", "i8"),
    ("epoch", "i4"), ("error", "i4"), ("error_warp", "i4"), ("error_cta", "i4"), ("progress", "u1"), ("is_clean", "u1"),
    ("cta_used", "u8"), ("given_cta", "i8"), ("given_cycle", "i8"),
    ("cta_live", "i4", (CTA_SLOTS,)), ("cta_launch", "i4", (CTA_SLOTS,)), ("cta_start", "i4", (CTA_SLOTS,)),
    ("cta_left", "i4", (CTA_SLOTS,)),
    ("cta_number", "i4", (CTA_SLOTS,)), ("cta_sectors", "i8", (CTA_SLOTS,)),
    ("bar_arrived", "i4", (CTA_SLOTS, BARRIERS)), ("bar_waiting", "u8", (CTA_SLOTS, BARRIERS)),
    # warps
    ("warp_next", "i8", (MAX_WARPS,)), ("warp_end", "i8", (MAX_WARPS,)), ("warp_state", "u1", (MAX_WARPS,)),
    ("warp_slot", "u1", (MAX_WARPS,)), ("warp_buffered", "u1", (MAX_WARPS,)), ("warp_pipe", "u1", (MAX_WARPS,)),
    ("warp_subcore", "u1", (MAX_WARPS,)), ("warp_phase", "u1", (MAX_WARPS,)), ("warp_why", "u1", (MAX_WARPS,)),
    ("warp_in_flight", "i4", (MAX_WARPS,)), ("warp_unknown", "i4", (MAX_WARPS,)), ("warp_last", "i4", (MAX_WARPS,)),
    ("warp_last_write", "i4", (MAX_WARPS,)),
    ("warp_ready_at", "i4", (MAX_WARPS,)), ("warp_epoch", "i4", (MAX_WARPS,)), ("warp_age", "i4", (MAX_WARPS,)),
    ("warp_group", "i4", (MAX_WARPS,)), ("warp_oldest_group", "i4", (MAX_WARPS,)), ("warp_wait_group", "i4", (MAX_WARPS,)),
    ("warp_bar", "u1", (MAX_WARPS,)),
    ("warp_release", "i4", (MAX_WARPS,)), ("warp_asked", "i4", (MAX_WARPS,)),
    ("copies_issued", "i4", (MAX_WARPS,)), ("copies_done", "i4", (MAX_WARPS,)),
    ("gmma_issued", "i4", (MAX_WARPS,)), ("gmma_started", "i4", (MAX_WARPS,)), ("gmma_awaited", "i4", (MAX_WARPS,)),
    ("gmma_groups", "i4", (MAX_WARPS,)),
    ("gmma_group_end", "i4", (MAX_WARPS, GROUPS)), ("gmma_done", "i4", (MAX_WARPS, GROUPS)),
    ("group_open", "i4", (MAX_WARPS, GROUPS)),
    ("register_ready", "i4", (MAX_WARPS, REGISTERS)),
    # schedulers and fetch
    ("ready", "u8"), ("membars", "u8"), ("pipe_warps", "u8", (PIPES,)), ("finished", "u8"), ("fetchable", "u8"),
    ("fetch_pointer", "i4"), ("fetched", "i4"), ("awake_schedulers", "u1"),
    ("rotation", "i4"), ("next_age", "i4"),
    ("last_issued", "i4", (MAX_SUBCORES,)), ("last_issue_time", "i4", (MAX_SUBCORES,)),
    ("wake_occupied", "u8", (WAKE_SLOTS // 64,)), ("wake", "u8", (WAKE_SLOTS,)),
    # operand collector and units
    ("free_operations", "i4"), ("free_operation", "u1", (IN_FLIGHT,)), ("operation", OPERATION, (IN_FLIGHT,)),
    ("latched_pipes", "u4"), ("offered_pipes", "u4"), ("latch_order", "u4", (PIPES,)), ("latch_count", "u1", (PIPES,)),
    ("latch", "u1", (MAX_SUBCORES, PIPES)), ("latch_full", "u4", (MAX_SUBCORES,)),
    ("awake_collectors", "u1"), ("collector_used", "u1", (MAX_SUBCORES,)), ("collector_reading", "u1", (MAX_SUBCORES,)),
    ("collector_memory", "u1", (MAX_SUBCORES,)), ("collector_order", "u4", (MAX_SUBCORES,)),
    ("collector", "u1", (MAX_SUBCORES, MAX_COLLECTORS)),
    ("collector_reads", "u8", (MAX_SUBCORES, MAX_COLLECTORS)),
    ("waiting_pipes", "u4"), ("waiting_subcores", "u1", (PIPES,)), ("operands", "u1", (MAX_SUBCORES, PIPES)),
    ("unit_free", "i4", (MAX_SUBCORES, PIPES)), ("unit_due", "i4"),
    ("bus", BUSES_TAKEN, (RESULT_SLOTS,)), ("write", BANK_WRITES, (RESULT_SLOTS, MAX_SUBCORES)),
    # load/store unit
    ("dispatching", "i4"), ("dispatch_time", "i4"), ("dispatch_mode", "u1"),
    ("dispatch_load", "i4"), ("dispatch_pointer", "i8"), ("dispatch_remaining", "i4"),
    ("write_back", "i4"), ("write_back_turn", "i4"), ("bypass_reply", "i4"),
    ("shared_head", "i4"), ("shared_count", "i4"), ("shared_time", "i4", (MAX_SHARED_LATENCY,)),
    ("shared_load", "i4", (MAX_SHARED_LATENCY,)),
    ("bank_busy", "u4"), ("blocked_banks", "u4"), ("bank_version", "i4", (MAX_L1_BANKS,)),
    ("bank_failure", "u1", (MAX_L1_BANKS,)),
    ("bank_head", "i4", (MAX_L1_BANKS,)), ("bank_count", "i4", (MAX_L1_BANKS,)),
    ("bank", BANK_ENTRY, (MAX_L1_BANKS, MAX_L1_LATENCY)),
    ("async_fences", "i4"),
    ("free_loads", "i4"), ("free_load", "i4", (LOAD_SLOTS,)),  # a stack: what an entry differs from its own place
    ("load", LOAD_SLOT, (LOAD_SLOTS,)),
    # mbarriers and clusters
    ("mbarrier_first", "i2", (CTA_SLOTS,)), ("mbarrier_free", "i4"), ("mbarrier", MBARRIER, (MBARRIERS,)),
    ("messages", "i4"), ("message", MESSAGE, (MESSAGES,)),
    ("arrivals", "i4"), ("arrival_head", "i4"), ("arrival", ARRIVAL, (ARRIVALS,)),
    # L1; its MSHRs' fields are named as a slice's, see mshrs.py
    ("l1_ways", "i4"), ("l1_known_lines", "i4"), ("l1_dirty_lines", "i4"),
    ("live_mshrs", "i4"), ("orphans", "i4"), ("l1_bucket_mask", "i4"),
    ("l1_version", "i4"), ("l1_failure", "u1"), ("l1_reordered", "u1"),
    ("free_mshr", "i4"), ("l1_free_waiter", "i4"),
    ("l1_newest", "i2", (MAX_L1_SETS,)), ("l1_oldest", "i2", (MAX_L1_SETS,)), ("l1_bucket", "i2", (L1_BUCKETS,)),
    ("line", LINE, (MAX_L1_LINES,)), ("mshr", L1_MSHR, (MAX_L1_MSHRS,)), ("waiter", WAITER, (WAITERS,)),
    ("filled_head", "i4"), ("filled_count", "i4"), ("filled", "i2", (MAX_L1_MSHRS,)),
    ("misses", QUEUE),
    # accounts
    ("counter", "i8", (SM_COUNTERS,)), ("stall", "i8", (len(ACCOUNT_NAMES),)), ("busy", "i8", (PIPES,)), ("last_end", "i8"),
]  # fmt: skip

SM_STATE = np.dtype(sorted(_FIELDS, key=lambda f: np.dtype((f[1], f[2]) if len(f) > 2 else f[1]).itemsize), align=True)
