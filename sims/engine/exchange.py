"""What happens between two parts of the SMs: requests cross over, memory goes on, replies come back.

    request crossbar   cycles [C + 1, E + 1)             a packet sent in cycle t may pass in t + 1
    memory channels    up to  E + 1 + rop_latency        each alone
    reply crossbar     the same cycles

for requests sent in [C, E). The SMs of the next cycles may run beside it (see quantum.py).
"""

from sims.engine import channel, clock, crossbar, team
from sims.engine.far import run_channel_at
from sims.engine.jit import Record, compiled
from sims.engine.memory import Memory, Networks
from sims.engine.packets import append


@compiled
def cross_requests(gpu: Record, memory: Memory, networks: Networks, first: int, cycles: int) -> None:
    """The request crossbar in global cycles ``first`` .. ``first + cycles - 1``."""
    net = networks.requests[0]
    crossbar.collect_requests(net, memory.packets, memory.ports, first)
    for now in range(first, first + cycles):
        if net.waiting + net.backlog_count == 0:
            break
        crossbar.transfer_requests(gpu, net, memory, now)


@compiled
def run_memory(gpu: Record, memory: Memory, networks: Networks, crossed: int, end: int) -> None:
    """Requests sent before ``end`` cross over (up to ``crossed`` they have); memory follows up to the end of their delay."""
    first = networks.clock[0].cycle
    cycles = _bring_requests(gpu, memory, networks, crossed, end)
    for c in range(gpu.channels):
        run_channel_at(gpu.channel_run, gpu, memory, c, first, cycles)
    _bring_replies(memory, networks, first, cycles)


@compiled
def lead_memory(
    gpu: Record, memory: Memory, networks: Networks, crossed: int, end: int, helpers: Record, thread: int
) -> None:
    """:func:`run_memory` by a thread whose channels others can take."""
    first = networks.clock[0].cycle
    cycles = _bring_requests(gpu, memory, networks, crossed, end)
    team.open_channels(helpers, gpu.channels, first, cycles)
    take_channels(gpu, memory, helpers, thread)
    team.wait_for_channels(helpers)
    _bring_replies(memory, networks, first, cycles)
    team.write_memory(helpers, team.FINISHED)


@compiled
def _bring_requests(gpu: Record, memory: Memory, networks: Networks, crossed: int, end: int) -> int:
    """The request crossbar's part; returns how many cycles the channels have to follow."""
    cross_requests(gpu, memory, networks, crossed + 1, end - crossed)
    cycles = end + 1 + gpu.rop_latency - networks.clock[0].cycle
    clock.schedule_ticks(networks.clock[0], memory.schedule, cycles)
    return cycles


@compiled
def _bring_replies(memory: Memory, networks: Networks, first: int, cycles: int) -> None:
    """The reply crossbar's part."""
    net = networks.replies[0]
    crossbar.collect_replies(net, memory.packets, memory.slices, first)
    for now in range(first, first + cycles):
        if net.waiting == 0:
            break
        crossbar.transfer_replies(net, memory, now)


@compiled
def take_channels(gpu: Record, memory: Memory, helpers: Record, thread: int) -> None:
    """One thread's part of the channels."""
    c = team.take(helpers, team.CHANNELS, thread)
    while c >= 0:
        run_channel_at(gpu.channel_run, gpu, memory, c, helpers.first_cycle, helpers.cycles)
        team.add_done(helpers, 1)
        c = team.take(helpers, team.CHANNELS, thread)


@compiled
def help_memory(gpu: Record, memory: Memory, helpers: Record, thread: int) -> None:
    """Take channels whenever there are some, until the memory side is through."""
    turns = 0
    stage = team.read_memory(helpers)
    while stage != team.FINISHED:
        if stage == team.CHANNELS_OPEN:
            take_channels(gpu, memory, helpers, thread)
        turns = team.wait_a_turn(turns)
        stage = team.read_memory(helpers)


@compiled
def hand_over(gpu: Record, memory: Memory) -> None:
    """What either side sent while the other may have run too is now in the other's queue."""
    for index in range(gpu.sms):
        port = memory.ports[index]
        append(memory.packets, port.requests, port.sent)
        append(memory.packets, port.replies, port.returned)


@compiled
def ports_hold_requests(gpu: Record, memory: Memory) -> bool:
    """Whether an SM's request buffer holds a packet."""
    for index in range(gpu.sms):
        if memory.ports[index].requests.count > 0:
            return True
    return False


@compiled
def is_quiet(gpu: Record, memory: Memory, networks: Networks) -> bool:
    """Whether nothing is under way between the SMs' ports."""
    if networks.requests[0].waiting + networks.requests[0].backlog_count + networks.replies[0].waiting > 0:
        return False
    for c in range(gpu.channels):
        if not channel.is_quiet(gpu, memory, c):
            return False
    return True


@compiled
def idle(gpu: Record, memory: Memory, networks: Networks, cycle: int, cycles: int) -> None:
    """``cycles`` without SM activity from global ``cycle`` on (launch latency): memory goes on, then only clocks move."""
    done = 0
    while done < cycles:
        step = min(cycles - done, gpu.rop_latency)
        if is_quiet(gpu, memory, networks):
            step = min(cycles - done, clock.SCHEDULE_CYCLES // 2)
            ahead = cycle + done + step + 1 + gpu.rop_latency - networks.clock[0].cycle
            clock.schedule_ticks(networks.clock[0], memory.schedule, ahead)
        else:
            run_memory(gpu, memory, networks, cycle + done, cycle + done + step)
        done += step
    hand_over(gpu, memory)
