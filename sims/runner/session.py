"""One simulation from its assignment to its reported end.

The main thread lays out the work folder, starts the simulator and moves what it prints into the spool. Three more speak
meanwhile (``reporting``). However it goes, the simulator and all that it started are gone when ``run`` returns.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sims.gpus import spec_from_dict
from sims.outcome import Outcome, judge
from sims.runner.api import Api, Outage, OutOfPatienceError, RefusedError
from sims.runner.assignment import Assignment
from sims.runner.fetch import trace_folder
from sims.runner.line import Ending, TaskLine
from sims.runner.outputs import find_outputs
from sims.runner.progress import LogReading, ProgressFile
from sims.runner.reporting import Heart, Lease, Listener, LogSender
from sims.runner.simulation import Simulation, is_full_disk
from sims.runner.spool import ErrorSpool, LogSpool
from sims.runner.stop import Stop, StopReason
from sims.runner.timelines import predicted_timeline
from sims.simulators.base import Command, Job
from sims.simulators.registry import make
from traces.accelsim import TraceError

PROJECT = Path(__file__).resolve().parents[2]
TICK_S = 0.2
STDERR_BYTES = 8 * 1024**2
DETAIL_CHARACTERS = 4000

UNREPORTED = frozenset({StopReason.LEAVE, StopReason.FENCED, StopReason.UNREACHABLE})
"""Reasons after which the sim's end is not this runner's to report: somebody else will do it again."""


@dataclass
class Status:
    """What the next heartbeat says."""

    state: str = "starting"
    worker: str = ""
    kernels_done: int = 0
    kernels_total: int | None = None
    log_written_bytes: int = 0
    progress: dict[str, Any] = field(default_factory=dict)
    software: dict[str, str] = field(default_factory=dict)

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = {"state": self.state, "kernels_done": self.kernels_done}
        report["log_written_bytes"] = self.log_written_bytes
        if self.worker:
            report["worker"] = self.worker
        if self.kernels_total is not None:
            report["kernels_total"] = self.kernels_total
        if self.progress:
            report["progress"] = self.progress
        if self.software:
            report["software"] = self.software
        return report


class Session:
    def __init__(self, assignment: Assignment, token: str, line: TaskLine) -> None:
        self.assignment = assignment
        self._secrets = [token, os.environ.get("AWS_SECRET_ACCESS_KEY", "")]
        self.limits = assignment.limits
        self.work_folder = Path(assignment.work_folder)
        self.stop = Stop()
        self.status = Status(worker=assignment.worker, kernels_total=assignment.kernels_total)
        self._outage = Outage(self.limits.patience_s)
        self._api = Api(assignment.url, token, assignment.sim_id, assignment.attempt, self._outage)
        self._lease = Lease(self.limits)
        self._listener = Listener(line, self._lease, self.stop, self._outage)
        self._heart = Heart(self._api, self._lease, line, self.stop, self.limits, self.status.report)
        self._spec = spec_from_dict(assignment.spec)
        self._reading = LogReading(self._spec, assignment.kernel_indices)

    def leave(self) -> None:
        """End without a result, soon; may be called from a signal handler."""
        self._listener.leave()

    def run(self) -> Ending:
        """Do the assignment. Returns how it ended; never raises for what a simulator, a trace or the app may do."""
        self._listener.start()
        self._heart.start()
        try:
            outcome = self._simulate()
            if self.stop.reason in UNREPORTED:
                return self._unreported()
            self._api.heartbeat(self._end_report(outcome))
        except (OutOfPatienceError, RefusedError) as error:
            return Ending(reported=False, detail=f"The end of the sim could not be reported: {error}.")
        finally:
            self._heart.end()
            self._api.close()
        return Ending(reported=True, detail=outcome.detail)

    def _unreported(self) -> Ending:
        details = {StopReason.FENCED: f"The lease could not be renewed within {self.limits.lease_s:.0f} s."}
        detail = self.stop.detail or details.get(self.stop.reason or StopReason.LEAVE, "")
        return Ending(reported=False, detail=detail, left=self.stop.reason is StopReason.LEAVE)

    def _end_report(self, outcome: Outcome) -> dict[str, Any]:
        detail = " ".join([outcome.detail, *outcome.warnings]).strip()
        return {**self.status.report(), "state": outcome.state, "detail": detail[:DETAIL_CHARACTERS]}

    def _simulate(self) -> Outcome:
        """Everything between the first heartbeat and the last."""
        try:
            command = self._prepare()
        except (ValueError, TraceError) as error:
            return Outcome("failed", _sentence(str(error)))
        except OSError as error:
            return Outcome("failed", _disk_problem(error, "The simulation could not be prepared"))
        if self.stop.reason is not None:
            return self._stopped()
        with self._spools() as (log, errors):
            sender = LogSender(self._api, log, self.stop, self.limits.log_chunk_bytes)
            sender.start()
            exit_code, disk_error = self._watch(command, log, errors)
            if self.stop.reason in UNREPORTED:
                return self._stopped()
            outcome = self._judge(exit_code, disk_error, errors.tail)
            return self._hand_over(command, sender, outcome)

    def _prepare(self) -> Command:
        given = self.assignment
        simulator = make(given.simulator, given.places)
        self.status.software = simulator.software()
        folder = trace_folder(given.trace, given.kernel_indices)
        job = Job(
            sim_id=given.sim_id,
            spec=self._spec,
            trace_folder=folder,
            list_name=given.trace.list_name,
            kernel_indices=tuple(given.kernel_indices),
            work_folder=self.work_folder / "simulation",
            options=given.options,
        )
        job.work_folder.mkdir(parents=True)
        return simulator.prepare(job)

    @contextlib.contextmanager
    def _spools(self) -> Iterator[tuple[LogSpool, ErrorSpool]]:
        log = LogSpool(self.work_folder / "log", self.limits.max_log_bytes, self._secrets)
        errors = ErrorSpool(self.work_folder / "stderr.txt", STDERR_BYTES, self._secrets)
        try:
            yield log, errors
        finally:
            log.abandon()

    def _watch(self, command: Command, log: LogSpool, errors: ErrorSpool) -> tuple[int, OSError | None]:
        """Run the simulator to its end, or end it; its exit code (negative: the signal), and what the disk refused."""
        folder = self.work_folder / "simulation"
        progress = ProgressFile(folder / command.progress_file if command.progress_file else None)
        simulation = Simulation(command, folder, PROJECT, log, errors, self.limits.of_process)
        self.status.state = "running"
        self._heart.beat_now()
        while not simulation.is_over():
            self._note(simulation.pump(TICK_S), progress)
            self.status.log_written_bytes = log.size_bytes
            self._find_reason_to_stop(simulation, progress)
            if self.stop.reason is not None:
                simulation.terminate(self.limits.grace_s)
        self._note(simulation.clear_away(), progress)
        if simulation.disk_error is None:
            self._reading.feed(log.close())
        with contextlib.suppress(OSError):
            errors.close()
        self._reading.finish()
        self.status.software |= self._reading.software
        self.status.log_written_bytes = log.size_bytes
        self.status.kernels_done = self._reading.kernels_done
        return simulation.process.returncode, simulation.disk_error

    def _note(self, text: bytes, progress: ProgressFile) -> None:
        if self._reading.feed(text):
            self.status.kernels_done = self._reading.kernels_done
            self._heart.beat_now()
        self.status.progress = progress.latest

    def _find_reason_to_stop(self, simulation: Simulation, progress: ProgressFile) -> None:
        if simulation.disk_error is not None:
            self.stop.ask(StopReason.DISK)
        if self._lease.is_over():
            self.stop.ask(StopReason.FENCED)
        if progress.look():
            simulation.last_output_at = time.monotonic()
        if time.monotonic() - simulation.last_output_at > self.limits.stall_s:
            self.stop.ask(StopReason.STALLED)

    def _judge(self, exit_code: int, disk_error: OSError | None, stderr_tail: str) -> Outcome:
        if disk_error is not None:
            return Outcome("failed", _disk_problem(disk_error, "The simulator's output could not be kept"))
        if self.stop.reason is StopReason.REFUSED:
            return Outcome("failed", self.stop.detail)
        return judge(
            self._reading.facts,
            exit_code,
            stderr_tail,
            kernels_expected=self.assignment.kernels_total,
            stopped=self.stop.reason is StopReason.TOLD,
            stalled_s=self.limits.stall_s if self.stop.reason is StopReason.STALLED else None,
        )

    def _stopped(self) -> Outcome:
        return Outcome("cancelled", "Cancelled.")

    def _hand_over(self, command: Command, sender: LogSender, outcome: Outcome) -> Outcome:
        """See that the app has the whole log, the files and the timeline; the outcome, with what did not work out."""
        while sender.is_alive():
            sender.join(TICK_S)
        folder = self.work_folder / "simulation"
        files, problems = find_outputs(folder, command.outputs, self.limits.max_file_bytes)
        stderr, _ = find_outputs(self.work_folder, ["stderr.txt"], self.limits.max_file_bytes)
        for output in [*stderr, *files]:
            try:
                self._api.put_file(output.path, output.content_type)
            except RefusedError as refusal:
                problems.append(f"The output file {output.path.name} was not kept: {refusal}.")
        problems += self._post_timeline()
        return Outcome(outcome.state, outcome.detail, [*outcome.warnings, *problems])

    def _post_timeline(self) -> list[str]:
        """Post the predicted steps where the real ones are known; what kept it from that."""
        if not self.assignment.real_launches or not self._reading.simulated_ns:
            return []
        timeline, comparison = predicted_timeline(self.assignment, self._reading.simulated_ns)
        try:
            self._api.post_timeline(timeline, comparison)
        except RefusedError as refusal:
            return [f"There is no step timeline: {_sentence(str(refusal))}"]
        return []


def _sentence(text: str) -> str:
    text = text.strip() or "The simulation could not be prepared."
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _disk_problem(error: OSError, what: str) -> str:
    if is_full_disk(error):
        return f"{what}: the disk of the worker is full. Free some space under CASCADE_DATA and launch the run again."
    return f"{what}: {error.strerror or error}" + (f" ({error.filename})." if error.filename else ".")
