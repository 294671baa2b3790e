"""What a run calls one of its configs: the config's id, with the values that it has changed behind it."""

import re
from dataclasses import dataclass

_LABEL = re.compile(r"(.*?)(?: (\w+=.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ConfigLabel:
    """``SM86_RTX3070``, or ``SM86_RTX3070 l2_bytes=8388608 sms=20``.

    >>> ConfigLabel.of("SM86_RTX3070 l2_bytes=8388608 sms=20")
    ConfigLabel(config_id='SM86_RTX3070', changes='l2_bytes=8388608 sms=20')
    >>> str(ConfigLabel("SM86_RTX3070", "sms=20"))
    'SM86_RTX3070 sms=20'

    A folder of Accel-Sim configs, whose name is the id, may have spaces in it:

    >>> ConfigLabel.of("My GPU sms=20").config_id
    'My GPU'
    """

    config_id: str
    changes: str = ""

    @classmethod
    def of(cls, text: str) -> "ConfigLabel":
        found = _LABEL.fullmatch(text)
        assert found is not None
        return cls(found[1], found[2] or "")

    @property
    def is_changed(self) -> bool:
        """Whether it is another GPU than its config describes, by however little."""
        return bool(self.changes)

    def __str__(self) -> str:
        return f"{self.config_id} {self.changes}" if self.changes else self.config_id
