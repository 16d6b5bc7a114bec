# SPDX-License-Identifier: Apache-2.0
"""What a row change needs from a resolved DELETE, UPDATE or MERGE: its expressions, and rows of the table that they apply to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import DataType, StructType
    from bayou.spark.expr import Expr
    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.scan.row_ids import RowIdColumns


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """The rows that a row change reads.

    Attributes:
        positions: their files, as positions in `Snapshot.files`.
        settings: the session's settings, which decide whether `char` columns are padded.
        with_files: whether to add the column `FILE`.
        with_numbers: whether to add the column `METADATA`.
        ids: the row id columns to add; None for none.
    """

    target: SessionTable
    snapshot: Snapshot
    positions: pa.Array
    settings: Mapping[str, str] = field(repr=False)
    with_files: bool = False
    with_numbers: bool = False
    ids: RowIdColumns | None = None


@dataclass(frozen=True, slots=True)
class SettledCondition:
    """A condition whose subqueries give the same result at every evaluation.

    Attributes:
        predicates: predicates that every row satisfies if it satisfies the condition. They are derived from the subqueries' keys.
        reads_table: whether a subquery may read the table itself.
    """

    condition: Expr
    predicates: tuple[Predicate, ...]
    reads_table: bool


class AssignedValues(Protocol):
    """The resolved values of an UPDATE, or of a clause of a MERGE. There may be thousands."""

    def column(self, place: int) -> Column:
        """Return a value as one of PySpark's columns."""
        ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Assignment:
    """A new value for a column or a nested field.

    Attributes:
        path: the path of the column or field, with the table's names.
        values: the resolved values of all assignments of the clause.
        place: the position of this assignment's value in `values`.
        type: the type of the value.
    """

    path: tuple[str, ...]
    values: AssignedValues
    place: int
    type: DataType

    @property
    def column(self) -> Column:
        """The value."""
        return self.values.column(self.place)


class ValuePlaces(Protocol):
    """Values that are passed once and used for many columns."""

    def given(self, column: Column) -> int:
        """Add a value, and return its position."""
        ...

    def place(self, values: AssignedValues, number: int) -> int:
        """Return the position of one of several values, all of which are added once."""
        ...


class NewColumns(ValuePlaces, Protocol):
    """Columns that are old or new, depending on conditions."""

    def old(self, name: str) -> int:
        """Return the position of the value that a column of the table has now."""
        ...

    def add(self, name: str, value: int, branches: Sequence[tuple[int, int]] = ()) -> None:
        """Add a column.

        Args:
            branches: positions of conditions and of their values. The first true condition decides.
        """
        ...

    def selected(self, frame: DataFrame, more: Sequence[Column] = ()) -> DataFrame:
        """Return a DataFrame with these columns, and further ones after them."""
        ...


class WatchedFiles(Protocol):
    """The files of rows that must not change while an operation reads them."""

    def changed(self) -> str | None:
        """Return what has changed, for the error; None if nothing has."""
        ...


class Statement(Protocol):
    """A resolved statement on one table."""

    @property
    def columns(self) -> StructType:
        """The table's columns when the statement was resolved."""
        ...

    @property
    def condition(self) -> Expr | None:
        """The condition for rows; None for all rows."""
        ...

    def rows(self, chosen: ChosenRows) -> DataFrame:
        """Return rows of the table that the statement's expressions apply to. Only columns that it was resolved with are read."""
        ...

    def matching_partitions(self, target: SessionTable, snapshot: Snapshot, conditions: Sequence[Expr]) -> pa.Array:
        """Return the files whose partition values satisfy all conditions, by Spark's own evaluation."""
        ...

    def settled(self, target: SessionTable, snapshot: Snapshot, condition: Expr) -> AbstractContextManager[SettledCondition]:
        """Settle the subqueries of a condition for the time of a block. Runs jobs."""
        ...

    def assignments(self, snapshot: Snapshot) -> tuple[Assignment, ...]:
        """Return the assignments of an UPDATE; empty for other statements.

        Raises:
            UnsupportedFeatureError: a field inside an array or map is set.
        """
        ...

    @property
    def values_have_subquery(self) -> bool:
        """Whether a new value contains a subquery."""
        ...

    @property
    def values_give_the_same(self) -> bool:
        """Whether all new values are the same at every evaluation, at little cost."""
        ...

    def values_may_read(self, target: SessionTable, snapshot: Snapshot) -> bool:
        """Whether subqueries in new values may read the table itself."""
        ...

    def new_columns(self, rows: DataFrame) -> NewColumns:
        """Begin a projection of rows of the statement to new values."""
        ...

    def check_values(self, rows: Callable[[], DataFrame], values: Sequence[Column]) -> None:
        """Raise the errors of new values that no row can have, such as a constant that does not fit. Runs no job on the table.

        Args:
            rows: creates rows of the statement.
        """
        ...
