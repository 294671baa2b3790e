"""Who may open a stream, and where it begins."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore

from cascade_site.auth import SESSION_KEY, token_fingerprint
from runs.models import Run
from runs.stream.access import Admission, Ask, Refusal, admit
from tests.events.test_journal import finish, publish_logs

TOKEN = settings.CASCADE_TOKEN


def ask(query: str = "", method: str = "GET", **headers: str) -> Ask:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {"method": method, "headers": pairs, "query_string": query.encode()}
    return Ask(scope)


def resume(run: Run, last_event_id: str) -> Admission | Refusal:
    return admit(ask(authorization=f"Bearer {TOKEN}", last_event_id=last_event_id), run.id)


def status(answer: Admission | Refusal) -> int:
    return answer.status if isinstance(answer, Refusal) else 200


def test_it_takes_the_token_as_a_header(run: Run) -> None:
    assert admit(ask(authorization=f"Bearer {TOKEN}"), run.id) == Admission(after=0)


def test_it_takes_the_token_in_the_query(run: Run) -> None:
    assert admit(ask(f"token={TOKEN}"), run.id) == Admission(after=0)


def test_it_takes_the_session_of_a_signed_in_page(run: Run) -> None:
    session = SessionStore()
    session[SESSION_KEY] = token_fingerprint()
    session.create()
    assert admit(ask(cookie=f"{settings.SESSION_COOKIE_NAME}={session.session_key}"), run.id) == Admission(after=0)


def test_it_needs_no_token_where_auth_is_off(run: Run, settings: Any) -> None:
    settings.CASCADE_NO_AUTH = True
    assert admit(ask(), run.id) == Admission(after=0)


@pytest.mark.parametrize(
    "stranger",
    [
        ask(),
        ask("token="),
        ask("token=wrong"),
        ask("token=%ff%00"),
        ask(f"token={TOKEN[:-1]}"),
        ask(authorization="Bearer wrong"),
        ask(authorization=f"Basic {TOKEN}"),
        ask(authorization=f"Bearer {TOKEN} {TOKEN}"),
        ask(f"token={TOKEN}", authorization="Bearer wrong"),
        ask(authorization="Bearer " + "x" * 1_000_000),
        ask(cookie="sessionid=unknown"),
    ],
    ids=str,
)
def test_it_refuses_strangers_with_401(run: Run, stranger: Ask) -> None:
    refusal = admit(stranger, run.id)
    assert isinstance(refusal, Refusal)
    assert refusal.status == 401
    assert ("WWW-Authenticate", "Bearer") in refusal.headers


def test_it_tells_strangers_nothing_about_which_runs_there_are(run: Run) -> None:
    assert admit(ask(), run.id) == admit(ask(), "run-000000000000")


def test_it_names_the_run_that_does_not_exist(run: Run) -> None:
    refusal = admit(ask(f"token={TOKEN}"), "run-000000000000")
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.detail) == (404, "There is no run 'run-000000000000'.")


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_it_only_answers_get(run: Run, method: str) -> None:
    refusal = admit(ask(f"token={TOKEN}", method), run.id)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.headers) == (405, (("Allow", "GET"),))


def test_it_goes_on_after_the_last_event_id(run: Run) -> None:
    publish_logs(run, 5)
    assert resume(run, "3") == Admission(after=3)


def test_a_page_may_give_the_position_in_the_query(run: Run) -> None:
    publish_logs(run, 5)
    assert admit(ask(f"token={TOKEN}&after=2"), run.id) == Admission(after=2)


def test_a_reconnecting_page_is_past_the_position_in_its_query(run: Run) -> None:
    publish_logs(run, 5)
    assert admit(ask(f"token={TOKEN}&after=2", last_event_id="4"), run.id) == Admission(after=4)


@pytest.mark.parametrize("unknown", ["7", "99999999999999999999999", "-1", "abc", "1.5", "٣", ""])
def test_an_id_that_it_never_gave_begins_from_the_start(run: Run, unknown: str) -> None:
    publish_logs(run, 5)
    assert admit(ask(f"token={TOKEN}", last_event_id=unknown), run.id) == Admission(after=0)


def test_a_client_that_has_read_an_ended_run_is_told_not_to_come_back(run: Run) -> None:
    finish(run)
    assert status(resume(run, "4")) == 204


def test_a_client_that_missed_the_end_gets_it(run: Run) -> None:
    finish(run)
    assert resume(run, "3") == Admission(after=3)
