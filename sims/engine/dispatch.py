"""The load/store unit's way in: the dispatched memory instruction and its accesses (sections 3, 5, 8, 9).

The oldest memory instruction whose operands are read is dispatched when the one before has sent all its accesses: shared memory
takes as many cycles as its conflict degree, global memory up to one access per L1 bank and cycle, bypassing accesses go
one a cycle straight into the crossbar, bulk copies as many as the L1 has banks.
"""

import numpy as np

from sims.engine import asynchronous, counters, l1
from sims.engine.accounts import WHY_L1, WHY_SHARED
from sims.engine.collector import operands_taken
from sims.engine.jit import INFINITY, Record, Table, compiled, count_trailing_zeros, inlined, merged
from sims.engine.l1lines import prefetch_line
from sims.engine.packets import ATOMIC, BYPASS_LOAD, LOCAL_FLAG, STORE, has_room, push
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
from sims.engine.scoreboard import result_known
from sims.engine.smstate import ARRIVALS
from sims.engine.statics import MEMORY_PIPE
from sims.engine.trace import Trace
from sims.engine.units import release_operation
from sims.engine.writeback import access_done, copy_done, leave_pipeline, take_arrivals, take_effect

MODE_SHARED, MODE_L1, MODE_BYPASS, MODE_BULK, MODE_NOTHING = range(5)

# Start of the local memory window: 80 SMs' worth of it below 3 GiB, whatever the GPU (section 9).
LOCAL_BASE = 0xC0000000 - 80 * 98304 - 80 * 2048 * 16384
ADDRESS_MASK = (1 << 63) - 1
"""Keeps an address that no GPU has from being a negative number."""


@merged
def move_accesses(
    gpu: Record, trace: Trace, packets: Table, port: Record, sm: Record, launch: Record, now: int
) -> None:
    """What the dispatched instruction can send in this cycle; after its last access it has left the unit."""
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


@inlined
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


@inlined
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
        prefetch_line(sm, address >> 7)
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
    push(packets, port.sent, index)
    count_request(sm, packets[index])
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


@inlined
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
        copy_done(trace, sm, warp, operation.group, now)
    # A shared-memory load stays in the pipeline until its write-back is chosen.
    if sm.dispatch_mode != MODE_SHARED or sm.dispatch_load < 0:
        leave_pipeline(trace, sm, warp, now)


@merged
def dispatch_oldest(trace: Trace, sm: Record, now: int) -> None:
    """The oldest memory instruction whose operands are read becomes the one whose accesses move, unless it has to wait."""
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
    needs_slot = not goes_nowhere and _waits_for_accesses(code)
    if needs_slot and sm.free_loads == 0:
        return
    operands_taken(sm, subcore, MEMORY_PIPE)
    sm.progress = 1
    _count_as_accelsim(sm, code)
    sm.dispatching = index
    sm.dispatch_time = now + 1
    sm.dispatch_load = _new_load(sm, operation, code) if needs_slot else np.int64(-1)
    place = operation.operand + sm.cta_sectors[sm.warp_slot[operation.warp]]
    if goes_nowhere:
        sm.dispatch_mode = MODE_NOTHING
    elif takes_pipe:
        _dispatch_to_pipe(sm, operation, code, place, now)
    elif code.kind >= FIRST_ASYNC_KIND:
        _dispatch_bulk(trace, sm, operation, code, place, now)
    else:
        sm.dispatch_mode = MODE_BYPASS if code.bypasses_l1 else MODE_L1
        sm.dispatch_pointer = place + 1
        sm.dispatch_remaining = trace.sector_addresses[place]
        if needs_slot:
            sm.load[sm.dispatch_load].remaining = sm.dispatch_remaining


@compiled
def _waits_for_accesses(code: Record) -> bool:
    """Whether something happens when its accesses are back: a register is written, a warp goes on, a copy is done."""
    return code.kind != KIND_STORE and code.kind != KIND_TMA_STORE and code.kind != KIND_MBARRIER_COPY


@compiled
def _count_as_accelsim(sm: Record, code: Record) -> None:
    """Its warp instruction count has some twice and others never."""
    if code.kind == KIND_LDGSTS:
        sm.counter[counters.COUNTED_TWICE] += 1
    elif code.kind == KIND_ATOMIC and code.space == SPACE_SHARED and code.destination < 0:
        sm.counter[counters.NEVER_COUNTED] += 1


@compiled
def _dispatch_to_pipe(sm: Record, operation: Record, code: Record, place: int, now: int) -> None:
    """Shared memory keeps the unit for as many cycles as its conflict degree; ``place`` is an mbarrier operation's list."""
    degree = np.int64(1)
    if code.space == SPACE_SHARED:
        degree = max(degree, operation.operand)
    else:
        asynchronous.enter_pipe(sm, sm.load[sm.dispatch_load], place if operation.operand >= 0 else np.int64(-1))
    sm.dispatch_mode = MODE_SHARED
    sm.dispatch_time = now + degree
    sm.counter[counters.SHARED_CONFLICTS] += degree - 1


@compiled
def _dispatch_bulk(trace: Trace, sm: Record, operation: Record, code: Record, start: int, now: int) -> None:
    """A bulk copy, or an arrival that waits for copies; ``start`` is where its list lies."""
    warp = operation.warp
    sm.dispatch_mode = MODE_NOTHING
    if code.kind == KIND_MBARRIER_COPY:
        asynchronous.queue_arrival(sm, warp, start)
        take_arrivals(trace, sm, now)
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
            take_effect(trace, sm, slot, now)
            access_done(trace, sm, sm.dispatch_load, now)


@compiled
def count_request(sm: Record, packet: Record) -> None:
    """A packet leaves for the crossbar."""
    sm.counter[counters.REQUESTS] += 1
    local = packet.flags & LOCAL_FLAG
    if packet.kind == STORE:
        sm.counter[counters.LOCAL_PACKETS_WRITTEN if local else counters.PACKETS_WRITTEN] += 1
    else:
        sm.counter[counters.LOCAL_PACKETS_READ if local else counters.PACKETS_READ] += 1


@compiled
def _oldest_memory_operand(sm: Record) -> int:
    best = np.int64(0)
    age = INFINITY
    subcores = np.uint64(sm.waiting_subcores[MEMORY_PIPE])
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
    load_slot = sm.free_loads + sm.free_load[sm.free_loads]
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
