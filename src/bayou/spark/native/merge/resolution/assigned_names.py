# SPDX-License-Identifier: Apache-2.0
"""Resolve the names on the left of `=` in a MERGE with schema evolution: columns of the table, or new columns from the source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from bayou.protocol.types.schema import schema_to_json
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.dml.merge.resolution.refusals import unresolved
from bayou.spark.expressions.predicates import path_of
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.row_changes import no_rows
from bayou.spark.jvm.core import nodes
from bayou.spark.native.dml.assigned_values import no_path
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.merge.resolution.clauses import Clause
    from bayou.spark.dml.merge.resolution.evolution import Path
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


@dataclass(frozen=True)  # without slots, for the cached property
class AssignedNames:
    """Resolves assigned names like delta-spark: first against the table, then against the source.

    Attributes:
        name: the alias of the table in expressions, or an empty tuple.
        source: the source's plan.
    """

    jvm: Jvm
    spark: SparkSession
    snapshot: Snapshot
    name: tuple[str, ...]
    source: JavaObject
    source_schema: StructType

    def path(self, clause: Clause, key: Any) -> Path:
        """Return the path of an assigned column or field, without aliases.

        Args:
            clause: the clause; not a NOT MATCHED BY SOURCE clause.
            key: the assigned name, as SQL or parsed.

        Raises:
            SchemaMismatchError: neither the table nor the source has the column.
            UnsupportedFeatureError: the field is in an array or a map.
        """
        if isinstance(key, str) and key.isidentifier() and (self.snapshot.schema.field(key) or self.source_schema.field(key)):
            return (key,)
        name = catalyst.attribute(self.jvm, key) if isinstance(key, str) else key
        column = self._column(name)
        if column is None:
            message = f"Cannot resolve {nodes.text_of(name)} in {clause.action.value.upper()} clause"
            names = dict.fromkeys((*self.snapshot.schema.names, *self.source_schema.names))
            raise unresolved(self.snapshot, message, list(names))
        path = path_of(nodes.tree_of(column))
        if path is None:
            raise no_path(column, self.snapshot)
        return path

    def _column(self, name: JavaObject) -> JavaObject | None:
        try:
            column = catalyst.column_of(self.spark, self._table, name)
        except AnalysisException:  # a struct of the table lacks the field
            column = None
        return catalyst.column_of(self.spark, self.source, name) if column is None else column

    @cached_property
    def _table(self) -> JavaObject:
        columns = schema_to_json(as_nullable(readable_schema(self.snapshot.schema)))
        return no_rows(self.jvm, self.spark, columns, self.name)
