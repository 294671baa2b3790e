"""Whether a GPU, as a profiler names it, is the one that a configuration describes."""

import re

from cascade_site.config_label import ConfigLabel

_MEMORY_SIZE = re.compile(r"\b\d+\s*gb\b")
_FAMILY = re.compile(r"(rtx|gtx)(?=\d)")
_VARIANTS = frozenset({"ti", "super", "laptop", "mobile"})
"""An RTX 3070 Ti is another GPU than an RTX 3070."""


def is_captured_gpu(gpu: str | None, config_name: str) -> bool:
    """Whether a trace's GPU, as its profiler wrote it, is a config's: ``NVIDIA GeForce RTX 3070`` is ``RTX 3070``, and
    ``SM86_RTX3070`` too, as a folder of Accel-Sim's is called."""
    wanted, found = (_words(text or "") for text in (config_name, gpu))
    models = {word for word in wanted if any(letter.isdigit() for letter in word)}
    return bool(models & found) and (wanted & _VARIANTS) == (found & _VARIANTS)


def is_other_gpu(gpu: str | None, config_name: str, label: str) -> bool:
    """Whether a run's config is known not to describe the trace's GPU: what it differs from the real times by is then how
    much faster or slower the GPU is, and no error. With other values (``label`` tells) a config describes a GPU that is
    nowhere."""
    return bool(gpu) and (ConfigLabel.of(label).is_changed or not is_captured_gpu(gpu, config_name))


def _words(name: str) -> set[str]:
    apart = _FAMILY.sub(r"\1 ", _MEMORY_SIZE.sub(" ", name.lower()))
    return set(re.findall(r"[a-z0-9]+", apart))
