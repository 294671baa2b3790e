"""Real kernel times onto a trace: read by ``traces.times``, paired by ``traces.matching``, kept with their story."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from cascade_site.fields import storable_text
from traces.matching import Matching, match
from traces.matching import TraceKernel as NamedKernel
from traces.models import RealTime, Trace
from traces.real_run import TooManyLaunchesError, real_run, to_rows
from traces.times import Launch, TimesError, TimesReport

MAX_LISTED = 1000
_LARGEST_NS = 2**63 - 1025  # the largest float below 2**63
_LARGEST_STEP = 2**31 - 1


def set_times(trace: Trace, report: TimesReport, file: str) -> None:
    """Give the trace's kernels the report's times, in place of any they had; and the GPU's name, where only these tell it.

    :param file: what the file is called in the trace's account of its times
    :raises TimesError: no launch is one of the trace's kernels; the trace stays as it was
    """
    kernels = [
        NamedKernel(kernel.index, kernel.name, tuple(kernel.grid), tuple(kernel.block), kernel.trace_file)
        for kernel in trace.kernels.order_by("index")
    ]
    own_gpu = None if trace.times_report.get("gpu_from_times") else trace.gpu
    matching = match(kernels, report, own_gpu)
    if not matching.launches_of:
        raise TimesError(
            f"{file}: none of its {len(report.launches)} launches is a kernel of this trace (by name, grid and block); "
            "is it a profile of another workload?"
        )
    account = _account(matching, report, file, len(kernels))
    if not own_gpu:
        trace.gpu = account["device_names"][0] if len(account["device_names"]) == 1 else None
        account["gpu_from_times"] = trace.gpu is not None
    try:
        launches = [_storable(launch) for launch in real_run(report.launches, matching.kernel_of)]
    except TooManyLaunchesError as error:
        launches, account["notes"] = [], [*account["notes"], str(error)]
    trace.set_real_times(_real_times(matching, report.launches), account, to_rows(launches))
    if trace.runs.exists():
        from runs.tasks import compare_again

        transaction.on_commit(lambda: compare_again.delay(trace.pk), robust=True)


def _real_times(matching: Matching, launches: Sequence[Launch]) -> dict[int, RealTime]:
    times = {}
    for index, real_ns in matching.real_ns(launches).items():
        first = launches[matching.launches_of[index][0]]
        phase = storable_text(first.phase[:100]) if first.phase else None
        step = first.step if first.step is not None and abs(first.step) <= _LARGEST_STEP else None
        times[index] = RealTime(_whole_ns(real_ns), _whole_ns(first.start_ns), step, phase)
    return times


def _storable(launch: Launch) -> Launch:
    phase = storable_text(launch.phase) if launch.phase else None
    stream = storable_text(launch.stream) if isinstance(launch.stream, str) else launch.stream
    return replace(launch, name=storable_text(launch.name), phase=phase, stream=stream)


def _whole_ns(time_ns: float | None) -> int | None:
    """Tools measure in whole nanoseconds; only means have fractions."""
    return None if time_ns is None or not abs(time_ns) <= _LARGEST_NS else round(time_ns)


def _account(matching: Matching, report: TimesReport, file: str, kernels_total: int) -> dict[str, Any]:
    """Where the times are from, and what found no partner on either side."""
    unmatched = [storable_text(report.launches[place].name) for place in matching.unmatched_launches]
    return {
        "file": storable_text(file),
        "set_at": timezone.now().isoformat(),
        "source": report.source,
        "launches": len(report.launches),
        "kernels_total": kernels_total,
        "kernels_matched": len(matching.launches_of),
        "unmatched_kernels": matching.unmatched_kernels[:MAX_LISTED],
        "unmatched_kernels_total": len(matching.unmatched_kernels),
        "unmatched_launches": unmatched[:MAX_LISTED],
        "unmatched_launches_total": len(unmatched),
        "clock_note": report.clock_note,
        "device_names": [storable_text(name) for name in report.device_names],
        "notes": [storable_text(note) for note in (*matching.notes, *report.warnings)],
    }
