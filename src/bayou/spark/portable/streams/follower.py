# SPDX-License-Identifier: Apache-2.0
"""The thread that follows a running query, and publishes the next batches of its sources as the tables grow.

If this process ends, the query goes on with the batches that are published, and then waits. Started again, it goes on from there.
"""

from __future__ import annotations

import atexit
import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakValueDictionary

from pyspark.sql.connect.streaming.query import StreamingQuery

from bayou.errors import DeltaError
from bayou.spark.portable.client import client_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.portable.streams.running import SourceRun

_SECONDS: Final = 0.3
"""How long the thread waits between two looks at the query and at the tables."""
_SECONDS_AT_EXIT: Final = 1.0
_MOST_FAILURES: Final = 20
"""So many times in a row the server may fail to answer before the thread gives up.

A store may fail for as long as it does: the query waits meanwhile. After so many times a warning says so, and the thread looks less
often.
"""
_MOST_SECONDS: Final = 10.0
"""How long the thread waits at most between two looks at a store that fails."""
_logger = logging.getLogger("bayou")
_followers: Final[WeakValueDictionary[str, Follower]] = WeakValueDictionary()


class Follower:
    """Follows one query."""

    def __init__(self, spark: SparkSession, runs: Sequence[SourceRun], query_id: str, run_id: str) -> None:
        self._spark = spark
        self._runs = runs
        self._query: Any = StreamingQuery(cast("Any", spark), query_id, run_id)
        self._looks = 0
        self._read_all = 0
        self._is_over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._follow, name=f"bayou-stream-{query_id[:8]}", daemon=True)
        _followers[run_id] = self

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the query has ended and its folders are deleted, but not longer than some seconds."""
        self._thread.join(max(seconds, 0))

    def wait_until_all_is_read(self) -> None:
        """Wait until Spark has completed all batches of what is committed now, or the query has ended."""
        with self._changed:
            begun = self._looks
            self._changed.wait_for(lambda: self._is_over or self._read_all > begun)

    def _follow(self) -> None:
        failures = store_failures = 0
        wakes = threading.Event()
        has_ended = False
        while not has_ended and failures < _MOST_FAILURES and not client_of(self._spark).is_closed:
            try:
                with self._changed:
                    self._looks += 1
                # The query may end after the first answer. The progress is then the last one, in any case.
                has_ended = not self._query.isActive
                failures = 0
                self._look()
                store_failures = 0
            except (DeltaError, OSError) as error:
                has_ended &= store_failures >= _MOST_FAILURES
                store_failures += 1
                if store_failures == _MOST_FAILURES:
                    _logger.warning("a stream waits for a store that fails: %s", error)
            except Exception as error:  # noqa: BLE001  (of the server or of the network)
                failures += 1
                has_ended = False
                _logger.debug("a stream could not be followed: %s", error)
            if not has_ended:
                wakes.wait(min(_SECONDS * max(1, store_failures - _MOST_FAILURES), _MOST_SECONDS))
        if not has_ended and failures:
            _logger.warning("a stream is not followed any more, because the server does not answer; it reads no further commits")
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        if has_ended:
            for run in self._runs:
                run.delete()

    def _look(self) -> None:
        completed = self._completed()
        has_read_all = [run.advance(completed.get(run.folder.name, -1)) for run in self._runs]
        if all(has_read_all):
            with self._changed:
                self._read_all = self._looks
                self._changed.notify_all()

    def _completed(self) -> dict[str, int]:
        """Return the numbers of the last completed batches, by the names of the sources' folders."""
        progress = self._query.lastProgress
        found = {}
        for source in progress["sources"] if progress is not None else ():
            name = str(source["description"]).rstrip("]").rpartition("/")[2]
            offset = source["endOffset"]
            document = json.loads(offset) if isinstance(offset, str) else offset
            if isinstance(document, dict):
                found[name] = int(document.get("logOffset", -1))
        return found


def _wait_for_ends() -> None:
    """Give queries that have just ended the time to delete their folders."""
    end = time.monotonic() + _SECONDS_AT_EXIT
    for each in list(_followers.values()):
        each.wait(end - time.monotonic())


atexit.register(_wait_for_ends)


def follower_of(run_id: str) -> Follower | None:
    """Return what follows a run of a query; None if it reads no Delta table."""
    return _followers.get(run_id)
