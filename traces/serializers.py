"""The API's bodies for traces, as the contract has them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from cascade_site.serializing import IntegerArray
from traces.models import Trace, TraceKernel

TRACE_FIELDS = [
    "id",
    "status",
    "detail",
    "created_at",
    "workload",
    "gpu",
    "binary_version",
    "tracer_version",
    "nvbit_version",
    "kernels_total",
    "size_bytes",
    "real_ns",
    "metadata",
]


class TraceSerializer(serializers.ModelSerializer[Trace]):
    """A trace without its kernels."""

    metadata = serializers.DictField(read_only=True)
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Trace
        fields = [*TRACE_FIELDS, "warnings"]
        read_only_fields = fields


class TraceKernelSerializer(serializers.ModelSerializer[TraceKernel]):
    grid = IntegerArray(read_only=True)
    block = IntegerArray(read_only=True)
    stream = serializers.IntegerField(read_only=True)

    class Meta:
        model = TraceKernel
        fields = [
            "index",
            "name",
            "trace_file",
            "grid",
            "block",
            "shared_memory_bytes",
            "registers_per_thread",
            "stream",
            "instructions",
            "real_ns",
            "identical_to",
        ]
        read_only_fields = fields


class TraceWithKernelsSerializer(TraceSerializer):
    """A trace with its kernels, in launch order."""

    kernels = serializers.SerializerMethodField()
    times = serializers.DictField(source="times_report", read_only=True)

    class Meta(TraceSerializer.Meta):
        fields = [*TraceSerializer.Meta.fields, "times", "kernels"]
        read_only_fields = fields

    @extend_schema_field(TraceKernelSerializer(many=True))
    def get_kernels(self, trace: Trace) -> list[dict[str, Any]]:
        # Rows straight from the query: 10,000 kernels through a serializer take ten times as long.
        return list(trace.kernels.order_by("index").values(*TraceKernelSerializer.Meta.fields))
