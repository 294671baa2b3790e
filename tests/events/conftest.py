"""A run of two sims, as a launch leaves it."""

import pytest
from django.db import transaction

from runs.events import open_channel, publish
from runs.models import Run
from runs.serializers import RunSerializer
from sims.models import Sim
from traces.models import Trace


def make_run() -> Run:
    """A queued run, with its journal opened and its first event written."""
    trace, _ = Trace.objects.get_or_create(id="bench")
    with transaction.atomic():
        run = Run.objects.create(trace=trace, simulator="replay")
        for position, config in enumerate(("SM7_QV100", "SM86_RTX3070")):
            Sim.objects.create(
                run=run, position=position, gpu_config=config, simulator="replay", config={"core_clock_mhz": 1000.0}
            )
        open_channel(run.id)
        publish(run.id, [("run", RunSerializer(Run.objects.with_sims().get(pk=run.id)).data)])
    return run


@pytest.fixture
def run(transactional_db: None) -> Run:
    return make_run()
