# SPDX-License-Identifier: Apache-2.0
"""Reserved names of columns, which readers and writers add to the table's columns.

Physical names are checked too, since `_change_type` of the change data feed is a column in files. Source: delta-spark's
`CDCReader`.
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
"""The columns that a change data feed adds to the table's columns."""
OWN_PREFIX: Final = "__bayou"
"""The prefix of bayou's auxiliary columns."""
INTERNAL_PREFIXES: Final = ("__delta_internal", OWN_PREFIX)
"""The prefixes of columns that delta-spark and bayou add internally."""
_WRITTEN: Final = CHANGE_DATA_FEED_COLUMNS[0]
"""The only one of these columns that is in files. In data files it is NULL."""
_WRITTEN_TYPE: Final = "string"


def check_internal_names(
    schema: StructType, table: str | None, *, version: int | None = None, known: StructType | None = None
) -> None:
    """Raise InvalidSchemaError if top-level columns have an internal prefix; `columns` has them.

    Args:
        known: the table's schema before. Its columns with bayou's prefix are allowed, so that they can be dropped.
    """
    found = [name for name in schema.names if name.lower().startswith(INTERNAL_PREFIXES)]
    internal = [name for name in found if known is None or known.field(name) is None or not _is_own(name)]
    if internal:
        prefix = next(each for each in INTERNAL_PREFIXES if internal[0].lower().startswith(each))
        raise failed("DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED", table=table, version=version, prefix=prefix, columns=internal)


def check_feed_names(
    schema: StructType, table: str | None, *, version: int | None = None, column_mapping: bool = False, enables_feed: bool = False
) -> None:
    """Raise InvalidSchemaError if columns have names of the change data feed, in the schema or in files; `columns` has them.

    Args:
        schema: the schema of a table that has a change data feed, or whose changes are read.
        version: the table's version, for the error; None for a new table.
        column_mapping: whether the table uses column mapping.
        enables_feed: whether the feed is being enabled or read.
    """
    reserved = [each for each in schema.fields if _is_reserved(each.name) or _is_reserved(each.physical_name)]
    if not reserved:
        return
    # With column mapping, a column without a physical name gets another one.
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
    """Raise InvalidSchemaError for a new column `_change_type` that is not a string.

    If rows were changed while the change data feed was enabled, data files have a string column of that name, which is NULL. A
    column of another type could not be read from them.

    Args:
        schema: the schema after the change, with physical names.
    """
    stored = {each.physical_name.lower() for each in known.fields if each.type not in VOID_TYPES}  # a renamed column is not new
    for column in schema.fields:
        is_new = column.physical_name.lower() not in stored
        if is_new and column.physical_name.lower() == _WRITTEN and column.type not in (_WRITTEN_TYPE, *VOID_TYPES):
            raise failed("DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED/feed", table=table, version=version, columns=(column.name,))


def check_takes_rows(schema: StructType, metadata: Metadata, table: str, version: int | None = None) -> None:
    """Check that no column of another writer has the name of an auxiliary column that bayou writes with the rows.

    Raises:
        InvalidSchemaError: the table has a change data feed, and a column has a name of the feed.
        UnsupportedFeatureError: a column has bayou's prefix, in the schema or in files.
    """
    check_no_own_names(schema, "changed", table, version)
    check_feed_of(metadata, table, version, schema=schema)


def check_feed_of(metadata: Metadata, table: str, version: int | None = None, *, schema: StructType | None = None) -> None:
    """Apply `check_feed_names` if a table has a change data feed.

    Args:
        schema: its schema; None to parse the metadata's.
    """
    if properties.ENABLE_CHANGE_DATA_FEED.read(metadata.configuration):
        schema = parse_schema(metadata.schema_string) if schema is None else schema
        check_feed_names(schema, table, version=version, column_mapping=column_mapping_mode(metadata) != "none")


def check_no_own_names(schema: StructType, what: str, table: str, version: int | None = None) -> None:
    """Raise UnsupportedFeatureError if a column of another writer has bayou's prefix, in the schema or in files.

    Args:
        what: the operation that is refused, as a participle for the error.
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
            prefix=OWN_PREFIX,
            features=(f"columns whose names begin with {OWN_PREFIX}",),
        )


def _is_own(name: str) -> bool:
    return name.lower().startswith(OWN_PREFIX)


def _is_reserved(name: str) -> bool:
    return name.lower() in CHANGE_DATA_FEED_COLUMNS


def _shown(column: StructField) -> str:
    return column.name if _is_reserved(column.name) else f"{column.name}, which is {column.physical_name} in the files"
