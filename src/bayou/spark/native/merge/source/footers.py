# SPDX-License-Identifier: Apache-2.0
"""Read the row count of a source and the ranges of its keys from the footers of its Parquet files, to save a job.

Only integer keys are supported. For other types, the statistics of a footer may be inexact, or use another calendar or order.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from bayou.errors import StorageError
from bayou.spark.dml.keys.key_conditions import MOST_VALUES, KeyValues
from bayou.spark.jvm.core import nodes
from bayou.spark.scan.footers import read_footers
from bayou.spark.session.given_options import storage_options_of
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow.parquet as pq

    from bayou.spark.backend import Backend
    from bayou.spark.dml.keys.key_values import SourceKey
    from bayou.spark.jvm.relations.listed_files import WholeFiles

_BY_IDS: Final = "spark.sql.parquet.fieldId.read.enabled"
"""If this setting is true, Spark may find a column of a file by its field id instead of its name."""
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""The integer types, with their bits."""
_BITS_IN_FILES: Final = {
    **{("INT32", f"INT_{bits}"): bits for bits in (8, 16, 32)},
    ("INT32", "NONE"): 32,
    ("INT64", "INT_64"): 64,
    ("INT64", "NONE"): 64,
}
"""The Parquet types that are signed integers and nothing else, with their bits."""
_MOST_FILES: Final = 64
"""The most footers that are read. More of them take longer than a job."""
_MOST_COLUMNS: Final = 2000
"""The most columns in all files together. A footer in memory needs a kilobyte for each column of each row group."""


def values_in_footers(
    backend: Backend, files: WholeFiles | None, keys: Sequence[SourceKey], settings: Mapping[str, str]
) -> tuple[int, list[KeyValues]] | None:
    """Return the number of rows of a source, and the range of each key; None if the footers do not contain them.

    Args:
        files: the files, if the source consists of exactly their rows; otherwise None.
    """
    if files is None or is_on(settings, _BY_IDS):
        return None
    sizes, names = files.files.sizes, [_column_of(files, each) for each in keys]
    if sizes is None or len(sizes) > _MOST_FILES or len(sizes) * files.num_columns > _MOST_COLUMNS or None in names:
        return None
    options = files.options
    storage_options = storage_options_of(options)
    if len(storage_options) < len(options) or files.may_be_encrypted:
        # Spark may have credentials for the files that bayou does not have. Arrow aborts the process at an encrypted column.
        return None
    footers = _footers(backend, sizes, storage_options)
    if footers is None:
        return None
    rows = sum(each.num_rows for each in footers)
    if rows > MOST_VALUES and any(each.key.is_partition for each in keys):
        return None  # a range prunes few partitions; a job can list the values
    values = [_range_of(footers, name, _BITS[each.key.kind]) for name, each in zip(names, keys, strict=True) if name is not None]
    ranges = [each for each in values if each is not None]
    return (rows, ranges) if len(ranges) == len(keys) else None


def _column_of(files: WholeFiles, key: SourceKey) -> str | None:
    """Return the name of the file column that a key consists of. None if the key is another expression or not an integer."""
    if key.node is None or key.key.kind not in _BITS:
        return None
    name = files.column_of(key.node)
    if name is None or json.loads(nodes.type_of(key.node)) != key.key.kind:
        return None
    return None if "." in name else name  # in a Parquet path, a dot separates the fields of structs


def _footers(
    backend: Backend, sizes: Sequence[tuple[str, int]], storage_options: Mapping[str, str]
) -> list[pq.FileMetaData] | None:
    try:
        answers = read_footers(backend, sizes, storage_options)
    except StorageError:
        return None
    footers = [each for each in answers if not isinstance(each, OSError)]
    return footers if len(footers) == len(answers) else None


def _range_of(footers: Sequence[pq.FileMetaData], name: str, bits: int) -> KeyValues | None:
    """Return the range of a column, and whether it contains NULL; None if a row group lacks these statistics."""
    least: list[int] = []
    greatest: list[int] = []
    has_null = False
    for footer in footers:
        number = _number_of(footer, name, bits)
        if number is None:
            return None
        for group in map(footer.row_group, range(footer.num_row_groups)):
            if not group.num_rows:
                continue
            statistics = group.column(number).statistics
            if statistics is None or not statistics.has_null_count:
                return None
            has_null = has_null or statistics.null_count > 0
            if statistics.has_min_max:
                least.append(statistics.min)
                greatest.append(statistics.max)
            elif statistics.null_count < group.num_rows:
                return None
    return KeyValues(str(min(least)), str(max(greatest)), has_null) if least else KeyValues(None, None, has_null)


def _number_of(footer: pq.FileMetaData, name: str, bits: int) -> int | None:
    """Return the position of an integer column in a footer. None for other types, and if a name differs only in case.

    Also None for integers with more than `bits` bits, because Spark truncates them when it reads them.
    """
    columns = [(number, footer.schema.column(number)) for number in range(footer.num_columns)]
    named = [(number, each) for number, each in columns if each.path.lower() == name.lower()]
    if len(named) != 1:
        return None
    number, column = named[0]
    of_file = _BITS_IN_FILES.get((column.physical_type, column.converted_type))
    is_whole = column.logical_type.type in ("NONE", "INT") and column.max_repetition_level == 0
    return number if is_whole and column.path == name and of_file is not None and of_file <= bits else None
