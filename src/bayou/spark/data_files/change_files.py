# SPDX-License-Identifier: Apache-2.0
"""Write change data files in a separate job, directly to their final folder; `spark.read.change_rows` says when.

The files keep the names that Spark's writer gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.protocol.actions.file_names import CHANGES_FOLDER
from bayou.spark.data_files.new_files import change_file
from bayou.spark.data_files.projection import Projection
from bayou.spark.data_files.write_jobs import Placement, footers_of, relative_path, write_into
from bayou.spark.read.change_rows import AuxiliaryColumns
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
    """Uncommitted change data files.

    Attributes:
        files: the actions that add them.
        num_rows: the number of rows in all of them.
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
    """Write the change rows of rows that change.

    Args:
        frame: the rows, with the table's columns, `ROW_ACTION`, and the columns with the old values.
        target: the table, without its constraints: these are checked when the table's own rows are written.
        uncommitted: the owner of the new files.
        before: the columns with the old values, by the columns that have new values.
    """
    phase("writing change rows")
    root = qualify(request.options.path)
    auxiliary = AuxiliaryColumns(feeds=True, before=before, is_for_feed=True)
    rows = Projection(application.jvm, frame, target, auxiliary=auxiliary).rows()
    found = write_into(application.jvm, rows.frame, request, target, Placement(CHANGES_FOLDER)).files
    written = [(file, relative_path(file, root.uri)) for file in found]
    uncommitted.add(relative for _, relative in written)
    counts = [footer.num_rows for footer in footers_of(application, request.options, written)]
    # The first task of Spark's writer makes a file even if it has no rows.
    uncommitted.delete([relative for (_, relative), count in zip(written, counts, strict=True) if not count])
    files = [change_file(target, *each) for each, count in zip(written, counts, strict=True) if count]
    return ChangeFiles(files, sum(counts))
