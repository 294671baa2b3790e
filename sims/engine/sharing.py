"""What of a quantum can be shared among threads: SMs up to its end, and the memory side of the quantum before.

Each kind of work has a function for the thread that leads, which does it alone when there is little of it, and one that takes
items until none is left, which all run. Nothing here depends on who takes what.
"""

from sims.engine import channel, ctas, exchange, team
from sims.engine.far import run_sm_at
from sims.engine.jit import Record, compiled
from sims.engine.memory import Memory, Networks
from sims.engine.running import RESUMED, RUNS_ON, Running
from sims.engine.trace import Trace

SHARED_ITEMS = 2
"""SMs or channels per thread that make it worth to call the helpers."""
SHARED_CYCLES = 8
"""Cycles that make it so. Where reply buffers are full quanta last one to four."""


# ---- SMs ---------------------------------------------------------------------------------------------------------------


@compiled
def has_work(sm_state: Record, port: Record, limit: int) -> bool:
    """Whether the SM has to be looked at before ``limit``: an event of its own, or a reply it has not heard of."""
    return sm_state.resident > 0 and (sm_state.time < limit or port.replies.count > 0)


@compiled
def run_sm(running: Running, memory: Memory, trace: Trace, index: int) -> None:
    """One SM up to the quantum's end, or as far as the crossbar has been run if its buffer is tight."""
    launch, port = running.launch, memory.ports[index]
    limit = launch.horizon if port.tight else launch.limit
    if has_work(running.sms[index], port, limit):
        cta_waits = launch.next_cta < launch.ctas
        running.stopped[index] = run_sm_at(
            running.gpu.sm_run, running.gpu, trace, memory.packets, port, running.sms[index], launch, limit, cta_waits
        )


@compiled
def run_sms(running: Running, memory: Memory, trace: Trace, tight: bool) -> None:
    """All SMs whose buffers are tight, or all others; with the helpers if there are enough of them to do."""
    helpers = running.team
    if _muster(running) and _busy_sms(running, memory, tight) >= SHARED_ITEMS * (1 + helpers.members):
        team.refill(helpers, team.SMS, running.gpu.sms)
        team.open_task(helpers, team.RUN_TIGHT_SMS if tight else team.RUN_SMS)
        take_sms(running, memory, trace, tight, 0)
        team.wait_for_helpers(helpers)
        return
    for index in range(running.gpu.sms):
        _run_if_of_kind(running, memory, trace, tight, index)


@compiled
def _muster(running: Running) -> int:
    """How many helpers there are for SMs in this quantum."""
    launch = running.launch
    return team.muster(running.team) if launch.limit - launch.cycle >= SHARED_CYCLES else 0


@compiled
def _busy_sms(running: Running, memory: Memory, tight: bool) -> int:
    launch = running.launch
    limit = launch.horizon if tight else launch.limit
    busy = 0
    for index in range(running.gpu.sms):
        if (memory.ports[index].tight > 0) == tight and running.stopped[index] == RUNS_ON:
            busy += has_work(running.sms[index], memory.ports[index], limit)
    return busy


@compiled
def _run_if_of_kind(running: Running, memory: Memory, trace: Trace, tight: bool, index: int) -> None:
    if (memory.ports[index].tight > 0) == tight and running.stopped[index] == RUNS_ON:
        run_sm(running, memory, trace, index)


@compiled
def take_sms(running: Running, memory: Memory, trace: Trace, tight: bool, thread: int) -> None:
    """One thread's part of :func:`run_sms`."""
    index = team.take(running.team, team.SMS, thread)
    while index >= 0:
        _run_if_of_kind(running, memory, trace, tight, index)
        index = team.take(running.team, team.SMS, thread)


# ---- SMs that stopped for a CTA ------------------------------------------------------------------------------------------


@compiled
def run_resumed_sms(running: Running, memory: Memory, trace: Trace, resumed: int) -> None:
    """The SMs marked as resumed, ``resumed`` of them, run on from where they stopped.

    At a kernel's start there are many, and helpers have just been called: they take part from when they come.
    """
    helpers = running.team
    for index in range(running.gpu.sms):
        if running.stopped[index] == RESUMED:
            # A CTA's start is a lot of work, so one for each is enough.
            if _muster(running) and resumed > helpers.members:
                team.refill(helpers, team.SMS, running.gpu.sms)
                team.open_task(helpers, team.RUN_RESUMED_SMS)
                take_resumed_sms(running, memory, trace, 0)
                team.wait_for_helpers(helpers)
                return
            _run_if_resumed(running, memory, trace, index)
            resumed -= 1


@compiled
def _run_if_resumed(running: Running, memory: Memory, trace: Trace, index: int) -> None:
    if running.stopped[index] == RESUMED:
        running.stopped[index] = RUNS_ON
        ctas.start_given(running.gpu, trace, running.sms[index], running.launch)
        run_sm(running, memory, trace, index)


@compiled
def take_resumed_sms(running: Running, memory: Memory, trace: Trace, thread: int) -> None:
    """One thread's part of :func:`run_resumed_sms`."""
    index = team.take(running.team, team.SMS, thread)
    while index >= 0:
        _run_if_resumed(running, memory, trace, index)
        index = team.take(running.team, team.SMS, thread)


# ---- memory ------------------------------------------------------------------------------------------------------------


@compiled
def settle(running: Running, memory: Memory, networks: Networks, end: int) -> None:
    """The memory side follows up to what the SMs sent before cycle ``end``, before anything else happens."""
    gpu, launch, helpers = running.gpu, running.launch, running.team
    crossed = launch.start + launch.crossed
    long_enough = end - launch.followed >= SHARED_CYCLES
    if long_enough and team.muster(helpers) and _busy_channels(gpu, memory) >= SHARED_ITEMS * (1 + helpers.members):
        team.open_task(helpers, team.RUN_MEMORY)
        exchange.lead_memory(gpu, memory, networks, crossed, launch.start + end, helpers, 0)
        team.wait_for_helpers(helpers)
    else:
        exchange.run_memory(gpu, memory, networks, crossed, launch.start + end)
    launch.crossed = launch.followed = end
    exchange.hand_over(gpu, memory)


@compiled
def _busy_channels(gpu: Record, memory: Memory) -> int:
    busy = 0
    for c in range(gpu.channels):
        busy += not channel.is_quiet(gpu, memory, c)
    return busy


@compiled
def settle_beside_sms(running: Running, memory: Memory, networks: Networks, trace: Trace) -> None:
    """The memory side follows up to the quantum's begin, while the SMs run up to its end; both with all threads."""
    gpu, launch, helpers = running.gpu, running.launch, running.team
    if team.muster(helpers) == 0:
        settle(running, memory, networks, launch.cycle)
        run_sms(running, memory, trace, False)
        return
    team.refill(helpers, team.SMS, gpu.sms)
    team.open_task(helpers, team.RUN_SMS_AND_MEMORY)
    take_sms(running, memory, trace, False, 0)
    exchange.help_memory(gpu, memory, helpers, 0)
    team.wait_for_helpers(helpers)
    launch.crossed = launch.followed = launch.cycle


# ---- helpers -----------------------------------------------------------------------------------------------------------


@compiled
def help_out(running: Running, memory: Memory, networks: Networks, trace: Trace, generation: int, thread: int) -> None:
    """A helper's life beside one :func:`quantum.advance`, which began after ``generation``; it may come at any time."""
    helpers = running.team
    place = team.add_arrivals(helpers, 1)
    while True:
        generation = team.wait_for_task(helpers, generation)
        if helpers.task == team.DONE:
            return
        if place < helpers.members:
            _work(running, memory, networks, trace, thread, place == helpers.members - 1)
            team.finish(helpers)


@compiled
def _work(running: Running, memory: Memory, networks: Networks, trace: Trace, thread: int, leads_memory: bool) -> None:
    """One helper's part of the open task. Beside SMs one helper sees to the memory side first."""
    gpu, launch, helpers = running.gpu, running.launch, running.team
    task = helpers.task
    if task == team.RUN_RESUMED_SMS:
        take_resumed_sms(running, memory, trace, thread)
        return
    if task == team.RUN_SMS_AND_MEMORY and leads_memory:
        crossed, end = launch.start + launch.crossed, launch.start + launch.cycle
        exchange.lead_memory(gpu, memory, networks, crossed, end, helpers, thread)
    if task != team.RUN_MEMORY:
        take_sms(running, memory, trace, task == team.RUN_TIGHT_SMS, thread)
    if task == team.RUN_MEMORY or task == team.RUN_SMS_AND_MEMORY:
        exchange.help_memory(gpu, memory, helpers, thread)
