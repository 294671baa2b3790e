"""Every row of the contract's error table, and what holds for all routes."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from cascade_site.urls import api_urls
from sims.models import Sim

READING = [
    "/api/traces", "/api/traces/babelstream", "/api/gpu-configs", "/api/runs", "/api/runs/{run}",
    "/api/runs/{run}/comparison", "/api/runs/{run}/kernels", "/api/runs/{run}/step-timelines",
    "/api/runs/{run}/results", "/api/runs/{run}/files", "/api/runs/{run}/perfetto", "/api/sims/{sim}/results",
    "/api/sims/{sim}/log", "/api/sims/{sim}/files",
]  # fmt: skip
JSON_WRITING = ["/api/runs", "/api/sims/{sim}/heartbeat", "/api/sims/{sim}/logs", "/api/sims/{sim}/step-timeline"]
STATUS_404 = {"detail": "Not Found"}

ODD_JSON = [
    b'{"timeline": {"a": 1e400}, "comparison": {}}',
    b'{"timeline": ' + b'{"a":' * 101 + b"1" + b"}" * 101 + b"}",
    b'{"timeline": ' + b'{"a":' * 950 + b"1" + b"}" * 950 + b"}",
    b'{"offset": ' + b"9" * 1_000_000 + b"}",
]
"""Legal JSON that cannot be kept."""


def at(path: str, sim: Sim) -> str:
    return path.format(run=sim.run_id, sim=sim.id)


@pytest.mark.parametrize("path", JSON_WRITING)
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'"text"', b"{} {}", b"\xff", b'{"a": NaN}', b"[" * 100_000, *ODD_JSON]
)
def test_400_a_body_that_is_no_json_object(api: Client, sim: Sim, path: str, body: bytes) -> None:
    answer = api.post(at(path, sim), body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json().keys() == {"detail"}


def test_400_json_with_half_a_character(api: Client, sim: Sim) -> None:
    answer = api.post(at(JSON_WRITING[2], sim), b'{"text": "\\ud800"}', content_type="application/json")
    assert answer.status_code == 400


@pytest.mark.parametrize("path", READING)
def test_401_without_a_token(stranger: Client, sim: Sim, path: str) -> None:
    answer = stranger.get(at(path, sim))
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "Bearer wrong",
        "Bearer",
        "Bearer  ",
        "Basic {token}",
        "Bearer {token}x",
        "Bearer {short}",
        "Bearer {token} {token}",
        "{token}",
        "Bearer \xff",
        "Bearer " + "a" * 1_000_000,
    ],
)
def test_401_with_a_wrong_token(stranger: Client, header: str) -> None:
    token = settings.CASCADE_TOKEN
    shown = header.format(token=token, short=token[:-1])
    answer = stranger.get("/api/traces", headers={"Authorization": shown})
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert token not in answer.content.decode()


def test_401_comes_before_the_body_is_looked_at(stranger: Client, sim: Sim) -> None:
    assert stranger.post(at(JSON_WRITING[1], sim), b"{", content_type="application/json").status_code == 401


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/traces/", "/api/nope", "/api/runs//", "/api/runs/x/y/z", "/api/health/", "/api/v1/runs"],
)
@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "options", "head"])
def test_404_an_unknown_path_whatever_the_token(stranger: Client, path: str, method: str) -> None:
    answer = getattr(stranger, method)(path)
    assert answer.status_code == 404
    assert method == "head" or answer.json() == STATUS_404


@pytest.mark.parametrize("path", [path for path in READING if "{" in path])
@pytest.mark.parametrize("other", ["run-000000000000", "sim-000000000000", "x", "run-' OR 1=1", "a\0b", "é", ".."])
def test_404_names_what_does_not_exist(api: Client, path: str, other: str) -> None:
    answer = api.get(path.format(run=other, sim=other))
    assert answer.status_code == 404
    assert re.match(r"There is no (run|sim) '", answer.json()["detail"]) or answer.json() == STATUS_404


@pytest.mark.parametrize("path", [path for path in READING if path not in ("/api/traces", "/api/runs")])
def test_405_names_the_methods_there_are(api: Client, sim: Sim, path: str) -> None:
    answer = api.delete(at(path, sim))
    assert answer.status_code == 405
    assert "GET" in answer["Allow"]


@pytest.mark.parametrize("path", READING)
def test_head_is_answered_where_get_is(api: Client, sim: Sim, path: str) -> None:
    assert api.head(at(path, sim)).status_code == 200


@pytest.mark.parametrize("path", JSON_WRITING)
def test_413_an_announced_body_over_the_limit(api: Client, sim: Sim, path: str, settings: Any) -> None:
    settings.CASCADE_MAX_JSON_BYTES = 100
    answer = api.post(at(path, sim), b'{"text": "' + b"x" * 100 + b'"}', content_type="application/json")
    assert answer.status_code == 413
    assert "100" in answer.json()["detail"]


@pytest.mark.parametrize("path", JSON_WRITING)
@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "x"])
def test_415_another_content_type(api: Client, sim: Sim, path: str, content_type: str) -> None:
    assert api.post(at(path, sim), b"a=1", content_type=content_type).status_code == 415


@pytest.mark.parametrize("path", JSON_WRITING)
def test_422_an_unknown_field(api: Client, sim: Sim, path: str) -> None:
    answer = api.post(at(path, sim), {"surprise": 1}, content_type="application/json")
    assert answer.status_code == 422
    assert "surprise" in answer.json()["errors"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kernels_done", -1),
        ("kernels_done", 2**63),
        ("kernels_done", "5"),
        ("kernels_done", 1.5),
        ("kernels_done", True),
        ("attempt", 0),
        ("worker", "a\0b"),
        ("worker", "x" * 201),
        ("detail", 5),
        ("detail", None),
        ("progress", []),
    ],
)
def test_422_a_wrong_value_in_a_heartbeat(api: Client, sim: Sim, field: str, value: Any) -> None:
    body = {"state": "running", field: value}
    answer = api.post(at(JSON_WRITING[1], sim), body, content_type="application/json")
    assert answer.status_code == 422
    assert field in answer.json()["errors"]
    assert Sim.objects.get(pk=sim.pk).status == "queued"


def test_429_after_very_many_wrong_tokens(stranger: Client, api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from cascade_site import auth

    monkeypatch.setattr(auth, "wrong_api_tokens", auth.Bucket(allowed=3))
    answers = [stranger.get("/api/runs", headers={"Authorization": "Bearer guess"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert api.get("/api/runs").status_code == 200


def test_health_needs_no_token_and_no_database(stranger: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        answer = stranger.get("/api/health")
    assert answer.json() == {"ok": True, "auth": True, "workspace": None, "s3_endpoint": None}


def test_health_says_when_no_token_is_needed(stranger: Client, settings: Any) -> None:
    settings.CASCADE_NO_AUTH = True
    assert stranger.get("/api/health").json()["auth"] is False
    assert stranger.get("/api/runs").status_code == 200


def test_there_are_exactly_the_routes_of_the_contract() -> None:
    routes = {str(url.pattern) for url in api_urls}
    assert len(routes) == 20  # 23 rows, of which two pairs share a path and one (events) is routed beside Django
