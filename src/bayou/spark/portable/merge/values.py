# SPDX-License-Identifier: Apache-2.0
"""Compute the columns that a MERGE writes from its joined rows: the values of each clause, cast to the table's types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.columns.generated_columns import generation_expression, has_generated_columns
from bayou.protocol.types.sql_text import parenthesised, quoted_name
from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.resolution.clause_values import AnyClauseValues
from bayou.spark.dml.merge.resolution.clauses import Action
from bayou.spark.expressions.stored_expressions import check_stored
from bayou.spark.portable.dml.statement import PortableColumns
from bayou.spark.types.char_columns import declared_chars, with_chars
from bayou.spark.types.types import readable_schema, spark_data_type, sql_type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.protocol.types.schema import StructField
    from bayou.spark.portable.merge.joins import JoinedMerge
    from bayou.spark.portable.merge.resolved import PortableClause


class ClauseValues(AnyClauseValues):
    """The values of one clause. A column that it does not set keeps its value."""

    def __init__(self, merge: JoinedMerge, clause: PortableClause) -> None:
        super().__init__(merge.change, clause.assignments, clause.apart, evolves=merge.resolution.evolves)
        self._merge = merge

    def _existing(self, path: tuple[str, ...]) -> Column:
        value = self._merge.old(path[0])
        for name in path[1:]:
            value = value.getField(name)
        return value


class WrittenColumns:
    """Computes the rows that a MERGE writes."""

    def __init__(self, merge: JoinedMerge, left_out: Collection[str] = ()) -> None:
        """Prepare the columns.

        Args:
            left_out: the columns, in lower case, that the write computes itself.
        """
        self._merge = merge
        schema = merge.resolution.schema
        self._fields = [each for each in readable_schema(schema).fields if each.name.lower() not in left_out]
        self._table: Mapping[str, StructField] = {field.name: field for field in schema.fields}
        self._generates = has_generated_columns(merge.change.snapshot.protocol, schema)

    def of_table(self, rows: DataFrame, clauses: Sequence[PortableClause], more: Sequence[Column]) -> DataFrame:
        """Return joined rows of the table with the values of the clauses that they fall under, or their old ones.

        Args:
            clauses: the clauses that update the rows.
            more: further columns after them.
        """
        columns = PortableColumns()
        values = [(clause.number, ClauseValues(self._merge, clause)) for clause in clauses]
        for field in self._fields:
            name = field.name.lower()
            old = columns.given(self._merge.old(name))
            new = [(columns.given(_falls_under(number)), each.of(field, columns)) for number, each in values if name in each.names]
            columns.add(field.name, old, new)
        return columns.selected(rows, [*more, F.col(ACTION)])

    def of_source(self, rows: DataFrame, clauses: Sequence[PortableClause], more: Sequence[Column]) -> DataFrame:
        """Return rows of the source with the values of the clauses that insert them.

        Args:
            more: further columns after them.
        """
        columns = PortableColumns()
        values = [(clause.number, ClauseValues(self._merge, clause)) for clause in clauses]
        for field in self._fields:
            missing = columns.given(self._default(field))
            new = [
                (columns.given(_falls_under(number)), each.of(field, columns))
                for number, each in values
                if field.name.lower() in each.names
            ]
            columns.add(field.name, missing, new)
        return columns.selected(rows, [*more, F.col(ACTION)])

    def generated(self, rows: DataFrame) -> DataFrame:
        """Return written rows, with generated columns computed from their new values."""
        computed = {field.name: numbers for field in self._fields if (numbers := self.computing(field))}
        if not computed:
            return rows
        backend = self._merge.change.target.application.backend
        names = backend.names_of(rows)[len(self._fields) :]
        rows = with_chars(backend, rows, declared_chars((self._table[f.name], f.name) for f in self._fields))
        new = (_recomputed(self._table[f.name], f, computed[f.name]) if f.name in computed else (f.name,) for f in self._fields)
        return backend.select(rows, [*new, *((name,) for name in names)])

    def changed_by(self, clauses: Sequence[PortableClause]) -> dict[str, Column]:
        """Return the old values of the columns that some clauses change, by the names of the columns."""
        assigned = {name for each in clauses for name in each.assigned}
        numbers = {each.number for each in clauses}
        changed = (f for f in self._fields if f.name.lower() in assigned or not numbers.isdisjoint(self.computing(f)))
        return {field.name: self._merge.old(field.name) for field in changed}

    def computing(self, field: StructField) -> list[int]:
        """Return the numbers of the clauses whose rows need a generated column computed: they do not assign it."""
        text = generation_expression(self._table[field.name]) if self._generates else None
        if text is None:
            return []
        self._check(text, ExpressionKind.GENERATED_COLUMN, f"the generated column {field.name!r}")
        clauses = (each for each in self._merge.resolution.clauses if each.action is not Action.DELETE)
        return [each.number for each in clauses if field.name.lower() not in each.assigned]

    def _default(self, field: StructField) -> Column:
        """Return the value of a column that an insert does not set: its default, or NULL."""
        default = self._table[field.name].metadata.get(CURRENT_DEFAULT)
        if not isinstance(default, str):
            return F.lit(None).cast(spark_data_type(field))
        self._check(default, ExpressionKind.COLUMN_DEFAULT, f"the default of column {field.name!r}")
        target = self._merge.change.target
        return target.application.backend.own_column(target.spark, parenthesised(default)).cast(spark_data_type(field))

    def _check(self, text: str, kind: ExpressionKind, of: str) -> None:
        target, snapshot = self._merge.change.target, self._merge.change.snapshot
        check_stored(
            target.application.backend.parsed(target.spark, text),
            kind,
            snapshot.schema,
            of=of,
            table=snapshot.table_uri,
            version=snapshot.version,
        )


def nulls(fields: Iterable[tuple[StructField, str]]) -> list[Column]:
    """Return NULL of the types of some fields, under some names."""
    return [F.lit(None).cast(spark_data_type(field)).alias(name) for field, name in fields]


def _falls_under(number: int) -> Column:
    return F.col(ACTION) == number


def _recomputed(stored: StructField, field: StructField, numbers: Sequence[int]) -> str:
    name, text = quoted_name(field.name), generation_expression(stored) or "null"
    return f"if({is_one_of(numbers)}, cast({parenthesised(text)} as {sql_type(field.type)}), {name}) as {name}"
