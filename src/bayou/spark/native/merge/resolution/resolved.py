# SPDX-License-Identifier: Apache-2.0
"""`Resolution` and `ResolvedClause`: a MERGE whose names are resolved to columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.native.dml.assigned_values import assigned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.statement import Assignment
    from bayou.spark.dml.merge.resolution.evolution import Path
    from bayou.spark.jvm.catalyst import merge as catalyst
    from bayou.spark.jvm.catalyst.expression_list import ExpressionList
    from bayou.spark.jvm.core.bridge import JavaObject


@dataclass(frozen=True, slots=True)
class ResolvedClause:
    """A clause whose names are resolved to columns.

    Attributes:
        number: its place among all clauses of the MERGE.
        condition: the condition for rows of the kind; None for all rows.
        assignments: the assigned columns and their values; empty for a DELETE.
        apart: the source's structs whose fields `*` sets one by one. The keys are paths of the table's structs, in lower case.
    """

    number: int
    kind: Kind
    action: Action
    condition: JavaObject | None
    assignments: tuple[Assignment, ...]
    apart: Mapping[Path, JavaObject]

    @property
    def assigned(self) -> frozenset[str]:
        """The top-level columns that the clause sets, in lower case."""
        return frozenset(each.path[0].lower() for each in self.assignments)

    def sets_whole(self, names: frozenset[str]) -> bool:
        """Whether the clause sets all columns of `names`, which are in lower case, as a whole and not by fields."""
        whole = {each.path[0].lower() for each in self.assignments if len(each.path) == 1}
        return names <= whole


@dataclass(frozen=True, slots=True)
class Resolution:
    """A MERGE whose names are resolved to columns.

    Attributes:
        sides: the plans of the table and the source that names were resolved against.
        condition: the condition under which a row of the table and a row of the source match.
        schema: the table's schema after the MERGE.
        evolves: whether the schema may change.
        reads_table: whether a subquery in a clause may read the table.
    """

    sides: catalyst.Sides
    condition: JavaObject
    clauses: tuple[ResolvedClause, ...]
    schema: StructType
    evolves: bool
    reads_table: bool = False

    def of_kind(self, kind: Kind) -> tuple[ResolvedClause, ...]:
        """Return the clauses of a kind, in order."""
        return tuple(each for each in self.clauses if each.kind is kind)

    @property
    def is_insert_only(self) -> bool:
        """Whether all clauses insert, so that existing rows do not change."""
        return all(each.kind is Kind.NOT_MATCHED for each in self.clauses)

    @property
    def conditions(self) -> list[JavaObject]:
        """The search condition, and the conditions of the clauses."""
        return [self.condition, *(each.condition for each in self.clauses if each.condition is not None)]

    @property
    def values(self) -> list[ExpressionList]:
        """The values of each clause that assigns values."""
        return [assigned(each.assignments[0]) for each in self.clauses if each.assignments]
