"""The cells of a list of runs that a plain value will not do for. ``live.js`` keeps those with ``data-run`` up to date."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from cascade_site.cells import NOTHING
from cascade_site.formats import percent, seconds
from cascade_site.tablerows import Row
from cascade_site.templatetags import cascade as tags
from runs.models import ENDED, Run

MOST_CONFIGS = 4


def run(row: Row) -> SafeString:
    """Its name over its id."""
    one: Run = row["run"]
    mark = format_html(' <span class="chip plain">{}</span>', "baseline") if one.is_baseline else ""
    if not one.name:
        return format_html('<a class="mono nowrap" href="/runs/{0}">{0}</a>{1}', one.id, mark)
    return format_html(
        '<a href="/runs/{0}">{1}</a>{2}<br><span class="quiet mono nowrap">{0}</span>', one.id, one.name, mark
    )


def trace(row: Row) -> SafeString:
    return format_html('<a href="/traces/{0}">{0}</a>', row["trace_id"])


def status(row: Row) -> SafeString:
    template = '<span class="chip {0}" data-run="{1}" data-field="status">{0}</span>'
    return format_html(template, row["status"], row["run"].id)


def progress(row: Row) -> SafeString:
    """A bar with the kernels done, and the time that the slowest sim has left."""
    one: Run = row["run"]
    done, total = one.kernels_done, one.kernels_total
    bar = format_html(
        '<progress data-run="{}" max="{}" value="{}" aria-label="Kernels done">{}</progress>',
        one.id, total or 1, done, done,
    )  # fmt: skip
    left = [sim.progress.get("left_s") for sim in one.sims.all() if sim.status == "running"]
    known = [value for value in left if isinstance(value, int | float)]
    text = f", {seconds(max(known))} left" if known and one.status not in ENDED else ""
    return format_html('{}<span class="quiet nowrap">{}{}</span>', bar, f"{done:,} / {total:,}", text)


def configs(row: Row) -> SafeString:
    """Each config with the time it would take; the first few of a sweep."""
    sims, colours = list(row["run"].sims.all()), row["run"].colours
    lines = format_html_join(
        "",
        '<div class="nowrap" title="{}">{}{} {}</div>',
        (
            (sim.gpu_config, tags.dot(colours[sim.gpu_config]), _short(sim.gpu_config), tags.duration(sim.simulated_ns))
            for sim in sims[:MOST_CONFIGS]
        ),
    )
    if len(sims) > MOST_CONFIGS:
        return format_html('{}<span class="quiet">and {} more</span>', lines, len(sims) - MOST_CONFIGS)
    return lines


def _short(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"


def took(row: Row) -> str:
    """Of a run that goes on, so far."""
    return seconds(row["run"].took_s)


def time_delta(row: Row) -> SafeString | str:
    if row["run"].is_baseline:
        return format_html('<span class="quiet">{}</span>', "baseline")
    return tags.delta(row["time_delta"]) if row.get("time_delta") is not None else NOTHING


def error_delta(row: Row) -> SafeString | str:
    """Percentage points between the sizes of two errors."""
    delta = row.get("error_delta")
    if row["run"].is_baseline or delta is None:
        return NOTHING
    word = "same" if percent(abs(delta)) == percent(0) else "further" if delta > 0 else "closer"
    return format_html('<span class="{}" title="{}">{} {}</span>', word, delta, f"{100 * delta:+.1f} pp", word)
