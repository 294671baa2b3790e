"""The API page: every route, in every language, with an answer that a server gave."""

import ast
import json
import shlex
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from cascade_site import examples, samples
from cascade_site.auth import SESSION_KEY, token_fingerprint
from cascade_site.samples import SAMPLES, Sample

EVERY_SAMPLE = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.operation_id)


def operations() -> dict[str, tuple[str, str]]:
    paths: dict[str, Any] = SchemaGenerator().get_schema(public=True)["paths"]
    return {
        operation["operationId"]: (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


def test_every_operation_has_a_sample_with_its_method_and_path() -> None:
    assert {sample.operation_id: (sample.method, sample.path) for sample in SAMPLES} == operations()


@EVERY_SAMPLE
def test_the_python_is_python(sample: Sample) -> None:
    assert ast.parse(samples.python(sample))


@EVERY_SAMPLE
def test_the_curl_line_is_one_command_with_the_address_at_its_end(sample: Sample) -> None:
    words = shlex.split(samples.curl(sample).replace("\\\n", ""))
    assert (words[0], words[-1]) == ("curl", "$CASCADE_URL" + sample.example_path)


@EVERY_SAMPLE
def test_the_javascript_names_the_address(sample: Sample) -> None:
    assert sample.example_path in samples.javascript(sample)


@EVERY_SAMPLE
def test_every_route_has_a_captured_answer(sample: Sample) -> None:
    example = examples.load(sample.operation_id)
    assert example is not None
    assert example.status in (200, 201, 206)


def test_the_page_shows_every_route_and_not_the_token(stranger: Client) -> None:
    session = stranger.session
    session[SESSION_KEY] = token_fingerprint()
    session.save()
    text = stranger.get("/docs/api").content.decode()
    assert all(sample.path in text for sample in SAMPLES)
    assert settings.CASCADE_TOKEN not in text


def test_what_is_trimmed_is_marked_with_a_comment() -> None:
    body = json.dumps({"kernels": [{"index": n} for n in range(10)], "stats": {f"s{n}": n for n in range(10)}})
    text = examples.shown("application/json", body.encode())
    assert "/* 8 more, trimmed */" in text
    assert "/* 4 more, trimmed */" in text


def test_what_is_short_is_shown_whole() -> None:
    assert json.loads(examples.shown("application/json", b'{"grid": [1, 2, 3]}')) == {"grid": [1, 2, 3]}
