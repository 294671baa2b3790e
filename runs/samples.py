"""A run of the trace that ships with Cascade, for the first look at it."""

from runs.launch import LaunchRequest, launch
from runs.models import Run
from sims.simulators.registry import AUTO
from traces.ingest import Wishes, ingest_folder
from traces.models import Trace, TraceStatus
from traces.sample import METADATA, SAMPLE_RUN_DIRECTORY

SAMPLE_CONFIGS = ["SM86_RTX3070", "SM80_A100"]
"""The GPU that the sample's times speak of, and one to compare it with."""


def sample_trace() -> Trace:
    """The sample as a ready trace, ingested if it is not there."""
    trace = Trace.objects.filter(pk=METADATA["name"], status=TraceStatus.READY).first()
    return trace or ingest_folder(SAMPLE_RUN_DIRECTORY, Wishes(replace=True))


def launch_sample() -> Run:
    """Launch the sample on both configs."""
    return launch(sample_trace(), LaunchRequest(SAMPLE_CONFIGS, simulator=AUTO, name="Sample: BabelStream"))
