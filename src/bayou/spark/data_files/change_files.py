# SPDX-License-Identifier: Apache-2.0
"""Files of change rows that a job of their own writes, straight to where they stay; see `spark.read.change_rows` for when one does.

They keep the names that Spark's writer gives to files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.protocol.actions.file_names import CHANGES_FOLDER
from bayou.spark.data_files.new_files import change_file
from bayou.spark.data_files.projection import Projection
from bayou.spark.data_files.write_jobs import Placement, footers_of, relative_path, write_into
from bayou.spark.read.change_rows import BesideColumns
from bayou.spark.session.progress import phase
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.actions.actions import AddCDCFile
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class ChangeFiles:
    """Files of change rows that are written and not yet committed.

    Attributes:
        files: the actions that add them.
        num_rows: the rows in all of them.
    """

    files: Sequence[AddCDCFile]
    num_rows: int


def write_change_files(
    application: Application,
    frame: DataFrame,
    request: WriteRequest,
    target: WriteTarget,
    uncommitted: UncommittedFiles,
    before: Mapping[str, str],
) -> ChangeFiles:
    """Write the change rows of some rows.

    Args:
        frame: the rows that change, with the table's columns, `FATE`, and the columns with the old values.
        target: the table, without its rules: these are looked at where its own rows are written.
        uncommitted: takes over the files.
        before: for columns that have new values, the columns of the rows with the old ones.
    """
    phase("writing change rows")
    root = qualify(request.path)
    beside = BesideColumns(feeds=True, before=before, is_for_feed=True)
    rows = Projection(application.jvm, frame, target, beside=beside).rows()
    found = write_into(application.jvm, rows.frame, request, target, Placement(CHANGES_FOLDER)).files
    written = [(file, relative_path(file, root.uri)) for file in found]
    uncommitted.add(relative for _, relative in written)
    counts = [footer.num_rows for footer in footers_of(application, request, written)]
    # Spark's writer makes a file for the first of its tasks, whether or not it has rows.
    uncommitted.delete([relative for (_, relative), count in zip(written, counts, strict=True) if not count])
    files = [change_file(target, *each) for each, count in zip(written, counts, strict=True) if count]
    return ChangeFiles(files, sum(counts))
