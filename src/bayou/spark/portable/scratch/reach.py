# SPDX-License-Identifier: Apache-2.0
"""Find out whether this process and the session's server reach the same folder, and which of the two does not.

Both may have a folder of the same name on different disks. So the server has to read back what this process wrote.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from bayou.errors import DeltaError, failed, reason, redact_text
from bayou.spark.portable.scratch.folders import Scratch, literal, process_name
from bayou.spark.portable.scratch.owners import IN_TABLE
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot

_CONTENT: Final = "the server read something else"
_SECONDS: Final = 60.0
"""So long it is believed that a folder is not shared. Every scan asks, and a disk may be mounted meanwhile."""
_lock: Final = threading.Lock()
_known: Final[WeakKeyDictionary[SparkSession, dict[str, tuple[Reach, float]]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Reach:
    """Who reaches a folder.

    Attributes:
        not_written: why this process cannot write to it; empty if it can.
        not_read: why the server cannot read what this process wrote; empty if it can.
    """

    not_written: str = ""
    not_read: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether both reach it."""
        return not self.not_written and not self.not_read


def reach_of(spark: SparkSession, folder: Scratch) -> Reach:
    """Return who reaches a folder.

    The first call of a session for a folder writes a file and runs a query. If client and server do not share the folder, a call a
    minute later does so again.
    """
    with _lock:
        known = _known.setdefault(spark, {})
        found, since = known.get(folder.uri, (None, 0.0))
    if found is None or not (found.is_shared or time.monotonic() - since < _SECONDS):
        found = _tried(spark, folder)  # outside the lock, because a store that does not answer would block the other sessions
        with _lock:
            other = known.get(folder.uri)
            if other is None or not other[0].is_shared:  # what another thread found out meanwhile
                known[folder.uri] = found, time.monotonic()
    return found


def _tried(spark: SparkSession, folder: Scratch) -> Reach:
    token = secrets.token_hex(16)
    name = f"reached-{token[:8]}.txt"
    try:
        folder.put(name, token.encode())
    except (DeltaError, OSError) as error:
        return Reach(not_written=reason(error))
    try:
        is_same = [row[0] for row in spark.read.text(literal(folder.place(name))).take(2)] == [token]
    except Exception as error:  # noqa: BLE001  (a server that cannot read it says so in many ways)
        return Reach(not_read=_said(error))
    finally:
        folder.delete(name)
    return Reach(not_read="" if is_same else _CONTENT)


def check_server_reads(spark: SparkSession, snapshot: Snapshot) -> None:
    """Raise SessionError if the server cannot list the log of a table, which this process has read."""
    uri = f"{snapshot.table_uri.rstrip('/')}/_delta_log"
    try:
        spark.read.text(literal(uri)).schema  # noqa: B018  (the property sends the request)
    except Exception as error:
        raise failed("server-cannot-read", at=snapshot, folder=uri, reason=_said(error)) from error


def check_before_write(spark: SparkSession, root: str, storage_options: Mapping[str, str]) -> None:
    """Ensure that the server will write where this process commits. The first call of a session for a table runs a query.

    Raises:
        StorageError: this process cannot write to the table's folder.
        SessionError: the server does not reach it, or has another folder of that name.
    """
    store = open_store(qualify(root), storage_options)
    folder = f"{IN_TABLE}/{process_name()}"
    probe = Scratch(f"{root.rstrip('/')}/{folder}", store, f"{folder}/")
    reach = reach_of(spark, probe)
    with contextlib.suppress(DeltaError, OSError):
        probe.remove_empty("x", 3)  # a new table's folder, too
    if not reach.is_shared:  # the next write tries again
        with _lock:
            _known[spark].pop(probe.uri, None)
    if reach.not_written:
        raise failed("client-cannot-write", table=root, reason=reach.not_written)
    if reach.not_read:
        raise failed("server-cannot-write", table=root, reason=reach.not_read)


def _said(error: Exception) -> str:
    """Return the first line of what the server said."""
    lines = (line.strip() for line in str(error).split("\n"))
    return redact_text(next((line for line in lines if line), type(error).__name__)).rstrip(".")
