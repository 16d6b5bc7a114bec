# SPDX-License-Identifier: Apache-2.0
"""Auto compaction: after a write, compact partitions with many small files, if the table or the session enables it.

It runs on the writer's thread, or on one separate thread (`spark.bayou.autoCompact` = `background`). A failure is reported as
an event and never fails the write. Source: delta-spark's `AutoCompact`.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.errors import failed
from bayou.log import events
from bayou.log.actions.action_files import ActionFile
from bayou.log.actions.keys import canonical_paths
from bayou.log.snapshot.clustering import logical_clustering
from bayou.plan.maintenance.auto_compaction import AutoCompactionRules
from bayou.spark.maintenance.optimize import AddedFiles, OptimizeRequest, optimize
from bayou.spark.read.session_table import SessionTable
from bayou.spark.session.settings import bytes_of, compacts_by_itself, count_of, is_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.session.after_writes import NewVersion

_TARGET: Final = "spark.databricks.delta.autoCompact.maxFileSize"
_SMALL: Final = "spark.databricks.delta.autoCompact.minFileSize"
_LEAST_FILES: Final = "spark.databricks.delta.autoCompact.minNumFiles"
_NO_BLIND_APPENDS: Final = "spark.databricks.delta.autoCompact.nonBlindAppend.enabled"
_MODE: Final = "spark.bayou.autoCompact"
_MOST_WAITING: Final = 100
_SECONDS_AT_EXIT: Final = 60.0


def compact_after(written: NewVersion) -> None:
    """Compact the small files that a write left, now or soon. A no-op if it is not enabled. Never raises."""
    try:
        snapshot = written.log.known or written.log.update()
        if not compacts_by_itself(written.settings, snapshot.properties):
            return
        mode = _mode(written.settings, written.log.table_uri)
    except Exception as error:  # noqa: BLE001  (the write is committed, and must not fail for this)
        _failed(written, error, 0.0)
        return
    if mode == "background":
        _queue.add(written)
    else:
        _compact(written)


def _mode(settings: Mapping[str, str], table: str) -> str:
    mode = settings.get(_MODE, "inline").lower()
    if mode in {"inline", "background"}:
        return mode
    raise failed("DELTA_ILLEGAL_OPTION/auto-compaction", table=table, option=_MODE, value=mode)


def _compact(written: NewVersion) -> None:
    started = time.monotonic()
    try:
        table = SessionTable.of(written.application, written.spark, written.log.table_uri, written.storage_options)
        snapshot = table.snapshot()
        commit = ActionFile.of_commit(written.log.store, written.version, written.log.table_uri)
        info = commit.commit_info()
        is_blind = info is not None and info.is_blind_append is True
        if logical_clustering(snapshot) is not None or (is_blind and is_on(written.settings, _NO_BLIND_APPENDS)):
            return
        paths = [action["add"]["path"] for action in commit.actions() if "add" in action]
        if paths:
            added = canonical_paths(pa.chunked_array([paths], pa.string()), snapshot.table_uri).combine_chunks()
            optimize(table, OptimizeRequest(auto=AddedFiles(added, _rules(written.settings, snapshot.table_uri))))
    except Exception as error:  # noqa: BLE001  (the write is committed, and must not fail for this)
        _failed(written, error, time.monotonic() - started)


def _rules(settings: Mapping[str, str], table: str) -> AutoCompactionRules:
    return AutoCompactionRules.of(
        bytes_of(settings, _TARGET, table, least=1),
        bytes_of(settings, _SMALL, table),
        count_of(settings, _LEAST_FILES, table),
    )


def _failed(written: NewVersion, error: Exception, seconds: float) -> None:
    events.emit(
        events.HookFailedEvent(
            table=written.log.table_uri,
            version=written.version,
            hook="auto compaction",
            error=f"{type(error).__name__}: {error}",
            duration_seconds=seconds,
        )
    )


class _Queue:
    """Tables that wait for one thread to compact them. Each is queued once, with its latest write."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, NewVersion] = OrderedDict()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = self._ends = False

    def add(self, written: NewVersion) -> None:
        """Queue a table. If too many wait, drop the one that has waited longest; its next write queues it again."""
        with self._changed:
            self._waiting.pop(written.log.table_uri, None)
            self._waiting[written.log.table_uri] = written
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popitem(last=False)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bayou-auto-compaction", daemon=True)
                self._thread.start()
                atexit.register(self.end)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to do. Return whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def end(self) -> None:
        """Drop the waiting tables, and wait for the running compaction."""
        with self._changed:
            self._waiting.clear()
            self._ends = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_SECONDS_AT_EXIT)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._ends or bool(self._waiting))
                if self._ends:
                    return
                _, written = self._waiting.popitem(last=False)
                self._busy = True
            _compact(written)


_queue: Final = _Queue()
