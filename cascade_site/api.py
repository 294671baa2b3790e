"""What all API routes have in common."""

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.viewsets import ViewSet

from cascade_site.openapi import CascadeSchema


class ApiViewSet(ViewSet):
    """One resource's routes. OPTIONS and TRACE are no methods of this API: 405 like any other it has not."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    schema = CascadeSchema()


def valid_body(request: Request, serializer_class: type[Serializer[Any]]) -> dict[str, Any]:
    """The request's JSON object, checked. Raises 400 for no body, 415 for another type, 422 for wrong values."""
    if not request.data and request.stream is None:
        raise ParseError("The body must be a JSON object.")
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
