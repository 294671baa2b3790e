"""The routes of traces."""

from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from cascade_site.api import ApiViewSet
from cascade_site.errors import Conflict, Unprocessable, no_such
from cascade_site.serializing import TRACE_ID, clean_key
from traces.ingest import IngestError, TraceExistsError, ingest_upload
from traces.models import Trace, TraceStatus
from traces.real_times import set_times
from traces.serializers import TraceSerializer, TraceWithKernelsSerializer
from traces.times import TimesError, read_times

_BINARY = {"type": "string", "format": "binary"}


def find_trace(trace_id: str) -> Trace:
    """The trace, or 404. An id of another shape never reaches the database."""
    trace = Trace.objects.filter(pk=trace_id).first() if TRACE_ID.fullmatch(trace_id) else None
    if trace is None:
        raise no_such("trace", trace_id)
    return trace


class TraceViewSet(ApiViewSet):
    """Traces: what a profiler recorded."""

    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="list_traces", summary="Every trace, newest first.", responses=TraceSerializer(many=True)
    )
    def list(self, request: Request) -> Response:
        return Response(TraceSerializer(Trace.objects.newest_first(), many=True).data)

    @extend_schema(
        operation_id="get_trace",
        summary="One trace with its metadata and kernels.",
        responses=TraceWithKernelsSerializer,
    )
    def retrieve(self, request: Request, trace_id: str) -> Response:
        return Response(TraceWithKernelsSerializer(find_trace(trace_id)).data)

    @extend_schema(
        operation_id="upload_trace",
        summary="Upload an archive of a run directory.",
        request={
            "multipart/form-data": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": _BINARY, "name": {"type": "string", "maxLength": 200}},
            }
        },
        responses={201: TraceSerializer},
    )
    def create(self, request: Request) -> Response:
        form = _form(request, ("file", "name"))
        upload = _file(form, "file")
        name = form.get("name")
        try:
            trace = ingest_upload(upload, str(name) if name else None)
        except TraceExistsError as error:
            raise Conflict(str(error)) from None
        except IngestError as error:
            raise Unprocessable(str(error), field="file") from None
        return Response(TraceSerializer(trace).data, status=201)

    @extend_schema(
        operation_id="set_trace_times",
        summary="Give a trace real kernel times, from a profiler's file.",
        request={
            "multipart/form-data": {
                "type": "object",
                "required": ["times"],
                "properties": {"times": _BINARY, "alignment": _BINARY},
            }
        },
        responses={200: TraceWithKernelsSerializer},
    )
    def partial_update(self, request: Request, trace_id: str) -> Response:
        trace = find_trace(trace_id)
        form = _form(request, ("times", "alignment"))
        upload = _file(form, "times")
        alignment = _file(form, "alignment") if "alignment" in form else None
        if trace.status != TraceStatus.READY:
            raise Conflict(f"Trace '{trace.id}' is not ready; times can be set when it is.")
        name = PurePosixPath(upload.name or "times").name
        try:
            set_times(trace, read_times(_stream(upload), name, _stream(alignment) if alignment else None), name)
        except TimesError as error:
            raise Unprocessable(str(error), field="times") from None
        return Response(TraceWithKernelsSerializer(find_trace(trace_id)).data)


def _form(request: Request, fields: tuple[str, ...]) -> dict[str, Any]:
    """The form's fields and files by name. Raises 422 for a field that is not known."""
    form = dict(request.data.items())  # type: ignore[union-attr]
    for name in sorted(set(form) - set(fields)):
        raise Unprocessable("This field is not known here.", field=clean_key(name))
    return form


def _file(form: dict[str, Any], field: str) -> UploadedFile:
    """The form's file of that name. Raises 422 without one."""
    upload = form.get(field)
    if not isinstance(upload, UploadedFile):
        raise Unprocessable("Attach a file under this name.", field=field)
    return upload


def _stream(upload: UploadedFile) -> BinaryIO:
    return cast(BinaryIO, upload.file)
