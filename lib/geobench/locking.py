"""One writer at a time: a lock on a file that dies with its process, however it ends."""

import fcntl
import os
import time
from pathlib import Path

from geobench.errors import GeoBenchError


def take(file, what: str, wait: float = 0.0) -> None:
    """Lock an open file until it is closed or its process ends; waits up to `wait` seconds, then GeoBenchError names `what`.

    A file system without locks (some network mounts) is used unlocked.
    """
    until = time.monotonic() + wait
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise GeoBenchError(f"{what} is in use by another process; wait for its end, or use --run NAME") from None
            time.sleep(0.1)
        except OSError:
            return None


class FolderLock:
    """`with FolderLock(folder):` one run per results folder; a second is refused with the process id of the first."""

    def __init__(self, folder: Path):
        self.path = Path(folder) / ".lock"

    def __enter__(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+", encoding="utf-8")
        self._file.seek(0)
        holder = self._file.read(20).strip()
        try:
            take(self._file, f"{self.path.parent}" + (f" (process {holder})" if holder.isdigit() else ""))
        except GeoBenchError:
            self._file.close()
            raise
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()
        return self

    def __exit__(self, *_):
        self._file.close()
