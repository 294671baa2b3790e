"""What both caches count, by Accel-Sim's names."""

from collections import Counter


class Outcomes(Counter[str]):
    """Look-ups by type and outcome, failed ones by cause too."""

    def note(self, kind: str, outcome: str) -> None:
        self[f"[{kind}][{outcome}]"] += 1

    def fail(self, kind: str, cause: str) -> None:
        self.note(kind, "RESERVATION_FAIL")
        self[f"fail[{kind}][{cause}]"] += 1


def kind_of(is_local: bool, is_write: bool) -> str:
    """Accel-Sim's name of an access type."""
    return f"{'LOCAL' if is_local else 'GLOBAL'}_ACC_{'W' if is_write else 'R'}"
