# SPDX-License-Identifier: Apache-2.0
"""The names that no column may have where others put columns of these names beside the table's.

What counts is the name in the files as much as the name in the schema: a change data feed writes its `_change_type` into them.
Source: delta-spark's `CDCReader`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol import properties
from bayou.protocol.schema.read_compatibility import column_mapping_mode
from bayou.protocol.types.schema import PHYSICAL_NAME, VOID_TYPES, parse_schema

if TYPE_CHECKING:
    from bayou.protocol.actions.actions import Metadata
    from bayou.protocol.types.schema import StructField, StructType

CHANGE_DATA_FEED_COLUMNS: Final = ("_change_type", "_commit_version", "_commit_timestamp")
"""The columns that a change data feed adds to the table's."""
INTERNAL_PREFIXES: Final = ("__delta_internal", "__bayou")
"""How the names of columns begin that readers and writers add for themselves: others, and bayou."""
_OWN_PREFIX: Final = INTERNAL_PREFIXES[1]
_WRITTEN: Final = CHANGE_DATA_FEED_COLUMNS[0]
"""The one of them that is in files; in data files it is NULL."""
_WRITTEN_TYPE: Final = "string"


def check_internal_names(
    schema: StructType, table: str | None, *, version: int | None = None, known: StructType | None = None
) -> None:
    """Refuses columns that are called as if a reader or a writer had added them for itself. Nested ones are nobody's.

    Args:
        known: the table's schema before, whose columns are no new ones where they begin with bayou's own prefix: such a table of
            another writer has to be changed for the column to go.

    Raises:
        InvalidSchemaError: there are such columns; `columns` has them.
    """
    found = [name for name in schema.names if name.lower().startswith(INTERNAL_PREFIXES)]
    internal = [name for name in found if known is None or known.field(name) is None or not _is_own(name)]
    if internal:
        prefix = next(each for each in INTERNAL_PREFIXES if internal[0].lower().startswith(each))
        raise failed("DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED", table=table, version=version, prefix=prefix, columns=internal)


def check_feed_names(
    schema: StructType, table: str | None, *, version: int | None = None, column_mapping: bool = False, enables_feed: bool = False
) -> None:
    """Refuses columns that are called like those of a change data feed, in the schema or in the files.

    Args:
        schema: the schema of a table that has a change data feed, or whose changes are read.
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
    raise failed(
        "RESERVED_CDC_COLUMNS_ON_WRITE/in-files" if in_files and version is not None else "RESERVED_CDC_COLUMNS_ON_WRITE",
        error_class="DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS" if enables_feed else "RESERVED_CDC_COLUMNS_ON_WRITE",
        table=table,
        version=version,
        reserved=tuple(map(_shown, reserved)),
        columns=tuple(each.name for each in reserved),
    )


def check_leftover_names(schema: StructType, known: StructType, table: str | None, *, version: int | None = None) -> None:
    """Refuses a new column that the files may have already, as another one: those of a table that had a change data feed once.

    Where rows were changed with the feed on, data files have a text column `_change_type` of nothing but NULL. A column of that
    name and of another type could not be read of them.

    Args:
        schema: the schema after the change, with its names in the files.

    Raises:
        InvalidSchemaError: there is such a column.
    """
    stored = {each.physical_name.lower() for each in known.fields if each.type not in VOID_TYPES}  # a renamed column is no new one
    for column in schema.fields:
        is_new = column.physical_name.lower() not in stored
        if is_new and column.physical_name.lower() == _WRITTEN and column.type not in (_WRITTEN_TYPE, *VOID_TYPES):
            raise failed("DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED/feed", table=table, version=version, columns=(column.name,))


def check_takes_rows(schema: StructType, metadata: Metadata, table: str, version: int | None = None) -> None:
    """Refuses to change the rows of a table whose columns are called like those that are written beside them.

    A table that bayou made has no such columns; another writer may have let them in.

    Raises:
        InvalidSchemaError: it has a change data feed, and columns that are called like those of the feed.
        UnsupportedFeatureError: it has columns that are called like bayou's own, in the schema or in the files.
    """
    check_no_own_names(schema, "changed", table, version)
    check_feed_of(metadata, table, version, schema=schema)


def check_feed_of(metadata: Metadata, table: str, version: int | None = None, *, schema: StructType | None = None) -> None:
    """`check_feed_names` for a table that has a change data feed; of another one not even the schema is read.

    Args:
        schema: its schema; that in the metadata where None.

    Raises:
        InvalidSchemaError: it has a feed, and columns that are called like those of the feed.
    """
    if properties.ENABLE_CHANGE_DATA_FEED.read(metadata.configuration):
        schema = parse_schema(metadata.schema_string) if schema is None else schema
        check_feed_names(schema, table, version=version, column_mapping=column_mapping_mode(metadata) != "none")


def check_no_own_names(schema: StructType, what: str, table: str, version: int | None = None) -> None:
    """Refuses a table of another writer with columns that bayou would take for its own.

    Args:
        what: what cannot be done with its rows, for the error.

    Raises:
        UnsupportedFeatureError: it has such columns, in the schema or in the files; `features` says so.
    """
    own = next((each for each in schema.fields if _is_own(each.name) or _is_own(each.physical_name)), None)
    if own is not None:
        in_files = "" if _is_own(own.name) else f" ({own.physical_name!r} in the files)"
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/own-names",
            table=table,
            version=version,
            operation=what,
            column=f"{own.name!r}{in_files}",
            prefix=_OWN_PREFIX,
            features=(f"columns whose names begin with {_OWN_PREFIX}",),
        )


def _is_own(name: str) -> bool:
    return name.lower().startswith(_OWN_PREFIX)


def _is_reserved(name: str) -> bool:
    return name.lower() in CHANGE_DATA_FEED_COLUMNS


def _shown(column: StructField) -> str:
    return column.name if _is_reserved(column.name) else f"{column.name}, which is {column.physical_name} in the files"
