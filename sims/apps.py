import logging
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate

logger = logging.getLogger(__name__)


def _sync_gpu_configs(sender: AppConfig, **kwargs: Any) -> None:
    from sims.models import GpuConfig

    for folder, problem in GpuConfig.objects.sync_from_files().items():
        logger.warning("CASCADE_ACCELSIM_CONFIGS: %s is left out: %s", folder, problem)


class SimsConfig(AppConfig):
    name = "sims"

    def ready(self) -> None:
        # A migrated database always knows the shipped configs and those of CASCADE_ACCELSIM_CONFIGS.
        post_migrate.connect(_sync_gpu_configs, sender=self)
