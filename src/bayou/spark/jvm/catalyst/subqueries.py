# SPDX-License-Identifier: Apache-2.0
"""What the subqueries of expressions read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.jvm.catalyst.settled import LITERAL_ROWS, file_index_of, projected

if TYPE_CHECKING:
    from bayou.spark.jvm.catalyst.expression_list import ExpressionList
    from bayou.spark.jvm.core.bridge import Jvm

_FILE_INDEXES = frozenset({"InMemoryFileIndex", "CatalogFileIndex"})
"""Spark's own lists of files."""


@dataclass(frozen=True, slots=True)
class SubqueryReads:
    """Where the rows of subqueries are from, beside literal ones.

    Attributes:
        tables: the requests that Delta tables stand for, as JSON (see `row_changes.table_of`).
        roots: the folders and files that are read as they are, as Hadoop has their URIs.
    """

    tables: tuple[str, ...]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, jvm: Jvm, values: ExpressionList) -> SubqueryReads | None:
        """The reads of the subqueries in resolved expressions; None where one of them is from elsewhere.

        Rows that were computed before may be anybody's, as those of a cache, of a checkpoint, or of an RDD.
        """
        tables: list[str] = []
        roots: list[str] = []
        for plan in jvm.list_of(projected(jvm, values).subqueriesAll()):
            for leaf in jvm.list_of(plan.collectLeaves()):
                kind = leaf.getClass().getSimpleName()
                if kind == "LogicalRelation" and leaf.relation().getClass().getName() == "bayou.DeltaTable":
                    tables.append(str(leaf.relation().location().table()))
                elif kind == "LogicalRelation" and file_index_of(leaf.relation()) in _FILE_INDEXES:
                    roots += str(leaf.relation().location().rootPaths().mkString("\0")).split("\0")
                elif kind not in LITERAL_ROWS:
                    return None
        return cls(tuple(tables), tuple(roots))
