"""The routes of runs: launching them, following them, and what they found."""

import re
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cascade_site.api import ApiViewSet, valid_body
from cascade_site.errors import Conflict, Unprocessable, no_such
from cascade_site.streaming import streamed
from runs import bodies, reading
from runs.comparison import REAL, UnknownBaselineError
from runs.comparison_export import to_csv, to_parquet
from runs.filezip import zip_of
from runs.launch import KeyTakenError, LaunchError, LaunchRequest, TraceNotReadyError, launch, launch_once, run_of_key
from runs.models import NotFinishedError, Run
from runs.serializers import (
    ComparisonSerializer,
    LaunchSerializer,
    PostedTimelineSerializer,
    RunResultsSerializer,
    RunSerializer,
    RunWithTraceSerializer,
    SimKernelsSerializer,
    UpdateRunSerializer,
)
from sims.models import SimFile
from sims.serializers import SimFileSerializer
from traces.api import find_trace

RUN_ID = re.compile(r"run-[0-9a-f]{12}", re.ASCII)
IDEMPOTENCY_KEY = "Idempotency-Key"
MAX_KEY_LENGTH = 255


def find_run(run_id: str) -> Run:
    """The run with its sims and trace, or 404. An id of another shape never reaches the database."""
    found = Run.objects.with_sims().select_related("trace")
    run = found.filter(pk=run_id).first() if RUN_ID.fullmatch(run_id) else None
    if run is None:
        raise no_such("run", run_id)
    return run


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], bytes]]] = {
    "csv": ("text/csv", lambda body: b"".join(to_csv(body))),
    "parquet": ("application/vnd.apache.parquet", to_parquet),
}
"""The comparison as a file for spreadsheets and notebooks: its media type and what writes it."""


def _table(body: dict[str, Any], form: str) -> HttpResponse:
    media_type, write = TABLES[form]
    headers = {"Content-Disposition": f'attachment; filename="{body["run_id"]}-comparison.{form}"'}
    return HttpResponse(write(body), content_type=media_type, headers=headers)


class RunViewSet(ApiViewSet):
    """Runs: one trace on a set of GPU configs."""

    @extend_schema(operation_id="list_runs", summary="Every run, newest first.", responses=RunSerializer(many=True))
    def list(self, request: Request) -> Response:
        return Response(RunSerializer(Run.objects.with_sims().newest_first(), many=True).data)

    @extend_schema(
        operation_id="launch_run",
        summary="Launch sims for a ready trace.",
        request=LaunchSerializer,
        parameters=[
            OpenApiParameter(
                IDEMPOTENCY_KEY,
                str,
                OpenApiParameter.HEADER,
                description="A repeat of the same request under this key answers the same run.",
            )
        ],
        responses={200: RunSerializer, 201: RunSerializer},
    )
    def create(self, request: Request) -> Response:
        body = valid_body(request, LaunchSerializer)
        run, created = _launch(body, dict(request.data), _idempotency_key(request))
        return Response(RunSerializer(run).data, status=201 if created else 200)

    @extend_schema(
        operation_id="get_run",
        summary="One run with its trace and every sim.",
        responses=RunWithTraceSerializer,
    )
    def retrieve(self, request: Request, run_id: str) -> Response:
        return Response(RunWithTraceSerializer(find_run(run_id)).data)

    @extend_schema(
        operation_id="update_run",
        summary="Rename a run, or make it its trace's baseline.",
        request=UpdateRunSerializer,
        responses=RunWithTraceSerializer,
    )
    def partial_update(self, request: Request, run_id: str) -> Response:
        run = find_run(run_id)
        body = valid_body(request, UpdateRunSerializer)
        try:
            with transaction.atomic():
                if "name" in body:
                    run.rename(body["name"])
                if "is_baseline" in body:
                    run.make_baseline(body["is_baseline"])
        except NotFinishedError as error:
            raise Conflict(str(error)) from None
        return Response(RunWithTraceSerializer(find_run(run_id)).data)

    @extend_schema(
        operation_id="cancel_run", summary="Cancel every unfinished sim.", request=None, responses=RunSerializer
    )
    def cancel(self, request: Request, run_id: str) -> Response:
        find_run(run_id).cancel(by="API client")
        return Response(RunSerializer(find_run(run_id)).data)

    @extend_schema(
        operation_id="get_comparison",
        summary="Per-kernel real time against simulated time per config.",
        parameters=[
            OpenApiParameter("baseline", str, description="`real`, or a GPU config of the run."),
            OpenApiParameter("launch_latency", str, enum=["0", "1"], description="`1` counts it as kernel time."),
            OpenApiParameter("format", str, enum=["json", *TABLES], description="`csv` or `parquet`: a row per cell."),
        ],
        responses={
            (200, "application/json"): ComparisonSerializer,
            **{(200, media_type): OpenApiTypes.BINARY for media_type, _ in TABLES.values()},
        },
    )
    def comparison(self, request: Request, run_id: str) -> HttpResponseBase:
        latency = request.query_params.get("launch_latency", "0")
        if latency not in ("0", "1"):
            raise Unprocessable("Must be 0 or 1.", field="launch_latency")
        baseline = request.query_params.get("baseline", REAL)
        form = request.query_params.get("format", "json")
        if form not in ("json", *TABLES):
            raise Unprocessable(f"Must be one of json, {', '.join(TABLES)}.", field="format")
        try:
            if form != "json":
                return _table(reading.comparison_of(find_run(run_id), baseline, latency == "1"), form)
            return bodies.answer(
                request._request,
                find_run(run_id),
                f"comparison {baseline} {latency}",
                lambda run: reading.comparison_json_of(run, baseline, latency == "1"),
            )
        except UnknownBaselineError as error:
            raise Unprocessable(str(error), field="baseline") from None

    @extend_schema(
        operation_id="get_run_kernels",
        summary="Every sim's per-kernel stats, without the full stats maps.",
        responses=SimKernelsSerializer(many=True),
    )
    def kernels(self, request: Request, run_id: str) -> HttpResponseBase:
        return bodies.answer(request._request, find_run(run_id), "kernels", reading.kernels_json_of)

    @extend_schema(
        operation_id="get_step_timelines",
        summary="Each sim's predicted step timeline and its comparison with the real run.",
        responses=PostedTimelineSerializer(many=True),
    )
    def step_timelines(self, request: Request, run_id: str) -> Response:
        return Response(reading.step_timelines_of(find_run(run_id)))

    @extend_schema(
        operation_id="get_run_results",
        summary="One JSON file with the run, trace, every sim's stats and the comparison.",
        responses=RunResultsSerializer,
    )
    def results(self, request: Request, run_id: str) -> HttpResponseBase:
        run = find_run(run_id)
        return _attached(streamed(request._request, reading.results_json_of(run)), f"{run.id}-results.json")

    @extend_schema(
        operation_id="list_run_files",
        summary="Every output file the run's sims uploaded.",
        parameters=[OpenApiParameter("format", str, enum=["json", "zip"], description="`zip`: the files themselves.")],
        responses={
            (200, "application/json"): SimFileSerializer(many=True),
            (200, "application/zip"): OpenApiTypes.BINARY,
        },
    )
    def files(self, request: Request, run_id: str) -> HttpResponseBase:
        run = find_run(run_id)
        form = request.query_params.get("format", "json")
        if form == "zip":
            pieces = zip_of(
                list(SimFile.objects.filter(sim__run=run).select_related("sim").order_by("sim__position", "name"))
            )
            return _attached(streamed(request._request, pieces, "application/zip"), f"{run.id}-files.zip")
        if form != "json":
            raise Unprocessable("Must be json or zip.", field="format")
        return Response(reading.files_of(run))

    @extend_schema(
        operation_id="get_perfetto",
        summary="The run's simulated kernels as a Chrome trace JSON for ui.perfetto.dev.",
        responses=OpenApiTypes.OBJECT,
    )
    def perfetto(self, request: Request, run_id: str) -> HttpResponseBase:
        run = find_run(run_id)
        body = bodies.answer(request._request, run, "perfetto", reading.perfetto_of)
        return _attached(body, f"{run.id}.perfetto.json")


def _attached(response: HttpResponseBase, name: str) -> HttpResponseBase:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is not None and not (0 < len(key) <= MAX_KEY_LENGTH and key.isprintable()):
        raise Unprocessable(f"Must be 1 to {MAX_KEY_LENGTH} printable characters.", field=IDEMPOTENCY_KEY)
    return key


def _launch(body: dict[str, Any], sent: dict[str, Any], key: str | None) -> tuple[Run, bool]:
    """Launch what a valid body asks for; the run, and whether it is a new one."""
    try:
        # A repeat is answered whatever has become of the trace meanwhile.
        if key is not None and (earlier := run_of_key(key, sent)) is not None:
            return earlier, False
        trace = find_trace(body["trace_id"])
        wanted = _launch_request(body)
        return (launch(trace, wanted, body=sent), True) if key is None else launch_once(trace, wanted, key, sent)
    except (KeyTakenError, TraceNotReadyError) as error:
        raise Conflict(str(error)) from None
    except LaunchError as error:
        raise Unprocessable(str(error), field=error.field) from None


def _launch_request(body: dict[str, Any]) -> LaunchRequest:
    shorthand: dict[str, Any] = {name: body[name] for name in ("exact", "l2") if name in body}
    return LaunchRequest(
        gpu_configs=body["gpu_configs"],
        simulator=body["simulator"],
        name=body.get("name") or None,
        kernels=body.get("kernels") or "",
        overrides=body.get("set", {}),
        sweep=body.get("sweep", {}),
        options={**body.get("options", {}), **shorthand},
    )
