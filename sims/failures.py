"""Why sims fail: their reasons, without the numbers and names that make each sentence another one."""

import re
from collections import Counter
from dataclasses import dataclass

from sims.models import Sim, SimStatus

NEWEST = 5000
"""How many failed sims are looked at: enough to tell what goes wrong now, and quickly read."""
MOST_CHARACTERS = 500

_VARYING = re.compile(r"(?<!code )(?<![^\s(\['\"])[^\s(\['\"]*\d\S*?(?=[)\]'\".,:;?]*(?:\s|$))")
"""Words with a digit in them, without the marks around them. An exit code says something and stays."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What some sims failed of."""

    text: str
    """The sentence, with ``…`` for what differs from sim to sim."""
    sims: int
    example: str
    """The id of the newest of them."""


def reason_of(detail: str) -> str:
    """A failed sim's detail without what is its own.

    >>> reason_of("Nothing was heard of worker gpu-7 for 60 s.")
    'Nothing was heard of worker … for … s.'
    """
    return _VARYING.sub("…", detail[:MOST_CHARACTERS])


def failures_by_reason(most: int = 10) -> list[Reason]:
    """The reasons of the newest failed sims, the most frequent first, in one query."""
    failed = Sim.objects.filter(status=SimStatus.FAILED).order_by("-finished_at")
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for sim_id, detail in failed.values_list("id", "detail")[:NEWEST]:
        reason = reason_of(detail or "No reason is known.")
        counts[reason] += 1
        examples.setdefault(reason, sim_id)
    return [Reason(text, count, examples[text]) for text, count in counts.most_common(most)]
