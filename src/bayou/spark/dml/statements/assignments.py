# SPDX-License-Identifier: Apache-2.0
"""Check the assignments of an UPDATE or a MERGE clause, and cast the new values to the types of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.columns.clustering import fields_on
from bayou.protocol.columns.identity_columns import is_identity
from bayou.protocol.features.type_widening import is_widening
from bayou.protocol.types.paths import first_conflict
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.session.settings import is_on
from bayou.spark.types.alignment import same_names_and_types
from bayou.spark.types.types import spark_data_type, sql_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.backend import Backend
    from bayou.spark.dml.core.statement import Assignment, ValuePlaces

_STORE_POLICY = "spark.sql.storeAssignmentPolicy"
FOLLOWS_SESSION = "spark.databricks.delta.updateAndMergeCastingFollowsAnsiEnabledFlag"
"""If this setting is true, values are cast by `spark.sql.ansi.enabled` instead of the store policy; see docs/settings.md."""


def checked_assignments(assignments: tuple[Assignment, ...], snapshot: Snapshot) -> tuple[Assignment, ...]:
    """Return the assignments of a resolved UPDATE after some checks.

    Raises:
        SchemaMismatchError: a column is set twice, or as a whole and in part.
        InvalidSchemaError: an identity column is set.
    """
    _refuse_conflicts(assignments, snapshot)
    for each in assignments:
        field = snapshot.schema.field(each.path[0])
        if field is not None and is_identity(field):
            raise failed("DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED", at=snapshot, column=field.name)
    return assignments


def _refuse_conflicts(assignments: Sequence[Assignment], snapshot: Snapshot) -> None:
    conflict = first_conflict([tuple(name.lower() for name in each.path) for each in assignments])
    if conflict is None:
        return
    named = ", ".join(f"`{'.'.join(assignments[each].path)}`" for each in conflict)
    raise failed("DELTA_CONFLICT_SET_COLUMN", at=snapshot, columns=named, problems=(named,))


def widens(given: DataType, wanted: DataType) -> bool:
    """Return whether both types are primitive, and the first one can be widened to the second without loss."""
    return isinstance(given, str) and isinstance(wanted, str) and is_widening(given, wanted)


class NewValues:
    """The new values of an UPDATE, cast to the types of their columns.

    MERGE has a subclass for the values of a clause.
    """

    def __init__(
        self,
        backend: Backend,
        spark: SparkSession,
        assignments: Sequence[Assignment],
        snapshot: Snapshot,
        settings: Mapping[str, str],
    ) -> None:
        self._backend = backend
        self._spark = spark
        self._snapshot = snapshot
        self._by_path = {tuple(name.lower() for name in each.path): each for each in assignments}
        follows_session = is_on(settings, FOLLOWS_SESSION)
        self._policy = "" if follows_session else settings.get(_STORE_POLICY, "ANSI").upper()
        self.names = frozenset(path[0] for path in self._by_path)

    def of(self, field: StructField, chosen: ValuePlaces) -> int:
        """Return the position in `chosen` of the new value of a top-level column."""
        given = self._by_path.get((field.name.lower(),))
        if given is not None and same_names_and_types(given.type, field.type):
            return chosen.place(given.values, given.place)
        return chosen.given(self._value(field, (field.name,)))

    def casts(self, schema: StructType) -> list[Column]:
        """Return the new values that need a cast, so that impossible casts and constants that do not fit can be found.

        Raises:
            SchemaMismatchError: a struct has other fields than its column.
        """
        columns = {field.name.lower(): field for field in schema.fields}  # a table may have thousands
        casts_to_check: list[Column] = []
        for each in self._by_path.values():
            top = columns.get(each.path[0].lower())
            fields = None if top is None else fields_on(each.path, StructType((top,)))
            if fields and not same_names_and_types(each.type, fields[-1].type) and not widens(each.type, fields[-1].type):
                casts_to_check.append(self._new(each, fields[-1], each.path).alias(f"value{len(casts_to_check)}"))
        return casts_to_check

    def _new(self, assignment: Assignment, field: StructField, path: tuple[str, ...]) -> Column:
        return self._stored(assignment.column, assignment.type, field, path)

    def _value(self, field: StructField, path: tuple[str, ...]) -> Column:
        """Return the value of a column or field: the assigned value, a rebuilt struct if inner fields are set, or the old value."""
        key = tuple(name.lower() for name in path)
        assignment = self._by_path.get(key)
        if assignment is not None:
            return self._new(assignment, field, path)
        is_inside = any(each[: len(key)] == key for each in self._by_path)
        if not is_inside or not isinstance(field.type, StructType):
            return self._existing(path)
        members = [self._value(member, (*path, member.name)).alias(member.name) for member in field.type.fields]
        return self._assembled(path, F.struct(*members))

    def _assembled(self, path: tuple[str, ...], struct: Column) -> Column:  # noqa: ARG002  (for subclasses)
        """Return a struct that was rebuilt because some of its fields are set. A subclass may add a condition."""
        return struct

    def _existing(self, path: tuple[str, ...]) -> Column:
        """Return the old value of a column or field that is not set."""
        return F.col(column_sql(path))

    def _stored(self, value: Column, given: DataType, field: StructField, path: tuple[str, ...]) -> Column:
        """Return a value cast to the column's type, like Spark's store assignment. Fields of structs are matched by name.

        Args:
            given: the type of the value.
            field: the column or field that stores the value.
        """
        wanted = field.type
        if same_names_and_types(given, wanted):
            return value
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            return self._struct(value, given, wanted, path)
        if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            element = StructField("element", wanted.element_type)
            return F.transform(value, lambda each: self._stored(each, given.element_type, element, (*path, "element")))
        if isinstance(given, MapType) and isinstance(wanted, MapType):
            keys, values = StructField("key", wanted.key_type), StructField("value", wanted.value_type)
            if not same_names_and_types(given.key_type, wanted.key_type):
                value = F.transform_keys(value, lambda k, _: self._stored(k, given.key_type, keys, (*path, "key")))
            if not same_names_and_types(given.value_type, wanted.value_type):
                value = F.transform_values(value, lambda _, v: self._stored(v, given.value_type, values, (*path, "value")))
            return value
        return self._cast(value, given, wanted, path)

    def _cast(self, value: Column, given: DataType, wanted: DataType, path: tuple[str, ...]) -> Column:
        """Cast a value that is not a struct, array or map, by the session's store assignment policy."""
        if not self._policy:
            return value.cast(spark_data_type(StructField("value", wanted)))
        if self._policy == "STRICT":
            self._check_up_cast(given, wanted, path)
        is_legacy = self._policy == "LEGACY"
        return self._backend.stored_value(self._spark, value, given, wanted, column_sql(path), is_legacy=is_legacy)

    def _check_up_cast(self, given: DataType, wanted: DataType, path: tuple[str, ...]) -> None:
        """Raise SchemaMismatchError for a cast that may lose information. For the policy STRICT."""
        if self._backend.can_up_cast(given, wanted):
            return
        raise failed(
            "CANNOT_UP_CAST_DATATYPE",
            at=self._snapshot,
            column=column_sql(path),
            source_type=sql_type(given).upper(),
            target_type=sql_type(wanted).upper(),
            problems=(column_sql(path),),
        )

    def _struct(self, value: Column, given: StructType, wanted: StructType, path: tuple[str, ...]) -> Column:
        names = {field.name.lower() for field in given.fields}
        if names != {field.name.lower() for field in wanted.fields}:
            raise failed(
                "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
                at=self._snapshot,
                column=column_sql(path),
                fields=given.names,
                known=wanted.names,
                problems=(column_sql(path),),
            )
        members = []
        for field in wanted.fields:
            source = given.field(field.name)
            assert source is not None  # noqa: S101  (the names are the same)
            inner = self._stored(value.getField(source.name), source.type, field, (*path, field.name))
            members.append(inner.alias(field.name))
        return F.when(value.isNotNull(), F.struct(*members))
