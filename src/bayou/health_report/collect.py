# SPDX-License-Identifier: Apache-2.0
"""Collect the facts of a health report from a table's log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayou.errors import redact_uri
from bayou.health_report.advice import Names, advice
from bayou.health_report.columns import column_facts
from bayou.health_report.files import deleted_rows, file_sizes, live_files, optimized, z_ordered
from bayou.health_report.log_files import log_facts, removed_files
from bayou.health_report.report import Health
from bayou.log.delta_log import open_log
from bayou.log.snapshot.clustering import logical_clustering
from bayou.protocol import arguments
from bayou.protocol.actions.paths import local_path
from bayou.protocol.columns.clustering import names_of

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader


def health(
    path: str | os.PathLike[str],
    *,
    folders: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Health:
    """Return what makes a table slow or large, and the calls that help, without Spark. Nothing is changed.

    Reads the log of the latest version. The table may be of any writer.

    Args:
        path: the table's path or URI.
        folders: list the table's folder too, as VACUUM does, to find files that no commit names.
        storage_options: credentials and settings of the store.

    Raises:
        TableNotFoundError: the path has no Delta log.
        UnsupportedFeatureError: bayou cannot read the table.
        CorruptLogError: the log is corrupt.

    Examples:
        >>> print(bayou.health("/data/orders"))
    """
    log = open_log(path, storage_options)
    arguments.flag(folders, "folders", table=log.table_uri)
    return health_of(log, folders=folders)


def health_of(log: LogReader, *, folders: bool = False, name: str | None = None) -> Health:
    """Return the health of a table; see `health`.

    Args:
        log: the log of the table.
        folders: list the table's folder too.
        name: the name of the table in SQL; None names it by its path.
    """
    snapshot = log.update()
    uri = redact_uri(log.table_uri)
    path = local_path(log.table_uri) or uri
    names = Names(f"delta.`{path.replace('`', '``')}`" if name is None else name, path)
    columns, unindexed = column_facts(snapshot)
    files = live_files(snapshot)
    sizes, deleted = file_sizes(snapshot, files), deleted_rows(files)
    removed, of_log = removed_files(log, snapshot, folders=folders), log_facts(log, snapshot)
    found = advice(
        names,
        sizes=sizes,
        deleted=deleted,
        columns=columns,
        clustering=names_of(logical_clustering(snapshot) or ()),
        reordered=lambda column: z_ordered(snapshot, files, column) if column else optimized(snapshot, files, is_full=True),
        removed=removed,
        log=of_log,
    )
    return Health(uri, snapshot.version, sizes, deleted, columns, unindexed, removed, of_log, found)
