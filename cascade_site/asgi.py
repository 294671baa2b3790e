"""The ASGI application: Django, and the event streams beside it."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cascade_site.settings")

from django.core.asgi import get_asgi_application

# Sets Django up, which the imports below need.
django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from cascade_site.threads import KeptThreads  # noqa: E402
from runs.stream.consumer import RunEvents  # noqa: E402

_threads: Any = KeptThreads(django_application)

application = ProtocolTypeRouter(
    {
        "http": URLRouter(
            [
                path("api/runs/<str:run_id>/events", RunEvents.as_asgi()),
                re_path(r"", _threads),
            ]
        )
    }
)
