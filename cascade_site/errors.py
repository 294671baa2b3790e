"""The one form of every error: ``{"detail": "<one sentence a person can act on>"}``, with ``errors`` by field for 422."""

import errno
import logging
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, NotAuthenticated, NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

logger = logging.getLogger(__name__)


class Problem(APIException):
    """An error that is answered with its sentence and, where a client needs them to go on, more facts."""

    def __init__(self, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.facts = facts


class Conflict(Problem):
    """The state of the thing forbids the request."""

    status_code = status.HTTP_409_CONFLICT


class TooLarge(Problem):
    """A body over its limit."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE


class Unprocessable(Problem):
    """Well formed, but with a wrong value; ``field`` names it."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY

    def __init__(self, detail: str, field: str) -> None:
        super().__init__(detail, errors={field: detail})


class StorageFull(Problem):
    """The server's disk is full. It is nobody's defect and passes: clients that retry get through once there is room."""

    status_code = status.HTTP_507_INSUFFICIENT_STORAGE


class TooManyRequests(Problem):
    """Come back in a while; DRF answers ``wait`` as ``Retry-After``."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    wait = 60


def _flatten(detail: Any, path: str = "") -> dict[str, str]:
    """DRF's nested validation detail as ``{"field.sub": "why"}``."""
    if isinstance(detail, dict):
        flat: dict[str, str] = {}
        for key, value in detail.items():
            flat.update(_flatten(value, f"{path}.{key}" if path else str(key)))
        return flat
    if isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        flat = {}
        for number, value in enumerate(detail):
            if value:
                flat.update(_flatten(value, f"{path}[{number}]"))
        return flat
    text = " ".join(str(item) for item in detail) if isinstance(detail, list) else str(detail)
    return {path or "non_field_errors": text}


def _validation(exc: ValidationError) -> Response:
    errors = _flatten(exc.detail)
    field, why = next(iter(errors.items()))
    return Response({"detail": f"{field}: {why}", "errors": errors}, status=422)


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook: known problems in our form; an unknown one is logged by Django and answered by ``server_error``."""
    # DRF's views load the authentication classes, which raise the errors of this module.
    from rest_framework.views import exception_handler as drf_exception_handler

    if isinstance(exc, ValidationError):
        return _validation(exc)
    if isinstance(exc, OSError) and exc.errno in (errno.ENOSPC, errno.EDQUOT):
        logger.error("The disk is full: %s", exc)
        exc = StorageFull(
            "The server's disk is full and nothing was stored; free some space there, then send it again."
        )
    if isinstance(exc, RequestDataTooBig):
        exc = TooLarge("The body is over this route's limit.")
    if isinstance(exc, NotAuthenticated):
        exc.detail = ErrorDetail("Send the app's token as 'Authorization: Bearer <token>'.")
    response = drf_exception_handler(exc, context)
    if response is None:
        return None
    detail = getattr(exc, "detail", None)
    if not isinstance(detail, str):
        # Django's own Http404 and PermissionDenied arrive here with DRF's wording in the response.
        detail = response.data.get("detail", "Not Found") if isinstance(response.data, dict) else "The request failed."
    response.data = {"detail": str(detail), **getattr(exc, "facts", {})}
    return response


def no_such(kind: str, name: str) -> NotFound:
    """The 404 of a known route whose object does not exist: its detail names the object."""
    return NotFound(f"There is no {kind} '{name[:200]}'.")


def query_whole(request: Request, name: str, default: int) -> int:
    """A query parameter that is a whole number from 1, or its default. Raises 422 for anything else."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < 1:
        raise Unprocessable("Must be a whole number of at least 1.", field=name)
    return int(text)


def is_api(request: HttpRequest) -> bool:
    return request.path == "/api" or request.path.startswith("/api/")


def unknown_api_path(request: HttpRequest, rest: str = "") -> JsonResponse:
    """Any path under ``/api/`` that is no route: 404, whatever the method, the token not looked at."""
    return JsonResponse({"detail": "Not Found"}, status=404)


def _page(request: HttpRequest, code: int, title: str, text: str) -> HttpResponse:
    return render(request, "error.html", {"code": code, "title": title, "text": text}, status=code)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api(request):
        return unknown_api_path(request)
    return _page(
        request, 404, "Nothing here", "There is no page at this address. It may have been mistyped or removed."
    )


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_api(request):
        return JsonResponse({"detail": "The request could not be read."}, status=400)
    return _page(request, 400, "That request could not be read", "Go back, check what was entered and send it again.")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(request, 403, "That is not allowed", "Sign in again, then repeat what you did.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(request, 403, "The form has expired", "Go back, reload the page and send it again.")


def server_error(request: HttpRequest) -> HttpResponse:
    if is_api(request):
        return JsonResponse({"detail": "The server failed on this request; its log says why."}, status=500)
    return _page(request, 500, "The server failed on this page", "Its log says why. Reloading may help.")
