"""Work on a trace that takes reading its bodies, and so is done after it was taken."""

import logging

from celery import shared_task

from cascade_site.fields import storable_text
from traces.accelsim import TraceError
from traces.accelsim.content import read_content
from traces.files import open_trace_file
from traces.models import Trace, TraceStatus

logger = logging.getLogger(__name__)


@shared_task(name="traces.read_contents")
def read_contents(trace_id: str) -> None:
    """Count each kernel's instructions, hash its content, and mark launches that are identical to an earlier one.

    A body that is cut or damaged is named in the trace's warnings: its kernel cannot be simulated, the others can.
    """
    trace = Trace.objects.filter(pk=trace_id, status=TraceStatus.READY).first()
    if trace is None:
        return
    folder = trace.list_name.rpartition("/")[0]
    indices_of: dict[str, list[int]] = {}
    for index, trace_file in trace.kernels.order_by("index").values_list("index", "trace_file"):
        indices_of.setdefault(trace_file, []).append(index)
    facts: dict[int, tuple[int, str]] = {}
    problems = []
    for trace_file, indices in indices_of.items():
        name = f"{folder}/{trace_file}".lstrip("/")
        try:
            with open_trace_file(trace, name) as stream:
                content = read_content(stream, trace_file)
        except (TraceError, OSError) as error:
            problems.append(storable_text(str(error)))
            continue
        facts.update(dict.fromkeys(indices, (content.warp_instructions, content.content_hash)))
        problems += [f"{trace_file}: {warning}" for warning in content.warnings]
    if trace.set_contents(facts, problems) and problems:
        logger.warning("trace %s: %d problems, the first: %s", trace.pk, len(problems), problems[0])
