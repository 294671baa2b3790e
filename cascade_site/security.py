"""What every response and every body obeys: the content policy of our pages, and limits on size."""

import io
from collections.abc import Callable

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


class ContentSecurityPolicyMiddleware:
    """One policy for pages, admin and API: nothing from elsewhere, nothing inline."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response


def body_limit_bytes(method: str, path: str) -> int:
    """The largest body a route takes, by its path."""
    if method == "POST" and path == "/api/traces":
        return settings.CASCADE_MAX_UPLOAD_BYTES + 64 * 1024  # the multipart frame around the file
    if path.startswith("/traces/") and method == "POST":
        return settings.CASCADE_MAX_UPLOAD_BYTES + 64 * 1024
    if path.startswith("/api/traces/") and method == "PATCH":
        return settings.CASCADE_MAX_FILE_BYTES + 64 * 1024
    if method == "PUT":
        return settings.CASCADE_MAX_FILE_BYTES
    return settings.CASCADE_MAX_JSON_BYTES


def too_large(announced_bytes: int | None, limit_bytes: int) -> str:
    """The sentence of a 413; ``announced_bytes`` None where the length was never announced."""
    size = "is longer than that" if announced_bytes is None else f"has {announced_bytes} bytes"
    return f"This route takes at most {limit_bytes} bytes; the body {size}."


def measure_body(request: HttpRequest) -> None:
    """Give a chunked request the length that it did not announce: Django and DRF take a body without one for empty.

    Under ASGI the body is in a file by now.
    """
    if request.META.get("CONTENT_LENGTH") or not isinstance(request, ASGIRequest):
        return
    body = request._stream
    body.seek(0, io.SEEK_END)
    request.META["CONTENT_LENGTH"] = str(body.tell())
    body.seek(0)


class BodyLimitMiddleware:
    """413 by the length of the body, before anything reads it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        measure_body(request)
        limit_bytes = body_limit_bytes(request.method or "", request.path)
        announced = request.META.get("CONTENT_LENGTH") or "0"
        if announced.isdigit() and int(announced) > limit_bytes:
            detail = too_large(int(announced), limit_bytes)
            if request.path.startswith("/api/"):
                return JsonResponse({"detail": detail}, status=413)
            return HttpResponse(detail, status=413, content_type="text/plain; charset=utf-8")
        return self.get_response(request)
