# SPDX-License-Identifier: Apache-2.0
"""Run jobs in which one task reads several chosen files in order, without a shuffle, and writes one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from bayou.spark.jvm.core.adapters import Adapters

if TYPE_CHECKING:
    from bayou.spark.backend import FileTasks
    from bayou.spark.jvm.core.bridge import Jvm


def in_file_tasks(jvm: Jvm, frame: DataFrame, tasks: FileTasks) -> tuple[DataFrame, list[list[str]]]:
    """Return the rows of a DataFrame over files with one partition per task.

    Args:
        frame: the rows. Each file is one partition of its scan, and nothing in its plan shuffles rows or drops them at random.

    Returns:
        The rows, and for each task the URIs of its files, percent-encoded, in reading order.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    grouping = Adapters.of(jvm).new("bayou.FileTasks", tasks.count, tasks.column)
    rows = grouping.grouped(query.toRdd())
    made = frame.sparkSession._jsparkSession.internalCreateDataFrame(rows, query.analyzed().schema(), False)  # noqa: SLF001
    text: str = grouping.order()
    return DataFrame(made, frame.sparkSession), [uris.split("\n") if uris else [] for uris in text.split("\0")[:-1]]
