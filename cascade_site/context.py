"""What every page's template knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def workspace(request: HttpRequest) -> dict[str, Any]:
    return {"workspace": settings.CASCADE_WORKSPACE, "no_auth": settings.CASCADE_NO_AUTH}
