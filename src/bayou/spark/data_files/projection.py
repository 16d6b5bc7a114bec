# SPDX-License-Identifier: Apache-2.0
"""Prepare the rows of a write for the files: align and complete the columns, check constraints, use physical names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.constraints import ConstraintKind
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.columns.generated_columns import columns_to_compute, generation_expression
from bayou.protocol.columns.identity_columns import generation_sql, identity_columns, row_number_sql
from bayou.protocol.types.sql_text import column_sql, parenthesised, quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.data_files.carried_rows import NOTHING_CARRIED, CarriedRows
from bayou.spark.data_files.constraint_evaluation import RowRule, observing
from bayou.spark.data_files.partitioning import folder_text
from bayou.spark.data_files.proven_constraints import NOTHING_PROVEN, ProvenRules, proven_rules
from bayou.spark.expressions.stored_expressions import check_stored
from bayou.spark.read.change_rows import ROW_ACTION, AuxiliaryColumns, RowAction, with_changes
from bayou.spark.types.alignment import AlignedColumn, aligned, cast_sql, same_names_and_types, selected
from bayou.spark.types.char_columns import declared_chars, with_chars
from bayou.spark.types.types import physical_field, readable_schema, spark_data_type, sql_type, stored_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.columns.constraints import Constraint
    from bayou.protocol.types.schema import StructField
    from bayou.spark.backend import Backend
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.text.parsed_expression import ParsedExpression

NO_AUXILIARY = AuxiliaryColumns()
"""The auxiliary columns of rows that have only the table's columns."""


@dataclass(frozen=True, slots=True)
class ProjectedRows:
    """Rows that are ready to be written.

    Attributes:
        frame: the rows, with columns in the table's order and partition values as names of folders.
        rules: the rules that the rows must satisfy.
        proven: the rules that are checked by the statistics of the files.
        observed: the rules that an observation of `frame` checks: all others.
        generated_identities: the identity columns whose numbers are generated here.
        has_changes: whether the rows include rows of the change data feed, as marked by `with_changes`.
    """

    frame: DataFrame
    rules: tuple[RowRule, ...]
    proven: ProvenRules
    observed: tuple[RowRule, ...]
    generated_identities: tuple[str, ...] = ()
    has_changes: bool = False


class Projection:
    """Prepares the rows of one write for the files."""

    def __init__(
        self,
        backend: Backend,
        frame: DataFrame,
        target: WriteTarget,
        carried: CarriedRows = NOTHING_CARRIED,
        auxiliary: AuxiliaryColumns = NO_AUXILIARY,
    ) -> None:
        """Take the rows and their target; the arguments are as in `write_new_files`."""
        self._carried = carried
        self._auxiliary = auxiliary
        self._backend = backend
        self._frame = frame
        self._target = target
        self._spark = frame.sparkSession

    def rows(self) -> ProjectedRows:
        """Return the rows ready to be written. Raise InvalidSchemaError if a stored expression must not be evaluated."""
        rules, carried = self._rules(), self._carried
        is_plain = not self._auxiliary.feeds and carried.rows is None and carried.rule is None
        proven = proven_rules(self._backend, self._frame.sparkSession, rules, self._target) if is_plain else NOTHING_PROVEN
        observed = tuple(rule for rule in rules if rule not in proven.rules)
        identities = self._identities()
        frame = self._complete(identities)
        unless = f"{ROW_ACTION} = {int(RowAction.DELETED)}" if self._auxiliary.feeds else None
        frame = observing(self._as_read(frame, observed), observed, self._target.schema, unless=unless)
        frame, auxiliary = self._with_carried(frame)
        if auxiliary.feeds:
            names = [field.name for field in stored_fields(self._target.schema.fields)]
            frame = with_changes(self._backend, frame, names, auxiliary)
        physical = self._physical(frame, auxiliary)
        has_changes = auxiliary.feeds and not auxiliary.is_for_feed
        return ProjectedRows(physical, rules, proven, observed, tuple(identities), has_changes)

    def _as_read(self, frame: DataFrame, rules: Sequence[RowRule]) -> DataFrame:
        """Return the rows with NULL for empty strings in partition columns that rules use, since they are read as NULL."""
        # An empty string and NULL both satisfy a limit of the length.
        used = (name for rule in rules if rule.constraint.kind is not ConstraintKind.CHAR_VARCHAR for name in rule.columns)
        strings = {name.lower() for name in self._target.text_partitions} & {name.lower() for name in used}
        if not strings:
            return frame
        columns = ((_unless_empty(name) if name.lower() in strings else (name,)) for name in self._backend.names_of(frame))
        return self._backend.select(frame, list(columns))

    def _with_carried(self, frame: DataFrame) -> tuple[DataFrame, AuxiliaryColumns]:
        """Return the rows with the remaining rows of replaced files, and the auxiliary columns of all."""
        carried = self._carried
        if carried.rows is None:
            return frame, self._auxiliary
        auxiliary = carried.auxiliary
        more = [F.lit(None).cast("bigint").alias(name) for name in auxiliary.hidden]
        more += [F.lit(int(RowAction.INSERTED)).alias(ROW_ACTION)] if auxiliary.feeds else []
        frame = carried.counted_new(frame.select("*", *more) if more else frame)
        return frame.union(selected(carried.rows, map(self._as_after, self._backend.names_of(frame)))), auxiliary

    def _as_after(self, name: str) -> AlignedColumn:
        """Return a column of the table's current rows with its type after the write."""
        snapshot = self._target.snapshot
        stored = self._stored(name)
        if stored is None or snapshot is None:
            return quoted_name(name), name, None
        current = readable_schema(snapshot.schema).field(name)
        text = cast_sql("null", stored.type) if current is None else aligned(quoted_name(current.name), current.type, stored.type)
        return text, name, stored.type

    def _rules(self) -> tuple[RowRule, ...]:
        rules = [] if self._carried.rule is None else [self._carried.rule]
        for constraint in self._target.constraints:
            expression = self._checked(constraint.expression, ExpressionKind.CHECK_CONSTRAINT, _described(constraint))
            names = [field.name for path in sorted(expression.columns) if (field := self._target.schema.field(path[0])) is not None]
            rules.append(RowRule(constraint, tuple(dict.fromkeys(names))))
        return tuple(rules)

    def _checked(self, text: str, kind: ExpressionKind, of: str) -> ParsedExpression:
        target = self._target
        expression = self._backend.parsed(self._spark, text)
        check_stored(expression, kind, target.schema, of=of, table=target.log.table_uri, version=target.version)
        return expression

    def _identities(self) -> dict[str, str]:
        """Return the SQL of each identity column that the rows lack. It refers to the row's number by `__bayou_row_number`."""
        columns = self._target.given
        absent = [field for field in identity_columns(self._target.schema) if columns.field(field.name) is None]
        return {field.name: generation_sql(field, "__bayou_row_number") for field in absent}

    def _complete(self, identities: dict[str, str]) -> DataFrame:
        """Return the rows with all columns of the table, in its order and under logical names."""
        target, frame = self._target, self._frame
        generated = columns_to_compute(target.schema, target.given.names) if target.generates else ()
        computed = {column.name: column for column in generated}
        stored = stored_fields(target.schema.fields)
        if self._fits(stored) and not computed and not identities:
            return self._with_chars(frame, stored)
        if identities:
            frame, partitions = self._backend.numbered(frame)
            frame = self._backend.select(frame, ["*", f"{row_number_sql(partitions)} as __bayou_row_number"])
        uncomputed = [field for field in stored if field.name not in computed]
        base = [(identities.get(field.name) or self._value(field), field.name, field.type) for field in uncomputed]
        frame = self._with_chars(selected(frame, [*base, *self._aligned_auxiliary()]), uncomputed)
        if not computed:
            return frame
        for column in computed.values():
            self._checked(column.expression, ExpressionKind.GENERATED_COLUMN, f"the generated column {column.name!r}")
        columns = (_generated(field) if field.name in computed else quoted_name(field.name) for field in stored)
        frame = self._backend.select(frame, [*columns, *map(quoted_name, self._auxiliary.given)])
        return self._with_chars(frame, [field for field in stored if field.name in computed])

    def _with_chars(self, frame: DataFrame, fields: Iterable[StructField]) -> DataFrame:
        return with_chars(self._backend, frame, declared_chars((field, field.name) for field in fields))

    def _aligned_auxiliary(self) -> Iterator[AlignedColumn]:
        """Yield the auxiliary columns. Old values get the table's types, as new values do."""
        before = {column: name for name, column in self._auxiliary.before.items()}
        for name in self._auxiliary.given:
            source, stored = self._target.given.field(before.get(name, "")), self._stored(before.get(name, ""))
            if source is None or stored is None:
                yield quoted_name(name), name, None
            else:
                yield aligned(quoted_name(name), source.type, stored.type), name, stored.type

    def _stored(self, name: str) -> StructField | None:
        return next((field for field in stored_fields(self._target.schema.fields) if field.name.lower() == name.lower()), None)

    def _fits(self, kept: Sequence[StructField]) -> bool:
        """Whether the rows already have the table's columns. Then the select is left out, since planning it costs time."""
        columns = self._target.given.fields
        return len(columns) == len(kept) and all(
            column.name == field.name and same_names_and_types(column.type, field.type)
            for column, field in zip(columns, kept, strict=True)
        )

    def _value(self, field: StructField) -> str:
        """Return the SQL of a column that is not generated: the rows' own values, the default, or NULL."""
        source = self._target.given.field(field.name)
        if source is not None:
            return aligned(quoted_name(source.name), source.type, field.type)
        default = field.metadata.get(CURRENT_DEFAULT)
        if not isinstance(default, str):
            return cast_sql("null", field.type)
        self._checked(default, ExpressionKind.COLUMN_DEFAULT, f"the default of column {field.name!r}")
        return cast_sql(parenthesised(default), field.type)

    def _physical(self, frame: DataFrame, auxiliary: AuxiliaryColumns) -> DataFrame:
        """Return the rows under physical names, with field ids and with partition values as names of folders."""
        target = self._target
        partitioned = {name.lower() for name in target.partition_by}
        stored = stored_fields(target.schema.fields)
        if not target.maps_columns and not partitioned:
            return frame
        folders = []
        if target.materializes_partitions:
            partition_fields = (target.schema.field(name) for name in target.partition_by)
            fields = [field for field in partition_fields if field is not None]
            folders = [_partition_text(field, name) for field, name in zip(fields, target.folder_columns, strict=True)]
            partitioned = set()
        others = [*map(quoted_name, auxiliary.written), *folders]
        if target.maps_columns:
            return _mapped(self._backend, frame, stored, partitioned, others)
        columns = (_partition_text(f) if f.name.lower() in partitioned else quoted_name(f.name) for f in stored)
        return self._backend.select(frame, [*columns, *others])


def _mapped(
    backend: Backend, frame: DataFrame, fields: Sequence[StructField], partitioned: set[str], others: Sequence[str]
) -> DataFrame:
    columns: list[Any] = []
    for field in fields:
        if field.name.lower() in partitioned:
            columns.append(backend.own_column(frame.sparkSession, _partition_text(field)))
            continue
        physical = physical_field(field, field, by_id=True)
        metadata = dict(physical.metadata)
        column = F.col(quoted_name(field.name))
        if not isinstance(field.type, str):  # the table's constraints check NULL, not the cast
            column = column.cast(spark_data_type(replace(physical, type=as_nullable(physical.type))))
        columns.append(column.alias(physical.name, metadata=metadata) if metadata else column.alias(physical.name))
    return frame.select(*columns, *(backend.own_column(frame.sparkSession, sql) for sql in others))


def _unless_empty(name: str) -> str:
    column = quoted_name(name)
    return f"if(length({column}) = 0, null, {column}) as {column}"


def _partition_text(field: StructField, name: str | None = None) -> str:
    kind = field.type if isinstance(field.type, str) else "string"
    return f"{folder_text(quoted_name(field.name), kind, field.name)} as {quoted_name(name or field.physical_name)}"


def _generated(field: StructField) -> str:
    text = generation_expression(field) or "null"
    return f"cast({parenthesised(text)} as {sql_type(field.type)}) as {quoted_name(field.name)}"


def _described(constraint: Constraint) -> str:
    where = f" of column {column_sql(constraint.column)}" if constraint.column else ""
    return f"the constraint {constraint.name!r}{where}"
