"""Which measured launch is which kernel of a trace.

Neither side can be trusted to be whole or in the other's order: a tracer may have been limited to a range of kernels, a
profiler may have seen warm-up steps, streams interleave. So launches are paired by name, grid and block, and within
those by occurrence. Where the numbers of occurrences differ the two lists are laid side by side, and what is then left
over is paired near its neighbours. An alignment that came with the times has the last word.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from traces.times.gpu_names import same_gpu
from traces.times.launches import Dim3, Launch, TimesReport
from traces.times.names import KernelName, kernel_name
from traces.times.sequences import align

_FAR = 1e12
_REACH = 64
"""Launches that one stream is taken to run ahead of another at most; farther apart, equal names are two losses."""


@dataclass(frozen=True, slots=True)
class TraceKernel:
    """A kernel as its trace names it."""

    index: int
    name: str
    grid: Dim3
    block: Dim3
    trace_file: str | None = None


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of both sides, and what has no pair."""

    kernel_of: list[int | None]
    """For each launch the index of its trace kernel."""
    launches_of: dict[int, list[int]]
    """For each matched trace kernel its launches' places; more than one only where an alignment says so."""
    unmatched_kernels: list[int]
    unmatched_launches: list[int]
    notes: list[str]

    def real_ns(self, launches: Sequence[Launch]) -> dict[int, float]:
        """Per trace kernel its measured time; the mean where several launches are aligned to it."""
        return {
            index: sum(launches[place].duration_ns for place in places) / len(places)
            for index, places in self.launches_of.items()
        }


def match(kernels: Sequence[TraceKernel], report: TimesReport, trace_gpu: str | None = None) -> Matching:
    """Pair the launches of a report with the kernels of a trace.

    :param kernels: in launch order
    :param trace_gpu: the GPU of the trace, to say when the times are another's
    """
    launches = report.launches
    pairs, notes = _aligned(kernels, launches)
    taken = {kernel for kernel, _ in pairs}
    free_kernels = [place for place in range(len(kernels)) if place not in taken]
    aligned_launches = {launch for _, launch in pairs}
    # A correlation id counts API calls, the order of a trace; starts and file order follow the hardware.
    free_launches = [place for place in _api_order(launches) if place not in aligned_launches]
    pairs += _pairs_by_name(kernels, launches, free_kernels, free_launches)

    kernel_of: list[int | None] = [None] * len(launches)
    launches_of: dict[int, list[int]] = defaultdict(list)
    for kernel, launch in sorted(pairs):
        kernel_of[launch] = kernels[kernel].index
        launches_of[kernels[kernel].index].append(launch)
    unmatched_kernels = [kernel.index for kernel in kernels if kernel.index not in launches_of]
    unmatched_launches = [place for place, index in enumerate(kernel_of) if index is None]
    notes += _notes(kernels, report, trace_gpu, unmatched_kernels, unmatched_launches)
    return Matching(kernel_of, dict(launches_of), unmatched_kernels, unmatched_launches, notes)


def _api_order(launches: Sequence[Launch]) -> list[int]:
    numbers = [launch.correlation_id for launch in launches]
    if any(number is None for number in numbers) or len(set(numbers)) != len(numbers):
        return list(range(len(launches)))
    return sorted(range(len(launches)), key=lambda place: numbers[place] or 0)


def _aligned(kernels: Sequence[TraceKernel], launches: Sequence[Launch]) -> tuple[list[tuple[int, int]], list[str]]:
    """The pairs that the times' own alignment names: (place of kernel, place of launch)."""
    by_index = {kernel.index: place for place, kernel in enumerate(kernels)}
    by_file = {_stem(kernel.trace_file): place for place, kernel in enumerate(kernels) if kernel.trace_file}
    pairs, unknown = [], []
    for place, launch in enumerate(launches):
        wanted = launch.trace_kernel
        if wanted is None:
            continue
        found = by_index.get(wanted) if isinstance(wanted, int) else by_file.get(_stem(wanted))
        if found is None and isinstance(wanted, str) and wanted.isdecimal():
            found = by_index.get(int(wanted))
        if found is None:
            unknown.append(str(wanted))
        else:
            pairs.append((found, place))
    if not unknown:
        return pairs, []
    return pairs, [
        f"The alignment names {len(unknown)} trace kernels that the trace has not (first: {unknown[0][:60]})."
    ]


def _stem(trace_file: str | None) -> str:
    return PurePosixPath(trace_file or "").name.partition(".")[0]


_Group = tuple[list[int], list[int]]
"""Places of kernels, and of launches, that share a name and a shape."""
_Groups = dict[tuple[str, Dim3 | None, Dim3 | None], list[int]]
_Key = Callable[[KernelName], str]
_LEVELS: tuple[_Key, ...] = (
    lambda name: name.full,
    lambda name: name.template,
    lambda name: name.qualified,
    lambda name: name.short,
)


def _pairs_by_name(
    kernels: Sequence[TraceKernel], launches: Sequence[Launch], free_kernels: list[int], free_launches: list[int]
) -> list[tuple[int, int]]:
    """Side by side first, then the rest from the most to the least specific spelling, without a geometry last."""
    kernel_names = [kernel_name(kernel.name) for kernel in kernels]
    launch_names = [kernel_name(launch.mangled_name or launch.name) for launch in launches]
    order = {launch: place for place, launch in enumerate(free_launches)}
    pairs: list[tuple[int, int]] = []
    complete = True
    for with_geometry in (True, False):
        for level, spelling in enumerate(_LEVELS):
            done_kernels, done_launches = {kernel for kernel, _ in pairs}, {launch for _, launch in pairs}
            of_kernels = _grouped(
                (spelling(kernel_names[place]), kernels[place].grid, kernels[place].block, place)
                for place in free_kernels
                if place not in done_kernels
            )
            of_launches = _grouped(
                (spelling(launch_names[place]), launches[place].grid, launches[place].block, place)
                for place in free_launches
                if place not in done_launches
            )
            if not with_geometry:
                of_kernels, of_launches = _any_geometry(of_kernels), _without_geometry(of_launches)
            groups = [(of_kernels[key], places) for key, places in of_launches.items() if key in of_kernels]
            if level >= 2:
                groups = [group for group in groups if _may_be_same(group, kernel_names, launch_names)]
            # Once one side is known to lack something, equal numbers of what is left may be two different losses.
            complete = complete and all(len(here) == len(there) for here, there in groups)
            if complete:
                pairs += [pair for here, there in groups for pair in zip(here, there, strict=True)]
            else:
                aligned = _in_reach(_side_by_side(groups, order), order, pairs)
                pairs += aligned
                left = _near_neighbours(_without(groups, aligned), order, pairs)
                pairs += _in_reach(left, order, pairs)
    return pairs


def _side_by_side(groups: Sequence[_Group], order: Mapping[int, int]) -> list[tuple[int, int]]:
    """Pairs of the two lists laid side by side, each without what the other has nothing of."""
    kernel_side = sorted((place, token) for token, (places, _) in enumerate(groups) for place in places)
    launch_side = sorted((order[place], place, token) for token, (_, places) in enumerate(groups) for place in places)
    pairs = align([token for _, token in kernel_side], [token for _, _, token in launch_side])
    return [(kernel_side[here][0], launch_side[there][1]) for here, there in pairs]


def _without(groups: Sequence[_Group], pairs: Sequence[tuple[int, int]]) -> list[_Group]:
    kernels, launches = {kernel for kernel, _ in pairs}, {launch for _, launch in pairs}
    left = [
        (
            [place for place in of_kernels if place not in kernels],
            [place for place in of_launches if place not in launches],
        )
        for of_kernels, of_launches in groups
    ]
    return [group for group in left if group[0] and group[1]]


def _grouped(rows: Iterable[tuple[str, Dim3 | None, Dim3 | None, int]]) -> _Groups:
    groups: _Groups = defaultdict(list)
    for name, grid, block, place in rows:
        groups[name, grid, block].append(place)
    return groups


def _without_geometry(groups: _Groups) -> _Groups:
    return {key: places for key, places in groups.items() if key[1] is None or key[2] is None}


def _any_geometry(groups: _Groups) -> _Groups:
    merged: _Groups = defaultdict(list)
    for (name, _, _), places in groups.items():
        merged[name, None, None].extend(places)
    return {key: sorted(places) for key, places in merged.items()}


def _may_be_same(group: _Group, kernel_names: Sequence[KernelName], launch_names: Sequence[KernelName]) -> bool:
    """Whether names that differ in their template arguments may be one kernel's.

    They may when one tool left the arguments out, or when as many are left on both sides: only the spelling differs.
    """
    of_kernels, of_launches = group
    bare_launch = not any(launch_names[place].has_template_arguments for place in of_launches)
    bare_kernel = not any(kernel_names[place].has_template_arguments for place in of_kernels)
    return bare_launch or bare_kernel or len(of_kernels) == len(of_launches)


def _near_neighbours(
    groups: Sequence[_Group], order: Mapping[int, int], anchors: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs of equal names that streams put in another order, each the nearest to where its neighbours are."""
    expected_at = _neighbourhood(order, anchors)
    pairs = []
    for of_kernels, of_launches in groups:
        expected = expected_at(of_kernels)
        places = [order[launch] for launch in of_launches]
        if len(of_kernels) <= len(of_launches):
            chosen = list(enumerate(_nearest_in_order(expected, places)))
        else:
            chosen = [(here, there) for there, here in enumerate(_nearest_in_order(places, expected))]
        pairs += [(of_kernels[here], of_launches[there]) for here, there in chosen]
    return pairs


def _in_reach(
    pairs: Sequence[tuple[int, int]], order: Mapping[int, int], anchors: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The pairs that lie about where others of their neighbourhood do."""
    if not anchors or not pairs:
        return list(pairs)
    expected = _neighbourhood(order, anchors)([kernel for kernel, _ in pairs])
    return [pair for pair, place in zip(pairs, expected, strict=True) if abs(order[pair[1]] - place) <= _REACH]


def _neighbourhood(
    order: Mapping[int, int], anchors: Sequence[tuple[int, int]]
) -> Callable[[Sequence[int]], list[float]]:
    """Tells where in the launches' order kernels should be, from those whose launches are known.

    Between two known ones it interpolates; beyond the first and the last the distance stays.
    """
    known = sorted((kernel, order[launch]) for kernel, launch in anchors if launch in order) or [(0, 0)]
    points = np.array(known, dtype=float)
    kernel_at, launch_at = points[:, 0], np.maximum.accumulate(points[:, 1])
    kernel_at = np.concatenate(([kernel_at[0] - _FAR], kernel_at, [kernel_at[-1] + _FAR]))
    launch_at = np.concatenate(([launch_at[0] - _FAR], launch_at, [launch_at[-1] + _FAR]))
    return lambda kernels: list(np.interp(kernels, kernel_at, launch_at).tolist())


def _nearest_in_order(wanted: Sequence[float], places: Sequence[float]) -> list[int]:
    """For each wanted place the nearest of ``places``, each used once and in order; there are at least as many."""
    chosen, at = [], 0
    for number, place in enumerate(wanted):
        last = len(places) - (len(wanted) - number)
        while at < last and abs(places[at + 1] - place) < abs(places[at] - place):
            at += 1
        chosen.append(at)
        at += 1
    return chosen


def _notes(
    kernels: Sequence[TraceKernel],
    report: TimesReport,
    trace_gpu: str | None,
    unmatched_kernels: Sequence[int],
    unmatched_launches: Sequence[int],
) -> list[str]:
    """What has to be said before the numbers are believed."""
    notes = []
    if report.clock_note:
        notes.append(report.clock_note)
    others = [name for name in report.device_names if trace_gpu and not same_gpu(name, trace_gpu)]
    if others:
        notes.append(f"The times are of {others[0]}, the trace is of {trace_gpu}: they are compared nevertheless.")
    if len(kernels) != len(report.launches):
        notes.append(f"The trace has {len(kernels)} kernels, the times have {len(report.launches)} launches.")
    if unmatched_kernels:
        notes.append(f"{len(unmatched_kernels)} kernels of the trace have no launch in the times.")
    if unmatched_launches:
        notes.append(f"{len(unmatched_launches)} launches in the times have no kernel in the trace.")
    known = {(kernel_name(kernel.name).short, kernel.grid) for kernel in kernels}
    unmatched = (report.launches[place] for place in unmatched_launches)
    again = sum((kernel_name(launch.name).short, launch.grid) in known for launch in unmatched)
    if again:
        notes.append(f"{again} of these repeat kernels of the trace; the earliest launches that fit were taken.")
    return notes
