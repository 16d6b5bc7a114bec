# SPDX-License-Identifier: Apache-2.0
"""Compare the schema of rows with a table's schema, and merge the two.

Types are as in the log: char and varchar are strings with metadata.

Sources: delta-spark's `SchemaMergingUtils.mergeSchemas`, `ImplicitMetadataOperation` and `MetadataMismatchErrorBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from bayou.errors import SchemaMismatchError
from bayou.protocol.columns.column_defaults import DEFAULT_KEYS
from bayou.protocol.features.type_widening import Widening, is_widening, record_type_changes
from bayou.protocol.schema.validity import check_names
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.partition_values import decimal_type
from bayou.protocol.types.schema import VOID_TYPES, DataType, StructField, StructType
from bayou.protocol.types.sql_text import short_name
from bayou.protocol.types.traverse import map_fields, same_form, twins, with_parts, with_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Keeps: TypeAlias = Callable[[DataType, DataType], bool]
"""Whether a column keeps its type, the first one, for values of the second type."""

_INT32_TYPES: Final = ("byte", "short", "integer")
"""The types that Parquet stores as INT32, by width. A file with a narrower one can be read as a wider one."""
_SHORT_SCHEMA: Final = 12
_WRITER_METADATA: Final = ("delta.", *DEFAULT_KEYS)
_MERGE_HINT: Final = (
    'To enable schema migration using DataFrameWriter or DataStreamWriter, please set: \'.option("mergeSchema", "true")\'.'
)
_OVERWRITE_HINT: Final = 'To overwrite your schema or change partitioning, please set: \'.option("overwriteSchema", "true")\'.'
_PARTITION_HINT: Final = "Leave the partition columns out, or give those of the table."
_CAST_HINT: Final = "Cast the columns to the table's types"


def merge_schemas(
    table: StructType,
    given: StructType,
    *,
    widening: Widening = Widening.NEVER,
    keeps: Keeps | None = None,
    table_uri: str | None = None,
    version: int | None = None,
) -> StructType:
    """Return the table's schema after a write with schema evolution.

    Columns are matched by name, case-insensitively. The table's names, order, nullability and metadata stay. New columns are
    appended to their struct; they are nullable, and lack metadata for writers. Void becomes the other type, and byte, short and
    integer become the widest of them. `delta.typeChanges` records widened types. `protocol.schema.validity` checks the new columns.

    Args:
        keeps: whether the table's type also stays for values of another type; None if it never does.

    Raises:
        InvalidSchemaError: the rows have two columns of the same name.
        SchemaMismatchError: types cannot be merged; `columns` has the paths, `problems` describes each, and the cause has the
            error class of the first.
    """
    check_names(given, table_uri, version=version, column_mapping=True, duplicates_class="DATA")
    merge = _Merge(widening, keeps)
    merged = merge.structs(table, map_fields(given, _as_new_column), ())
    if merge.conflicts:
        first = merge.conflicts[0]
        cause = SchemaMismatchError(first.reason, error_class=first.error_class, column=first.column)
        raise SchemaMismatchError(
            f"{_merge_failure(given, first)}: {'; '.join(each.text for each in merge.conflicts)}.",
            next_step=first.hint,
            table=table_uri,
            version=version,
            error_class="DELTA_FAILED_TO_MERGE_FIELDS",
            problems=tuple(each.text for each in merge.conflicts),
            columns=tuple(each.column for each in merge.conflicts),
        ) from cause
    return merged if widening is Widening.NEVER else record_type_changes(merged, table)


def check_write(
    table: StructType,
    given: StructType,
    *,
    partition_columns: Sequence[str] = (),
    partition_by: Sequence[str] | None = None,
    overwrite: bool = False,
    widening: Widening = Widening.NEVER,
    table_id: str | None = None,
    table_uri: str | None = None,
    version: int | None = None,
) -> None:
    """Check that rows can be written to a table without changing its schema.

    Args:
        partition_by: the partition columns that the writer named; None if it named none.
        overwrite: whether the rows replace the table's rows.
        widening: which types schema evolution could widen, for the next step.

    Raises:
        InvalidSchemaError: the rows have two columns of the same name.
        SchemaMismatchError: the rows do not fit; `problems` describes each difference. The error class is
            DELTA_FAILED_TO_MERGE_FIELDS if schema evolution could not help either, another one if only partition columns or all
            other columns are missing, and otherwise DELTA_METADATA_MISMATCH.
    """
    check_names(given, table_uri, version=version, column_mapping=True, duplicates_class="DATA")
    merge = _Merge(widening)
    merge.structs(table, given, ())
    mismatch = _Mismatch()
    if merge.conflicts:
        mismatch.add("DELTA_FAILED_TO_MERGE_FIELDS", _merge_failure(given, merge.conflicts[0]), hint=merge.conflicts[0].hint)
    differences = tuple(_differences(table, given, ()))
    if differences:
        identity = f" (Table ID: {table_id})" if table_id else ""
        sentence = f"A schema mismatch detected when writing to the Delta table{identity}: {'; '.join(differences)}"
        hints = [hint for hint, helps in ((_MERGE_HINT, not merge.conflicts), (_OVERWRITE_HINT, overwrite)) if helps]
        mismatch.add("DELTA_METADATA_MISMATCH", sentence, differences, " ".join(hints))
    strange = [name for name in partition_by or () if table.field(name) is None and given.field(name) is None]
    if strange:
        sentence = f"Partition columns {strange} are not found in the schema {list(table.names)}"
        mismatch.add("DELTA_PARTITION_COLUMN_NOT_FOUND", sentence, (sentence,))
    if partition_by is not None and _lower(partition_by) != _lower(partition_columns):
        lists = f"Given: [{', '.join(partition_by)}] Table: [{', '.join(partition_columns)}]"
        sentence = f"Partition columns do not match the partition columns of the table. {lists}"
        mismatch.add("DELTA_METADATA_MISMATCH", sentence, (sentence,), _OVERWRITE_HINT if overwrite else _PARTITION_HINT)
    absent = tuple(f"the partition column {name!r} is missing in the rows" for name in partition_columns if not given.field(name))
    if absent:
        mismatch.add("DELTA_PARTITION_COLUMN_NOT_FOUND", f"The rows are incomplete: {'; '.join(absent)}", absent)
    if not mismatch.sentences and not _has_data(given, partition_columns):
        sentence = "Data written into Delta needs to contain at least one non-partitioned column"
        mismatch.add("DELTA_NON_PARTITION_COLUMN_ABSENT", sentence, (sentence,))
    if mismatch.sentences:
        raise mismatch.error(_schemas(table, given) if differences else "", table_uri, version)


@dataclass(slots=True)
class _Mismatch:
    """The differences that prevent a write. The error class is that of the first one."""

    classes: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def add(self, error_class: str, sentence: str, problems: Sequence[str] = (), hint: str = "") -> None:
        self.classes.append(error_class)
        self.sentences.append(sentence)
        self.problems += problems
        if hint and hint not in self.hints:
            self.hints.append(hint)

    def error(self, schemas: str, table: str | None, version: int | None) -> SchemaMismatchError:
        return SchemaMismatchError(
            f"{'. '.join(self.sentences)}.{schemas}",
            next_step=" ".join(self.hints),
            table=table,
            version=version,
            error_class=self.classes[0],
            problems=tuple(self.problems),
        )


@dataclass(frozen=True, slots=True)
class _Conflict:
    """Two types that cannot be merged.

    Attributes:
        path: the path of the column or field.
        type: the table's type, as a user writes it.
        text: the message of the error.
        reason: the message of its cause.
        error_class: the error class of the cause.
    """

    path: tuple[str, ...]
    type: str
    text: str
    reason: str
    error_class: str

    @property
    def column(self) -> str:
        return ".".join(self.path)

    @property
    def hint(self) -> str:
        """The next step. The cast of a field inside a column has no short form."""
        if len(self.path) > 1:
            return f"{_CAST_HINT}."
        name = self.path[0]
        return f'{_CAST_HINT}, as in df.withColumn("{name}", col("{short_name(name)}").cast("{self.type}")).'


@dataclass(slots=True)
class _Merge:
    """A merge with its options and conflicts."""

    widening: Widening
    keeps: Keeps | None = None
    conflicts: list[_Conflict] = field(default_factory=list)

    def structs(self, table: StructType, given: StructType, path: tuple[str, ...]) -> StructType:
        kept = tuple(self._field(each, new, path) for each, new in twins(table, given))
        return StructType(kept + tuple(each for each, known in twins(given, table) if known is None))

    def _field(self, table: StructField, given: StructField | None, path: tuple[str, ...]) -> StructField:
        return table if given is None else with_type(table, self._types(table.type, given.type, (*path, table.name)))

    def _types(self, table: DataType, given: DataType, path: tuple[str, ...]) -> DataType:
        if isinstance(table, StructType) and isinstance(given, StructType):
            return self.structs(table, given, path)
        if same_form(table, given):
            return with_parts(table, (self._field(each, new, path) for each, new in twins(table, given)))
        return self._others(table, given, path)

    def _others(self, table: DataType, given: DataType, path: tuple[str, ...]) -> DataType:
        if isinstance(table, str) and isinstance(given, str) and is_widening(table, given, self.widening):
            return given
        if _fits(table, given) or (self.keeps is not None and self.keeps(table, given)):
            return table
        if table in VOID_TYPES or _fits(given, table):
            return given
        self.conflicts.append(_conflict(table, given, path))
        return table


def _fits(table: DataType, given: DataType) -> bool:
    """Whether values of a type are values of the table's type: the same one, void, or a narrower INT32 type."""
    if isinstance(given, str) and given in VOID_TYPES:
        return True
    if table in _INT32_TYPES and given in _INT32_TYPES:
        return _INT32_TYPES.index(given) <= _INT32_TYPES.index(table)
    if not isinstance(table, str) or not isinstance(given, str):
        return table == given
    return table == given or decimal_type(table) == decimal_type(given) is not None  # spaces in a decimal do not matter


def _conflict(table: DataType, given: DataType, path: tuple[str, ...]) -> _Conflict:
    text = _type_difference(table, given, path)
    if isinstance(table, str) and isinstance(given, str) and decimal_type(table) and decimal_type(given):
        reason = f"Failed to merge decimal types with incompatible precision or scale: {text}"
        return _Conflict(path, type_text(table), text, reason, "DELTA_MERGE_INCOMPATIBLE_DECIMAL_TYPE")
    reason = f"Failed to merge incompatible data types {type_text(table)} and {type_text(given)}: {text}"
    return _Conflict(path, type_text(table), text, reason, "DELTA_MERGE_INCOMPATIBLE_DATATYPE")


def _differences(table: DataType, given: DataType, path: tuple[str, ...]) -> Iterator[str]:
    """Yield a description of each difference between the columns of rows and of a table that prevents a write."""
    if not same_form(table, given):
        if not _fits(table, given):
            yield _type_difference(table, given, path)
        return
    for each, known in twins(given, table):
        if known is None:
            yield f"column {'.'.join((*path, each.name))!r} is not in the table"
        else:
            yield from _differences(known.type, each.type, (*path, known.name))


def _type_difference(table: DataType, given: DataType, path: tuple[str, ...]) -> str:
    return f"column {'.'.join(path)!r} is {type_text(table)} in the table and {type_text(given)} in the rows"


def _merge_failure(given: StructType, conflict: _Conflict) -> str:
    name = conflict.path[0]
    twin = given.field(name)
    return f"Failed to merge fields '{name}' and '{name if twin is None else twin.name}'"


def _has_data(given: StructType, partition_columns: Sequence[str]) -> bool:
    partitions = _lower(partition_columns)
    return not partitions or any(each.name.lower() not in partitions and each.type not in VOID_TYPES for each in given.fields)


def _schemas(table: StructType, given: StructType) -> str:
    """Return both schemas for the message, if they are short."""
    if max(len(table.fields), len(given.fields)) > _SHORT_SCHEMA:
        return ""
    return "".join(
        f"\n{title} schema:\n{', '.join(f'{each.name}: {type_text(each.type)}' for each in schema.fields)}"
        for title, schema in (("Table", table), ("Data", given))
    )


def _lower(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


def _as_new_column(each: StructField) -> StructField:
    """Return a column of rows for a table: nullable, and without metadata for writers."""
    metadata = {key: value for key, value in each.metadata.items() if not key.startswith(_WRITER_METADATA)}
    return replace(each, nullable=True, metadata=metadata)
