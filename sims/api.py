"""The routes of one sim: what it found, and how its simulator reports."""

import re
from functools import partial

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from cascade_site.api import ApiViewSet, valid_body
from cascade_site.errors import Conflict, TooLarge, no_such, query_whole
from cascade_site.openapi import error_response
from cascade_site.parsers import RawBodyParser
from cascade_site.storage import open_stream
from cascade_site.streaming import file_blocks, ranged, streamed
from sims.models import GpuConfig, Sim, SimFile, StepTimeline
from sims.models.log import append_log, log_size, read_log
from sims.models.states import Report
from sims.reading import results_json
from sims.serializers import (
    GpuConfigSerializer,
    HeartbeatSerializer,
    LogChunkSerializer,
    SimFileSerializer,
    SimResultsSerializer,
    StepTimelineSerializer,
)
from sims.simulators.registry import simulators_for
from sims.uploads import MeasuredStream, announced_sha256, checked_content_type, checked_name, store_file

SIM_ID = re.compile(r"sim-[0-9a-f]{12}", re.ASCII)
_ATTEMPT = OpenApiParameter("attempt", int, description="Which attempt's; without it the current one's.")
_RANGED = {
    (206, "application/octet-stream"): OpenApiResponse(OpenApiTypes.BINARY, "The range that was asked for."),
    416: OpenApiResponse(OpenApiTypes.OBJECT, error_response("416")["description"]),
}
# What a browser may be told about a download without ever making a page of it.
_SAFE_TYPES = {"text/plain", "text/csv", "application/json", "application/gzip", "application/zstd", "application/x-xz"}


def find_sim(sim_id: str) -> Sim:
    """The sim, or 404. An id of another shape never reaches the database."""
    sim = Sim.everything.select_related("run").filter(pk=sim_id).first() if SIM_ID.fullmatch(sim_id) else None
    if sim is None:
        raise no_such("sim", sim_id)
    return sim


class GpuConfigViewSet(ApiViewSet):
    """The GPU configs a run can use."""

    @extend_schema(
        operation_id="list_gpu_configs",
        summary="The GPU configs a run can use.",
        responses=GpuConfigSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        GpuConfig.objects.follow_folders()
        configs = GpuConfig.objects.all()
        return Response([config.facts() | {"simulators": simulators_for(config.as_spec)} for config in configs])


class SimViewSet(ApiViewSet):
    """What a sim found, and the reports that change it."""

    @extend_schema(
        operation_id="get_sim_results",
        summary="One sim's config, per-kernel stats and totals.",
        responses=SimResultsSerializer,
    )
    def results(self, request: Request, sim_id: str) -> HttpResponseBase:
        return streamed(request._request, results_json(find_sim(sim_id)))

    @extend_schema(
        operation_id="get_sim_log",
        summary="The sim's full raw output.",
        parameters=[_ATTEMPT],
        responses={(200, "text/plain"): OpenApiTypes.STR, **_RANGED},
    )
    def log(self, request: Request, sim_id: str) -> HttpResponseBase:
        sim = find_sim(sim_id)
        attempt = query_whole(request, "attempt", sim.attempt)
        if attempt > sim.attempt:
            raise no_such(f"attempt {attempt} of sim", sim.id)
        size_bytes = sim.log_bytes if attempt == sim.attempt else log_size(sim, attempt)
        read = partial(read_log, sim, attempt)
        return ranged(request._request, size_bytes, read, "text/plain; charset=utf-8")

    @extend_schema(
        operation_id="report_heartbeat",
        summary="Report a sim's state. The reply says whether to stop.",
        request=HeartbeatSerializer,
        responses=inline_serializer("HeartbeatAnswer", {"stop": serializers.BooleanField()}),
    )
    def heartbeat(self, request: Request, sim_id: str) -> Response:
        sim = find_sim(sim_id)
        return Response({"stop": sim.heartbeat(Report(**valid_body(request, HeartbeatSerializer)))})

    @extend_schema(
        operation_id="append_log",
        summary="Append a chunk of simulator output.",
        request=LogChunkSerializer,
        responses=inline_serializer("LogSize", {"size_bytes": serializers.IntegerField()}),
    )
    def logs(self, request: Request, sim_id: str) -> Response:
        sim = find_sim(sim_id)
        chunk = valid_body(request, LogChunkSerializer)
        data = chunk["text"].encode()
        if len(data) > settings.CASCADE_MAX_LOG_CHUNK_BYTES:
            limit_bytes = settings.CASCADE_MAX_LOG_CHUNK_BYTES
            raise TooLarge(f"The chunk has {len(data)} bytes; one may have at most {limit_bytes}.")
        return Response({"size_bytes": append_log(sim, data, chunk.get("offset"), chunk.get("attempt"))})

    @extend_schema(
        operation_id="store_step_timeline",
        summary="Store a sim's predicted step timeline and its comparison.",
        request=StepTimelineSerializer,
        responses=StepTimelineSerializer,
    )
    def step_timeline(self, request: Request, sim_id: str) -> Response:
        body = valid_body(request, StepTimelineSerializer)
        attempt, origin = body.pop("attempt", None), body.pop("origin")
        found = find_sim(sim_id)
        with transaction.atomic():
            sim = found.lock()
            if sim.is_superseded(attempt):
                raise Conflict(f"Attempt {attempt} was superseded by attempt {sim.attempt}.")
            StepTimeline.keep(sim, **body, origin=origin)
        return Response(body)


class SimFileViewSet(ApiViewSet):
    """A sim's output files. Names come from outside, so they only ever select a row; the row knows the storage key."""

    parser_classes = [RawBodyParser]

    @extend_schema(
        operation_id="list_sim_files",
        summary="The output files one sim uploaded.",
        responses=SimFileSerializer(many=True),
    )
    def list(self, request: Request, sim_id: str) -> Response:
        files = find_sim(sim_id).files.select_related("sim").order_by("name")
        return Response(SimFileSerializer(files, many=True).data)

    @extend_schema(
        operation_id="get_sim_file",
        summary="One output file, as the sim uploaded it.",
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            304: OpenApiResponse(None, "The client has this content already."),
            422: OpenApiResponse(OpenApiTypes.OBJECT, "The name can be no file's."),
            **_RANGED,
        },
    )
    def retrieve(self, request: Request, sim_id: str, name: str) -> HttpResponseBase:
        sim = find_sim(sim_id)
        file = sim.files.filter(name=checked_name(name)).first()
        if file is None:
            raise no_such(f"file of sim {sim.id} named", name)
        return download(request, file)

    @extend_schema(
        operation_id="store_sim_file",
        summary="Store one of the simulator's output files.",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=[
            _ATTEMPT,
            OpenApiParameter(
                "Content-Digest", str, OpenApiParameter.HEADER, description="`sha-256=:<base64>:`, checked if given."
            ),
        ],
        responses={200: SimFileSerializer, 201: SimFileSerializer},
    )
    def store(self, request: Request, sim_id: str, name: str) -> Response:
        sim = find_sim(sim_id)
        checked_name(name)
        attempt = query_whole(request, "attempt", sim.attempt)
        digest = announced_sha256(request.headers.get("Content-Digest"))
        content_type = checked_content_type(request.headers.get("Content-Type"))
        body = MeasuredStream(request._request, settings.CASCADE_MAX_FILE_BYTES)  # type: ignore[arg-type]
        file, created = store_file(sim, name, body, content_type=content_type, sha256=digest, attempt=attempt)
        return Response(SimFileSerializer(file).data, status=201 if created else 200)


def download(request: Request, file: SimFile) -> HttpResponseBase:
    """The file's bytes, to be saved and never shown."""
    etag = f'"{file.sha256}"'
    response: HttpResponseBase
    if etag in (part.strip().removeprefix("W/") for part in request.headers.get("If-None-Match", "").split(",")):
        response = HttpResponse(status=304)
    else:
        if request.headers.get("If-Range", etag) != etag:
            request._request.META.pop("HTTP_RANGE", None)
        content_type = file.content_type if file.content_type in _SAFE_TYPES else "application/octet-stream"
        response = ranged(
            request._request,
            file.size_bytes,
            lambda start, end: file_blocks(open_stream(file.key, start, end), end - start),
            content_type,
        )
    response["ETag"] = etag
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
