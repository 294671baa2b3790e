"""The API's bodies for runs, as the contract has them."""

from typing import Any

from rest_framework import serializers

from cascade_site.serializing import Flag, Map, StrictSerializer, Text
from sims.serializers import SimKernelSerializer, SimResultsSerializer, SimSerializer
from traces.selection import MAX_TEXT_LENGTH
from traces.serializers import TraceSerializer


class FiguresSerializer(serializers.Serializer[Any]):
    """What a run came to; all unknown until it has ended."""

    wall_s = serializers.FloatField(allow_null=True)
    instructions_per_s = serializers.FloatField(allow_null=True)
    slowdown = serializers.FloatField(allow_null=True)
    fastest_ns = serializers.FloatField(allow_null=True)
    error = serializers.FloatField(allow_null=True)
    mape = serializers.FloatField(allow_null=True)
    geomean_ratio = serializers.FloatField(allow_null=True)


class RunSerializer(serializers.Serializer[Any]):
    """A run with its sims."""

    id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    trace_id = serializers.CharField()
    simulator = serializers.CharField()
    status = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    is_baseline = serializers.BooleanField()
    figures = FiguresSerializer()
    kernels_done = serializers.IntegerField()
    kernels_total = serializers.IntegerField()
    sims = SimSerializer(many=True)


class RunWithTraceSerializer(RunSerializer):
    """A run with its sims and its trace."""

    trace = TraceSerializer()


class LaunchSerializer(StrictSerializer):
    """The body of a launch."""

    trace_id = Text(max_length=200)
    gpu_configs = serializers.ListField(child=Text(max_length=100), min_length=1, max_length=64)
    simulator = serializers.ChoiceField(["auto", "builtin", "accelsim", "replay"], required=False, default="auto")
    name = Text(required=False, allow_null=True, allow_blank=True, max_length=200)
    kernels = Text(required=False, allow_null=True, allow_blank=True, max_length=MAX_TEXT_LENGTH)
    set = Map(required=False, help_text="Config values by name that every sim has instead of its config's own.")
    sweep = Map(required=False, help_text="Config values by name to try one after the other: lists of values.")
    options = Map(required=False, help_text="The simulator's switches.")
    exact = Flag(required=False, help_text="No shortcuts; short for the option of that name.")
    l2 = serializers.ChoiceField(["chain", "cold", "warm"], required=False, help_text="What the L2 holds at a start.")

    def validate_gpu_configs(self, value: list[str]) -> list[str]:
        if len(set(value)) < len(value):
            raise serializers.ValidationError("A GPU config comes twice.")
        return value

    def validate_sweep(self, value: dict[str, Any]) -> dict[str, Any]:
        if not all(isinstance(values, list) for values in value.values()):
            raise serializers.ValidationError("Must give a list of values for each name.")
        return value


class UpdateRunSerializer(StrictSerializer):
    """What of a run can be changed after its launch; what is not sent stays."""

    name = Text(required=False, allow_null=True, allow_blank=True, max_length=200)
    is_baseline = Flag(required=False, help_text="Whether other runs of its trace are held against it; one at most is.")


class ComparedConfigSerializer(serializers.Serializer[Any]):
    """One kernel on one config; more figures than these may come with it."""

    sim_id = serializers.CharField()
    cycles = serializers.IntegerField(allow_null=True)
    simulated_ns = serializers.FloatField(allow_null=True)
    error = serializers.FloatField(allow_null=True)


class ComparedKernelSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    name = serializers.CharField()
    real_ns = serializers.FloatField(allow_null=True)
    configs = serializers.DictField(child=ComparedConfigSerializer())


class ComparisonSummarySerializer(serializers.Serializer[Any]):
    sim_id = serializers.CharField()
    kernels_compared = serializers.IntegerField()
    real_ns = serializers.FloatField(allow_null=True)
    simulated_ns = serializers.FloatField(allow_null=True)
    error = serializers.FloatField(allow_null=True)
    mape = serializers.FloatField(allow_null=True)
    pearson_r = serializers.FloatField(allow_null=True)
    geomean_ratio = serializers.FloatField(allow_null=True)


class ComparisonSerializer(serializers.Serializer[Any]):
    """Real times beside simulated ones."""

    run_id = serializers.CharField()
    trace_id = serializers.CharField()
    kernels = ComparedKernelSerializer(many=True)
    summary = serializers.DictField(child=ComparisonSummarySerializer())


class SimKernelsSerializer(serializers.Serializer[Any]):
    """One sim's kernels."""

    sim_id = serializers.CharField()
    gpu_config = serializers.CharField()
    kernels = SimKernelSerializer(many=True)


class PostedTimelineSerializer(serializers.Serializer[Any]):
    """One sim's step timeline."""

    sim_id = serializers.CharField()
    gpu_config = serializers.CharField()
    timeline = serializers.DictField()
    comparison = serializers.DictField()


class RunResultsSerializer(serializers.Serializer[Any]):
    """All that a run found, as one file."""

    run = RunSerializer()
    trace = TraceSerializer()
    sims = SimResultsSerializer(many=True)
    comparison = ComparisonSerializer()
