"""One memory channel over a stretch of cycles: its L2 slices and its DRAM.

Between two exchanges over the crossbars channels are independent of each other, so each runs its stretch alone.
Order inside a cycle: DRAM ticks that fall before it; replies leave the slices; a tick at its very time; slices.
Twin: tests/engine/twins/channel.py.
"""

from sims.engine import dram, l2
from sims.engine.jit import Record, compiled, inlined
from sims.engine.memory import FULL_RING, Memory
from sims.engine.packets import pop, push


@compiled
def run(gpu: Record, memory: Memory, c: int, first_cycle: int, cycles: int) -> None:
    """Cycles ``first_cycle`` .. ``first_cycle + cycles - 1`` of channel ``c``; ``memory.schedule`` has their ticks."""
    channel = memory.channels[c]
    base = c * gpu.slices_per_channel
    for i in range(cycles):
        now = first_cycle + i
        slices_busy = _slices_have_work(gpu, memory, base, now)
        if _dram_has_work(channel):
            entry = memory.schedule[i]
            after = entry.first_tick + entry.ticks_before
            if after > channel.asleep_until or now >= channel.wake_cycle:
                for k in range(entry.first_tick, after):
                    dram.tick(gpu, memory, c, now, k)
            if slices_busy:
                _send_replies(gpu, memory, base, now)
            if entry.ticks_inside:
                dram.tick(gpu, memory, c, now, after)
            slices_busy = slices_busy or _slices_have_work(gpu, memory, base, now)
        elif slices_busy:
            _send_replies(gpu, memory, base, now)
        if slices_busy:
            for own in range(gpu.slices_per_channel):
                _run_slice(gpu, memory, base + own, now)


@compiled
def _dram_has_work(channel: Record) -> bool:
    return channel.work + channel.offered > 0


@compiled
def _slices_have_work(gpu: Record, memory: Memory, base: int, now: int) -> bool:
    """Whether any slice of the channel holds something that can move in cycle ``now``."""
    for own in range(gpu.slices_per_channel):
        part = memory.slices[base + own]
        if part.input.count + part.replies.count + part.misses.count + part.from_dram.count + part.filled_count > 0:
            return True
        if part.delayed.count > 0 and memory.packets[part.delayed.head].time <= now:
            return True
    return False


@inlined
def _send_replies(gpu: Record, memory: Memory, base: int, now: int) -> None:
    for own in range(gpu.slices_per_channel):
        _send_reply(gpu, memory, base + own, now)


@inlined
def _send_reply(gpu: Record, memory: Memory, d: int, now: int) -> None:
    part = memory.slices[d]
    if part.replies.count > 0 and part.leaving.count < gpu.icnt_buffer:
        index = pop(memory.packets, part.replies)
        memory.packets[index].time = now
        push(memory.packets, part.leaving, index)


@inlined
def _run_slice(gpu: Record, memory: Memory, d: int, now: int) -> None:
    part = memory.slices[d]
    if part.input.count + l2.SLICE_FREE_ENTRIES > gpu.l2_queue:
        part.last_full = now
        memory.full[d * FULL_RING + (now & (FULL_RING - 1))] = now
    l2.slice_cycle(gpu, memory, d, now)


@compiled
def is_quiet(gpu: Record, memory: Memory, c: int) -> bool:
    """Whether nothing is under way in the channel."""
    if _dram_has_work(memory.channels[c]):
        return False
    for own in range(gpu.slices_per_channel):
        part = memory.slices[c * gpu.slices_per_channel + own]
        queued = part.arrived.count + part.delayed.count + part.input.count + part.misses.count + part.from_dram.count
        if queued + part.replies.count + part.leaving.count + part.filled_count > 0:
            return False
    return True
