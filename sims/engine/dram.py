"""One DRAM channel: fixed delay, FR-FCFS scheduler, banks, data bus (section 7). Times are DRAM ticks.

* A request leaves a slice's queue when a credit is free (one of the slice's own, else one of the shared), crosses a delay of
  ``dram_latency`` core cycles and enters its bank's queue, if the scheduler has room.
* Each tick at most ONE idle bank gets its next request: the oldest to its open row, else its oldest. Banks are tried from a
  pointer that also moves with every activate and precharge. Rows stay open.
* Commands: one a tick (row or column), with a dual bus one of each. Reads occupy the data bus ``cl`` ticks after their command,
  writes ``wl``; the data leave in order, one request a tick.

A tick that moved nothing computes when the next one can; ticks until then are skipped. Scheduling policy: :func:`_assign`.
Microbenchmarks: ``dram_chain``, ``dram_bank``, ``dram_read``, ``dram_write``, ``dram_rw``. Twin: tests/engine/twins/dram.py.
"""

import numpy as np

from sims.engine import counters, l2
from sims.engine.jit import INFINITY, Record, Table, Word, bit, compiled, first_from, inlined
from sims.engine.memory import RECENT_CYCLES, Memory
from sims.engine.packets import WRITE_BACK, give_back, pop, push


@compiled
def tick(gpu: Record, memory: Memory, c: int, cycle: int, now: int) -> None:
    """Tick number ``now`` of channel ``c``, in core cycle ``cycle``."""
    channel = memory.channels[c]
    if now < channel.asleep_until and cycle < channel.wake_cycle:
        return
    channel.cycle = cycle
    moved = _return_data(gpu, memory, channel, now)
    moved |= _leave_bus(gpu, memory, channel, now)
    if channel.entering.count > 0:
        moved |= _enter_banks(memory, channel)
    if channel.waiting_banks:
        moved |= _assign(gpu, memory, channel)
    if channel.busy_banks:
        moved |= _command(gpu, memory, channel, now)
    moved |= _accept(gpu, memory, channel, c, cycle)
    if channel.delayed.count > 0:
        moved |= _end_delay(gpu, memory, channel, cycle)
    if moved:
        channel.asleep_until = 0
    else:
        _sleep(gpu, memory, channel)


@compiled
def _count(channel: Record, kind: int, amount: int) -> None:
    slot = channel.cycle & (RECENT_CYCLES - 1)
    if channel.recent_cycle[slot] != channel.cycle:
        channel.recent_cycle[slot] = channel.cycle
        for k in range(counters.CHANNEL_COUNTERS):
            channel.recent[slot, k] = 0
    channel.recent[slot, kind] += amount
    channel.counter[kind] += amount


@compiled
def _return_credit(gpu: Record, channel: Record, slice_index: int) -> None:
    own = slice_index & (gpu.slices_per_channel - 1)
    if channel.private[own] > 0:
        channel.private[own] -= 1
    else:
        channel.credits -= 1
    channel.work -= 1


@inlined
def _return_data(gpu: Record, memory: Memory, channel: Record, now: int) -> bool:
    if channel.returning.count == 0:
        return False
    d = memory.packets[channel.returning.head].slice
    if memory.slices[d].from_dram.count >= gpu.l2_queue:
        return False
    push(memory.packets, memory.slices[d].from_dram, pop(memory.packets, channel.returning))
    _return_credit(gpu, channel, d)
    return True


@inlined
def _leave_bus(gpu: Record, memory: Memory, channel: Record, now: int) -> bool:
    packets = memory.packets
    if channel.moving.count == 0 or packets[channel.moving.head].time > now:
        return False
    index = pop(packets, channel.moving)
    if packets[index].kind == WRITE_BACK:
        _return_credit(gpu, channel, packets[index].slice)
        give_back(packets, channel, index)
    else:
        push(packets, channel.returning, index)
        l2.expect_fill(memory, packets[index])
    return True


@compiled
def _enter_banks(memory: Memory, channel: Record) -> bool:
    moved = channel.entering.count > 0
    while channel.entering.count > 0:
        index = pop(memory.packets, channel.entering)
        b = memory.packets[index].bank
        push(memory.packets, channel.bank[b], index)
        channel.waiting_banks |= bit(b)
        channel.queued += 1
    return moved


@inlined
def _assign(gpu: Record, memory: Memory, channel: Record) -> bool:
    """FR-FCFS: the first idle bank with requests takes its oldest one to the open row, else its oldest."""
    idle = channel.waiting_banks & ~channel.busy_banks
    if not idle:
        return False
    b = first_from(idle, channel.priority)
    index = _take_for_row(memory.packets, channel.bank[b], channel.row[b])
    channel.serving[b] = index
    channel.busy_banks |= bit(b)
    packet = memory.packets[index]
    if not channel.open[b] or channel.row[b] != packet.row:
        channel.row_banks |= bit(b)
    if packet.kind == WRITE_BACK:
        channel.write_banks |= bit(b)
    if channel.bank[b].count == 0:
        channel.waiting_banks &= ~bit(b)
    channel.queued -= 1
    channel.command_from = min(channel.command_from, _command_from(gpu, channel, b))
    channel.priority = channel.priority + 1 if channel.priority + 1 < gpu.dram_banks else 0
    return True


@compiled
def _take_for_row(packets: Table, queue: Record, row: int) -> int:
    """Take the oldest request to ``row`` out of the queue, else the oldest."""
    previous = -1
    index = queue.head
    for _ in range(queue.count):
        if packets[index].row == row:
            break
        previous = index
        index = packets[index].next
    else:
        return pop(packets, queue)
    if previous < 0:
        return pop(packets, queue)
    packets[previous].next = packets[index].next
    if queue.tail == index:
        queue.tail = previous
    queue.count -= 1
    return index


@inlined
def _command(gpu: Record, memory: Memory, channel: Record, now: int) -> bool:
    """One command, or with a dual bus one column and one row command; banks are tried from the pointer."""
    if now < channel.command_from:
        return False
    if gpu.dual_bus:
        earliest = np.int64(channel.column_ok)
        if earliest <= now:
            earliest = _try(gpu, memory, channel, channel.busy_banks & ~channel.row_banks, now)
        issued = earliest <= now
        row_from = _try(gpu, memory, channel, channel.row_banks, now)
        earliest = min(earliest, row_from)
        issued |= row_from <= now
    else:
        earliest = _try_both(gpu, memory, channel, now)
        issued = earliest <= now
    channel.command_from = now + 1 if issued else earliest
    return issued


@compiled
def _try(gpu: Record, memory: Memory, channel: Record, banks: Word, now: int) -> int:
    """The first of ``banks`` that may has its command; returns a tick up to ``now``, or one before which none can."""
    earliest = INFINITY
    while banks:
        b = first_from(banks, channel.priority)
        banks &= ~bit(b)
        command_from = _command_from(gpu, channel, b)
        earliest = min(earliest, command_from)
        if command_from <= now:
            _issue(gpu, memory, channel, b, now)
            break
    return earliest


@inlined
def _try_both(gpu: Record, memory: Memory, channel: Record, now: int) -> int:
    """One bus: the first bank that may has its command, and after a row command a column command can still follow."""
    banks = channel.busy_banks
    earliest = INFINITY
    if channel.column_ok > now:
        banks &= channel.row_banks
        earliest = np.int64(channel.column_ok)
        if not banks:
            return earliest
    had_row_command = False
    tried = 0
    while tried < gpu.dram_banks:
        # The pointer may move inside the loop, as it does in the simulator.
        start = channel.priority + tried
        if start >= gpu.dram_banks:
            start -= gpu.dram_banks
        b = first_from(banks, start)
        tried += b - start if b >= start else b - start + gpu.dram_banks
        if tried >= gpu.dram_banks:
            break
        tried += 1
        wants_row = channel.row_banks & bit(b)
        if wants_row and had_row_command:
            continue
        command_from = _command_from(gpu, channel, b)
        earliest = min(earliest, command_from)
        if command_from <= now:
            _issue(gpu, memory, channel, b, now)
            if not wants_row:
                break
            had_row_command = True
    return earliest


@compiled
def _command_from(gpu: Record, channel: Record, b: int) -> int:
    """Tick from which the bank may have the next command of the request that it serves."""
    return _row_from(gpu, channel, b) if channel.row_banks & bit(b) else _column_from(gpu, channel, b)


@compiled
def _issue(gpu: Record, memory: Memory, channel: Record, b: int, now: int) -> None:
    """The bank has that command now."""
    if channel.row_banks & bit(b):
        _row_command(gpu, memory, channel, b, now)
    else:
        _column_command(gpu, memory, channel, b, now)


@compiled
def _column_from(gpu: Record, channel: Record, b: int) -> int:
    """Tick from which the bank, whose request's row is open, may have its column command."""
    bus = max(channel.column_ok, channel.group_column_ok[b & (gpu.dram_groups - 1)])
    if channel.write_banks & bit(b):
        return max(bus, max(channel.write_from[b], channel.write_ok))
    return max(bus, max(channel.read_from[b], channel.read_ok))


@compiled
def _row_from(gpu: Record, channel: Record, b: int) -> int:
    """Tick from which the bank may activate its request's row, or close the one that is open."""
    if not channel.open[b]:
        return max(channel.activate_ok, max(channel.activate_from[b], channel.cycle_from[b]))
    return max(channel.precharge_from[b], channel.group_precharge_ok[b & (gpu.dram_groups - 1)])


@inlined
def _column_command(gpu: Record, memory: Memory, channel: Record, b: int, now: int) -> None:
    index = channel.serving[b]
    packet = memory.packets[index]
    group = b & (gpu.dram_groups - 1)
    channel.column_ok = now + gpu.ccd
    channel.group_column_ok[group] = now + gpu.ccdl
    if packet.kind == WRITE_BACK:
        channel.read_ok = now + gpu.wtr
        channel.precharge_from[b] = max(channel.precharge_from[b], now + gpu.wtp)
        channel.data_end = max(now + gpu.wl, channel.data_end + 1)
        _count(channel, counters.DRAM_WRITES, 1)
    else:
        channel.write_ok = now + gpu.rtw
        channel.precharge_from[b] = max(channel.precharge_from[b], now + gpu.burst_ticks)
        channel.group_precharge_ok[group] = now + gpu.rtpl
        channel.data_end = max(now + gpu.cl, channel.data_end + 1)
        _count(channel, counters.DRAM_READS, 1)
    packet.bytes -= gpu.atom_bytes
    if packet.bytes <= 0:
        packet.time = channel.data_end
        push(memory.packets, channel.moving, index)
        channel.busy_banks &= ~bit(b)
        channel.write_banks &= ~bit(b)


@compiled
def _row_command(gpu: Record, memory: Memory, channel: Record, b: int, now: int) -> None:
    if channel.open[b]:
        channel.open[b] = 0
        channel.activate_from[b] = now + gpu.rp
        _count(channel, counters.PRECHARGES, 1)
    else:
        channel.open[b] = 1
        channel.row[b] = memory.packets[channel.serving[b]].row
        channel.row_banks &= ~bit(b)
        channel.activate_ok = now + gpu.rrd
        channel.read_from[b] = now + gpu.rcd
        channel.write_from[b] = now + gpu.rcdw
        channel.precharge_from[b] = now + gpu.ras
        channel.cycle_from[b] = now + gpu.rc
        _count(channel, counters.ACTIVATES, 1)
    channel.priority = b + 1 if b + 1 < gpu.dram_banks else 0


@compiled
def _has_credit(gpu: Record, channel: Record, own: int) -> bool:
    return channel.private[own] < 1 or channel.credits < gpu.shared_credits


@inlined
def _accept(gpu: Record, memory: Memory, channel: Record, c: int, cycle: int) -> bool:
    """One request from the channel's slices, alternating, into the delay."""
    if channel.offered == 0:
        return False
    own = channel.last_slice
    for _ in range(gpu.slices_per_channel):
        own = own + 1 if own + 1 < gpu.slices_per_channel else 0
        part = memory.slices[c * gpu.slices_per_channel + own]
        if part.to_dram.count == 0 or part.from_dram.count >= gpu.l2_queue or not _has_credit(gpu, channel, own):
            continue
        if channel.queued + channel.entering.count >= gpu.dram_queue:
            return False
        if channel.private[own] < 1:
            channel.private[own] += 1
        else:
            channel.credits += 1
        index = pop(memory.packets, part.to_dram)
        memory.packets[index].time = cycle + gpu.dram_latency
        push(memory.packets, channel.delayed, index)
        channel.offered -= 1
        channel.work += 1
        channel.last_slice = own
        return True
    return False


@inlined
def _end_delay(gpu: Record, memory: Memory, channel: Record, cycle: int) -> bool:
    if memory.packets[channel.delayed.head].time > cycle or channel.queued >= gpu.dram_queue:
        return False
    packet = memory.packets[channel.delayed.head]
    kind = counters.ATOMS_WRITTEN if packet.kind == WRITE_BACK else counters.ATOMS_READ
    _count(channel, kind, (packet.bytes + gpu.atom_bytes - 1) // gpu.atom_bytes)
    push(memory.packets, channel.entering, pop(memory.packets, channel.delayed))
    return True


@compiled
def _sleep(gpu: Record, memory: Memory, channel: Record) -> None:
    """Nothing moved: note the first tick (or core cycle, for the delay line) at which something can."""
    wake = channel.command_from if channel.busy_banks else INFINITY
    if channel.moving.count > 0:
        wake = min(wake, memory.packets[channel.moving.head].time)
    channel.asleep_until = wake
    channel.wake_cycle = INFINITY
    if channel.delayed.count > 0 and channel.queued < gpu.dram_queue:
        channel.wake_cycle = memory.packets[channel.delayed.head].time
