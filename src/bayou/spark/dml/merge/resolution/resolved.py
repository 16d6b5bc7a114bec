# SPDX-License-Identifier: Apache-2.0
"""A MERGE whose names are columns: its clauses, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.dml.merge.resolution.clauses import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.merge.resolution.evolution import Path
    from bayou.spark.dml.statements.assignments import Assignment
    from bayou.spark.jvm.catalyst import merge as catalyst
    from bayou.spark.jvm.catalyst.expression_list import ExpressionList
    from bayou.spark.jvm.core.bridge import JavaObject


@dataclass(frozen=True, slots=True)
class ResolvedClause:
    """A clause whose names are columns.

    Attributes:
        number: its place among all clauses of the MERGE.
        kind: which rows it is about.
        action: what it does with them.
        condition: for which of them; None for all.
        assignments: what it sets.
        apart: the source's structs of which `*` sets the fields one by one, by the path of the table's, in lower case.
    """

    number: int
    kind: Kind
    action: Action
    condition: JavaObject | None
    assignments: tuple[Assignment, ...]
    apart: Mapping[Path, JavaObject]

    @property
    def assigned(self) -> frozenset[str]:
        """The top-level columns that it sets, in lower case."""
        return frozenset(each.path[0].lower() for each in self.assignments)

    def sets_whole(self, names: frozenset[str]) -> bool:
        """Whether it sets each of some columns, in lower case, as a whole and not by fields: no old value is part of a new one."""
        whole = {each.path[0].lower() for each in self.assignments if len(each.path) == 1}
        return names <= whole


@dataclass(frozen=True, slots=True)
class Resolution:
    """A MERGE whose names are columns.

    Attributes:
        sides: what they were resolved against.
        condition: when a row of the table and one of the source match.
        clauses: the clauses, in order.
        schema: the table's schema afterwards.
        evolves: whether the schema may change.
        reads_table: whether the value of a subquery is of rows of the table.
    """

    sides: catalyst.Sides
    condition: JavaObject
    clauses: tuple[ResolvedClause, ...]
    schema: StructType
    evolves: bool
    reads_table: bool = False

    def of_kind(self, kind: Kind) -> tuple[ResolvedClause, ...]:
        """The clauses about some rows, in order."""
        return tuple(each for each in self.clauses if each.kind is kind)

    @property
    def is_insert_only(self) -> bool:
        """Whether rows that are there stay as they are."""
        return all(each.kind is Kind.NOT_MATCHED for each in self.clauses)

    @property
    def deletes_all_matches(self) -> bool:
        """Whether it is the one case in which it does not matter how many rows of the source match one of the table."""
        matched = self.of_kind(Kind.MATCHED)
        return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None

    @property
    def conditions(self) -> list[JavaObject]:
        """When rows match, and every clause's condition."""
        return [self.condition, *(each.condition for each in self.clauses if each.condition is not None)]

    @property
    def values(self) -> list[ExpressionList]:
        """The values that each clause sets."""
        return [each.assignments[0].values for each in self.clauses if each.assignments]
