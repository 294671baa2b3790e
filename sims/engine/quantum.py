"""The engine's loop: SMs alone for a quantum, then crossbars and memory for as long.

    SMs                cycles [T, T + q)                    each alone; CTAs are handed out in the order of the ends
    request crossbar   cycles [T + 1, T + q + 1)            a packet sent in cycle t may pass in t + 1
    memory channels    up to  T + q + 1 + rop_latency       each alone
    reply crossbar     the same cycles

With q < rop_latency nothing sent in a quantum can be answered in it, so the cut adds no error. Where an SM's request buffer
might fill in the quantum, the order is turned: for as long as its buffer holds packets the crossbar needs no newer ones, so
the crossbar runs first and the SM learns when its packets left. Exact, and a saturated GPU still runs in long stretches.
"""

import numpy as np

from sims.engine import channel, clock, cluster, crossbar, ctas, team
from sims.engine.jit import Record, Table, compiled
from sims.engine.memory import Memory, Networks
from sims.engine.scoreboard import INFINITE
from sims.engine.sharing import RESUMED, run_resumed_sms, run_sm, run_sms, share_channels
from sims.engine.trace import Trace

RUNNING, NEEDS_CTAS, ENDED, DEADLOCKED, BAD_WARP = range(5)
PHASE_RUN, PHASE_HAND_OUT = range(2)
MAX_QUANTUM = 256


@compiled
def quantum_length(gpu: Record, memory: Memory, launch: Record) -> int:
    """The longest quantum in which no slice's reply buffer can fill unseen and no request buffer both fill and run dry."""
    # One less than the delay: the request crossbar, a cycle ahead, asks whether a slice's input is full one cycle later.
    longest = cluster.QUANTUM_CYCLES if launch.has_clusters else MAX_QUANTUM
    length = min(min(gpu.rop_latency - 1, longest), (gpu.icnt_buffer - gpu.slices) // launch.packets_per_cycle)
    for d in range(gpu.slices):
        length = min(length, gpu.icnt_buffer - memory.slices[d].leaving.count)
    return max(length, 1)


@compiled
def mark_tight(gpu: Record, memory: Memory, launch: Record, length: int) -> int:
    """Mark the SMs whose request buffer might fill in the quantum."""
    tight = 0
    for index in range(gpu.sms):
        port = memory.ports[index]
        port.tight = gpu.icnt_buffer - port.requests.count < launch.packets_per_cycle * length
        tight += port.tight
    return tight


@compiled
def hand_out(
    gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table, helpers: Record
) -> int:
    """Give waiting CTAs to the SMs that stopped for one before the horizon, in order of time, and let those run on."""
    while True:
        resumed = resume_in_order(gpu, trace, sms, launch, stopped)
        if resumed == 0:
            index = ctas.next_stop(gpu, stopped, launch.last_sm + 1)
            return RUNNING if index < 0 or stopped[index] >= launch.horizon else NEEDS_CTAS
        run_resumed_sms(gpu, trace, memory, sms, launch, stopped, resumed, helpers)


@compiled
def resume_in_order(gpu: Record, trace: Trace, sms: Table, launch: Record, stopped: Table) -> int:
    """Mark the SMs that may run on, each with its new CTA; returns how many.

    As many as cannot change each other's turn: one that runs on cannot stop again before ``in_order_until``, so up to there
    it is known who comes next.
    """
    resumed = 0
    in_order_until = np.int64(INFINITE)
    while True:
        index = ctas.next_stop(gpu, stopped, launch.last_sm + 1)
        if index < 0 or stopped[index] >= min(launch.horizon, in_order_until):
            return resumed
        if launch.next_cta < launch.ctas:
            if launch.next_cta >= launch.loaded:
                return resumed
            ctas.start_cta(trace, sms[index], launch, launch.next_cta, stopped[index])
            launch.next_cta += 1
            launch.last_sm = index
            in_order_until = min(in_order_until, stopped[index] + ctas.cycles_to_next_stop(sms[index], launch))
        stopped[index] = RESUMED
        resumed += 1


@compiled
def extend_horizon(
    gpu: Record,
    trace: Trace,
    memory: Memory,
    networks: Networks,
    sms: Table,
    launch: Record,
    stopped: Table,
    helpers: Record,
) -> None:
    """Run the request crossbar as far as all that can pass is known, then the SMs with tight buffers up to there.

    Known are packets of SMs that have run on, up to where one stopped for a CTA, and of tight buffers until one runs dry.
    """
    loosen(gpu, trace, memory, sms, launch, stopped)
    if launch.tight == 0:
        launch.horizon = launch.limit
        return
    known = launch.limit
    for index in range(gpu.sms):
        if stopped[index] >= 0:
            known = min(known, stopped[index] + 1)
    net = networks.requests[0]
    net.ran_dry = 0
    while launch.horizon < known and not net.ran_dry:
        behind = launch.horizon - launch.crossed
        cross_requests(gpu, memory, networks, launch.start + launch.crossed + 1, behind)
        launch.crossed = launch.horizon
        launch.horizon += 1
    run_sms(gpu, trace, memory, sms, launch, stopped, True, helpers)


@compiled
def loosen(gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table) -> None:
    """SMs whose buffer can no longer fill in the rest of the quantum (one that ran dry cannot) run on to its end."""
    for index in range(gpu.sms):
        port = memory.ports[index]
        if port.tight and gpu.icnt_buffer - port.requests.count >= launch.packets_per_cycle * (
            launch.limit - launch.horizon
        ):
            port.tight = 0
            launch.tight -= 1
            if stopped[index] < 0:
                run_sm(gpu, trace, memory, sms, launch, stopped, index)


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
def run_memory(gpu: Record, memory: Memory, networks: Networks, crossed: int, end: int, helpers: Record) -> None:
    """Requests sent before ``end`` cross over (up to ``crossed`` they have); memory follows up to the end of their delay."""
    replies, time = networks.replies[0], networks.clock[0]
    cross_requests(gpu, memory, networks, crossed + 1, end - crossed)
    first = time.cycle
    ahead = end + 1 + gpu.rop_latency - first
    clock.schedule_ticks(time, memory.schedule, ahead)
    share_channels(gpu, memory, first, ahead, helpers)
    crossbar.collect_replies(replies, memory.packets, memory.slices, first)
    for now in range(first, first + ahead):
        if replies.waiting == 0:
            break
        crossbar.transfer_replies(replies, memory, now)


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
def idle(gpu: Record, memory: Memory, networks: Networks, cycle: int, cycles: int, helpers: Record) -> None:
    """``cycles`` without SM activity from global ``cycle`` on (launch latency): memory goes on, then only clocks move."""
    done = 0
    while done < cycles:
        step = min(cycles - done, gpu.rop_latency)
        if is_quiet(gpu, memory, networks):
            step = min(cycles - done, clock.SCHEDULE_CYCLES // 2)
            ahead = cycle + done + step + 1 + gpu.rop_latency - networks.clock[0].cycle
            clock.schedule_ticks(networks.clock[0], memory.schedule, ahead)
        else:
            run_memory(gpu, memory, networks, cycle + done, cycle + done + step, helpers)
        done += step


@compiled
def _next_sm_event(gpu: Record, sms: Table, memory: Memory, launch: Record) -> int:
    earliest = np.int64(INFINITE)
    for index in range(gpu.sms):
        if sms[index].resident > 0:
            earliest = min(earliest, sms[index].time)
            if memory.ports[index].replies.count > 0:
                head = memory.packets[memory.ports[index].replies.head]
                earliest = min(earliest, head.time + 2 - launch.start)
    return earliest


@compiled
def _first_error(gpu: Record, sms: Table) -> int:
    for index in range(gpu.sms):
        if sms[index].error:
            return index
    return -1


@compiled
def _finish_quantum(
    gpu: Record, trace: Trace, memory: Memory, networks: Networks, sms: Table, launch: Record, helpers: Record
) -> int:
    """Exchange with the memory side; returns what became of the kernel."""
    if _first_error(gpu, sms) >= 0:
        return BAD_WARP
    cycles = launch.limit - launch.cycle
    resident = 0
    for index in range(gpu.sms):
        resident += sms[index].resident
    ended = resident == 0 and launch.next_cta >= launch.ctas
    if ended:
        for index in range(gpu.sms):
            launch.end = max(launch.end, sms[index].last_end)
        # The next kernel's clock starts here, so the memory side must not run further ahead of it.
        cycles = launch.end + 1 - launch.cycle
    launch.cycle += cycles
    run_memory(gpu, memory, networks, launch.start + launch.crossed, launch.start + launch.cycle, helpers)
    if ended:
        return ENDED
    if launch.has_clusters:
        cluster.deliver(gpu, trace, sms, launch.cycle)
    upcoming = _next_sm_event(gpu, sms, memory, launch)
    if upcoming > launch.cycle and is_quiet(gpu, memory, networks) and not _ports_hold_requests(gpu, memory):
        if upcoming >= INFINITE:
            return DEADLOCKED
        idle(gpu, memory, networks, launch.start + launch.cycle, upcoming - launch.cycle, helpers)
        launch.cycle = upcoming
    return RUNNING


@compiled
def _ports_hold_requests(gpu: Record, memory: Memory) -> bool:
    for index in range(gpu.sms):
        if memory.ports[index].requests.count > 0:
            return True
    return False


@compiled
def advance(
    gpu: Record,
    memory: Memory,
    networks: Networks,
    sms: Table,
    trace: Trace,
    launch: Record,
    stopped: Table,
    helpers: Record,
    budget: int,
) -> int:
    """Run up to ``budget`` quanta; returns why it stopped (RUNNING: the budget is used up)."""
    status = _advance(gpu, memory, networks, sms, trace, launch, stopped, helpers, budget)
    if helpers.threads > 1:
        team.open_task(helpers, team.DONE, 0)
    return status


@compiled
def _advance(
    gpu: Record,
    memory: Memory,
    networks: Networks,
    sms: Table,
    trace: Trace,
    launch: Record,
    stopped: Table,
    helpers: Record,
    budget: int,
) -> int:
    for _ in range(budget):
        if launch.phase == PHASE_RUN:
            length = quantum_length(gpu, memory, launch)
            launch.limit = launch.cycle + length
            launch.tight = mark_tight(gpu, memory, launch, length)
            launch.horizon = launch.cycle if launch.tight else launch.limit
            launch.crossed = launch.cycle
            run_sms(gpu, trace, memory, sms, launch, stopped, False, helpers)
            launch.phase = PHASE_HAND_OUT
        status = hand_out(gpu, trace, memory, sms, launch, stopped, helpers)
        while status == RUNNING and launch.horizon < launch.limit:
            extend_horizon(gpu, trace, memory, networks, sms, launch, stopped, helpers)
            status = hand_out(gpu, trace, memory, sms, launch, stopped, helpers)
        if status != RUNNING:
            return status
        launch.phase = PHASE_RUN
        status = _finish_quantum(gpu, trace, memory, networks, sms, launch, helpers)
        if status != RUNNING:
            return status
    return RUNNING
