# SPDX-License-Identifier: Apache-2.0
"""A table with three versions of its rows, and times at which these were committed."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

from tests.spark.tables import numbers, numbers_table, without_rows

from bayou.protocol.actions import file_names
from bayou.testing.table_builder import remove


def three_versions(path):
    """Version 0 is empty, 1 holds 1 and 2, 2 also 3, 3 has lost 1 to a deletion vector."""
    builder = numbers_table(path, [1, 2]).commit(numbers(path, "more.parquet", [3]))
    return builder.commit(remove("0.parquet"), numbers(path, "0.parquet", [1, 2], **without_rows([0])))


def commit_at(path, version, moment):
    file = Path(path, file_names.commit_path(version))
    os.utime(file, (moment.timestamp(), moment.timestamp()))


def moment(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)
