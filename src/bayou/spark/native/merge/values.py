# SPDX-License-Identifier: Apache-2.0
"""Compute the columns of the rows that a MERGE writes: the values of each clause, cast to the table's types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.columns.generated_columns import generation_expression, has_generated_columns
from bayou.protocol.types.sql_text import parenthesised, quoted_name
from bayou.spark.backend import backend_of
from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.resolution.clause_values import AnyClauseValues
from bayou.spark.dml.merge.resolution.clauses import Action
from bayou.spark.expressions.stored_expressions import check_stored
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, names_of_output
from bayou.spark.jvm.catalyst.frames import names_of
from bayou.spark.jvm.catalyst.wide_columns import ChosenColumns, select
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations import plans
from bayou.spark.jvm.relations.own_sql import own_column
from bayou.spark.jvm.relations.parser import parsed
from bayou.spark.native.dml import statement as native
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.types.char_columns import declared_chars, with_chars
from bayou.spark.types.types import readable_schema, spark_data_type, sql_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import Jvm
    from bayou.spark.native.merge.resolution.resolved import ResolvedClause
    from bayou.spark.native.merge.target_rows import Merge


class ClauseValues(AnyClauseValues):
    """The values of one clause. A column that it does not set keeps its value."""

    def __init__(self, merge: Merge, clause: ResolvedClause, columns: Mapping[str, Column]) -> None:
        """Prepare the values.

        Args:
            columns: the table's columns by their names in lower case.
        """
        jvm = jvm_of(merge.change.target.application)
        apart = {path: nodes.column(jvm, each) for path, each in clause.apart.items()}
        super().__init__(merge.change, clause.assignments, apart, evolves=merge.resolution.evolves)
        self._columns = columns

    def _existing(self, path: tuple[str, ...]) -> Column:
        value = self._columns[path[0].lower()]
        for name in path[1:]:
            value = value.getField(name)
        return value


def check_values(merge: Merge) -> None:
    """Check that values fit their columns, even if no row falls under their clause (see `Statement.check_values`). Runs no job.

    Raises:
        SchemaMismatchError: the fields of a struct differ from its column's.
    """
    target, schema = merge.change.target, readable_schema(merge.resolution.schema)
    jvm = jvm_of(target.application)
    pairs = partial(catalyst.frame_of, jvm, target.spark, catalyst.crossed(jvm, target.spark, merge.resolution.sides))
    for clause in merge.resolution.clauses:
        casts = ClauseValues(merge, clause, {}).casts(schema)
        if casts:
            native.check_values(pairs, casts)


class _TableColumns(Mapping[str, Column]):
    """The table's columns by their names in lower case. Each is created on access, because most are never used."""

    def __init__(self, jvm: Jvm, output: ExpressionList, places: Mapping[str, int]) -> None:
        self._bridge = jvm
        self._output = output
        self._places = places

    def __getitem__(self, name: str) -> Column:
        return nodes.column(self._bridge, self._output[self._places[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class WrittenColumns:
    """Computes the rows that a MERGE writes from the join of the table and the source."""

    def __init__(self, merge: Merge, clauses: Iterable[int], left_out: Iterable[str] = ()) -> None:
        """Prepare the columns.

        Args:
            clauses: the numbers of the clauses whose rows are written.
            left_out: the columns, in lower case, that the write computes itself.
        """
        self._merge = merge
        jvm = jvm_of(merge.change.target.application)
        numbers = set(clauses)
        omitted = set(left_out)
        self._clauses: Sequence[ResolvedClause] = [each for each in merge.resolution.clauses if each.number in numbers]
        schema = merge.resolution.schema
        self._fields = [f for f in readable_schema(schema).fields if f.name.lower() not in omitted]
        self._table: Mapping[str, StructField] = {field.name: field for field in schema.fields}
        self._bridge = jvm
        output = plans.output(merge.resolution.sides.target)
        self._output = ExpressionList.output(jvm, output)
        self._places = {name.lower(): place for place, name in enumerate(names_of_output(jvm, output))}
        self._columns = _TableColumns(jvm, self._output, self._places)
        self._values = {each.number: ClauseValues(merge, each, self._columns) for each in self._clauses}
        self._generates = has_generated_columns(merge.change.snapshot.protocol, schema)

    def of(self, joined: DataFrame, *, copies: bool, auxiliary: Sequence[Column] = ()) -> DataFrame:
        """Return the rows to write, with the table's columns.

        Args:
            joined: joined rows, with the column `ACTION`.
            copies: whether some of them are copied without a new value.
            auxiliary: further columns, computed from the joined rows.
        """
        columns = ChosenColumns(self._bridge, joined.sparkSession)
        matches: dict[int, int] = {}
        for field in self._fields:
            self._add(field, columns, matches, copies=copies)
        computed = {field.name: numbers for field in self._fields if (numbers := self._computing(field))}
        if not computed:
            return columns.selected(joined, auxiliary)
        # Generated columns are computed in a second projection, because they depend on the new values.
        rows = columns.selected(joined, [*auxiliary, F.col(ACTION)])
        rows = with_chars(backend_of(rows.sparkSession), rows, declared_chars((self._table[f.name], f.name) for f in self._fields))
        new = (self._recomputed(field, computed[field.name]) if field.name in computed else (field.name,) for field in self._fields)
        return select(self._bridge, rows, [*new, *((name,) for name in names_of(rows)[len(self._fields) : -1])])

    def changed_by(self, clauses: Iterable[int]) -> dict[str, Column]:
        """Return the old values of the columns that some clauses change, by the names of the columns."""
        numbers = set(clauses)
        assigned = {name for each in self._clauses if each.number in numbers for name in each.assigned}
        changed = (f for f in self._fields if f.name.lower() in assigned or not numbers.isdisjoint(self._computing(f)))
        return {field.name: self._columns[field.name.lower()] for field in changed}

    def _add(self, field: StructField, columns: ChosenColumns, matches: dict[int, int], *, copies: bool) -> None:
        """Add a column: the value of the clause that a row falls under, as CASE WHEN over the clauses.

        Args:
            columns: receives the column. A position in it identifies an expression.
            matches: the positions of the conditions "the row falls under clause n", by n. All columns share them.
            copies: whether some rows keep their values.
        """
        values = [(clause.number, self._value(clause, field, columns)) for clause in self._clauses]
        new = [(number, value) for number, value in values if value is not None]
        if copies or len(new) < len(values) or not new:
            otherwise = columns.place(self._output, self._places[field.name.lower()])
        else:  # every row gets a new value, so the last clause needs no condition
            otherwise = new.pop()[1]
        for number, _ in new:
            if number not in matches:
                matches[number] = columns.given(F.expr(f"{ACTION} = {number}"))
        columns.add(field.name, otherwise, [(matches[number], value) for number, value in new])

    def _value(self, clause: ResolvedClause, field: StructField, columns: ChosenColumns) -> int | None:
        """Return the position of the value that a clause assigns to a column; None if the clause does not change the column."""
        values = self._values[clause.number]
        if field.name.lower() in values.names:
            return values.of(field, columns)
        return columns.given(self._default(field)) if clause.action is Action.INSERT else None

    def _default(self, field: StructField) -> Column:
        """Return the value of a column in inserted rows whose clause does not assign it: its default, or NULL."""
        default = self._table[field.name].metadata.get(CURRENT_DEFAULT)
        if not isinstance(default, str):
            return F.lit(None).cast(spark_data_type(field))
        self._check(default, ExpressionKind.COLUMN_DEFAULT, f"the default of column {field.name!r}")
        return own_column(self._merge.change.target.spark, parenthesised(default)).cast(spark_data_type(field))

    def _computing(self, field: StructField) -> list[int]:
        """Return the numbers of the clauses whose rows need a generated column computed: they do not assign it.

        Empty for other columns.
        """
        text = generation_expression(self._table[field.name]) if self._generates else None
        if text is None:
            return []
        self._check(text, ExpressionKind.GENERATED_COLUMN, f"the generated column {field.name!r}")
        return [each.number for each in self._clauses if field.name.lower() not in each.assigned]

    def _recomputed(self, field: StructField, numbers: Sequence[int]) -> str:
        """Return the SQL of a generated column. It is computed in rows of the clauses `numbers`, and kept in other rows."""
        name, text = quoted_name(field.name), generation_expression(self._table[field.name]) or "null"
        return f"if({is_one_of(numbers)}, cast({parenthesised(text)} as {sql_type(field.type)}), {name}) as {name}"

    def _check(self, text: str, kind: ExpressionKind, of: str) -> None:
        target, snapshot = self._merge.change.target, self._merge.change.snapshot
        check_stored(
            parsed(jvm_of(target.application), java_session(target.spark), text),
            kind,
            snapshot.schema,
            of=of,
            table=snapshot.table_uri,
            version=snapshot.version,
        )
