"""Keeps the runner's own secrets out of a log, should a simulator come across one and print it."""

from collections.abc import Iterable

MASK = b"[secret]"
SHORTEST = 8
"""Bytes; a shorter text is no secret, and masking it would tear ordinary lines apart."""


class Redactor:
    """Masks secrets in a stream, also where a secret arrives in pieces."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: one that is the beginning of another must not spoil it.
        encoded = {secret.encode() for secret in secrets if len(secret.encode()) >= SHORTEST}
        self._secrets = sorted(encoded, key=len, reverse=True)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What may go on; an end that could be the beginning of a secret is held back."""
        if not self._secrets:
            return data
        text = self._masked(self._held + data)
        held_bytes = self._possible_beginning(text)
        self._held = text[len(text) - held_bytes :]
        return text[: len(text) - held_bytes]

    def finish(self) -> bytes:
        """What was held back: it has not become a secret."""
        rest, self._held = self._held, b""
        return rest

    def _masked(self, text: bytes) -> bytes:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def _possible_beginning(self, text: bytes) -> int:
        """Length of the longest end of ``text`` that is a beginning of a secret."""
        longest = 0
        for secret in self._secrets:
            for size in range(min(len(secret) - 1, len(text)), longest, -1):
                if text.endswith(secret[:size]):
                    longest = size
                    break
        return longest
