"""The API's documentation: the OpenAPI document, and the page with every route's samples and captured answers."""

from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularJSONAPIView

from cascade_site import examples, samples
from cascade_site.pages import page


class ApiDocument(SpectacularJSONAPIView):
    """The OpenAPI document. It tells nothing that is not in the source, so it needs no token."""

    authentication_classes = []
    permission_classes = []


@lru_cache(maxsize=1)
def _operations() -> dict[str, dict[str, Any]]:
    """The document's operations by their ids."""
    document = SchemaGenerator().get_schema(public=True)
    return {operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()}


def _section(sample: samples.Sample) -> dict[str, Any]:
    operation = _operations()[sample.operation_id]
    return {
        "id": sample.operation_id,
        "method": sample.method,
        "path": sample.path,
        "summary": operation["summary"],
        "parameters": [
            parameter for parameter in operation.get("parameters", []) if parameter["in"] in ("query", "header")
        ],
        "errors": {
            status: response["description"]
            for status, response in operation["responses"].items()
            if status >= "400" and status not in ("401", "405", "429")
        },
        "code": {
            "curl": samples.curl(sample),
            "Python": samples.python(sample),
            "JavaScript": samples.javascript(sample),
        },
        "example": examples.load(sample.operation_id),
    }


@page()
def api(request: HttpRequest) -> HttpResponse:
    """Every route with its samples."""
    sections = [_section(sample) for sample in samples.SAMPLES]
    return render(request, "docs/api.html", {"section": "docs", "sections": sections})
