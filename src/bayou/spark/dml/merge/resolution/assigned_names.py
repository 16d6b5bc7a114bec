# SPDX-License-Identifier: Apache-2.0
"""Which columns the clauses of a MERGE set that may change the schema: the table's, else those that the source brings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException

from bayou.protocol.types.schema import schema_to_json
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.dml.merge.resolution.refusals import unresolved
from bayou.spark.dml.statements.assignments import no_path
from bayou.spark.expressions.predicates import path_of
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.row_changes import no_rows
from bayou.spark.jvm.core import nodes
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.merge.resolution.clauses import Clause
    from bayou.spark.dml.merge.resolution.evolution import Path
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


_NEXT_STEP: Final = "name a column of the table, or one that the source brings without the table's name before it."


@dataclass(frozen=True)  # without slots: it keeps what it made
class AssignedNames:
    """Looks up what is assigned, as delta-spark does: a name of the table as it is, and where that has none, of the source.

    Attributes:
        jvm: the bridge.
        spark: the session.
        snapshot: the table's state.
        name: the name by which expressions may call the table; empty for none.
        source: the source's plan.
        source_schema: its schema.
    """

    jvm: Jvm
    spark: SparkSession
    snapshot: Snapshot
    name: tuple[str, ...]
    source: JavaObject
    source_schema: StructType

    def path(self, clause: Clause, key: Any) -> Path:
        """The names that lead to what is set, in the table or in what it gets; none of them is an alias.

        Args:
            clause: the clause, of rows that match or of the source's.
            key: what it sets: a name as SQL has it, or as it was parsed.

        Raises:
            SchemaMismatchError: it is a column of neither.
            UnsupportedFeatureError: it lies in an array or a map.
        """
        if isinstance(key, str) and key.isidentifier() and (self.snapshot.schema.field(key) or self.source_schema.field(key)):
            return (key,)
        name = catalyst.attribute(self.jvm, key) if isinstance(key, str) else key
        found = self._column(name)
        if found is None:
            message = f"Cannot resolve {nodes.text_of(name)} in {clause.action.value.upper()} clause"
            names = dict.fromkeys((*self.snapshot.schema.names, *self.source_schema.names))
            raise unresolved(self.snapshot, message, list(names), _NEXT_STEP)
        path = path_of(nodes.tree_of(found))
        if path is None:
            raise no_path(found, self.snapshot)
        return path

    def _column(self, name: JavaObject) -> JavaObject | None:
        try:
            found = catalyst.column_of(self.spark, self._table, name)
        except AnalysisException:  # a struct of the table has no such field yet
            found = None
        return catalyst.column_of(self.spark, self.source, name) if found is None else found

    @cached_property
    def _table(self) -> JavaObject:
        columns = schema_to_json(as_nullable(readable_schema(self.snapshot.schema)))
        return no_rows(self.jvm, self.spark, columns, self.name)
