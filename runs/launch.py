"""Launching a run: checks what was asked for, makes the run and its sims in one transaction, hands them to workers."""

from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction

from runs.events import open_channel, publish
from runs.models import MAX_CONFIGS_LENGTH, Run
from runs.options import problem_with
from runs.serializers import RunSerializer
from runs.variants import Variant, variants
from runs.work import Work, work_for
from sims.gpus import OverrideError
from sims.gpus.serial import spec_to_dict
from sims.gpus.spec import GpuSpec
from sims.models import GpuConfig, Sim
from sims.models.gpu_config import Origin
from sims.simulators.registry import choose
from traces.models import Trace, TraceStatus

MAX_SIMS = 256


class LaunchError(ValueError):
    """A run that cannot be; ``field`` names what is wrong with the request."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class TraceNotReadyError(ValueError):
    """The trace is still on its way, or its ingest failed."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What a run is to be."""

    gpu_configs: list[str]
    simulator: str = "auto"
    name: str | None = None
    kernels: str = ""
    """A selection such as ``1-20,25``; empty for all."""
    overrides: dict[str, Any] = field(default_factory=dict)
    """Config values that every sim has instead of its config's own."""
    sweep: dict[str, list[Any]] = field(default_factory=dict)
    """Config values by name that are tried one after the other, all combinations."""
    options: dict[str, Any] = field(default_factory=dict)
    """The simulator's switches."""

    def as_body(self, trace_id: str) -> dict[str, Any]:
        """The body of ``POST /api/runs`` that asks for the same."""
        extra = {
            "name": self.name,
            "kernels": self.kernels,
            "set": self.overrides,
            "sweep": self.sweep,
            "options": self.options,
        }
        body = {"trace_id": trace_id, "gpu_configs": self.gpu_configs, "simulator": self.simulator}
        return body | {name: value for name, value in extra.items() if value}


def launch(trace: Trace, request: LaunchRequest, *, key: str | None = None, body: dict[str, Any] | None = None) -> Run:
    """Make the run and queue its sims.

    :param key: idempotency key: the caller has looked for a run of that key
    :param body: the request as the client sent it, kept with the run
    :raises TraceNotReadyError: the trace is not ``ready``
    :raises LaunchError: the request does not fit the trace, the configs or the simulators there are
    :raises IntegrityError: another run has taken the key meanwhile
    """
    if trace.status != TraceStatus.READY:
        raise TraceNotReadyError(_why_not_ready(trace))
    chosen = _variants(_specs(request.gpu_configs), request)
    if problem := problem_with(request.options):
        raise LaunchError(f"options.{problem[0]}", problem[1])
    work = _work(trace, request)
    simulators = [_simulator(request.simulator, variant) for variant in chosen]
    with transaction.atomic():
        run = Run.objects.create(
            name=request.name,
            trace=trace,
            simulator=request.simulator,
            request=body or request.as_body(trace.id),
            idempotency_key=key,
            configs=", ".join(variant.label for variant in chosen)[:MAX_CONFIGS_LENGTH],
        )
        sims = [
            _sim(run, position, variant, simulator, request, work)
            for position, (variant, simulator) in enumerate(zip(chosen, simulators, strict=True))
        ]
        Sim.everything.bulk_create([*sims, *work.shards_of(sims)])
        open_channel(run.id)
        run = Run.objects.with_sims().get(pk=run.id)
        publish(run.id, [("run", RunSerializer(run).data)])
        transaction.on_commit(lambda: _hand_out(run), robust=True)
    return run


def launch_once(trace: Trace, request: LaunchRequest, key: str, body: dict[str, Any]) -> tuple[Run, bool]:
    """Like :func:`launch`, but a repeat under the same key answers the run that is there; whether it is a new one.

    :raises LaunchError: the key belongs to another request (``field`` is then ``Idempotency-Key``)
    """
    if (earlier := run_of_key(key, body)) is not None:
        return earlier, False
    try:
        return launch(trace, request, key=key, body=body), True
    except IntegrityError:
        # The same request at the same time, in another process: its run is this one's too.
        if (earlier := run_of_key(key, body)) is None:
            raise
        return earlier, False


class KeyTakenError(LaunchError):
    """The idempotency key belongs to a different request."""


def run_of_key(key: str, body: dict[str, Any]) -> Run | None:
    """The run that was launched under a key. Raises :class:`KeyTakenError` if by another request."""
    run = Run.objects.with_sims().filter(idempotency_key=key).first()
    if run is not None and run.request != body:
        raise KeyTakenError("Idempotency-Key", f"This key was used for another request, which made {run.id}.")
    return run


def _why_not_ready(trace: Trace) -> str:
    if trace.status == TraceStatus.FAILED:
        return f"Trace '{trace.id}' failed and cannot be simulated: {trace.detail or 'no reason is known'}"
    return f"Trace '{trace.id}' is still being uploaded; launch the run when it is ready."


def _specs(config_ids: list[str]) -> dict[str, GpuSpec]:
    unreadable = GpuConfig.objects.follow_folders()
    configs = GpuConfig.objects.in_bulk(config_ids)
    for config_id in config_ids:
        # One that an operator has made is not the folder's.
        if config_id in unreadable and (config_id not in configs or configs[config_id].origin != Origin.OPERATOR):
            problem = unreadable[config_id]
            raise LaunchError("gpu_configs", f"The files of GPU config '{config_id}' cannot be used: {problem}")
    unknown = [config_id for config_id in config_ids if config_id not in configs]
    if unknown:
        known = ", ".join(GpuConfig.objects.values_list("id", flat=True))
        raise LaunchError("gpu_configs", f"There is no GPU config '{unknown[0]}'; there are {known}.")
    return {config_id: configs[config_id].as_spec for config_id in config_ids}


def _variants(specs: dict[str, GpuSpec], request: LaunchRequest) -> list[Variant]:
    sims_total = len(specs)
    for name, values in request.sweep.items():
        if not values:
            raise LaunchError(f"sweep.{name}", "Give at least one value.")
        sims_total *= len(values)
    if sims_total > MAX_SIMS:
        raise LaunchError("sweep", f"This makes {sims_total} sims; a run may have at most {MAX_SIMS}.")
    try:
        chosen = list(variants(specs, request.overrides, request.sweep))
    except OverrideError as error:
        raise LaunchError(_at_fault(specs, request), str(error)) from None
    if len({variant.label for variant in chosen}) < len(chosen):
        raise LaunchError("sweep", "A value comes twice.")
    return chosen


def _at_fault(specs: dict[str, GpuSpec], request: LaunchRequest) -> str:
    """The field with the wrong value: ``set`` where its values are wrong without the sweep's too."""
    try:
        list(variants(specs, request.overrides, {}))
    except OverrideError:
        return "set"
    return "sweep"


def _work(trace: Trace, request: LaunchRequest) -> Work:
    try:
        return work_for(trace, request.kernels, request.options)
    except ValueError as error:
        raise LaunchError("kernels", str(error)) from None


def _simulator(wanted: str, variant: Variant) -> str:
    try:
        return choose(wanted, variant.spec)
    except ValueError as error:
        raise LaunchError("simulator", str(error)) from None


def _sim(run: Run, position: int, variant: Variant, simulator: str, request: LaunchRequest, work: Work) -> Sim:
    return Sim(
        run=run,
        position=position,
        gpu_config=variant.label,
        config=spec_to_dict(variant.spec),
        options={**request.options, **({"set": variant.overrides} if variant.overrides else {})},
        simulator=simulator,
        kernel_indices=work.indices,
        stand_ins=work.stand_ins,
        kernels_total=work.total,
        created_at=run.created_at,
    )


def _hand_out(run: Run) -> None:
    """After the commit. A broker that is away costs nothing: the reaper sends what was never sent."""
    from sims.tasks import dispatch

    for sim in Sim.everything.filter(run=run, shard__isnull=True).order_by("position"):
        dispatch(sim.id)
