"""Routes of the site itself."""

from django.conf import settings
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from cascade_site.api import ApiViewSet

_HEALTH = inline_serializer(
    "Health",
    {
        "ok": serializers.BooleanField(),
        "auth": serializers.BooleanField(),
        "workspace": serializers.CharField(allow_null=True),
        "s3_endpoint": serializers.CharField(allow_null=True),
    },
)


class HealthViewSet(ApiViewSet):
    """Liveness: this process answers. It looks at nothing else, so that it is right when the database is away."""

    authentication_classes = []
    permission_classes = []

    @extend_schema(operation_id="get_health", summary="Liveness check. Needs no token.", responses=_HEALTH, auth=[])
    def show(self, request: Request) -> Response:
        return Response(
            {
                "ok": True,
                "auth": not settings.CASCADE_NO_AUTH,
                "workspace": settings.CASCADE_WORKSPACE,
                "s3_endpoint": settings.CASCADE_S3_ENDPOINT,
            }
        )
