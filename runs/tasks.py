"""Work on runs that may take long, since a trace may have any number of them."""

from celery import shared_task

from runs.models import ENDED, Run
from sims.models import Sim


@shared_task(name="runs.compare_again")
def compare_again(trace_id: str) -> None:
    """Real times of a trace have changed: take the totals and figures of its ended runs anew."""
    for run in Run.objects.filter(trace=trace_id, status__in=ENDED).iterator(chunk_size=100):
        for sim in Sim.objects.filter(run=run):
            sim.total_up_again()
        run.take_figures()
