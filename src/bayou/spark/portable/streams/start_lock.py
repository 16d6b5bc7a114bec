# SPDX-License-Identifier: Apache-2.0
"""A lock for the start of a query, so that two clients do not start it at once.

A start first reads how far the query has come, and then publishes the batches after that. If another client did the same in
between, both would publish the same rows. The second client therefore waits. Then it goes on where the first one's run has come to.

The lock is a file next to the folders of streams. Its holder rewrites it again and again. If its content stays the same for some
seconds, the holder is gone, and the next client takes the lock. No clock matters.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
import time
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.storage import qualify

if TYPE_CHECKING:
    from bayou.spark.portable.scratch.folders import Scratch

RENEWED_EACH: Final = 2.0
"""The seconds between two changes of the lock's content."""
GONE_AFTER: Final = 10.0
"""The seconds without a change after which the holder is gone."""
WAITS: Final = 60.0
"""The seconds that a client waits for another one."""
HELD_FOR: Final = 120.0
"""The seconds after a start is sent in which a lock is released that its holder has not released, such as after a refusal."""
_POLL: Final = 0.1


class StartLock:
    """The lock of one query in one folder. While it is held, this process is the only one that starts the query."""

    def __init__(self, scratch: Scratch, checkpoint: str, table: str) -> None:
        """Name the lock, without acquiring it.

        Args:
            scratch: the folder with the folders of streams.
            checkpoint: the query's checkpoint.
            table: the table's URI, for errors.
        """
        key = hashlib.sha256(qualify(checkpoint).uri.rstrip("/").encode()).hexdigest()
        self._store, self._file = scratch.store, f"{scratch.prefix}starting-{key[:16]}"
        self._checkpoint, self._table = checkpoint, table
        self._token = secrets.token_hex(8)
        self._released = threading.Event()
        self._ends: float | None = None

    def acquire(self) -> None:
        """Wait for the lock, and hold it until it is released.

        Raises:
            StreamingSourceError: another client has not released it for a minute.
            StorageError: the file cannot be written.
        """
        begun = since = time.monotonic()
        seen = None
        while not self._store.put_if_absent(self._file, self._content(0)):
            found, now = self._read(), time.monotonic()
            if found != seen:
                seen, since = found, now
            elif found is not None and now - since > GONE_AFTER:
                self._store.delete(self._file)
                continue
            if now - begun > WAITS:
                raise self._error()
            time.sleep(_POLL)
        threading.Thread(target=self._renew, name="bayou-stream-start", daemon=True).start()

    def check(self) -> None:
        """Begin the time in which the server starts the query.

        Raises:
            StreamingSourceError: another client has taken the lock, because this process did not renew it in time.
        """
        if not self._is_held():
            raise self._error()
        self._ends = time.monotonic() + HELD_FOR

    def release(self) -> None:
        """Let other clients start the query. Calling it again does nothing."""
        if not self._released.is_set():
            self._released.set()
            with contextlib.suppress(DeltaError, OSError):
                if self._is_held():
                    self._store.delete(self._file)

    def _renew(self) -> None:
        number = 0
        while not self._released.wait(RENEWED_EACH):
            if self._ends is not None and time.monotonic() > self._ends:
                self.release()
                return
            number += 1
            with contextlib.suppress(DeltaError, OSError):
                if not self._is_held():
                    return
                self._store.put(self._file, self._content(number))
        # A release during the write above has deleted the file before it.
        with contextlib.suppress(DeltaError, OSError):
            if self._is_held():
                self._store.delete(self._file)

    def _content(self, number: int) -> bytes:
        return f"{self._token} {number}".encode()

    def _is_held(self) -> bool:
        return (self._read() or b"").startswith(self._token.encode())

    def _read(self) -> bytes | None:
        try:
            return self._store.read(self._file)
        except FileNotFoundError:
            return None

    def _error(self) -> DeltaError:
        return failed("stream-starts-elsewhere", table=self._table, checkpoint=self._checkpoint)
