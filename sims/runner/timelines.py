"""The real run's steps with predicted times, made where the simulation ran, from its results and the run directory."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sims.gpus import spec_from_dict
from sims.propagation import GpuRates, KernelFacts, KnownKernel, PropagationError, Propagator
from sims.runner.assignment import Assignment
from sims.runner.fetch import fetch_optional
from sims.timeline import Gaps, MeasuredKernel, Prediction, step_timeline
from traces.matching import TraceKernel, match
from traces.rundir import ALIGNMENT_FILE, TIMELINE_FILE
from traces.times import Launch, TimesError, read_times


def predicted_timeline(given: Assignment, simulated_ns: Mapping[int, float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The step timeline and its comparison. Raises ``TimesError`` or ``OSError`` where the real one cannot be read.

    :param simulated_ns: by the kernel's index in the trace
    """
    real = fetch_optional(given.trace, TIMELINE_FILE)
    if real is None:
        raise TimesError(f"{TIMELINE_FILE} is not with the trace's files any more; ingest the trace again.")
    report = read_times(real, alignment=fetch_optional(given.trace, ALIGNMENT_FILE))
    rows = [TraceKernel(row.index, row.name, row.grid, row.block, row.trace_file) for row in given.timeline_kernels]
    kernel_of = match(rows, report).kernel_of
    rates = _rates(given.traced_spec), _rates(given.spec)
    predictions, off = predict(report.launches, kernel_of, simulated_ns, *rates)
    gaps: Gaps = "closed" if given.options.get("gaps") == "closed" else "kept"
    measured = [_measured(*pair) for pair in zip(report.launches, kernel_of, strict=True)]
    timeline, comparison = step_timeline(measured, predictions, gaps)
    # How far off times that were taken over are, told by those that need not have been.
    return timeline, comparison | {"propagation": asdict(off)}


def predict(
    launches: Sequence[Launch],
    kernel_of: Sequence[int | None],
    simulated_ns: Mapping[int, float],
    traced_on: GpuRates | None = None,
    target: GpuRates | None = None,
) -> tuple[list[Prediction | None], PropagationError]:
    """A time for each launch: simulated, or taken over from those that are; None where there is nothing to take.

    With it, how wrong each simulated launch would be if its time were taken over from the others.
    """
    simulated = [None if index is None else simulated_ns.get(index) for index in kernel_of]
    facts = [_facts(launch) for launch in launches]
    known = [KnownKernel(fact, ns) for fact, ns in zip(facts, simulated, strict=True) if ns is not None]
    propagator = Propagator(known, traced_on, target)
    predictions: list[Prediction | None] = []
    for fact, ns in zip(facts, simulated, strict=True):
        if ns is not None:
            predictions.append(Prediction(ns, "simulated"))
        elif (found := propagator.predict(fact)) is not None:
            predictions.append(Prediction(found.ns, "propagated", found.low_ns, found.high_ns))
        else:
            predictions.append(None)
    return predictions, propagator.leave_one_out()


def _rates(config: Mapping[str, Any] | None) -> GpuRates | None:
    if config is None:
        return None
    spec = spec_from_dict(dict(config))
    return GpuRates(spec.sms * spec.core_clock_mhz, spec.memory_bandwidth_gbs)


def _facts(launch: Launch) -> KernelFacts:
    return KernelFacts(launch.name, launch.grid or (1, 1, 1), launch.block or (1, 1, 1), launch.duration_ns)


def _measured(launch: Launch, index: int | None) -> MeasuredKernel:
    return MeasuredKernel(
        name=launch.name,
        real_ns=launch.duration_ns,
        real_start_ns=launch.start_ns,
        stream=launch.stream if launch.stream is not None else 0,
        step=launch.step or 0,
        phase=launch.phase,
        trace_kernel=index,
    )
