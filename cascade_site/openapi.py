"""The OpenAPI document: what every route has in common, written once."""

from typing import Any

from drf_spectacular.openapi import AutoSchema

from cascade_site.serializing import StrictSerializer

_ERRORS = {
    "400": "The body is not JSON, or not an object.",
    "401": "No token, or a wrong one.",
    "403": "A page's session asked, without the page's CSRF token.",
    "404": "There is no such thing; the detail names it.",
    "405": "The path exists, the method does not.",
    "409": "The state forbids it.",
    "413": "The body is over its limit, which the detail gives.",
    "415": "The body is of another content type.",
    "416": "The range lies behind the end.",
    "422": "Well-formed, but with wrong values; `errors` gives the reason by field.",
    "429": "Too many wrong tokens; `Retry-After` says when to come back.",
    "507": "The server's disk is full; the same request passes once there is room.",
}
_WITH_BODY = ("400", "403", "409", "413", "415", "422", "507")

ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {"type": "string", "description": "One sentence a person can act on."},
        "errors": {"type": "object", "additionalProperties": {"type": "string"}},
        "size_bytes": {"type": "integer", "description": "With a refused log chunk: what is stored."},
    },
}


def error_response(status: str) -> dict[str, Any]:
    return {
        "description": _ERRORS[status],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


class CascadeSchema(AutoSchema):
    """Adds the errors that any route may answer to what each view declares."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        statuses = ["404", "405"]
        if self.get_auth():
            statuses += ["401", "429"]
        if self.method in ("POST", "PUT", "PATCH"):
            statuses += _WITH_BODY
        if any(parameter["in"] == "query" for parameter in operation.get("parameters", [])):
            statuses.append("422")
        for status in statuses:
            operation["responses"].setdefault(status, error_response(status))
        operation["responses"] = dict(sorted(operation["responses"].items()))
        return operation

    def get_auth(self) -> list[dict[str, Any]]:
        return [{"token": []}] if self.view.permission_classes else []

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/api/").split("/")[0]]


EVENTS_OPERATION: dict[str, Any] = {
    "operationId": "stream_run_events",
    "summary": "Server-sent events for one run.",
    "tags": ["runs"],
    "parameters": [
        {"in": "path", "name": "run_id", "required": True, "schema": {"type": "string"}},
        {
            "in": "query",
            "name": "token",
            "schema": {"type": "string"},
            "description": "The token, for clients that can send no headers.",
        },
        {
            "in": "header",
            "name": "Last-Event-ID",
            "schema": {"type": "string"},
            "description": "The last event that was read; the stream goes on behind it.",
        },
    ],
    "responses": {
        "200": {"description": "The stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
        "204": {"description": "The run has ended and all of its events were read."},
        **{status: error_response(status) for status in ("401", "404", "405", "429")},
    },
    "security": [{"token": []}],
}


def complete(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Spectacular's last hook: the error form, the token, and the one route that is served beside Django."""
    result["paths"]["/api/runs/{run_id}/events"] = {"get": EVENTS_OPERATION}
    result["paths"] = dict(sorted(result["paths"].items()))
    components = result.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Error"] = ERROR_SCHEMA
    for name in (strict.__name__.removesuffix("Serializer") for strict in StrictSerializer.__subclasses__()):
        if name in schemas:
            schemas[name]["additionalProperties"] = False
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return result
