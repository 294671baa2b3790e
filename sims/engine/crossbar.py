"""The two crossbars between SMs and L2 slices (section 6).

Per cycle each output takes one packet, round robin over the inputs whose head is for it; the pointer moves past the
input that was served. Outputs are served in index order and an input's next head is visible at once, so an input may pass
several packets in one cycle if their outputs ascend. A head for a busy output blocks what is behind it. An output's
buffer holds ``icnt_buffer`` packets.

Inputs that want an output are bits of a mask per output, outputs that are wanted bits of one mask; an input whose head is not
ready yet lies in a calendar. So a cycle costs only what moves.
Microbenchmarks: ``l2_stream``, ``slice_rate``, ``atomics``. Twin: tests/engine/twins.
"""

import numpy as np

from sims.engine.jit import Record, Table, Word, bit, compiled, count_trailing_zeros
from sims.engine.memory import CALENDAR, FULL_RING, Memory
from sims.engine.packets import note_departure, pop, push
from sims.engine.pointers import prefetch


@compiled
def add_head(net: Record, source: int, output: int, ready: int, now: int) -> None:
    """``source``'s head is a packet for ``output`` that may pass from cycle ``ready`` on."""
    net.waiting += 1
    if ready <= now:
        net.wanters[output, source >> 6] |= bit(source & 63)
        net.wanted[output >> 6] |= bit(output & 63)
    else:
        net.calendar[ready & (CALENDAR - 1), source >> 6] |= bit(source & 63)


@compiled
def due_inputs(net: Record, now: int, word: int) -> Word:
    """Inputs of the word whose head gets ready in cycle ``now``; takes them out of the calendar."""
    due = net.calendar[now & (CALENDAR - 1), word]
    net.calendar[now & (CALENDAR - 1), word] = 0
    return due


@compiled
def next_output(net: Record, start: int) -> int:
    """First wanted output at or after ``start``; -1 if there is none."""
    word = start >> 6
    words = (net.outputs + 63) >> 6
    if word >= words:
        return -1
    mask = (net.wanted[word] >> np.uint64(start & 63)) << np.uint64(start & 63)
    while not mask:
        word += 1
        if word >= words:
            return -1
        mask = net.wanted[word]
    return (word << 6) + count_trailing_zeros(mask)


@compiled
def grant(net: Record, output: int) -> int:
    """The input that the output serves: the first that wants it from the pointer on; the pointer moves past it."""
    words = (net.inputs + 63) >> 6
    start = net.pointer[output]
    source = -1
    word = start >> 6
    mask = (net.wanters[output, word] >> np.uint64(start & 63)) << np.uint64(start & 63)
    for _ in range(words + 1):
        if mask:
            source = (word << 6) + count_trailing_zeros(mask)
            break
        word = word + 1 if word + 1 < words else 0
        mask = net.wanters[output, word]
    net.pointer[output] = source + 1 if source + 1 < net.inputs else 0
    net.wanters[output, source >> 6] &= ~bit(source & 63)
    net.waiting -= 1
    left = np.uint64(0)
    for w in range(words):
        left |= net.wanters[output, w]
    if not left:
        net.wanted[output >> 6] &= ~bit(output & 63)
    return source


# ---- requests: SMs to slices ------------------------------------------------------------------------------------------


@compiled
def collect_requests(net: Record, packets: Table, ports: Table, now: int) -> None:
    """SMs that sent something while they had nothing waiting: their heads join."""
    for source in range(net.inputs):
        if ports[source].requests.count > 0 and not net.joined[source]:
            net.joined[source] = 1
            head = packets[ports[source].requests.head]
            prefetch(packets, head.next)
            add_head(net, source, head.slice, head.time, now)


@compiled
def transfer_requests(gpu: Record, net: Record, memory: Memory, now: int) -> None:
    """One cycle: slices take a packet each into their delay, then every output takes one from the SMs."""
    packets, ports = memory.packets, memory.ports
    if net.backlog_count > 0:
        _take_backlog(gpu, net, memory, now)
    for word in range((net.inputs + 63) >> 6):
        due = due_inputs(net, now, word)
        while due:
            source = (word << 6) + count_trailing_zeros(due)
            due &= due - np.uint64(1)
            net.waiting -= 1
            add_head(net, source, packets[ports[source].requests.head].slice, now, now)
    output = next_output(net, 0)
    while output >= 0:
        if memory.slices[output].arrived.count < gpu.icnt_buffer:
            source = grant(net, output)
            index = pop(packets, ports[source].requests)
            if ports[source].tight:
                note_departure(ports[source], now)
                # An input may pass a packet to every output in one cycle: below that, newer ones might have passed too.
                net.ran_dry |= ports[source].requests.count < net.outputs
            _deliver_request(gpu, net, memory, output, index, now)
            if ports[source].requests.count > 0:
                head = packets[ports[source].requests.head]
                prefetch(packets, head.next)
                add_head(net, source, head.slice, head.time, now)
            else:
                net.joined[source] = 0
        output = next_output(net, output + 1)


@compiled
def _is_full(memory: Memory, d: int, now: int) -> bool:
    """Whether slice ``d`` takes no request in cycle ``now``; the memory side has already been there."""
    return memory.slices[d].last_full >= now and memory.full[d * FULL_RING + (now & (FULL_RING - 1))] == now


@compiled
def _deliver_request(gpu: Record, net: Record, memory: Memory, d: int, index: int, now: int) -> None:
    """Into the output buffer, and in the next cycle into the slice's delay, unless others wait or the slice is full."""
    part = memory.slices[d]
    if part.arrived.count == 0 and not _is_full(memory, d, now + 1):
        memory.packets[index].time = now + 1 + gpu.rop_latency
        push(memory.packets, part.delayed, index)
        return
    if part.arrived.count == 0:
        net.backlog[d >> 6] |= bit(d & 63)
        net.backlog_count += 1
    memory.packets[index].time = now + 1
    push(memory.packets, part.arrived, index)


@compiled
def _take_backlog(gpu: Record, net: Record, memory: Memory, now: int) -> None:
    for word in range((net.outputs + 63) >> 6):
        mask = net.backlog[word]
        while mask:
            d = (word << 6) + count_trailing_zeros(mask)
            mask &= mask - np.uint64(1)
            part = memory.slices[d]
            if memory.packets[part.arrived.head].time > now or _is_full(memory, d, now):
                continue
            index = pop(memory.packets, part.arrived)
            memory.packets[index].time = now + gpu.rop_latency
            push(memory.packets, part.delayed, index)
            if part.arrived.count == 0:
                net.backlog[word] &= ~bit(d & 63)
                net.backlog_count -= 1


# ---- replies: slices to SMs -------------------------------------------------------------------------------------------


@compiled
def collect_replies(net: Record, packets: Table, slices: Table, now: int) -> None:
    """Slices whose reply queue was empty and no longer is."""
    for source in range(net.inputs):
        if slices[source].leaving.count > 0 and not net.joined[source]:
            net.joined[source] = 1
            head = packets[slices[source].leaving.head]
            prefetch(packets, head.next)
            add_head(net, source, head.sm, head.time, now)


@compiled
def transfer_replies(net: Record, memory: Memory, now: int) -> None:
    """One cycle: every SM gets at most one reply."""
    packets, slices, ports = memory.packets, memory.slices, memory.ports
    for word in range((net.inputs + 63) >> 6):
        due = due_inputs(net, now, word)
        while due:
            source = (word << 6) + count_trailing_zeros(due)
            due &= due - np.uint64(1)
            net.waiting -= 1
            add_head(net, source, packets[slices[source].leaving.head].sm, now, now)
    output = next_output(net, 0)
    while output >= 0:
        source = grant(net, output)
        index = pop(packets, slices[source].leaving)
        packets[index].time = now
        push(packets, ports[output].returned, index)
        if slices[source].leaving.count > 0:
            head = packets[slices[source].leaving.head]
            prefetch(packets, head.next)
            add_head(net, source, head.sm, head.time, now)
        else:
            net.joined[source] = 0
        output = next_output(net, output + 1)
