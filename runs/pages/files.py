"""The files tab: what the sims have left, and a look into what is text."""

import csv
import io
import json
from dataclasses import dataclass, field
from itertools import islice

from django.db.models import Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.dateparse import parse_datetime

from cascade_site.pages import page
from cascade_site.storage import read_range
from runs.filezip import MAX_ZIP_BYTES
from runs.models import Run
from runs.pages.frame import render_tab, run_of
from runs.reading import files_of
from sims.models import SimFile

MAX_PREVIEW_BYTES = 1024**2
MOST_ROWS, MOST_COLUMNS = 500, 60
_TEXT_ENDINGS = (".txt", ".log", ".md", ".config", ".icnt", ".g", ".yml", ".yaml", ".toml", ".xml")


@dataclass(frozen=True, slots=True)
class Preview:
    """A file to look at: as text, or as the rows of a table; or why there is nothing to see."""

    file: SimFile
    text: str = ""
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""


@page()
def files(request: HttpRequest, run_id: str) -> HttpResponse:
    run = run_of(run_id)
    total_bytes = SimFile.objects.filter(sim__run=run).aggregate(total=Sum("size_bytes"))["total"] or 0
    context = {
        "files": [row | {"uploaded_at": parse_datetime(row["uploaded_at"])} for row in files_of(run)],
        "total_bytes": total_bytes,
        "max_zip_bytes": MAX_ZIP_BYTES,
        "too_much": total_bytes > MAX_ZIP_BYTES,
        "max_preview_bytes": MAX_PREVIEW_BYTES,
        "preview": _preview(run, request.GET["preview"]) if "preview" in request.GET else None,
    }
    return render_tab(request, run, "files", context)


def kind_of(name: str, content_type: str) -> str:
    """``json``, ``csv`` or ``text`` for what can be looked at, else nothing. Names say more than a runner's types."""
    if name.endswith(".json") or content_type == "application/json":
        return "json"
    if name.endswith(".csv") or content_type == "text/csv":
        return "csv"
    return "text" if name.endswith(_TEXT_ENDINGS) or content_type.startswith("text/") else ""


def _preview(run: Run, wanted: str) -> Preview:
    sim_id, _, name = wanted.partition("/")
    file = SimFile.objects.select_related("sim").filter(sim__run=run, sim=sim_id, name=name).first()
    if file is None:
        raise Http404
    kind = kind_of(file.name, file.content_type)
    if not kind:
        return Preview(file, note="This is no text, JSON or CSV file.")
    if file.size_bytes > MAX_PREVIEW_BYTES:
        return Preview(file, note="The file is too long to be shown here.")
    try:
        text = read_range(file.key, 0, file.size_bytes).decode()
    except UnicodeDecodeError:
        return Preview(file, note="The file is not UTF-8 text.")
    if kind == "csv":
        return _table(file, text)
    return Preview(file, _indented(text) if kind == "json" else text)


def _indented(text: str) -> str:
    """JSON with its structure to be seen; as it is where it is none, or nested too deep to be walked."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _table(file: SimFile, text: str) -> Preview:
    try:
        rows = [row[:MOST_COLUMNS] for row in islice(csv.reader(io.StringIO(text)), MOST_ROWS + 1)]
    except csv.Error:
        return Preview(file, text)
    note = f"The first {MOST_ROWS} rows; the download has all." if len(rows) > MOST_ROWS else ""
    return Preview(file, rows=rows[:MOST_ROWS], note=note)
