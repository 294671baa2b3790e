"""How much each trace takes up in storage: itself, and what its runs have left there."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Sum

from traces.models import Trace


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes in storage."""

    logs_bytes: int = 0
    files_bytes: int = 0


def stored_of(traces: Iterable[Trace]) -> dict[str, Stored]:
    """What the runs of each trace have stored, by the trace's id, in two queries. Traces without runs are left out.

    For the traces of one page: added up over all traces it would read every sim there is.
    """
    ids = [trace.pk for trace in traces]
    logs, files = (
        dict(Trace.objects.filter(pk__in=ids).order_by().values_list("pk").annotate(total=Sum(path)))
        for path in ("runs__sims__log_bytes", "runs__sims__files__size_bytes")
    )
    return {
        trace_id: Stored(logs[trace_id], files.get(trace_id) or 0) for trace_id in logs if logs[trace_id] is not None
    }
