"""The switches of a simulation: what the L2 holds at a kernel's start, which shortcuts to take, how many threads."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sims.engine.threads import MAX_THREADS

L2_CHOICES = ("chain", "cold", "warm")
SHORTCUTS = ("same_launches", "shared_streams", "decoded_cache", "steady_waves")


class OptionError(ValueError):
    """A switch that does not exist, or a value it cannot have; one sentence."""


@dataclass(frozen=True, slots=True)
class Options:
    """All switches. Shortcuts are on where their measured added error is below 1 %; ``exact()`` turns them all off."""

    l2: str = "chain"
    """``chain``: a kernel finds what the ones before it left; ``cold``: nothing; ``warm``: its own data."""
    threads: int = 1
    same_launches: bool = True
    """A launch equal to an earlier one but for where its buffers lie takes that one's result (``same-as N``)."""
    shared_streams: bool = True
    """Warps that do exactly the same share their decoded instructions; changes no result."""
    decoded_cache: bool = True
    """Decoded kernels are kept on disk by their content; changes no result."""
    steady_waves: bool = True
    """The middle of a large, even grid goes at the rate of the waves before it."""

    def __post_init__(self) -> None:
        if self.l2 not in L2_CHOICES:
            raise OptionError(f"l2 is '{self.l2}', but must be one of {', '.join(L2_CHOICES)}")
        if not isinstance(self.threads, int) or not 1 <= self.threads <= MAX_THREADS:
            raise OptionError(f"threads is {self.threads!r}, but must be a whole number from 1 to {MAX_THREADS}")

    def exact(self) -> "Options":
        """Every instruction of every kernel simulated."""
        off: dict[str, Any] = dict.fromkeys(SHORTCUTS, False)
        return replace(self, **off)

    @property
    def shortcuts(self) -> list[str]:
        """Names of the shortcuts that are on."""
        return [name for name in SHORTCUTS if getattr(self, name)]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Options":
        """From a job's switches: the field names, and ``exact`` for all shortcuts off."""
        known = {item.name for item in fields(cls)}
        for name, value in values.items():
            if name != "exact" and name not in known:
                raise OptionError(f"there is no switch '{name}'; there are exact, {', '.join(sorted(known))}")
            if (name == "exact" or name in SHORTCUTS) and not isinstance(value, bool):
                raise OptionError(f"{name} is {value!r}, but must be true or false")
        options = cls(**{name: value for name, value in values.items() if name != "exact"})
        return options.exact() if values.get("exact") else options
