"""A sim under any sequence of reports, cancels and lost runners: no illegal transition, and the end is final."""

import hashlib
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runs.launch import LaunchRequest, launch
from runs.models import Run, status_from
from sims.models import Sim
from tests.api.conftest import body_of, make_trace
from tests.thoroughness import examples
from traces.models import Trace

ENDED = {"finished", "failed", "cancelled"}
LEGAL = {
    "queued": {"queued", "starting", "running", *ENDED},
    "starting": {"starting", "running", *ENDED},
    "running": {"running", *ENDED},
    **{state: {state} for state in ENDED},
}
SEQUENCES = settings(
    max_examples=examples(8, 5000),
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)


class SimMachine(RuleBasedStateMachine):
    """Drives one sim through the API and holds it against a model of what may be."""

    @initialize()
    def launch(self) -> None:
        self.api = Client(headers={"Authorization": f"Bearer {django_settings.CASCADE_TOKEN}"})
        trace = Trace.objects.filter(pk="machine").first() or make_trace("machine", 2)
        self.sim_id = launch(trace, LaunchRequest(["SM86_RTX3070"], simulator="replay")).sims.get().id
        self.status = "queued"
        self.attempt = 1
        self.logs: dict[int, bytes] = {1: b""}
        self.files: dict[str, str] = {}

    def post(self, route: str, body: dict[str, Any]) -> Any:
        return self.api.post(f"/api/sims/{self.sim_id}/{route}", body, content_type="application/json")

    @property
    def sim(self) -> Sim:
        return Sim.objects.get(pk=self.sim_id)

    @rule(state=st.sampled_from(["starting", "running", *ENDED]), behind=st.integers(0, 1))
    def heartbeat(self, state: str, behind: int) -> None:
        attempt = max(self.attempt - behind, 1)
        before = self.sim
        answer = self.post("heartbeat", {"state": state, "attempt": attempt})
        assert answer.status_code == 200
        after = self.sim
        if before.status in ENDED or attempt != self.attempt:
            assert answer.json() == {"stop": True}
            assert after.status == before.status
        elif state in ENDED:
            assert after.status == state
        else:
            assert answer.json() == {"stop": before.stop_requested}

    @rule(text=st.text(max_size=20), shift=st.integers(-10, 3), behind=st.integers(0, 1))
    def append(self, text: str, shift: int, behind: int) -> None:
        attempt = max(self.attempt - behind, 1)
        stored, data = self.logs[self.attempt], text.encode()
        offset = max(len(stored) + shift, 0)
        ended = self.sim.status in ENDED
        answer = self.post("logs", {"offset": offset, "text": text, "attempt": attempt})
        known, fresh = data[: max(len(stored) - offset, 0)], data[max(len(stored) - offset, 0) :]
        fits = attempt == self.attempt and offset <= len(stored) and stored[offset : offset + len(known)] == known
        if fits and not (fresh and ended):
            self.logs[self.attempt] = stored + fresh
            assert answer.status_code == 200
        else:
            assert answer.status_code == 409
        assert answer.json()["size_bytes"] == len(self.logs[self.attempt])

    @rule(name=st.sampled_from(["a", "b.txt"]), data=st.binary(max_size=20), behind=st.integers(0, 1))
    def upload(self, name: str, data: bytes, behind: int) -> None:
        attempt = max(self.attempt - behind, 1)
        path = f"/api/sims/{self.sim_id}/files/{name}?attempt={attempt}"
        answer = self.api.put(path, data, content_type="application/octet-stream")
        if attempt == self.attempt:
            assert answer.status_code == (200 if name in self.files else 201)
            self.files[name] = hashlib.sha256(data).hexdigest()
        else:
            assert answer.status_code == 409

    @rule()
    def cancel(self) -> None:
        before = self.sim.status
        assert self.api.post(f"/api/runs/{self.sim.run_id}/cancel").status_code == 200
        after = self.sim
        assert after.stop_requested or after.status in ENDED
        assert (after.status == "cancelled") if before == "queued" else (after.status == before)

    @precondition(lambda self: self.sim.status in ENDED)
    @rule()
    def requeue(self) -> None:
        assert self.sim.requeue()
        self._next_attempt()

    @precondition(lambda self: self.sim.status in {"starting", "running"})
    @rule()
    def lose_the_runner(self) -> None:
        Sim.objects.filter(pk=self.sim_id).update(lease_expires_at="2020-01-01T00:00:00Z")
        if self.sim.give_up_lost():
            self._next_attempt()

    def _next_attempt(self) -> None:
        self.attempt += 1
        self.logs[self.attempt] = b""
        self.status = "queued"

    @invariant()
    def only_legal_transitions_happened(self) -> None:
        sim = self.sim
        assert sim.status in LEGAL[self.status]
        assert sim.attempt == self.attempt
        self.status = sim.status

    @invariant()
    def an_end_has_its_time_and_no_lease(self) -> None:
        sim = self.sim
        assert (sim.finished_at is not None) == (sim.status in ENDED)
        assert sim.status not in ENDED or sim.lease_expires_at is None

    @invariant()
    def the_run_says_what_its_sims_say(self) -> None:
        assert Run.objects.get(sims=self.sim_id).status == status_from([self.sim.status])

    @invariant()
    def every_log_is_what_was_accepted(self) -> None:
        for attempt, truth in self.logs.items():
            stored = body_of(self.api.get(f"/api/sims/{self.sim_id}/log?attempt={attempt}"))
            assert stored == truth

    @invariant()
    def the_files_are_the_last_ones_accepted(self) -> None:
        listed = self.api.get(f"/api/sims/{self.sim_id}/files").json()
        assert {file["name"]: file["sha256"] for file in listed} == self.files


@pytest.mark.django_db
def test_no_sequence_of_reports_breaks_a_sim() -> None:
    run_state_machine_as_test(SimMachine, settings=SEQUENCES)
