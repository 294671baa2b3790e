"""The task's side of a runner: gives it its assignment, lends it the database's word, and deals with its death."""

import logging
import os
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DatabaseError, InterfaceError, close_old_connections, connection, transaction

from sims.gpus import SpecError, is_captured_gpu
from sims.models import GpuConfig, Sim, SimKernel, StepTimeline, TimelineOrigin
from sims.models.states import ENDED
from sims.runner.assignment import Assignment, Limits, TracePlace
from sims.runner.leash import leashed
from sims.runner.line import LEASE, LEAVE, STOP, Ending, RunnerWords, parse_ending
from sims.runner.processes import kill_session
from sims.runner.timelines import predicted_timeline
from sims.simulators.registry import places
from traces.models import Trace

logger = logging.getLogger(__name__)

LOOK_S = 1.5
"""How often the task looks whether somebody cancelled the sim."""

EXIT_S = 15
"""How long a runner that has said its last word may take to end."""

_NOT_FOR_RUNNERS = ("DATABASE_URL", "REDIS_URL", "CASCADE_SECRET_KEY")


def work_folder(sim_id: str, attempt: int) -> Path:
    """Where a runner works; one per attempt, on the worker's own disk."""
    return Path(settings.CASCADE_DATA) / "work" / f"{sim_id}-{attempt}"


def trace_place(trace: Trace) -> TracePlace:
    """Where a runner finds the trace's files."""
    if trace.folder:
        return TracePlace(trace.id, trace.list_name, folder=trace.folder)
    if settings.CASCADE_S3_BUCKET is None:
        return TracePlace(trace.id, trace.list_name, folder=default_storage.path(trace.prefix))
    # A trace that replaces one of the same name has the same prefix, and other files.
    cache = Path(settings.CASCADE_DATA) / "cache" / "traces" / trace.generation
    return TracePlace(trace.id, trace.list_name, prefix=trace.prefix, cache_folder=str(cache))


def traced_spec(trace: Trace) -> dict[str, Any] | None:
    """The config of the GPU that a trace's real times are of; None where no config is of that GPU."""
    configs = GpuConfig.objects.all() if trace.gpu else []
    return next((config.spec for config in configs if is_captured_gpu(trace.gpu, config.name)), None)


def assignment_for(sim: Sim, attempt: int) -> Assignment:
    return Assignment(
        sim_id=sim.id,
        attempt=attempt,
        url=settings.CASCADE_URL,
        worker=sim.worker or "",
        simulator=sim.simulator,
        spec=sim.config,
        trace=trace_place(sim.run.trace),
        work_folder=str(work_folder(sim.id, attempt)),
        kernel_indices=sim.kernel_indices,
        kernels_total=sim.kernels_total or len(sim.kernel_indices) or sim.run.trace.kernels_total,
        options=sim.options,
        # A shard knows only its own kernels' times: the whole's timeline is made when all are there.
        real_launches=[] if sim.whole_id else sim.run.trace.real_launches,
        traced_spec=traced_spec(sim.run.trace),
        limits=Limits(
            heartbeat_s=settings.CASCADE_HEARTBEAT_S,
            lease_s=settings.CASCADE_LEASE_S,
            stall_s=settings.CASCADE_STALL_S,
            patience_s=settings.CASCADE_PATIENCE_S,
            max_log_bytes=settings.CASCADE_MAX_LOG_BYTES,
            max_file_bytes=settings.CASCADE_MAX_FILE_BYTES,
            sim_memory_bytes=settings.CASCADE_SIM_MEMORY_BYTES,
            sim_file_bytes=settings.CASCADE_SIM_FILE_BYTES,
            sim_open_files=settings.CASCADE_SIM_OPEN_FILES,
        ),
        places=places(),
    )


def post_timeline(sim: Sim) -> None:
    """The step timeline over all kernels that a sim has simulated, as a runner posts it; none where no starts are known.

    A run's events are over when it has ended: what comes later is told to nobody.
    """
    given = assignment_for(sim, sim.attempt)
    simulated_ns = SimKernel.objects.simulated_ns(sim) if given.real_launches else {}
    if not simulated_ns:
        return
    try:
        timeline, comparison = predicted_timeline(given, simulated_ns)
    except SpecError as error:
        # A sim keeps the config it was launched with, and an earlier version's may have had other fields.
        logger.warning("Sim %s has no step timeline: %s", sim.id, error)
        return
    with transaction.atomic():
        locked = sim.lock()
        if not locked.is_superseded(sim.attempt):
            StepTimeline.keep(
                locked,
                timeline,
                comparison,
                origin=TimelineOrigin.PREDICTED,
                told=locked.run.status not in ENDED,
            )


def follow_times(sim: Sim) -> None:
    """The step timeline of an ended sim anew, after its trace was given other real times.

    Where these tell no starts, the one that is there stays: it is still what was predicted. So does a simulator's own.
    """
    if sim.has_ended and not sim.whole_id:
        post_timeline(sim)


def follow_times_since(started: Sim) -> None:
    """A runner only knows the real times of its start: others may have been set while it worked."""
    sim = Sim.everything.select_related("run__trace").get(pk=started.pk)
    if sim.run.trace.state_of_times != started.run.trace.state_of_times:
        follow_times(sim)


def supervise(sim: Sim, attempt: int, lifeline: int | None = None) -> bool:
    """Run one attempt of a claimed sim to its end; True if the sim is queued again and wants another task.

    :param lifeline: a descriptor that becomes readable when the worker shuts down or dies
    """
    folder = work_folder(sim.id, attempt)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        assignment_for(sim, attempt).write(folder / "assignment.json")
        # The run may take hours: no connection is kept for it.
        connection.close()
        return _settle(sim, attempt, *_Supervision(sim.id, attempt, lifeline).run(folder / "assignment.json"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settle(sim: Sim, attempt: int, ending: Ending | None, exit_code: int) -> bool:
    """What the sim's state has to become after its runner has ended."""
    if ending is not None and ending.reported:
        return False
    if ending is not None and ending.left:
        return sim.give_back(attempt, f"Worker {sim.worker} was shut down")
    if ending is not None:
        return sim.give_up(attempt, ending.detail.rstrip("."))
    how = f"by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"with exit code {exit_code}"
    return sim.give_up(attempt, f"The runner on worker {sim.worker} ended {how} before the simulation did")


class _Supervision:
    """One runner process, and the line to it."""

    def __init__(self, sim_id: str, attempt: int, lifeline: int | None) -> None:
        self._sim_id, self._attempt, self._lifeline = sim_id, attempt, lifeline
        self._ending: Ending | None = None

    def run(self, assignment: Path) -> tuple[Ending | None, int]:
        """Start the runner and stay with it; its last word, if it came to that, and its exit code."""
        process = subprocess.Popen(
            leashed([sys.executable, "-m", "sims.runner", str(assignment), "--task"], signal.SIGTERM),
            cwd=settings.BASE_DIR,
            env=_runner_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._follow(process)
            exit_code = process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            exit_code = -signal.SIGKILL
        finally:
            # A runner ends its simulator itself; one that was killed could not.
            kill_session(process.pid)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        return self._ending, exit_code

    def _follow(self, process: "subprocess.Popen[bytes]") -> None:
        """Until the runner hangs up: carry word between it and the database."""
        assert process.stdin is not None
        assert process.stdout is not None
        self._to_runner = process.stdin.fileno()
        words = RunnerWords(process.stdout.fileno())
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if self._lifeline is not None:
                selector.register(self._lifeline, selectors.EVENT_READ)
            while not words.at_end:
                ready = {key.fd for key, _ in selector.select(LOOK_S)}
                if self._lifeline is not None and self._lifeline in ready:
                    self._say(LEAVE)
                    selector.unregister(self._lifeline)
                for word in words.read():
                    self._hear(word)
                if not ready:
                    self._look()

    def _hear(self, word: str) -> None:
        if word == LEASE:
            if self._ask_database(Sim.everything.renew_lease):
                self._say(LEASE)
        else:
            self._ending = parse_ending(word) or self._ending

    def _look(self) -> None:
        if self._ask_database(Sim.everything.is_wanted) is False:
            self._say(STOP)

    def _ask_database(self, question: Callable[[str, int], bool]) -> bool | None:
        """The answer, or None while the database is away: then nothing is known, and the runner goes on."""
        close_old_connections()
        try:
            return question(self._sim_id, self._attempt)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Sim %s: the database did not answer: %s", self._sim_id, error)
            connection.close()
            return None

    def _say(self, word: str) -> None:
        try:
            os.write(self._to_runner, f"{word}\n".encode())
        except OSError:
            logger.warning("Sim %s: its runner no longer listens.", self._sim_id)


def _runner_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_RUNNERS}
    return kept | {"CASCADE_TOKEN": settings.CASCADE_TOKEN, "CASCADE_DATA": str(settings.CASCADE_DATA)}
