"""Work on runs that may take long, since a trace may have any number of them."""

from celery import shared_task

from runs.models import Run
from sims.models import Sim
from sims.supervision import follow_times


@shared_task(name="runs.compare_again")
def compare_again(trace_id: str) -> None:
    """Real times of a trace have changed: take anew the totals, timelines and figures of what has ended of its runs."""
    for run in Run.objects.filter(trace=trace_id).iterator(chunk_size=100):
        for sim in Sim.objects.filter(run=run).select_related("run__trace"):
            sim.total_up_again()
            follow_times(sim)
        run.take_figures()
