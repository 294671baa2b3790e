"""The GPU configs that runs can use: shipped, from the user's Accel-Sim folder, or made by operators."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from sims.gpus import check, load_shipped, spec_from_dict, spec_to_dict
from sims.gpus.spec import GpuSpec
from sims.models.config_folders import ConfigFolders

_folders: dict[str, ConfigFolders] = {}
"""By ``CASCADE_ACCELSIM_CONFIGS``."""


class Origin(models.TextChoices):
    SHIPPED = "shipped"
    ACCELSIM = "accelsim", "Accel-Sim folder"
    OPERATOR = "operator"


class GpuConfigManager(models.Manager["GpuConfig"]):
    def sync_from_files(self) -> dict[str, str]:
        """Bring the shipped configs and those of ``CASCADE_ACCELSIM_CONFIGS`` into the database.

        A folder's config replaces a shipped one of the same id; one that an operator has changed is left alone. Returns
        the folders that could not be read, each with the reason.
        """
        for spec in load_shipped().values():
            self._put(spec, Origin.SHIPPED, check(spec))
        _folders.clear()
        return self.follow_folders()

    def follow_folders(self) -> dict[str, str]:
        """Bring in what is new or has changed in ``CASCADE_ACCELSIM_CONFIGS`` since this process looked last; returns
        the folders that cannot be read, each with the reason."""
        root = settings.CASCADE_ACCELSIM_CONFIGS
        if not root:
            return {}
        folders = _folders.setdefault(root, ConfigFolders(Path(root)))
        for report in folders.changed():
            self._put(report.spec, Origin.ACCELSIM, [*report.warnings, *check(report.spec)])
        return folders.problems()

    def _put(self, spec: GpuSpec, origin: Origin, warnings: list[str]) -> None:
        values = {"spec": spec_to_dict(spec), "origin": origin, "warnings": warnings, "name": spec.name}
        config, created = self.get_or_create(pk=spec.id, defaults=values)
        if not created and config.origin != Origin.OPERATOR:
            self.filter(pk=spec.id).update(**values)


class GpuConfig(models.Model):
    """One GPU configuration. ``spec`` holds every field of :class:`sims.gpus.spec.GpuSpec`."""

    id = models.CharField(primary_key=True, max_length=100)
    name = models.CharField(max_length=200)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.OPERATOR)
    spec = models.JSONField()
    warnings = models.JSONField(default=list, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = GpuConfigManager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.id

    @property
    def as_spec(self) -> GpuSpec:
        return spec_from_dict(self.spec)

    def facts(self) -> dict[str, Any]:
        """The body of the configs route, without the simulators."""
        spec = self.as_spec
        return {
            "id": self.id,
            "name": spec.name,
            "architecture": spec.architecture,
            "binary_version": spec.binary_version,
            "sms": spec.sms,
            "core_clock_mhz": spec.core_clock_mhz,
            "memory_clock_mhz": spec.memory_clock_mhz,
            "memory_bandwidth_gbs": spec.memory_bandwidth_gbs,
            "l2_bytes": spec.l2_bytes,
            "source": spec.sources.get("", ""),
            "origin": self.origin,
            "warnings": self.warnings,
        }
