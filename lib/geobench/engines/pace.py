"""Keep to a server's rate limits: when its headers say that nothing is left, all threads wait until it is."""

import threading
import time

LONGEST = 120.0  # seconds that one header may ask for


def seconds(text: str | None) -> float | None:
    """Seconds of a duration as pandas reads it (`20ms`, `1.5s`, `6m0s`, `1h2m`) or of a plain number; None for anything else."""
    import pandas as pd

    text = (text or "").strip()
    plain = text.replace(".", "", 1).isdigit()
    read = pd.to_timedelta(f"{text}s" if plain else text, errors="coerce")
    return None if pd.isna(read) else read.total_seconds()


class Pace:
    """`note` reads the headers of a response, `wait` sleeps until a request may be sent."""

    def __init__(self, clock=time.monotonic, sleep=time.sleep):
        self._clock, self._sleep, self._lock, self._until = clock, sleep, threading.Lock(), 0.0

    def note(self, status: int, headers) -> None:
        """Headers `x-ratelimit-remaining-*` at 0 with their `x-ratelimit-reset-*`, and `retry-after` of a 429 or 503."""
        waits = [seconds(headers.get(f"x-ratelimit-reset-{kind}")) for kind in ("requests", "tokens")
                 if headers.get(f"x-ratelimit-remaining-{kind}") == "0"]  # fmt: skip
        if status in (429, 503):
            waits.append(seconds(headers.get("retry-after")))
        with self._lock:
            for wait in filter(None, waits):
                self._until = max(self._until, self._clock() + min(wait, LONGEST))

    def wait(self) -> None:
        with self._lock:
            left = self._until - self._clock()
        if left > 0:
            self._sleep(left)
