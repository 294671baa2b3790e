"""Whether two names mean the same GPU model: ``NVIDIA GeForce RTX 3070 (0)``, ``RTX3070``, ``SM86_RTX3070``."""

import re

# Words that name no model: the maker, the form it is sold in, its memory.
_NOISE = re.compile(
    r"nvidia|geforce|tesla|quadro|graphics|device|gpu|generation|pcie|sxm\d?|hbm\d?e?|nvl|rtx|gtx|\d+gb|sm\d\d?|\d"
)
_VARIANTS = frozenset({"ti", "super", "laptop", "mobile", "max"})


def same_gpu(first: str, second: str) -> bool:
    """True when the names share their model words; a name that says less (``A100``) fits one that says more."""
    ours, theirs = _model_words(first), _model_words(second)
    if (ours ^ theirs) & _VARIANTS:
        return False
    return ours <= theirs or theirs <= ours


def _model_words(name: str) -> frozenset[str]:
    apart = re.sub(r"(rtx|gtx)(?=\d)", r"\1 ", name.lower())
    apart = re.sub(r"(\d)(ti|super)\b", r"\1 \2", apart)
    words = re.split(r"[^a-z0-9]+", apart)
    return frozenset(word for word in words if word and not _NOISE.fullmatch(word))
