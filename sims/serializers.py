"""The API's bodies for sims, as the contract has them. They read attributes only: events use them inside models' methods."""

from typing import Any

from rest_framework import serializers


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
    source = serializers.CharField()


class SimFileSerializer(serializers.Serializer[Any]):
    """One output file of a sim."""

    sim_id = serializers.CharField()
    gpu_config = serializers.CharField(source="sim.gpu_config")
    name = serializers.CharField()
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    content_type = serializers.CharField()
    uploaded_at = serializers.DateTimeField()
