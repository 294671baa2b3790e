"""What this machine has."""

import os
import re
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup/memory.max")
MEMINFO = Path("/proc/meminfo")


def memory_bytes(cgroup: Path = CGROUP, meminfo: Path = MEMINFO) -> int:
    """Memory and swap together, or what the container may use of them."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + _swap_bytes(meminfo)]
    with suppress(OSError, ValueError):  # no control group, or "max"
        found.append(int(cgroup.read_text()))
    return min(found)


def _swap_bytes(meminfo: Path) -> int:
    with suppress(OSError):
        if swap := re.search(r"^SwapTotal:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE):
            return int(swap[1]) * 1024
    return 0
