"""The real run's steps with predicted times, made where the simulation ran, from its results and the real launches."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sims.gpus import spec_from_dict
from sims.propagation import GpuRates, KernelFacts, KnownKernel, PropagationError, Propagator
from sims.runner.assignment import Assignment
from sims.timeline import Gaps, MeasuredKernel, Prediction, step_timeline
from traces.real_run import from_rows
from traces.times import Launch


def predicted_timeline(given: Assignment, simulated_ns: Mapping[int, float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The step timeline and its comparison.

    :param simulated_ns: by the kernel's index in the trace
    """
    launches = from_rows(given.real_launches)
    kernel_of = [launch.trace_kernel if isinstance(launch.trace_kernel, int) else None for launch in launches]
    rates = _rates(given.traced_spec), _rates(given.spec)
    predictions, off = predict(launches, kernel_of, simulated_ns, *rates)
    gaps: Gaps = "closed" if given.options.get("gaps") == "closed" else "kept"
    measured = [_measured(*pair) for pair in zip(launches, kernel_of, strict=True)]
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
