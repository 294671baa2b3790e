"""The list of runs: filtered, sorted and paged in the database, since there may be a hundred thousand."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from cascade_site.pages import page
from runs.models import ENDED, Run, RunStatus

PAGE_ROWS = 50
SORTS = {
    "created": ["created_at", "id"],
    "trace": ["trace_id", "-created_at"],
    "status": ["status", "-created_at"],
    "name": ["name", "-created_at"],
    "finished": ["finished_at", "id"],
}


@page()
def run_list(request: HttpRequest) -> HttpResponse:
    runs = _filtered(request)
    counts = dict(runs.order_by().values_list("status").annotate(n=Count("id")))
    status = request.GET.get("status", "")
    if status in RunStatus.values:
        runs = runs.filter(status=status)
    total = counts.get(status, 0) if status in RunStatus.values else sum(counts.values())
    pages = max(1, -(-total // PAGE_ROWS))
    number = _page_number(request, pages)
    shown = list(_sorted(request, runs).with_sims()[(number - 1) * PAGE_ROWS : number * PAGE_ROWS])
    context = {
        "section": "runs",
        "runs": shown,
        "chips": [(value, counts.get(value, 0)) for value in RunStatus.values],
        "status": status,
        "total": total,
        "any_run": bool(counts) or Run.objects.exists(),
        "query": request.GET.get("q", ""),
        "page": number,
        "pages": pages,
        "previous": _href(request, page=number - 1) if number > 1 else None,
        "next": _href(request, page=number + 1) if number < pages else None,
        "sorts": [
            (key, _href(request, sort=_flip(request, key), page=None), _direction(request, key)) for key in SORTS
        ],
        "live": "1" if any(run.status not in ENDED for run in shown) else "0",
    }
    return render(request, "runs/list.html", context)


def _filtered(request: HttpRequest) -> Any:
    runs = Run.objects.all()
    text = request.GET.get("q", "").strip()[:200]
    if text:
        runs = runs.filter(
            Q(pk__icontains=text)
            | Q(name__icontains=text)
            | Q(trace__id__icontains=text)
            | Q(pk__in=Run.objects.filter(sims__gpu_config__icontains=text).values("pk"))
        )
    if trace := request.GET.get("trace"):
        runs = runs.filter(trace_id=trace)
    return runs


def _sort(request: HttpRequest) -> str:
    wanted = request.GET.get("sort", "-created")
    return wanted if wanted.lstrip("-") in SORTS else "-created"


def _sorted(request: HttpRequest, runs: Any) -> Any:
    wanted = _sort(request)
    fields = SORTS[wanted.lstrip("-")]
    if wanted.startswith("-"):
        fields = [field[1:] if field.startswith("-") else f"-{field}" for field in fields]
    return runs.order_by(*fields)


def _flip(request: HttpRequest, key: str) -> str:
    return key if _sort(request) == f"-{key}" else f"-{key}"


def _direction(request: HttpRequest, key: str) -> str:
    return {key: "ascending", f"-{key}": "descending"}.get(_sort(request), "")


def _page_number(request: HttpRequest, pages: int) -> int:
    text = request.GET.get("page", "1")
    return min(max(1, int(text)), pages) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _href(request: HttpRequest, **changes: Any) -> str:
    query = request.GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = str(value)
    return "?" + urlencode(query, doseq=True)
