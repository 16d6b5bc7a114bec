# SPDX-License-Identifier: Apache-2.0
"""Hold the state of bayou for one Spark application: the bridge to its JVM, its open logs, and its internal sessions."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from bayou.errors import DeltaError, failed
from bayou.log.commit.active_transactions import active_transaction
from bayou.log.delta_log import open_log
from bayou.log.snapshot.partition_folder import PartitionFolder
from bayou.protocol.actions.paths import hadoop_text
from bayou.spark.backend import backend_of
from bayou.storage import qualify
from bayou.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.generated.rules import PartitionRule
    from bayou.spark.backend import Backend

PINNED_SNAPSHOTS = 16
"""The number of older snapshots that an application caches, over all tables."""
LOG_CACHE_BYTES = 512 << 20
"""The memory that the open logs of an application may use. The least recently used logs are dropped first."""
_LOG_BYTES = 4096
"""The assumed size of a log without its snapshot. It also counts for a path without a table."""
_DATA_FILE: Final = re.compile(r"[a-zA-Z][\w+.-]*:/.*?\.parquet")


class LogCache:
    """A cache of open logs and of older snapshots. It drops the least recently used first. Using a cached log costs one listing."""

    def __init__(self, limit_bytes: int = LOG_CACHE_BYTES, check: Callable[[str], None] = lambda _: None) -> None:
        self._limit = limit_bytes
        self._check = check
        self._logs: OrderedDict[tuple[str, tuple[tuple[str, str], ...]], DeltaLog] = OrderedDict()
        self._sizes: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._pinned: OrderedDict[tuple[str, int, str], Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def pinned(self, path: str, storage_options: Mapping[str, str], version: int, latest: Snapshot) -> Snapshot:
        """Return the snapshot of an older version.

        Args:
            latest: the latest snapshot. Its metadata id is a part of the key, because another table may have replaced this one.
        """
        key = (path, version, latest.metadata.id)
        with self._lock:
            snapshot = self._pinned.get(key)
        if snapshot is None:
            snapshot = self.get(path, storage_options).snapshot(version=version)
        with self._lock:
            self._pinned[key] = snapshot
            self._pinned.move_to_end(key)
            while len(self._pinned) > PINNED_SNAPSHOTS:
                self._pinned.popitem(last=False)
        return snapshot

    def get(self, path: str, storage_options: Mapping[str, str]) -> DeltaLog:
        """Return the log of the table at a path; open it if necessary."""
        key = (path, tuple(sorted(storage_options.items())))
        with self._lock:
            log = self._logs.get(key)
        if log is None:  # opening may call the JVM and servers, so do not hold the lock meanwhile
            self._check(path)
            log = open_log(path, storage_options or None)
        with self._lock:
            log = self._logs.setdefault(key, log)  # another thread may have opened it meanwhile
            self._sizes.setdefault(key, _LOG_BYTES)
            self._logs.move_to_end(key)
            self._evict()
        return log

    def known(self, path: str, storage_options: Mapping[str, str]) -> Snapshot | None:
        """Return the cached snapshot of the table at a path, which may be outdated; None if no snapshot was read."""
        key = (path, tuple(sorted(storage_options.items())))
        with self._lock:
            log = self._logs.get(key)
        return None if log is None else log.known

    def measure(self, path: str, storage_options: Mapping[str, str], snapshot: Snapshot) -> None:
        """Record the size of a log's newest snapshot, and drop logs if the cache is above its limit."""
        key = (path, tuple(sorted(storage_options.items())))
        with self._lock:
            if key in self._logs:
                self._sizes[key] = _LOG_BYTES + snapshot.nbytes
            self._evict()

    def _evict(self) -> None:
        while sum(self._sizes.values()) > self._limit and len(self._logs) > 1:
            oldest, _ = self._logs.popitem(last=False)
            del self._sizes[oldest]

    def tables(self) -> list[str]:
        """Return the URIs of the tables whose logs are open."""
        with self._lock:
            return [log.table_uri for log in self._logs.values()]

    def clear(self) -> None:
        """Drop every log."""
        with self._lock:
            self._logs.clear()
            self._pinned.clear()
            self._sizes.clear()


class Application:
    """The state of bayou for one Spark application. There is one instance per JVM, or per client of Spark Connect.

    Attributes:
        backend: what its sessions offer.
        logs: the cache of open logs.
        partition_rules: the rules of generated partition columns, by the JSON of the table's schema and its partition columns.
    """

    _instances: WeakKeyDictionary[Backend, Application] = WeakKeyDictionary()
    _making = threading.Lock()

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.logs = LogCache(check=backend.check_store)
        backend.begin(self._missing_data_file, self._unreadable_data_file)
        self.partition_rules: dict[tuple[str, tuple[str, ...]], tuple[PartitionRule, ...]] = {}

    @classmethod
    def of(cls, spark: SparkSession) -> Application:
        """Return the application of a session, created at its first use."""
        return cls.of_backend(backend_of(spark))

    @classmethod
    def of_backend(cls, backend: Backend) -> Application:
        """Return the application of a backend, created at its first use. Safe for concurrent threads."""
        with cls._making:
            if backend not in cls._instances:
                cls._instances[backend] = cls(backend)
            return cls._instances[backend]

    def snapshot(
        self, path: str, storage_options: Mapping[str, str], version: int | None = None, transactions: str = ""
    ) -> Snapshot:
        """Return a table's snapshot. Costs one listing if the version was read before.

        Inside a transaction on the table, return the transaction's snapshot instead of the latest one.

        Args:
            version: the version; None for the latest.
            transactions: the ids of the transactions around the query, if Spark passed them.
        """
        transaction = active_transaction(path, transactions)
        if transaction is not None and transaction.snapshot is not None and version in (None, transaction.read_version):
            return transaction.snapshot
        latest = self.logs.get(path, storage_options).update()
        self.logs.measure(path, storage_options, latest)
        if version is None or version == latest.version:
            return latest
        return self.logs.pinned(path, storage_options, version, latest)

    @property
    def engine_info(self) -> str:
        """The name of the engine in the commit information."""
        return f"Apache-Spark/{self.backend.spark_version} bayou/{__version__}"

    def _missing_data_file(self, text: str) -> DeltaError | None:
        table_and_file = self._data_file_in(text) or _file_of_a_source(text)
        if table_and_file is None:
            return None
        return failed("DELTA_FILE_NOT_FOUND_DETAILED", table=table_and_file[0], file=table_and_file[1])

    def _unreadable_data_file(self, text: str, reason: str) -> DeltaError | None:
        table_and_file = self._data_file_in(text)
        if table_and_file is None:
            return None
        return failed("FAILED_READ_FILE/data", table=table_and_file[0], file=table_and_file[1], reason=reason)

    def _data_file_in(self, text: str) -> tuple[str, str] | None:
        """Return the open table and the path below it in a message of Spark, or None."""
        plain = text.replace("file:///", "file:/")
        roots = {uri: hadoop_text(uri) + "/" for uri in self.logs.tables()}
        # A folder above the table may have an open log as well, so choose the longest match.
        table = max((uri for uri, root in roots.items() if root in plain), key=len, default=None)
        if table is None:
            return None
        return table, plain.split(roots[table], 1)[1].split(" ")[0].split("\n")[0].strip("`'\".,")


def _file_of_a_source(text: str) -> tuple[str, str] | None:
    """Return the table and the path below it for a data file in a message of Spark, or None.

    The table need not be open: a shallow clone refers to the files of another table.
    """
    match = _DATA_FILE.search(text)
    if match is None:
        return None
    folder = PartitionFolder.below_table(qualify(match[0]).uri, {})
    return None if folder is None else (folder.table, folder.folders)
