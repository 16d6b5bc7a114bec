# SPDX-License-Identifier: Apache-2.0
"""Resolve the conditions and values of DELETE and UPDATE: assigned names here, all else by one analysis of the server."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import StructType as SparkStructType

from bayou.errors import failed
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.data_files.constraint_evaluation import REPLACE_WHERE
from bayou.spark.dml.core.condition import check_condition
from bayou.spark.dml.core.statement import Assignment
from bayou.spark.dml.core.target import explaining_unknown_columns, table_columns
from bayou.spark.dml.statements.defaults import default_of
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.portable.dml.constants import check_constants
from bayou.spark.portable.dml.expr import PortableExpr, Scope
from bayou.spark.portable.dml.instants import at_one_instant
from bayou.spark.portable.dml.own_frames import explaining_on_classic, numbered_as, numbers_of
from bayou.spark.portable.dml.statement import PortableStatement, PortableValues, named
from bayou.spark.portable.text.tree import Name
from bayou.spark.user_defined_types import for_spark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.read.session_table import SessionTable

_FILE_METADATA: Final = "_metadata"
_NO_BOOLEAN: Final = "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"


class PortableResolver:
    """An implementation of `Resolver`."""

    def delete(self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], condition: Any) -> PortableStatement:
        """Return a resolved DELETE."""
        numbers = numbers_of(target, snapshot, [condition])
        resolution = StatementResolution(target, snapshot, name, numbers)
        (condition,) = resolution.at_one_instant([condition])
        where = resolution.condition("DELETE", condition, ())
        return PortableStatement(resolution.columns, name, where, is_joined=condition is None, numbers=numbers)

    def update(
        self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], condition: Any, values: Mapping[str, Any]
    ) -> PortableStatement:
        """Return a resolved UPDATE."""
        numbers = numbers_of(target, snapshot, [condition, *values.values()])
        resolution = StatementResolution(target, snapshot, name, numbers)
        paths = [resolution.path(each) for each in values]
        condition, *new = resolution.at_one_instant([condition, *values.values()])
        given = [resolution.value(path, value) for path, value in zip(paths, new, strict=True)]
        where = resolution.condition("UPDATE", condition, given)
        made = PortableValues(tuple(resolution.values))
        kinds = [each.type for each in made.expressions]
        assigned = tuple(
            Assignment(path, made, place, kind)
            for place, (path, kind) in enumerate(zip(paths, kinds, strict=True))
            if kind is not None
        )
        check_constants(target, snapshot, resolution.columns, zip(paths, made.expressions, strict=True))
        return PortableStatement(resolution.columns, name, where, assigned, made, numbers=numbers)

    def replaced(self, target: SessionTable, snapshot: Snapshot, condition: str) -> PortableStatement:
        """Return the resolved DELETE of an overwrite."""
        resolution = StatementResolution(target, snapshot, ())
        where = resolution.condition(REPLACE_WHERE, condition, ())
        check_condition(REPLACE_WHERE, where, snapshot)  # the job that writes evaluates it, where Spark allows no subquery
        return PortableStatement(resolution.columns, (), where)


RESOLVER: Final = PortableResolver()


class StatementResolution:
    """The resolution of one statement.

    Attributes:
        columns: the table's columns.
        values: the values after `condition`.
    """

    def __init__(self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], numbers: tuple[int, ...] = ()) -> None:
        """Prepare the resolution.

        Args:
            numbers: the numbers of the table's own DataFrames whose columns the expressions use.
        """
        self._target, self._snapshot, self._name, self._numbers = target, snapshot, name, numbers
        self._columns_json = table_columns(snapshot)
        self.columns = parse_schema(self._columns_json)
        self.values: list[PortableExpr] = []
        self._scope = Scope(snapshot.schema, name, target.settings, target.spark)

    def at_one_instant(self, given: Sequence[Any]) -> list[Any]:
        """Replace `now()` and similar functions in texts by literals."""
        return at_one_instant(self._target.spark, given, self._snapshot.schema, self._target.settings)

    def condition(self, operation: str, given: Any, values: Sequence[PortableExpr]) -> PortableExpr | None:
        """Return the condition after the analysis of all expressions."""
        where = None if given is None else PortableExpr.of(given, self._scope)
        expressions = [*([] if where is None else [where]), *values]
        for each in expressions:
            self._check(each)
        if not expressions:
            return None
        texts = [each.given for each in expressions]
        with explaining_on_classic(self._target.spark, self._snapshot), explaining_unknown_columns(self._snapshot, *texts):
            kinds = self._types(where, values)
        typed = [replace(each, type=kind) for each, kind in zip(expressions, kinds, strict=True)]
        self.values = typed if where is None else typed[1:]
        if where is None:
            return None
        check_condition(operation, typed[0], self._snapshot, may_query=True)
        if not typed[0].is_steady and not typed[0].has_subquery:
            # Spark refuses a condition that is not deterministic in DELETE and UPDATE, and in a join, but not in a filter.
            _ = self.no_rows().join(self._target.spark.range(1).select(), typed[0].column.isNotNull()).schema
        return replace(typed[0], constant=self._constant(typed[0]))

    def path(self, key: str) -> tuple[str, ...]:
        """Return the path of a column or of a field of a struct that is set, with the table's names.

        Raises:
            SchemaMismatchError: the table has no such column.
            UnsupportedFeatureError: it is a field in an array or a map.
        """
        tree = PortableExpr.of(key, self._scope).tree
        if not isinstance(tree, Name):
            raise self._no_path(key)
        kind: DataType = self.columns
        path: list[str] = []
        for part in self._scope.table.path_of(tree) or tree.parts:
            if not isinstance(kind, StructType):
                raise self._no_path(key) if path and not isinstance(kind, str) else self._unknown(key, self.columns)
            field = kind.field(part)
            if field is None:
                raise self._unknown(key, self.columns)
            path.append(field.name)
            kind = field.type
        return tuple(path)

    def value(self, path: tuple[str, ...], given: Any) -> PortableExpr:
        """Return a new value before its analysis. The word DEFAULT means the default of the column."""
        made = PortableExpr.of(given, self._scope)
        is_default = isinstance(made.tree, Name) and tuple(part.lower() for part in made.tree.parts) == ("default",)
        schema = self._snapshot.schema
        field = schema.field(path[0]) if is_default and len(path) == 1 and schema.field("default") is None else None
        return made if field is None else PortableExpr.of(self._default(field), self._scope)

    def _default(self, field: StructField) -> str:
        backend, snapshot = self._target.application.backend, self._snapshot
        return default_of(backend, self._target.spark, field, snapshot.schema, snapshot)

    def _check(self, each: PortableExpr) -> None:
        names = {path[0].lower() for path in each.facts.parsed.columns} if each.facts is not None else set()
        if _FILE_METADATA in names and self._snapshot.schema.field(_FILE_METADATA) is None:
            raise failed("DELTA_CANNOT_RESOLVE_COLUMN", at=self._snapshot, features=("_metadata in conditions and values",))

    def _types(self, where: PortableExpr | None, values: Sequence[PortableExpr]) -> list[DataType]:
        """Let the server analyse all expressions in one request: as parts of a condition, where only values of a row may be."""
        rows = self.no_rows()
        if where is not None and where.has_subquery:  # Spark does not resolve each subquery elsewhere
            try:
                return ["boolean", *_types_in(rows.where(where.column), values)]
            except AnalysisException as error:
                if error_class_of(error) != _NO_BOOLEAN:
                    raise
        return _types_in(rows, [*([] if where is None else [where]), *values])

    def no_rows(self) -> DataFrame:
        """Return no rows with the table's columns, under its alias."""
        schema = SparkStructType.fromJson(json.loads(for_spark(self._columns_json)))
        return numbered_as(named(self._target.spark.createDataFrame([], schema), self._name), self._numbers)

    def _constant(self, condition: PortableExpr) -> bool | None:
        """Return the value of a condition that uses no column; None for another one. Evaluates it, unless it is a literal."""
        literal = condition.literal
        if literal is not None or not condition.is_constant:
            return literal
        return bool(self._target.spark.range(1).select(condition.column).collect()[0][0])

    def _no_path(self, key: str) -> Exception:
        return failed(
            "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
            at=self._snapshot,
            column=key,
            features=("nested fields in arrays and maps",),
        )

    def _unknown(self, key: str, known: StructType) -> Exception:
        columns = ", ".join(f"`{name}`" for name in known.names)
        return failed("UNRESOLVED_COLUMN.WITH_SUGGESTION", at=self._snapshot, column=f"`{key}`", columns=columns)


def _types_in(rows: DataFrame, expressions: Sequence[PortableExpr]) -> list[DataType]:
    """Return the types of expressions over the columns of some rows."""
    columns = [each.column.alias(f"v{place}") for place, each in enumerate(expressions)]
    analysed = rows.where(F.struct(*columns).isNotNull()).select(*columns) if columns else rows.select()
    return [field.type for field in parse_schema(analysed.schema.json()).fields]
