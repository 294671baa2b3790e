"""The compiled memory side from outside: put packets into its queues, look at them, take them out."""

from dataclasses import dataclass, field

import numpy as np

from sims.engine.counters import CACHE_COUNTERS, cache_counters
from sims.engine.memory import Memory, new_memory
from sims.engine.packets import ATOMIC, BYPASS_LOAD, LOAD, STORE, WRITE_BACK
from sims.engine.parameters import parameters_of
from sims.engine.pointers import Pointer, bundle, struct
from sims.gpus import GpuSpec
from tests.engine.twins.l2 import Request

KINDS = {"load": LOAD, "store": STORE, "bypass": BYPASS_LOAD, "atomic": ATOMIC}


def push(memory: Memory, queue: np.void, index: int, time: int) -> None:
    """Append a packet that may leave from cycle ``time`` on."""
    memory.packets[index]["time"] = time
    if queue["count"]:
        memory.packets[queue["tail"]]["next"] = index
    else:
        queue["head"] = index
    queue["tail"] = index
    queue["count"] += 1


def pop(memory: Memory, queue: np.void) -> int:
    """Take the oldest packet."""
    index = int(queue["head"])
    queue["head"] = memory.packets[index]["next"]
    queue["count"] -= 1
    return index


@dataclass
class MemorySide:
    """Memory of a GPU and what compiled code takes of it."""

    spec: GpuSpec
    memory: Memory = field(init=False)
    gpu: np.void = field(init=False)
    unused_packet: int = 0

    def __post_init__(self) -> None:
        self.memory, self.gpu = new_memory(self.spec), parameters_of(self.spec)

    @property
    def arguments(self) -> tuple[Pointer, Pointer]:
        return struct(self.gpu), bundle(self.memory)

    def new_packet(self, request: Request, d: int) -> int:
        """A packet for the twin's request; its index is the request's name."""
        packet = self.memory.packets[request.name]
        packet["address"], packet["kind"], packet["slice"] = request.address, KINDS[request.kind], d
        packet["set"], packet["byte_mask"], packet["flags"] = request.cache_set, request.mask, request.is_local
        return request.name

    def push(self, queue: np.void, index: int, time: int = 0) -> None:
        push(self.memory, queue, index, time)

    def pop(self, queue: np.void) -> int:
        return pop(self.memory, queue)

    def names(self, queue: np.void) -> list[int | tuple[int, int, int]]:
        """What lies in a queue, oldest first: packet numbers, and of write-backs bank, row and bytes."""
        index, found = int(queue["head"]), []
        for _ in range(queue["count"]):
            found.append(self.describe(index))
            index = int(self.memory.packets[index]["next"])
        return found

    def describe(self, index: int) -> int | tuple[int, int, int]:
        packet = self.memory.packets[index]
        if packet["kind"] == WRITE_BACK:
            return int(packet["bank"]), int(packet["row"]), int(packet["bytes"])
        return index

    def outcomes(self, d: int) -> dict[str, float]:
        named = cache_counters("", "fail", self.memory.slices[d]["counter"][:CACHE_COUNTERS].tolist())
        return {name: value for name, value in named.items() if value}
