# SPDX-License-Identifier: Apache-2.0
"""The values of a clause of a MERGE, for all kinds of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.statements.assignments import NewValues
from bayou.spark.types.types import spark_data_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.core.statement import Assignment
    from bayou.spark.dml.merge.resolution.evolution import Path


class AnyClauseValues(NewValues):
    """The values of one clause. A column that it does not set keeps its value."""

    def __init__(self, change: Change, assignments: Sequence[Assignment], apart: Mapping[Path, Column], *, evolves: bool) -> None:
        """Prepare the values.

        Args:
            apart: the source's structs whose fields `*` sets one by one. The keys are paths of the table's structs, in lower case.
            evolves: whether the schema may change, so that a value may lack fields of its column.
        """
        target = change.target
        super().__init__(target.application.backend, target.spark, assignments, change.snapshot, change.settings)
        self._fills_missing = evolves
        self._apart = apart

    def _assembled(self, path: tuple[str, ...], struct: Column) -> Column:
        """Return a rebuilt struct. If `*` sets its fields one by one, it is NULL if it is NULL in the table and in the source."""
        source = self._apart.get(tuple(map(str.lower, path)))
        return struct if source is None else F.when(source.isNotNull() | self._existing(path).isNotNull(), struct)

    def _struct(self, value: Column, given: StructType, wanted: StructType, path: tuple[str, ...]) -> Column:
        """Return a struct cast to the column's type. With schema evolution, fields that the source lacks become NULL."""
        is_lacking = any(given.field(field.name) is None for field in wanted.fields)
        has_more = any(wanted.field(field.name) is None for field in given.fields)
        if not self._fills_missing or not is_lacking or has_more:  # extra fields are an error; they are never dropped
            return super()._struct(value, given, wanted, path)
        members = []
        for field in wanted.fields:
            source = given.field(field.name)
            if source is None:
                members.append(F.lit(None).cast(spark_data_type(field)).alias(field.name))
            else:
                inner = self._stored(value.getField(source.name), source.type, field, (*path, field.name))
                members.append(inner.alias(field.name))
        return F.when(value.isNotNull(), F.struct(*members))
