"""The token opens the API and shows up nowhere; a page's session stands for it, against forgery."""

import logging
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from cascade_site.auth import SESSION_KEY, bearer_token, token_fingerprint, token_matches
from sims.models import Sim


@pytest.fixture
def page() -> Client:
    """A browser that has signed in; it checks CSRF as a real one would meet it."""
    client = Client(enforce_csrf_checks=True)
    session = client.session
    session[SESSION_KEY] = token_fingerprint()
    session.save()
    return client


@pytest.mark.parametrize(
    "path",
    ["/api/traces", "/api/runs/{run}", "/api/sims/{sim}/log", "/api/nope", "/api/health", "/x", "/docs/openapi.json"],
)
@pytest.mark.parametrize("authorization", [None, "Bearer wrong", "Bearer {token}"])
def test_no_answer_holds_the_token(
    stranger: Client, sim: Sim, path: str, authorization: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": authorization.format(token=settings.CASCADE_TOKEN)} if authorization else {}
    address = path.format(run=sim.run_id, sim=sim.id) + f"?token={settings.CASCADE_TOKEN}"
    answer = stranger.get(address, headers=headers)
    shown = (answer.content if not answer.streaming else b"").decode() + str(answer.headers)
    assert settings.CASCADE_TOKEN not in shown
    assert settings.CASCADE_TOKEN not in caplog.text


def test_a_session_reads_the_api(page: Client) -> None:
    assert page.get("/api/runs").status_code == 200


def test_a_session_writes_only_with_the_pages_csrf_token(page: Client, sim: Sim) -> None:
    path = f"/api/runs/{sim.run_id}/cancel"
    refused = page.post(path)
    assert refused.status_code == 403
    assert "pages" in refused.json()["detail"]
    page.cookies["csrftoken"] = "a" * 32
    assert page.post(path, headers={"X-CSRFToken": "a" * 32}).status_code == 200


def test_a_session_of_an_old_token_is_a_stranger(page: Client, settings: Any) -> None:
    settings.CASCADE_TOKEN = "another-token"
    assert page.get("/api/runs").status_code == 401


def test_a_wrong_token_is_not_saved_by_a_session(page: Client) -> None:
    assert page.get("/api/runs", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_without_tokens_another_site_still_cannot_write(stranger: Client, sim: Sim, settings: Any) -> None:
    settings.CASCADE_NO_AUTH = True
    path = f"/api/runs/{sim.run_id}/cancel"
    assert stranger.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert stranger.post(path).status_code == 200


@pytest.mark.parametrize("path", ["/api/runs", "/api/sims/{sim}/log", "/api/nope", "/docs/openapi.json"])
def test_every_answer_is_fenced_in(api: Client, sim: Sim, path: str) -> None:
    answer = api.get(path.format(sim=sim.id))
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "unsafe" not in answer["Content-Security-Policy"]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "bearer  ", "Token x", "Bearer a b", "Bearer\tx"])
def test_only_a_bearer_token_is_one(header: str) -> None:
    assert bearer_token(header) is None


@pytest.mark.parametrize("candidate", ["", "é", "\udcff", "\0", "{token} ", "{short}"])
def test_only_the_token_itself_matches(candidate: str) -> None:
    token = settings.CASCADE_TOKEN
    assert not token_matches(candidate.format(token=token, short=token[:-1]))
    assert token_matches(token)
