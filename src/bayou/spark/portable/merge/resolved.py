# SPDX-License-Identifier: Apache-2.0
"""`PortableResolution`: a MERGE whose clauses are resolved by the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayou.spark.dml.merge.resolution.clauses import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.statement import Assignment
    from bayou.spark.dml.merge.resolution.clauses import Action
    from bayou.spark.portable.dml.expr import PortableExpr


@dataclass(frozen=True)
class PortableClause:
    """A resolved clause; an implementation of `AnyClause`.

    Attributes:
        condition: the condition for rows of the kind; None for all rows.
        assignments: the assigned columns and their values; empty for a DELETE.
        reads_table: whether a value may be one of the table's.
        apart: the source's structs whose fields `*` sets one by one. The keys are paths of the table's structs, in lower case.
    """

    number: int
    kind: Kind
    action: Action
    condition: PortableExpr | None
    assignments: tuple[Assignment, ...]
    reads_table: bool
    apart: Mapping[tuple[str, ...], Column] = field(default_factory=dict)

    @property
    def assigned(self) -> frozenset[str]:
        """The top-level columns that the clause sets, in lower case."""
        return frozenset(each.path[0].lower() for each in self.assignments)

    @property
    def whole(self) -> frozenset[str]:
        """The columns that the clause sets as a whole, in lower case."""
        return frozenset(each.path[0].lower() for each in self.assignments if len(each.path) == 1)


@dataclass(frozen=True)
class PortableResolution:
    """The resolved clauses; an implementation of `AnyResolution`.

    Attributes:
        condition: the search condition.
        schema: the table's schema after the MERGE.
        evolves: whether the schema may change.
        reads_table: whether a subquery may read the table.
    """

    condition: PortableExpr
    clauses: tuple[PortableClause, ...]
    schema: StructType
    evolves: bool = False
    reads_table: bool = False

    def of_kind(self, kind: Kind) -> tuple[PortableClause, ...]:
        """Return the clauses of a kind, in order."""
        return tuple(each for each in self.clauses if each.kind is kind)

    @property
    def is_insert_only(self) -> bool:
        """Whether all clauses insert, so that existing rows do not change."""
        return all(each.kind is Kind.NOT_MATCHED for each in self.clauses)


@dataclass(frozen=True)
class GivenValues:
    """The values of a clause."""

    columns: tuple[Column, ...]

    def column(self, place: int) -> Column:
        """Return a value."""
        return self.columns[place]

    def __len__(self) -> int:
        return len(self.columns)
