"""The API's documentation: the OpenAPI document, and the page with every route's samples."""

from django.urls import include, path
from drf_spectacular.views import SpectacularJSONAPIView


class ApiDocument(SpectacularJSONAPIView):
    """The OpenAPI document. It tells nothing that is not in the source, so it needs no token."""

    authentication_classes = []
    permission_classes = []
