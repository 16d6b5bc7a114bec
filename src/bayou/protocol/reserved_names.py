# SPDX-License-Identifier: Apache-2.0
"""The names that no column may have where others put columns of these names beside the table's.

What counts is the name in the files as much as the name in the schema: a change data feed writes its `_change_type` into them.
Source: delta-spark's `CDCReader`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import InvalidSchemaError
from bayou.protocol import properties
from bayou.protocol.read_compatibility import column_mapping_mode
from bayou.protocol.schema import PHYSICAL_NAME

if TYPE_CHECKING:
    from bayou.protocol.actions import Metadata
    from bayou.protocol.schema import StructField, StructType

CHANGE_DATA_FEED_COLUMNS: Final = ("_change_type", "_commit_version", "_commit_timestamp")
"""The columns that a change data feed adds to the table's."""


def check_feed_names(
    schema: StructType, table: str | None, *, version: int | None = None, column_mapping: bool = False, enables_feed: bool = False
) -> None:
    """Refuses columns that are called like those of a change data feed, in the schema or in the files.

    Args:
        schema: the schema of a table that has a change data feed, or whose changes are read.
        table: the table's path or URI, for the error.
        version: the table's version, for the error; None for a table that is made.
        column_mapping: whether files have names of their own for columns.
        enables_feed: whether the table gets its feed now, or is read as one.

    Raises:
        InvalidSchemaError: there are such columns; `columns` has their names in the schema.
    """
    reserved = [each for each in schema.fields if _is_reserved(each.name) or _is_reserved(each.physical_name)]
    if not reserved:
        return
    # A column without a name for the files gets another one, where columns are mapped.
    in_files = [
        each for each in reserved if _is_reserved(each.physical_name) and (PHYSICAL_NAME in each.metadata or not column_mapping)
    ]
    step = "rename or drop these columns, or set delta.enableChangeDataFeed to false."
    if in_files and version is not None:
        step = (
            "give a new column another name. One that the table has needs to be dropped and added again under another name, for "
            "renaming it leaves its name in the files; that takes delta.columnMapping.mode = name, and "
            "delta.enableChangeDataFeed = false until it is done."
        )
    raise InvalidSchemaError(
        f"The schema is no table's: the reserved columns [{', '.join(map(_shown, reserved))}] are those that the table's change "
        "data feed adds.",
        next_step=step,
        table=table,
        version=version,
        error_class="DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS" if enables_feed else "RESERVED_CDC_COLUMNS_ON_WRITE",
        sql_state="42711" if enables_feed else "42939",
        columns=tuple(each.name for each in reserved),
    )


def check_takes_rows(schema: StructType, metadata: Metadata, table: str, version: int | None = None) -> None:
    """Refuses to change the rows of a table whose columns are called like those that are written beside them.

    A table that bayou made has no such columns; another writer may have let them in.

    Args:
        schema: the table's schema.
        metadata: its metadata.
        table: its path or URI, for the error.
        version: its version, for the error.

    Raises:
        InvalidSchemaError: it has a change data feed, and columns that are called like those of the feed.
    """
    if properties.ENABLE_CHANGE_DATA_FEED.read(metadata.configuration):
        maps = column_mapping_mode(metadata) != "none"
        check_feed_names(schema, table, version=version, column_mapping=maps)


def _is_reserved(name: str) -> bool:
    return name.lower() in CHANGE_DATA_FEED_COLUMNS


def _shown(column: StructField) -> str:
    return column.name if _is_reserved(column.name) else f"{column.name}, which is {column.physical_name} in the files"
