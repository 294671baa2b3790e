"""What of a quantum can be shared among threads: SMs up to its end, and memory channels over a stretch of cycles.

Each kind of work has a function for the thread that leads, which does it alone when there is little of it, and one that takes
items until none is left, which all run. Nothing here depends on who takes what.
"""

from sims.engine import channel, sm, team
from sims.engine.jit import Record, Table, compiled
from sims.engine.memory import Memory
from sims.engine.trace import Trace

RESUMED = -2
"""In ``stopped``: the SM stopped, has what it waited for, and has not run on yet."""
SHARED_ITEMS = 2
"""SMs or channels per thread that make it worth to call the helpers."""


@compiled
def has_work(sm_state: Record, port: Record, limit: int) -> bool:
    """Whether the SM has to be looked at before ``limit``: an event of its own, or a reply it has not heard of."""
    return sm_state.resident > 0 and (sm_state.time < limit or port.replies.count > 0)


@compiled
def run_sm(gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table, index: int) -> None:
    """One SM up to the quantum's end, or as far as the crossbar has been run if its buffer is tight."""
    limit = launch.horizon if memory.ports[index].tight else launch.limit
    if has_work(sms[index], memory.ports[index], limit):
        cta_waits = launch.next_cta < launch.ctas
        stopped[index] = sm.run(gpu, trace, memory.packets, memory.ports[index], sms[index], launch, limit, cta_waits)


@compiled
def run_sms(
    gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table, tight: bool, helpers: Record
) -> None:
    """All SMs whose buffers are tight, or all others; with the helpers if there are enough of them to do."""
    if helpers.threads > 1:
        limit = launch.horizon if tight else launch.limit
        busy = 0
        for index in range(gpu.sms):
            if (memory.ports[index].tight > 0) == tight and stopped[index] < 0:
                busy += has_work(sms[index], memory.ports[index], limit)
        if busy >= SHARED_ITEMS * helpers.threads:
            team.open_task(helpers, team.RUN_TIGHT_SMS if tight else team.RUN_SMS, gpu.sms)
            take_sms(gpu, trace, memory, sms, launch, stopped, tight, helpers, 0)
            team.wait_for_helpers(helpers)
            return
    for index in range(gpu.sms):
        if (memory.ports[index].tight > 0) == tight and stopped[index] < 0:
            run_sm(gpu, trace, memory, sms, launch, stopped, index)


@compiled
def take_sms(
    gpu: Record,
    trace: Trace,
    memory: Memory,
    sms: Table,
    launch: Record,
    stopped: Table,
    tight: bool,
    helpers: Record,
    thread: int,
) -> None:
    """One thread's part of :func:`run_sms`."""
    index = team.take(helpers, thread)
    while index >= 0:
        if (memory.ports[index].tight > 0) == tight and stopped[index] < 0:
            run_sm(gpu, trace, memory, sms, launch, stopped, index)
        index = team.take(helpers, thread)


@compiled
def run_resumed_sms(
    gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table, resumed: int, helpers: Record
) -> None:
    """The SMs marked as resumed, ``resumed`` of them, run on from where they stopped."""
    if resumed >= SHARED_ITEMS * helpers.threads > SHARED_ITEMS:
        team.open_task(helpers, team.RUN_RESUMED_SMS, gpu.sms)
        take_resumed_sms(gpu, trace, memory, sms, launch, stopped, helpers, 0)
        team.wait_for_helpers(helpers)
        return
    for index in range(gpu.sms):
        if stopped[index] == RESUMED:
            run_resumed_sm(gpu, trace, memory, sms, launch, stopped, index)


@compiled
def run_resumed_sm(
    gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table, index: int
) -> None:
    """An SM that stopped runs on from there."""
    stopped[index] = -1
    run_sm(gpu, trace, memory, sms, launch, stopped, index)


@compiled
def take_resumed_sms(
    gpu: Record, trace: Trace, memory: Memory, sms: Table, launch: Record, stopped: Table, helpers: Record, thread: int
) -> None:
    """One thread's part of those that :func:`resume_in_order` has marked."""
    index = team.take(helpers, thread)
    while index >= 0:
        if stopped[index] == RESUMED:
            run_resumed_sm(gpu, trace, memory, sms, launch, stopped, index)
        index = team.take(helpers, thread)


@compiled
def share_channels(gpu: Record, memory: Memory, first_cycle: int, cycles: int, helpers: Record) -> None:
    """All memory channels over a stretch of cycles, with the helpers if there are enough of them to do."""
    if helpers.threads > 1:
        busy = 0
        for c in range(gpu.channels):
            busy += not channel.is_quiet(gpu, memory, c)
        if busy >= SHARED_ITEMS * helpers.threads:
            helpers.first_cycle = first_cycle
            helpers.cycles = cycles
            team.open_task(helpers, team.RUN_CHANNELS, gpu.channels)
            take_channels(gpu, memory, helpers, 0)
            team.wait_for_helpers(helpers)
            return
    for c in range(gpu.channels):
        channel.run(gpu, memory, c, first_cycle, cycles)


@compiled
def take_channels(gpu: Record, memory: Memory, helpers: Record, thread: int) -> None:
    """One thread's part of :func:`share_channels`."""
    c = team.take(helpers, thread)
    while c >= 0:
        channel.run(gpu, memory, c, helpers.first_cycle, helpers.cycles)
        c = team.take(helpers, thread)


@compiled
def help_out(
    gpu: Record,
    memory: Memory,
    sms: Table,
    trace: Trace,
    launch: Record,
    stopped: Table,
    helpers: Record,
    generation: int,
    thread: int,
) -> None:
    """A helper's life beside one :func:`advance`, which began after ``generation``."""
    while True:
        generation = team.wait_for_task(helpers, generation)
        if helpers.task == team.DONE:
            return
        if helpers.task == team.RUN_CHANNELS:
            take_channels(gpu, memory, helpers, thread)
        elif helpers.task == team.RUN_RESUMED_SMS:
            take_resumed_sms(gpu, trace, memory, sms, launch, stopped, helpers, thread)
        else:
            take_sms(gpu, trace, memory, sms, launch, stopped, helpers.task == team.RUN_TIGHT_SMS, helpers, thread)
        team.finish(helpers)
