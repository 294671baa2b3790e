"""The load/store unit of one SM (sections 3, 5, 8, 9). Order inside a cycle, as in the simulator:

1. finish the write-back chosen last cycle (it needs its register bank; results of the ALUs go first)
2. choose the next one, rotating over shared-memory pipe, bypass replies and filled L1 misses
3. take one reply from the crossbar
4. send one packet from the L1 miss queue
5. look up the heads of the L1 bank queues
6. move accesses of the dispatched instruction: shared memory for as many cycles as its conflict degree, global memory up to one
   access per L1 bank and cycle, bypassing accesses one a cycle straight into the crossbar
7. dispatch the oldest memory instruction whose operands are read

Microbenchmarks: ``smem``, ``l1_bypass``, ``atomics``, ``local``, ``masks``, ``hiding``.
"""

import numpy as np

from sims.engine import asynchronous, counters, l1
from sims.engine.accounts import WHY_COPY, WHY_DRAM, WHY_L1, WHY_L2, WHY_SHARED
from sims.engine.collector import banks_written
from sims.engine.issue import copies_done
from sims.engine.jit import Record, Table, bit, compiled, count_trailing_zeros, first_from
from sims.engine.packets import (
    ATOMIC,
    BYPASS_LOAD,
    LOAD,
    LOCAL_FLAG,
    MISSED_L2_FLAG,
    STORE,
    give_back,
    has_room,
    pass_departures,
    pop,
    push,
)
from sims.engine.program import (
    FIRST_ASYNC_KIND,
    KIND_ATOMIC,
    KIND_LDGSTS,
    KIND_MBARRIER_COPY,
    KIND_MBARRIER_INIT,
    KIND_MEMBAR,
    KIND_STORE,
    KIND_TMA_LOAD,
    KIND_TMA_STORE,
    SPACE_LOCAL,
    SPACE_SHARED,
)
from sims.engine.scoreboard import ATOMIC_OUT, COPY_WAIT, EXITED, INFINITE, RUNNING, consider, result_known
from sims.engine.smstate import ARRIVALS, GROUPS
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace
from sims.engine.units import release_operation, write_bank

MODE_SHARED, MODE_L1, MODE_BYPASS, MODE_BULK, MODE_NOTHING = range(5)

TURN_SHARED, TURN_BYPASS, TURN_FILLS, TURNS = 0, 3, 4, 5
"""Clients of the write-back slot in rotation; 1 and 2 are texture and constant replies, which never come."""

# Start of the local memory window: 80 SMs' worth of it below 3 GiB, whatever the GPU (section 9).
LOCAL_BASE = 0xC0000000 - 80 * 98304 - 80 * 2048 * 16384
ADDRESS_MASK = (1 << 63) - 1
"""Keeps an address that no GPU has from being a negative number."""
REPLY_DELAY = 2
"""Cycles from a packet's transfer to the load/store unit: into the cluster, then into the unit."""


@compiled
def loadstore_cycle(
    gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int
) -> None:
    """One cycle of the unit."""
    if sm.write_back >= 0:
        _finish_write_back(trace, sm, now)
    if sm.write_back < 0:
        _choose_write_back(gpu, trace, sm, now)
    if port.replies.count > 0 and packets[port.replies.head].time + REPLY_DELAY <= launch.start + now:
        _take_reply(trace, packets, port, sm, now)
    if port.ahead > 0:
        pass_departures(port, launch.start + now)
    if sm.miss_count > 0 and has_room(gpu, port):
        _count_request(sm, packets[sm.miss_head])
        l1.send_miss(packets, port, sm, launch.start + now + 1)
    if sm.bank_busy:
        _look_up_heads(gpu, trace, packets, port, sm, now)
    if sm.dispatching >= 0 and sm.dispatch_time <= now:
        _move_accesses(gpu, trace, packets, port, sm, launch, now)
    if sm.dispatching < 0 and sm.memory_operands:
        _dispatch_oldest(trace, sm, now)


# ---- write-back and completion ----------------------------------------------------------------------------------------


@compiled
def _finish_write_back(trace: Trace, sm: Record, now: int) -> None:
    slot = sm.load[sm.write_back]
    if slot.destination >= 0 and slot.kind != KIND_LDGSTS:
        warp = slot.warp
        subcore = sm.warp_subcore[warp]
        bank = slot.bank
        if banks_written(sm, subcore, now) & bank:
            return
        write_bank(sm, subcore, bank, now)
    load_slot = sm.write_back
    sm.write_back = -1
    access_done(trace, sm, load_slot, now)


@compiled
def _choose_write_back(gpu: Record, trace: Trace, sm: Record, now: int) -> None:
    offers = np.uint64(0)
    if sm.shared_count > 0 and sm.shared_time[sm.shared_head] <= now:
        offers |= bit(TURN_SHARED)
    if sm.bypass_reply >= 0:
        offers |= bit(TURN_BYPASS)
    if sm.filled_count > 0:
        offers |= bit(TURN_FILLS)
    if not offers:
        return
    turn = first_from(offers, sm.write_back_turn)
    if turn == TURN_SHARED:
        sm.write_back = sm.shared_load[sm.shared_head]
        sm.shared_head = (sm.shared_head + 1) & gpu.shared_ring
        sm.shared_count -= 1
        _leave_pipeline(trace, sm, sm.load[sm.write_back].warp, now)
    elif turn == TURN_BYPASS:
        sm.write_back = sm.bypass_reply
        sm.bypass_reply = -1
    else:
        sm.write_back = l1.next_filled(sm)
    sm.write_back_turn = turn + 1 if turn + 1 < TURNS else 0
    _take_effect(trace, sm, sm.load[sm.write_back], now)


@compiled
def _take_effect(trace: Trace, sm: Record, slot: Record, now: int) -> None:
    """The last reply of an atomic frees its warp when it is chosen, a cycle before its register is written.

    Likewise what Hopper's asynchronous instructions do happens when they are chosen.
    """
    if slot.kind >= KIND_MBARRIER_INIT:
        asynchronous.leave_pipe(trace, sm, slot, now)
    elif slot.kind == KIND_TMA_LOAD:
        if slot.remaining == 1:
            asynchronous.load_done(trace, sm, slot.warp, slot.group, now)
            _leave_pipeline(trace, sm, slot.warp, now)
    elif slot.kind == KIND_ATOMIC and slot.remaining == 1 and sm.warp_state[slot.warp] == ATOMIC_OUT:
        sm.warp_state[slot.warp] = RUNNING
        sm.warp_why[slot.warp] = slot.level
        consider(trace, sm, slot.warp, now)


@compiled
def _leave_pipeline(trace: Trace, sm: Record, warp: int, now: int) -> None:
    sm.warp_in_flight[warp] -= 1
    if sm.warp_state[warp] == EXITED:
        consider(trace, sm, warp, now)


@compiled
def access_done(trace: Trace, sm: Record, load_slot: int, now: int) -> None:
    """One access of a load is back; the last one writes the register."""
    slot = sm.load[load_slot]
    slot.remaining -= 1
    if slot.remaining > 0:
        return
    sm.free_load[sm.free_loads] = load_slot
    sm.free_loads += 1
    warp = slot.warp
    if slot.epoch != sm.warp_epoch[warp]:
        return  # a copy that its warp did not wait for; the warp's slot has a new occupant
    if slot.kind == KIND_LDGSTS:
        _copy_done(trace, sm, warp, slot.group, now)
    elif slot.destination >= 0:
        sm.warp_why[warp] = slot.level
        result_known(trace, sm, warp, slot.destination, now, now)


@compiled
def _copy_done(trace: Trace, sm: Record, warp: int, group: int, now: int) -> None:
    sm.group_open[warp, group & (GROUPS - 1)] -= 1
    sm.copies_done[warp] += 1
    if sm.arrivals > 0:
        _take_arrivals(trace, sm, now)
    if sm.warp_state[warp] == COPY_WAIT and copies_done(sm, warp):
        sm.warp_state[warp] = RUNNING
        sm.warp_why[warp] = WHY_COPY
        consider(trace, sm, warp, now)


@compiled
def _take_arrivals(trace: Trace, sm: Record, now: int) -> None:
    while asynchronous.first_arrival_due(sm):
        _leave_pipeline(trace, sm, asynchronous.take_arrival(trace, sm, now), now)


# ---- replies ----------------------------------------------------------------------------------------------------------


@compiled
def _take_reply(trace: Trace, packets: Table, port: Record, sm: Record, now: int) -> None:
    l1.changed(sm)
    packet = packets[port.replies.head]
    level = WHY_DRAM if packet.flags & MISSED_L2_FLAG else WHY_L2
    if packet.kind == LOAD:
        sm.mshr[packet.reference].level = level
        l1.fill(sm, packet.reference)
    elif packet.kind == STORE:
        _leave_pipeline(trace, sm, packet.reference, now)
    else:
        if sm.bypass_reply >= 0:
            return
        sm.bypass_reply = packet.reference
        sm.load[packet.reference].level = max(sm.load[packet.reference].level, level)
    sm.counter[counters.REPLIES] += 1
    give_back(packets, port, pop(packets, port.replies))


# ---- L1 bank queues ---------------------------------------------------------------------------------------------------


@compiled
def _look_up_heads(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, now: int) -> None:
    busy = np.uint64(sm.bank_busy)
    blocked = np.uint64(0)
    while busy:
        bank = count_trailing_zeros(busy)
        busy &= busy - np.uint64(1)
        head = sm.bank_head[bank]
        entry = sm.bank[bank, head]
        if entry.time + gpu.l1_latency > now:
            continue
        if sm.bank_version[bank] == sm.l1_version:
            blocked |= bit(bank)
            l1.count_failure(sm, sm.bank_failure[bank], 1)
        elif _look_up(gpu, trace, packets, port, sm, entry, now):
            sm.bank_head[bank] = (head + 1) & gpu.l1_ring
            sm.bank_count[bank] -= 1
            if sm.bank_count[bank] == 0:
                sm.bank_busy &= ~(np.uint32(1) << np.uint32(bank))
        else:
            blocked |= bit(bank)
            sm.bank_version[bank] = sm.l1_version
            sm.bank_failure[bank] = sm.l1_failure
    sm.blocked_banks = blocked


@compiled
def _look_up(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, entry: Record, now: int) -> bool:
    if entry.reference < 0:
        return l1.store(gpu, packets, port, sm, entry, -1 - entry.reference, now)
    outcome = l1.load(gpu, packets, port, sm, entry, now)
    if outcome == 1:
        access_done(trace, sm, entry.reference, now)
    return outcome >= 0


@compiled
def count_skipped(sm: Record, cycles: int) -> None:
    """``cycles`` in which nothing could happen were not visited: the heads of blocked banks failed in each."""
    blocked = np.uint64(sm.blocked_banks)
    while blocked:
        bank = count_trailing_zeros(blocked)
        blocked &= blocked - np.uint64(1)
        l1.count_failure(sm, sm.bank_failure[bank], cycles)


# ---- dispatch ---------------------------------------------------------------------------------------------------------


@compiled
def _move_accesses(
    gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int
) -> None:
    mode = sm.dispatch_mode
    if mode == MODE_SHARED:
        done = _enter_shared_pipe(gpu, sm, now)
    elif mode == MODE_L1:
        done = _enter_banks(gpu, trace, sm, launch, now)
    elif mode == MODE_BYPASS:
        done = _send_bypass(gpu, trace, packets, port, sm, launch, now)
    elif mode == MODE_BULK:
        done = _send_bulk(gpu, trace, packets, port, sm, launch, now)
    else:
        done = True
    if done:
        _dispatch_done(trace, sm, now)
    else:
        sm.dispatch_time = now + 1


@compiled
def _enter_shared_pipe(gpu: Record, sm: Record, now: int) -> bool:
    """A load needs the pipe's first stage: the pipe has as many stages as the latency, and stalled ones fill up."""
    if sm.dispatch_load < 0:
        return True
    if sm.shared_count >= gpu.shared_latency:
        sm.counter[counters.SHARED_STALLS] += 1
        return False
    tail = (sm.shared_head + sm.shared_count) & gpu.shared_ring
    sm.shared_time[tail] = now + gpu.shared_latency
    sm.shared_load[tail] = sm.dispatch_load
    sm.shared_count += 1
    return True


@compiled
def _enter_banks(gpu: Record, trace: Trace, sm: Record, launch: Record, now: int) -> bool:
    """Highest address first; stop at the first access whose bank took one this cycle or is full."""
    operation = sm.operation[sm.dispatching]
    warp = operation.warp
    code = trace.code[operation.code]
    for _ in range(gpu.l1_banks):
        address = trace.sector_addresses[sm.dispatch_pointer] & ADDRESS_MASK
        if code.space == SPACE_LOCAL:
            address = _local_address(gpu, sm, launch, address, warp) & ADDRESS_MASK
        bank = (address >> 5) & (gpu.l1_banks - 1)
        count = sm.bank_count[bank]
        if count > 0:
            newest = sm.bank[bank, (sm.bank_head[bank] + count - 1) & gpu.l1_ring].time
            if count >= gpu.l1_latency or newest == now:
                sm.counter[counters.L1_BANK_CONFLICTS] += 1
                return False
        entry = sm.bank[bank, (sm.bank_head[bank] + count) & gpu.l1_ring]
        entry.address = address
        entry.time = now
        entry.byte_mask = trace.sector_masks[sm.dispatch_pointer]
        entry.flags = LOCAL_FLAG if code.space == SPACE_LOCAL else 0
        entry.reference = sm.dispatch_load
        if sm.dispatch_load < 0:
            entry.reference = -1 - np.int64(warp)
            sm.warp_in_flight[warp] += 1
        sm.bank_count[bank] = count + 1
        sm.bank_busy |= np.uint32(1) << np.uint32(bank)
        sm.dispatch_pointer += 1
        sm.dispatch_remaining -= 1
        if sm.dispatch_remaining == 0:
            return True
    return False


@compiled
def _local_address(gpu: Record, sm: Record, launch: Record, key: int, warp: int) -> int:
    """Word w of all resident threads lies side by side: base + w x threads of the GPU x 4 + 4 x thread slot (section 9)."""
    warps = launch.warps_per_cta
    word_stride = gpu.sms * warps * launch.ctas_per_sm * 128
    position = warps * (sm.index + gpu.sms * (warp // warps)) + warp % warps
    return LOCAL_BASE + (key >> 7) * word_stride + 128 * position + (key & 127)


@compiled
def _send_bypass(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int) -> bool:
    if not has_room(gpu, port) or port.free_count == 0:
        return False
    operation = sm.operation[sm.dispatching]
    code = trace.code[operation.code]
    kind = BYPASS_LOAD
    if code.kind == KIND_ATOMIC:
        kind = ATOMIC
    elif code.kind == KIND_STORE or code.kind == KIND_TMA_STORE:
        kind = STORE
    address = trace.sector_addresses[sm.dispatch_pointer] & ADDRESS_MASK
    reference = np.int64(sm.dispatch_load)
    if kind == STORE:
        reference = np.int64(operation.warp)
        sm.warp_in_flight[operation.warp] += 1
    index = l1.new_packet(gpu, packets, port, sm, address, kind, reference)
    packets[index].byte_mask = trace.sector_masks[sm.dispatch_pointer]
    packets[index].time = launch.start + now + 1
    push(packets, port.requests, index)
    _count_request(sm, packets[index])
    sm.dispatch_pointer += 1
    sm.dispatch_remaining -= 1
    return sm.dispatch_remaining == 0


@compiled
def _send_bulk(gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int) -> bool:
    """A bulk copy's packets: as many a cycle as the L1 has banks."""
    for _ in range(gpu.l1_banks):
        if _send_bypass(gpu, trace, packets, port, sm, launch, now):
            return True
    return False


@compiled
def _dispatch_done(trace: Trace, sm: Record, now: int) -> None:
    index = sm.dispatching
    operation = sm.operation[index]
    code = trace.code[operation.code]
    warp = operation.warp
    sm.dispatching = -1
    release_operation(sm, index)
    if sm.dispatch_mode == MODE_NOTHING and code.destination >= 0:
        result_known(trace, sm, warp, code.destination, now, now)
    if code.kind == KIND_TMA_STORE and operation.operand >= 0:
        _copy_done(trace, sm, warp, operation.group, now)
    # A shared-memory load stays in the pipeline until its write-back is chosen.
    if sm.dispatch_mode != MODE_SHARED or sm.dispatch_load < 0:
        _leave_pipeline(trace, sm, warp, now)


@compiled
def _dispatch_oldest(trace: Trace, sm: Record, now: int) -> None:
    subcore = _oldest_memory_operand(sm)
    index = sm.operands[subcore, MEMORY_PIPE]
    operation = sm.operation[index]
    code = trace.code[operation.code]
    if code.kind >= FIRST_ASYNC_KIND and sm.arrivals == ARRIVALS:
        return
    if sm.async_fences > 0 and asynchronous.is_fenced(code):
        return
    takes_pipe = code.space == SPACE_SHARED or code.kind >= KIND_MBARRIER_INIT
    goes_nowhere = code.kind == KIND_MEMBAR or (operation.operand < 0 and not takes_pipe)
    needs_slot = not goes_nowhere and code.kind != KIND_STORE
    if code.kind == KIND_TMA_STORE or code.kind == KIND_MBARRIER_COPY:
        needs_slot = False
    if needs_slot and sm.free_loads == 0:
        return
    sm.operands_full[subcore] &= ~(np.uint32(1) << np.uint32(MEMORY_PIPE))
    sm.memory_operands &= ~np.uint8(1 << subcore)
    sm.progress = 1
    if code.kind == KIND_LDGSTS:
        sm.counter[counters.COUNTED_TWICE] += 1
    elif code.kind == KIND_ATOMIC and code.space == SPACE_SHARED and code.destination < 0:
        sm.counter[counters.NEVER_COUNTED] += 1
    sm.dispatching = index
    sm.dispatch_time = now + 1
    sm.dispatch_load = -1
    if goes_nowhere:
        sm.dispatch_mode = MODE_NOTHING
        return
    if needs_slot:
        sm.dispatch_load = _new_load(sm, operation, code)
    start = operation.operand + sm.cta_sectors[sm.warp_slot[operation.warp]]
    if takes_pipe:
        degree = np.int64(1)
        if code.space == SPACE_SHARED:
            degree = max(degree, operation.operand)
        else:
            asynchronous.enter_pipe(sm, sm.load[sm.dispatch_load], start if operation.operand >= 0 else np.int64(-1))
        sm.dispatch_mode = MODE_SHARED
        sm.dispatch_time = now + degree
        sm.counter[counters.SHARED_CONFLICTS] += degree - 1
        return
    if code.kind >= FIRST_ASYNC_KIND:
        _dispatch_bulk(trace, sm, operation, code, start, now)
        return
    sm.dispatch_mode = MODE_BYPASS if code.bypasses_l1 else MODE_L1
    sm.dispatch_pointer = start + 1
    sm.dispatch_remaining = trace.sector_addresses[start]
    if needs_slot:
        sm.load[sm.dispatch_load].remaining = sm.dispatch_remaining


@compiled
def _dispatch_bulk(trace: Trace, sm: Record, operation: Record, code: Record, start: int, now: int) -> None:
    """A bulk copy, or an arrival that waits for copies; ``start`` is where its list lies."""
    warp = operation.warp
    sm.dispatch_mode = MODE_NOTHING
    if code.kind == KIND_MBARRIER_COPY:
        asynchronous.queue_arrival(sm, warp, start)
        _take_arrivals(trace, sm, now)
        return
    sectors = trace.sector_addresses[start]
    if sectors > 0:
        sm.dispatch_mode = MODE_BULK
        sm.dispatch_pointer = start + 1
        sm.dispatch_remaining = sectors
    if code.kind == KIND_TMA_LOAD:
        slot = sm.load[sm.dispatch_load]
        slot.remaining = sectors
        slot.group = start + 1 + sectors
        sm.warp_in_flight[warp] += 1
        if sectors == 0:
            slot.remaining = 1
            _take_effect(trace, sm, slot, now)
            access_done(trace, sm, sm.dispatch_load, now)


@compiled
def _count_request(sm: Record, packet: Record) -> None:
    sm.counter[counters.REQUESTS] += 1
    local = packet.flags & LOCAL_FLAG
    if packet.kind == STORE:
        sm.counter[counters.LOCAL_PACKETS_WRITTEN if local else counters.PACKETS_WRITTEN] += 1
    else:
        sm.counter[counters.LOCAL_PACKETS_READ if local else counters.PACKETS_READ] += 1


@compiled
def _oldest_memory_operand(sm: Record) -> int:
    best = np.int64(0)
    age = np.int64(1) << 40
    subcores = np.uint64(sm.memory_operands)
    while subcores:
        subcore = count_trailing_zeros(subcores)
        subcores &= subcores - np.uint64(1)
        candidate = np.int64(sm.operation[sm.operands[subcore, MEMORY_PIPE]].age)
        if candidate < age:
            age = candidate
            best = subcore
    return best


@compiled
def _new_load(sm: Record, operation: Record, code: Record) -> int:
    sm.free_loads -= 1
    load_slot = sm.free_load[sm.free_loads]
    slot = sm.load[load_slot]
    slot.warp = operation.warp
    slot.kind = code.kind
    slot.destination = code.destination
    slot.bank = code.writes[sm.warp_phase[operation.warp]]
    slot.group = operation.group
    slot.epoch = sm.warp_epoch[operation.warp]
    slot.remaining = 1
    slot.level = WHY_SHARED if code.space == SPACE_SHARED else WHY_L1
    return load_slot


@compiled
def next_event(gpu: Record, packets: Table, port: Record, sm: Record, launch: Record, now: int) -> int:
    """First cycle after ``now`` in which the unit has something to do."""
    if sm.write_back >= 0 or sm.bypass_reply >= 0 or sm.filled_count > 0 or sm.miss_count > 0:
        return now + 1
    if sm.dispatching < 0 and sm.memory_operands:
        return now + 1
    earliest = np.int64(INFINITE)
    if sm.dispatching >= 0:
        earliest = np.int64(sm.dispatch_time)
    if sm.shared_count > 0:
        earliest = min(earliest, np.int64(sm.shared_time[sm.shared_head]))
    if port.replies.count > 0:
        earliest = min(earliest, packets[port.replies.head].time + REPLY_DELAY - launch.start)
    busy = np.uint64(sm.bank_busy)
    while busy:
        bank = count_trailing_zeros(busy)
        busy &= busy - np.uint64(1)
        # A head that failed waits for a change, which is an event of its own.
        if not (sm.blocked_banks >> bank) & 1 or sm.bank_version[bank] != sm.l1_version:
            due = np.int64(sm.bank[bank, sm.bank_head[bank]].time) + gpu.l1_latency
            earliest = min(earliest, due)
    return max(earliest, now + 1)
