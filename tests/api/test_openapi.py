"""The OpenAPI document says what the routes do, and the routes do what it says."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.conf import settings as django_settings
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import Client
from django.urls import URLPattern
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks as openapi_checks

from cascade_site.urls import api_urls
from sims.models import Sim
from tests.thoroughness import examples

CHECKS = [
    not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]
described = schemathesis.openapi.from_wsgi("/docs/openapi.json", get_wsgi_application())


@pytest.fixture
def document(stranger: Client) -> dict[str, Any]:
    return dict(stranger.get("/docs/openapi.json").json())


def path_of(url: URLPattern) -> str:
    """A route's path as OpenAPI writes it."""
    return f"/api/{url.pattern}".replace("<str:", "{").replace(">", "}")


def test_it_lists_every_route_and_no_other(document: dict[str, Any]) -> None:
    assert set(document["paths"]) == {path_of(url) for url in api_urls} | {"/api/runs/{run_id}/events"}


def test_it_lists_every_method_of_a_route(document: dict[str, Any]) -> None:
    for url in api_urls:
        view: Any = url.callback
        assert set(document["paths"][path_of(url)]) == set(view.actions) - {"head"}


def test_all_but_health_ask_for_the_token(document: dict[str, Any]) -> None:
    operations = [(path, operation) for path, methods in document["paths"].items() for operation in methods.values()]
    assert [path for path, operation in operations if not operation.get("security")] == ["/api/health"]


def test_request_bodies_take_no_further_fields(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert all(schemas[name]["additionalProperties"] is False for name in ("Launch", "Heartbeat", "LogChunk"))


@pytest.fixture
def _connection_stays_open() -> Iterator[None]:
    """A server closes its connection after a request; here the test's own transaction lives in it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@described.parametrize()
@pytest.mark.usefixtures("_connection_stays_open")
@settings(max_examples=examples(8, 500), deadline=None, suppress_health_check=list(HealthCheck), database=None)
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning")
def test_no_request_gets_an_answer_that_is_not_described(case: Any, sim: Sim) -> None:
    # Half of the requests go to what exists; a generated id would hardly ever be one.
    if len(str(case.path_parameters)) % 2:
        real = {"run_id": sim.run_id, "sim_id": sim.id, "trace_id": "babelstream"}
        case.path_parameters = {name: real.get(name, value) for name, value in case.path_parameters.items()}
    # Unknown fields of a body are refused; an unknown query parameter is ignored, as everywhere on the web.
    further = [openapi_checks.negative_data_rejection] if case.media_type == "application/json" else []
    case.call_and_validate(
        headers={"Authorization": f"Bearer {django_settings.CASCADE_TOKEN}"}, checks=[*CHECKS, *further]
    )
