"""A small bucket per client address against guessing: per process, in memory, forgotten after a minute."""

import threading
import time

WINDOW_S = 60.0
MOST_ADDRESSES = 10_000


class Bucket:
    """Counts events per key within a window of time."""

    def __init__(self, allowed: int, window_s: float = WINDOW_S) -> None:
        self.allowed = allowed
        self.window_s = window_s
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[float, int]] = {}

    def spend(self, key: str) -> None:
        """Note one event of a key."""
        now = time.monotonic()
        with self._lock:
            if len(self._counts) >= MOST_ADDRESSES:
                self._counts = {k: v for k, v in self._counts.items() if now - v[0] < self.window_s}
            start, count = self._counts.get(key, (now, 0))
            self._counts[key] = (start, count + 1) if now - start < self.window_s else (now, 1)

    def is_spent(self, key: str) -> bool:
        """Whether a key has used up what it may in the current window."""
        with self._lock:
            start, count = self._counts.get(key, (0.0, 0))
        return count >= self.allowed and time.monotonic() - start < self.window_s


wrong_tokens = Bucket(allowed=20)
