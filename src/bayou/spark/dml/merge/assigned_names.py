# SPDX-License-Identifier: Apache-2.0
"""Which columns the clauses of a MERGE set that may change the schema: the table's, else those that the source brings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from bayou.protocol.schema import schema_to_json
from bayou.spark.dml.assignments import no_path
from bayou.spark.dml.merge.refusals import unresolved
from bayou.spark.expressions import path_of
from bayou.spark.jvm import merge as catalyst
from bayou.spark.jvm import nodes
from bayou.spark.jvm.row_changes import no_rows
from bayou.spark.types import as_nullable, readable_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot import Snapshot
    from bayou.protocol.schema import StructType
    from bayou.spark.dml.merge.clauses import Clause
    from bayou.spark.dml.merge.evolution import Path
    from bayou.spark.jvm.bridge import JavaObject, Jvm


_NAME_ONE = "name a column of the table, or one that the source brings without the table's name before it."


class AssignedNames:
    """Looks up what is assigned, as delta-spark does: a name of the table as it is, and where that has none, of the source."""

    def __init__(
        self,
        jvm: Jvm,
        spark: SparkSession,
        snapshot: Snapshot,
        name: tuple[str, ...],
        source: JavaObject,
        source_schema: StructType,
    ) -> None:
        """Begin.

        Args:
            jvm: the bridge.
            spark: the session.
            snapshot: the table's state.
            name: the name by which expressions may call the table; empty for none.
            source: the source's plan.
            source_schema: its schema.
        """
        self._bridge = jvm
        self._spark = spark
        self._snapshot = snapshot
        self._name = name
        self._source = source
        self._source_schema = source_schema

    def path(self, clause: Clause, key: Any) -> Path:
        """The names that lead to what is set, in the table or in what it gets; none of them is an alias.

        Args:
            clause: the clause, of rows that match or of the source's.
            key: what it sets: a name as SQL has it, or as it was parsed.

        Raises:
            SchemaMismatchError: it is a column of neither.
            UnsupportedFeatureError: it lies in an array or a map.
        """
        if isinstance(key, str) and key.isidentifier() and (self._snapshot.schema.field(key) or self._source_schema.field(key)):
            return (key,)
        name = catalyst.attribute(self._bridge, key) if isinstance(key, str) else key
        found = self._column(name)
        if found is None:
            message = f"Cannot resolve {nodes.text_of(name)} in {clause.action.value.upper()} clause"
            names = dict.fromkeys((*self._snapshot.schema.names, *self._source_schema.names))
            raise unresolved(self._snapshot, message, list(names), _NAME_ONE)
        path = path_of(str(found.toJSON()))
        if path is None:
            raise no_path(found, self._snapshot)
        return path

    def _column(self, name: JavaObject) -> JavaObject | None:
        try:
            found = catalyst.column_of(self._spark, self._table, name)
        except AnalysisException:  # a struct of the table has no such field yet
            found = None
        return catalyst.column_of(self._spark, self._source, name) if found is None else found

    @cached_property
    def _table(self) -> JavaObject:
        columns = schema_to_json(as_nullable(readable_schema(self._snapshot.schema)))
        return no_rows(self._bridge, self._spark, columns, self._name)
