# SPDX-License-Identifier: Apache-2.0
"""Select the storage options among the options of a reader or writer, and warn about unknown options.

bayou ignores an unknown option, and warns of it once in a process.
Source: delta-spark's `DeltaOptions.verifyOptions`, which records unknown options and continues.
"""

from __future__ import annotations

import difflib
import logging
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bayou.errors import redact_uri
from bayou.log.streaming.request.options import option_names
from bayou.storage.object_stores.options import SINGLE_WRITER

_NAMES: Final = (
    *("path", "mergeSchema", "overwriteSchema", "replaceWhere", "replaceOn", "replaceUsing", "partitionOverwriteMode"),
    "useNullIntolerantEqualityWithDPO",
    *("dataChange", "optimizeWrite", "userMetadata", "txnAppId", "txnVersion", "clusterBy", "compression", "maxRecordsPerFile"),
)
"""The options of writers."""
_OF_READS: Final = (
    *("path", "versionAsOf", "timestampAsOf", "readChangeFeed", "readChangeData"),
    *("startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp"),
)
"""The options of readers that are not streams."""
_OF_STREAMS: Final = ("path", *option_names())
"""The options of streams that read a table."""
_OF_OTHERS: Final = frozenset(
    name.lower()
    for name in (
        *_OF_READS,
        *_OF_STREAMS,
        *("checkpointLocation", "queryName", "targetAlias"),
        "serialization.format",  # Hive's catalog adds it to the path of every table
    )
)
"""The options of readers and streams, in lower case. Writers do not warn of them: a program may pass the same options to both."""
_OF_STORAGE: Final = ("fs.", "dfs.", SINGLE_WRITER)
"""Prefixes of the options for the file system and for the log store."""
_PREFIXES: Final = ("delta.", "parquet.", "__", *_OF_STORAGE)

_logger = logging.getLogger("bayou")
_warned: set[str] = set()
_lock = threading.Lock()


def storage_options_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the options that are for the file system or for the log store."""
    return {name: str(value) for name, value in options.items() if value is not None and name.lower().startswith(_OF_STORAGE)}


def report_unknown(names: Iterable[str], table: str) -> None:
    """Warn of each option that no writer has, once in a process."""
    _report(names, table, "write", _NAMES, _OF_OTHERS)


def report_unknown_of_read(names: Iterable[str], table: str) -> None:
    """Warn of each option that no reader has, once in a process."""
    _report(names, table, "read", _OF_READS, frozenset(name.lower() for name in _NAMES) | _OF_OTHERS)


def report_unknown_of_stream(names: Iterable[str], table: str) -> None:
    """Warn of each option that no stream from a table has, once in a process."""
    _report(names, table, "stream", _OF_STREAMS, frozenset(name.lower() for name in _NAMES) | _OF_OTHERS)


def _report(names: Iterable[str], table: str, kind: str, own: Iterable[str], others: frozenset[str]) -> None:
    known_names = {name.lower() for name in own} | others
    for name in names:
        lower = name.lower()
        if lower in known_names or lower.startswith(_PREFIXES):
            continue
        with _lock:
            is_new = lower not in _warned
            _warned.add(lower)
        if is_new:
            similar = difflib.get_close_matches(lower, [each.lower() for each in own], n=1)
            hint = f"; did you mean {next(each for each in own if each.lower() == similar[0])}?" if similar else ""
            table_without_secrets = redact_uri(table)
            _logger.warning("the %s option %r is unknown and is ignored (table: %s)%s", kind, name, table_without_secrets, hint)
