# SPDX-License-Identifier: Apache-2.0
"""`bayou.check`: the check of the log, of the files and, on Spark, of the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayou.checks.report import Report
from bayou.checks.run import check_store
from bayou.errors.packages import of_spark
from bayou.protocol import arguments
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from bayou.checks.row_counts import CountRows


def check(
    path: str | os.PathLike[str],
    *,
    files: bool = False,
    footers: bool = False,
    rows: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Report:
    """Check a table by any writer against the Delta protocol. Only `rows` needs Spark.

    Reads every file of the log. The replay of `bayou.open` is not used, so that the check does not share its mistakes.

    Example:
        bayou.check("/data/orders", files=True).exit_code

    Args:
        path: the table's path or URI.
        files: look also whether the data files and the deletion vectors exist and have the stated sizes.
        footers: compare also the footers of data files with the schema and the statistics.
        rows: read also all rows, and count those that violate constraints, NOT NULL or the expressions of generated columns. This
            is one Spark query on the active session, or on a new one. It reads the table with the settings of that session.
        storage_options: credentials and settings of the store.

    Raises:
        TableNotFoundError: the path has no Delta log.
        StorageError: the store cannot be read.
        MissingPackageError: `rows` is true, and PySpark is not installed.
    """
    place = qualify(path)
    options = arguments.text_map(storage_options, "storage_options", table=place.uri, shown=False)
    count_rows = _on_spark() if rows else None
    return check_store(place.uri, open_store(place, options), options, files=files, footers=footers, count_rows=count_rows)


def _on_spark() -> CountRows:
    try:
        from bayou.spark.row_counts import count_rows  # noqa: PLC0415  (the other checks need no PySpark)
    except ModuleNotFoundError as error:
        raise of_spark(error, "check(rows=True)") from error
    return count_rows
