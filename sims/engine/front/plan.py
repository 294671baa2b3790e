"""What a trace asks for: its memcpy lines and launches, in order, without reading a kernel."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from traces.accelsim import KernelCommand, MemcpyCommand, TraceError, kernel_path, parse_kernelslist

LIST_NAMES = ("kernelslist.g", "kernelslist")
SEARCH_DEPTH = 3
"""A run directory holds its list at ``traced/traces/kernelslist.g``."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of the list."""

    index: int
    """From 1, in launch order over the whole list."""
    uid: int
    """From 1 over the launches that are simulated."""
    file: Path
    weight: int
    """Stored bytes of the file: the share of the whole work it is taken to be."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps in order."""

    steps: tuple[MemcpyCommand | Launch, ...]
    warnings: tuple[str, ...]

    @property
    def launches(self) -> list[Launch]:
        """The kernels to simulate."""
        return [step for step in self.steps if isinstance(step, Launch)]


def find_list(trace: Path) -> Path:
    """The kernelslist of a trace given as that file, its folder, or a run directory around it."""
    if trace.is_file():
        return trace
    if not trace.is_dir():
        raise TraceError("there is no such file or folder.", str(trace))
    for depth in range(SEARCH_DEPTH):
        for name in LIST_NAMES:
            found = sorted(trace.glob("*/" * depth + name))
            if len(found) > 1:
                raise TraceError(
                    f"holds several traces ({found[0].parent}, {found[1].parent}, ...): name one.", str(trace)
                )
            if found:
                return found[0]
    raise TraceError("holds no kernelslist.g: this is not the folder of an Accel-Sim trace.", str(trace))


def read_plan(trace: Path, selected: Iterable[int] | None = None) -> Plan:
    """The plan of a trace; ``selected`` are the kernels' indexes, all without it. Raises ``TraceError``."""
    path = find_list(trace)
    listed = parse_kernelslist(path.read_bytes(), path.name)
    wanted = None if selected is None else set(selected)
    steps: list[MemcpyCommand | Launch] = []
    index = uid = 0
    for command in listed.commands:
        if not isinstance(command, KernelCommand):
            steps.append(command)
            continue
        index += 1
        if wanted is None or index in wanted:
            uid += 1
            file = _stored(path.parent, command.file.name)
            steps.append(Launch(index, uid, file, _size(file)))
    return Plan(tuple(steps), listed.warnings)


def kernels_in(trace: Path) -> int:
    """How many kernels the list of a trace has."""
    path = find_list(trace)
    return len(parse_kernelslist(path.read_bytes(), path.name).kernels)


def _stored(folder: Path, name: str) -> Path:
    """The kernel's file, compressed or not. A missing one is told of when its turn comes, after finished kernels."""
    try:
        return kernel_path(folder, name)
    except TraceError:
        return folder / name


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 1
