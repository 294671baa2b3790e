"""The engine's loop: SMs alone for a quantum, then crossbars and memory for as long.

    SMs            cycles [T, T + q)                 each alone; CTAs are handed out in the order of the ends
    memory side    up to T + q + 1 + rop_latency     see exchange.py

With q < rop_latency nothing sent in a quantum can be answered in it, so the cut adds no error. With q of half of that, what was
sent in a quantum cannot be answered in the next one either: then the memory side may lag a quantum behind, and on several
threads it runs beside the SMs.

Where an SM's request buffer might fill in the quantum, the order is turned: for as long as its buffer holds packets the crossbar
needs no newer ones, so the crossbar runs first and the SM learns when its packets left. Exact, and a saturated GPU still runs in
long stretches.
"""

import numpy as np

from sims.engine import cluster, ctas, exchange, sharing, team
from sims.engine.jit import Record, Table, compiled
from sims.engine.memory import Memory, Networks
from sims.engine.packets import held_requests
from sims.engine.running import RESUMED, RUNS_ON, Running
from sims.engine.scoreboard import INFINITE
from sims.engine.trace import Trace

GOES_ON, NEEDS_CTAS, ENDED, DEADLOCKED, BAD_WARP = range(5)
PHASE_RUN, PHASE_HAND_OUT = range(2)
MAX_QUANTUM = 256
MIN_LAG = 16
"""A shorter quantum is not worth to let the memory side lag."""


@compiled
def advance(running: Running, memory: Memory, networks: Networks, trace: Trace, budget: int) -> int:
    """Run up to ``budget`` quanta; returns why it stopped (GOES_ON: the budget is used up)."""
    status = _advance(running, memory, networks, trace, budget)
    if running.team.threads > 1:
        team.open_task(running.team, team.DONE)
    return status


@compiled
def _advance(running: Running, memory: Memory, networks: Networks, trace: Trace, budget: int) -> int:
    launch = running.launch
    for _ in range(budget):
        if launch.phase == PHASE_RUN:
            _begin_quantum(running, memory, networks, trace)
            launch.phase = PHASE_HAND_OUT
        status = hand_out(running, memory, trace)
        while status == GOES_ON and launch.horizon < launch.limit:
            extend_horizon(running, memory, networks, trace)
            status = hand_out(running, memory, trace)
        if status != GOES_ON:
            return status
        launch.phase = PHASE_RUN
        status = _finish_quantum(running, memory, networks, trace)
        if status != GOES_ON:
            return status
    return GOES_ON


# ---- begin of a quantum ------------------------------------------------------------------------------------------------


@compiled
def _begin_quantum(running: Running, memory: Memory, networks: Networks, trace: Trace) -> None:
    """Choose its length and run the SMs as far as they can without looking back."""
    gpu, launch = running.gpu, running.launch
    length = quantum_length(gpu, memory, launch)
    launch.tight = mark_tight(gpu, memory, launch, length)
    if launch.followed < launch.cycle and (launch.tight or length < MIN_LAG):
        sharing.settle(running, memory, networks, launch.cycle)
        length = quantum_length(gpu, memory, launch)
        launch.tight = mark_tight(gpu, memory, launch, length)
    lags = launch.followed < launch.cycle
    if running.team.threads > 1 and not launch.tight and not lags:
        length = min(length, max(1, (gpu.rop_latency - 1) // 2))
    launch.limit = launch.cycle + length
    launch.horizon = launch.cycle if launch.tight else launch.limit
    if lags:
        sharing.settle_beside_sms(running, memory, networks, trace)
    else:
        sharing.run_sms(running, memory, trace, False)


@compiled
def quantum_length(gpu: Record, memory: Memory, launch: Record) -> int:
    """The longest quantum in which no slice's reply buffer can fill unseen and no request buffer both fill and run dry."""
    # One less than the delay: the request crossbar, a cycle ahead, asks whether a slice's input is full one cycle later.
    longest = cluster.QUANTUM_CYCLES if launch.has_clusters else MAX_QUANTUM
    lag = launch.cycle - launch.followed
    length = min(min(gpu.rop_latency - 1 - lag, longest), (gpu.icnt_buffer - gpu.slices) // launch.packets_per_cycle)
    for d in range(gpu.slices):
        length = min(length, gpu.icnt_buffer - memory.slices[d].leaving.count - lag)
    return max(length, 1)


@compiled
def mark_tight(gpu: Record, memory: Memory, launch: Record, length: int) -> int:
    """Mark the SMs whose request buffer might fill in the quantum."""
    tight = 0
    for index in range(gpu.sms):
        port = memory.ports[index]
        port.tight = gpu.icnt_buffer - held_requests(port) < launch.packets_per_cycle * length
        tight += port.tight
    return tight


# ---- CTAs --------------------------------------------------------------------------------------------------------------


@compiled
def hand_out(running: Running, memory: Memory, trace: Trace) -> int:
    """Give waiting CTAs to the SMs that stopped for one before the horizon, in order of time, and let those run on."""
    gpu, launch, stopped = running.gpu, running.launch, running.stopped
    while True:
        resumed = resume_in_order(running, trace)
        if resumed == 0:
            index = ctas.next_stop(gpu, stopped, launch.last_sm + 1)
            return GOES_ON if index < 0 or stopped[index] >= launch.horizon else NEEDS_CTAS
        sharing.run_resumed_sms(running, memory, trace, resumed)


@compiled
def resume_in_order(running: Running, trace: Trace) -> int:
    """Mark the SMs that may run on, each with its new CTA; returns how many.

    As many as cannot change each other's turn: one that runs on cannot stop again before ``in_order_until``, so up to there
    it is known who comes next.
    """
    launch, stopped = running.launch, running.stopped
    resumed = 0
    in_order_until = np.int64(INFINITE)
    while True:
        index = ctas.next_stop(running.gpu, stopped, launch.last_sm + 1)
        if index < 0 or stopped[index] >= min(launch.horizon, in_order_until):
            return resumed
        if launch.next_cta < launch.ctas:
            if launch.next_cta >= launch.loaded:
                return resumed
            sm, cta = running.sms[index], launch.next_cta
            in_order_until = min(in_order_until, stopped[index] + ctas.cycles_to_next_stop(trace, sm, launch, cta))
            ctas.give(sm, cta, stopped[index])
            launch.next_cta += 1
            launch.last_sm = index
        stopped[index] = RESUMED
        resumed += 1


# ---- tight request buffers ---------------------------------------------------------------------------------------------


@compiled
def extend_horizon(running: Running, memory: Memory, networks: Networks, trace: Trace) -> None:
    """Run the request crossbar as far as all that can pass is known, then the SMs with tight buffers up to there.

    Known are packets of SMs that have run on, up to where one stopped for a CTA, and of tight buffers until one runs dry.
    """
    gpu, launch, stopped = running.gpu, running.launch, running.stopped
    loosen(running, memory, trace)
    if launch.tight == 0:
        launch.horizon = launch.limit
        return
    known = launch.limit
    for index in range(gpu.sms):
        if stopped[index] >= 0:
            known = min(known, stopped[index] + 1)
    net = networks.requests[0]
    net.ran_dry = 0
    exchange.hand_over(gpu, memory)
    while launch.horizon < known and not net.ran_dry:
        behind = launch.horizon - launch.crossed
        exchange.cross_requests(gpu, memory, networks, launch.start + launch.crossed + 1, behind)
        launch.crossed = launch.horizon
        launch.horizon += 1
    sharing.run_sms(running, memory, trace, True)


@compiled
def loosen(running: Running, memory: Memory, trace: Trace) -> None:
    """SMs whose buffer can no longer fill in the rest of the quantum (one that ran dry cannot) run on to its end."""
    gpu, launch = running.gpu, running.launch
    for index in range(gpu.sms):
        port = memory.ports[index]
        if port.tight and gpu.icnt_buffer - held_requests(port) >= launch.packets_per_cycle * (
            launch.limit - launch.horizon
        ):
            port.tight = 0
            launch.tight -= 1
            if running.stopped[index] == RUNS_ON:
                sharing.run_sm(running, memory, trace, index)


# ---- end of a quantum --------------------------------------------------------------------------------------------------


@compiled
def _finish_quantum(running: Running, memory: Memory, networks: Networks, trace: Trace) -> int:
    """Exchange with the memory side, at once or beside the next quantum; returns what became of the kernel."""
    gpu, launch, sms = running.gpu, running.launch, running.sms
    if _first_error(gpu, sms) >= 0:
        return BAD_WARP
    exchange.hand_over(gpu, memory)
    if _all_ended(gpu, sms, launch):
        for index in range(gpu.sms):
            launch.end = max(launch.end, sms[index].last_end)
        # The next kernel's clock starts here, so the memory side must not run further ahead of it.
        launch.cycle = launch.end + 1
        sharing.settle(running, memory, networks, launch.cycle)
        return ENDED
    launch.cycle = launch.limit
    if launch.has_clusters:
        cluster.deliver(gpu, trace, sms, launch.cycle)
    if running.team.threads > 1 and _may_lag(running, memory):
        return GOES_ON
    sharing.settle(running, memory, networks, launch.cycle)
    upcoming = _next_sm_event(gpu, sms, memory, launch)
    if (
        upcoming > launch.cycle
        and exchange.is_quiet(gpu, memory, networks)
        and not exchange.ports_hold_requests(gpu, memory)
    ):
        if upcoming >= INFINITE:
            return DEADLOCKED
        exchange.idle(gpu, memory, networks, launch.start + launch.cycle, upcoming - launch.cycle)
        launch.cycle = launch.crossed = launch.followed = upcoming
    return GOES_ON


@compiled
def _may_lag(running: Running, memory: Memory) -> bool:
    """Whether the memory side can catch up beside a next quantum that is long enough, and in which SMs have something to do."""
    gpu, launch = running.gpu, running.launch
    longest = gpu.rop_latency - 1 - (launch.cycle - launch.followed)
    return longest >= MIN_LAG and _next_sm_event(gpu, running.sms, memory, launch) < launch.cycle + MIN_LAG


@compiled
def _all_ended(gpu: Record, sms: Table, launch: Record) -> bool:
    for index in range(gpu.sms):
        if sms[index].resident > 0:
            return False
    return launch.next_cta >= launch.ctas


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
