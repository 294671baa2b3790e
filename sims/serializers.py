"""The API's bodies for sims, as the contract has them. They only read attributes: models make events of them."""

from typing import Any

from rest_framework import serializers

from cascade_site.serializing import LARGEST_INT32, LARGEST_INT64, Map, RawText, StrictSerializer, Text, TextMap, Whole
from sims.models import TimelineOrigin


class SimSerializer(serializers.Serializer[Any]):
    """A sim."""

    id = serializers.CharField()
    run_id = serializers.CharField()
    gpu_config = serializers.CharField()
    simulator = serializers.CharField()
    status = serializers.CharField()
    stop_requested = serializers.BooleanField()
    attempt = serializers.IntegerField()
    worker = serializers.CharField(allow_null=True)
    kernels_done = serializers.IntegerField()
    kernels_total = serializers.IntegerField(allow_null=True)
    cycles = serializers.IntegerField(allow_null=True)
    instructions = serializers.IntegerField(allow_null=True)
    ipc = serializers.FloatField(allow_null=True)
    simulated_ns = serializers.FloatField(allow_null=True)
    real_ns = serializers.IntegerField(allow_null=True)
    error = serializers.FloatField(allow_null=True)
    detail = serializers.CharField(allow_null=True)
    progress = serializers.DictField()
    software = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    log_bytes = serializers.IntegerField()


class SimKernelSerializer(serializers.Serializer[Any]):
    """One kernel as simulated."""

    index = serializers.IntegerField()
    launch_uid = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    cycles = serializers.IntegerField(allow_null=True)
    launch_cycles = serializers.IntegerField(allow_null=True)
    instructions = serializers.IntegerField(allow_null=True)
    ipc = serializers.FloatField(allow_null=True)
    simulated_ns = serializers.FloatField(allow_null=True)
    occupancy = serializers.FloatField(allow_null=True)
    l1_hit_rate = serializers.FloatField(allow_null=True)
    l2_hit_rate = serializers.FloatField(allow_null=True)
    dram_bytes = serializers.IntegerField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment] # a field of that name, not where one comes from


class SimFileSerializer(serializers.Serializer[Any]):
    """One output file of a sim."""

    sim_id = serializers.CharField()
    gpu_config = serializers.CharField(source="sim.gpu_config")
    name = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    content_type = serializers.CharField()
    uploaded_at = serializers.DateTimeField()


class SimResultKernelSerializer(SimKernelSerializer):
    """One kernel with every statistic of its log."""

    stats = serializers.DictField(child=serializers.FloatField())


class SimResultsSerializer(serializers.Serializer[Any]):
    """All that a sim found."""

    sim = SimSerializer()
    config = serializers.DictField()
    kernels = SimResultKernelSerializer(many=True)
    totals = serializers.DictField(child=serializers.FloatField())


class HeartbeatSerializer(StrictSerializer):
    """A runner's report."""

    state = serializers.ChoiceField(["starting", "running", "finished", "failed", "cancelled"])
    attempt = Whole(required=False, min_value=1, max_value=LARGEST_INT32)
    kernels_done = Whole(required=False, min_value=0, max_value=LARGEST_INT32)
    kernels_total = Whole(required=False, min_value=0, max_value=LARGEST_INT32)
    worker = Text(required=False, max_length=200)
    detail = Text(required=False, max_length=10_000, allow_blank=True)
    log_written_bytes = Whole(required=False, min_value=0, max_value=LARGEST_INT64)
    progress = Map(required=False)
    software = TextMap(required=False)


class LogChunkSerializer(StrictSerializer):
    """A piece of simulator output."""

    offset = Whole(required=False, min_value=0, max_value=LARGEST_INT64)
    text = RawText()
    attempt = Whole(required=False, min_value=1, max_value=LARGEST_INT32)


class StepTimelineSerializer(StrictSerializer):
    """A predicted step timeline and its comparison with the real run."""

    timeline = Map()
    comparison = Map()
    attempt = Whole(required=False, min_value=1, max_value=LARGEST_INT32, write_only=True)
    origin = serializers.ChoiceField(
        TimelineOrigin.choices,
        default=TimelineOrigin.POSTED,
        write_only=True,
        help_text="`predicted`: made from the trace's real times, and to be made anew by the app when these change.",
    )


class GpuConfigSerializer(serializers.Serializer[Any]):
    """A GPU config, and which simulators can run it here."""

    id = serializers.CharField()
    name = serializers.CharField()
    architecture = serializers.CharField()
    binary_version = serializers.IntegerField()
    sms = serializers.IntegerField()
    core_clock_mhz = serializers.FloatField()
    memory_clock_mhz = serializers.FloatField()
    memory_bandwidth_gbs = serializers.FloatField()
    l2_bytes = serializers.IntegerField()
    simulators = serializers.ListField(child=serializers.CharField())
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment] # as above
    origin = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())
