# SPDX-License-Identifier: Apache-2.0
"""`PortableStatement`: a DELETE or UPDATE whose expressions the server has analysed once, and the rows of its table."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import LongType, StringType
from pyspark.sql.types import StructField as SparkStructField
from pyspark.sql.types import StructType as SparkStructType

from bayou.protocol.types.char_varchar import char_lengths
from bayou.protocol.types.schema import StructField
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.dml.core.statement import SettledCondition
from bayou.spark.portable.dml.expr import PortableExpr
from bayou.spark.portable.dml.own_frames import numbered_as
from bayou.spark.portable.dml.queried_tables import may_query
from bayou.spark.portable.dml.scalar_queries import with_scalars
from bayou.spark.portable.dml.settled import Selection, with_numbers
from bayou.spark.portable.scan.exact import may_differ
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.scan.row_ids import METADATA
from bayou.spark.types.char_columns import declared_as_chars, declared_chars, padded
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.statement import AssignedValues, Assignment, ChosenRows
    from bayou.spark.expr import Expr
    from bayou.spark.read.session_table import SessionTable

_GROUP = "__bayou_group"


@dataclass(frozen=True, eq=False)
class PortableStatement:
    """An implementation of `Statement`.

    Attributes:
        columns: the table's columns when the statement was resolved.
        name: the table's alias, or an empty tuple.
        condition: the condition for rows; None for all rows.
        assigned: the assignments of an UPDATE.
        values: its values.
        selections: the rows that the condition selected, within `settled`.
        is_joined: whether the rows may be joined with other rows, which may be constants.
        numbers: the numbers of the table's own DataFrames whose columns the expressions use.
    """

    columns: StructType
    name: tuple[str, ...]
    condition: Expr | None
    assigned: tuple[Assignment, ...] = ()
    values: PortableValues = field(default_factory=lambda: PortableValues(()))
    selections: list[Selection] = field(default_factory=list, repr=False)
    is_joined: bool = False
    numbers: tuple[int, ...] = ()

    def rows(self, chosen: ChosenRows) -> DataFrame:
        """Return rows of the table under its alias."""
        if self.selections:
            rows = self.selections[-1].marked(self._rows(with_numbers(chosen)), chosen.snapshot)
            return numbered_as(named(rows, self.name), self.numbers)
        return numbered_as(self._rows(chosen), self.numbers)

    def _rows(self, chosen: ChosenRows) -> DataFrame:
        target, snapshot = chosen.target, chosen.snapshot
        schema = readable_schema(snapshot.schema)
        fields = [field for name in self.columns.names if (field := schema.field(name)) is not None]
        frame = scan_frame(
            target.spark,
            snapshot,
            chosen.positions,
            [each.name for each in fields],
            with_numbers=chosen.with_files or chosen.with_numbers,
            with_ids=chosen.ids is not None,
            rewrites=True,
            storage_options=target.options,
            exact=self.is_joined or (self.condition is not None and may_differ(cast("PortableExpr", self.condition).tree)),
        )
        declared = declared_chars((each, each.name) for each in fields)
        frame = declared_as_chars(padded(target.application.backend, frame, declared, chosen.settings), snapshot.schema)
        frame = frame if chosen.ids is None else chosen.ids.known(frame, METADATA)
        return named(frame, self.name)

    def matching_partitions(self, target: SessionTable, snapshot: Snapshot, conditions: Sequence[Expr]) -> pa.Array:
        """Return the files whose partition values satisfy all conditions: one query over the distinct values."""
        fields = [f for name in snapshot.partition_columns if (f := snapshot.schema.field(name)) is not None]
        texts = snapshot.partition_texts()
        keys = list(zip(*(texts[f.physical_name].to_pylist() for f in fields), strict=True))
        numbers: dict[tuple[str | None, ...], int] = {}
        groups = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
        if not numbers:
            return pa.array([], pa.int64())
        given = [
            SparkStructField(_GROUP, LongType()),
            *(SparkStructField(f"v{place}", StringType()) for place in range(len(fields))),
        ]
        rows = target.spark.createDataFrame([(number, *key) for key, number in numbers.items()], SparkStructType(given))
        values = [
            F.col(f"v{place}").try_cast(spark_data_type(StructField("value", f.type))).alias(f.name)
            for place, f in enumerate(fields)
        ]
        rows = numbered_as(named(rows.select(_GROUP, *values), self.name), self.numbers)
        for each in conditions:
            rows = rows.where(each.column)
        matching = [row[0] for row in rows.select(_GROUP).collect()]
        return pa.array(np.flatnonzero(np.isin(groups, matching)), pa.int64())

    @contextlib.contextmanager
    def settled(self, target: SessionTable, snapshot: Snapshot, condition: Expr) -> Iterator[SettledCondition]:
        """Put the values of scalar subqueries in their place. If others are left, select the rows once: then `rows` marks them."""
        given = cast("PortableExpr", condition)
        reads_table = may_query(snapshot.table_uri, [given.given], target.settings)
        # Spark pads a literal that is compared with a char, and not the value of a subquery.
        queries = [] if char_lengths(snapshot.schema) else [given.given]
        texts, evaluated = with_scalars(target.spark, queries, target.settings)
        text = texts[0] if texts else given.given
        found = replace(PortableExpr.of(text, given.scope), type=given.type) if evaluated else given
        predicates = (found.predicate(snapshot.schema),) if evaluated else ()
        if not found.has_subquery:
            yield SettledCondition(found, predicates, reads_table)
            return
        selection = Selection.of(self, target, snapshot, found)
        self.selections.append(selection)
        try:
            yield SettledCondition(selection.expression, predicates, reads_table)
        finally:
            self.selections.remove(selection)

    def assignments(self, snapshot: Snapshot) -> tuple[Assignment, ...]:  # noqa: ARG002  (the interface)
        """Return the assignments of an UPDATE."""
        return self.assigned

    @property
    def values_have_subquery(self) -> bool:
        """Whether a new value contains a subquery."""
        return any(each.has_subquery for each in self.values.expressions)

    @property
    def values_give_the_same(self) -> bool:
        """Whether all new values are certainly the same at every evaluation."""
        return all(each.is_steady for each in self.values.expressions)

    def values_may_read(self, target: SessionTable, snapshot: Snapshot) -> bool:
        """Whether a subquery of a new value may read the table."""
        queries = [each.given for each in self.values.expressions if each.has_subquery]
        return may_query(snapshot.table_uri, queries, target.settings)

    def new_columns(self, rows: DataFrame) -> PortableColumns:  # noqa: ARG002  (the interface)
        """Begin a projection of rows of the statement to new values."""
        return PortableColumns()

    def check_values(self, rows: Callable[[], DataFrame], values: Sequence[Column]) -> None:
        """Let the server check the types of casts. A constant that does not fit is an error once a row gets it."""
        _ = rows().select(*(value.alias(f"v{place}") for place, value in enumerate(values))).schema


@dataclass(frozen=True)
class PortableValues:
    """The values of an UPDATE."""

    expressions: tuple[PortableExpr, ...]

    def column(self, place: int) -> Column:
        """Return a value as one of PySpark's columns."""
        return self.expressions[place].column

    def __len__(self) -> int:
        return len(self.expressions)


class PortableColumns:
    """Columns of which some have new values; see `NewColumns`."""

    def __init__(self) -> None:
        self._values: list[Column] = []
        self._columns: list[Column] = []

    def given(self, column: Column) -> int:
        """Add a value, and return its position."""
        self._values.append(column)
        return len(self._values) - 1

    def place(self, values: AssignedValues, number: int) -> int:
        """Return the position of one of several values."""
        return self.given(values.column(number))

    def old(self, name: str) -> int:
        """Return the position of the value that a column of the table has now."""
        return self.given(F.col(quoted_name(name)))

    def add(self, name: str, value: int, branches: Iterable[tuple[int, int]] = ()) -> None:
        """Add a column. The first true condition decides."""
        column = self._values[value]
        for condition, new in reversed(list(branches)):
            column = F.when(self._values[condition], self._values[new]).otherwise(column)
        self._columns.append(column.alias(name))

    def selected(self, frame: DataFrame, more: Sequence[Column] = ()) -> DataFrame:
        """Return a DataFrame with these columns, and further ones after them."""
        return frame.select(*self._columns, *more)


def named(frame: DataFrame, name: tuple[str, ...]) -> DataFrame:
    """Return rows under an alias; as they are if the tuple is empty."""
    return frame.alias(name[-1]) if name else frame
