"""The API's bodies for runs, as the contract has them."""

from typing import Any

from rest_framework import serializers

from sims.serializers import SimSerializer
from traces.serializers import TraceSerializer


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
    kernels_done = serializers.IntegerField()
    kernels_total = serializers.IntegerField()
    sims = SimSerializer(many=True)


class RunWithTraceSerializer(RunSerializer):
    """A run with its sims and its trace."""

    trace = TraceSerializer()
