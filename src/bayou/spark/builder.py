# SPDX-License-Identifier: Apache-2.0
"""Builders of new tables and of their columns, as delta-spark's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType as SparkDataType
from pyspark.sql.types import StructField as SparkField
from pyspark.sql.types import StructType as SparkStruct

from bayou.protocol.generated_columns import GENERATION_EXPRESSION
from bayou.protocol.identity_columns import identity_metadata
from bayou.protocol.identity_rules import check_definition
from bayou.protocol.schema import StructField, StructType
from bayou.protocol.schema_changes import COMMENT
from bayou.spark.application import Application
from bayou.spark.create import TableDefinition, create
from bayou.spark.errors import raised_as_pyspark
from bayou.spark.given_types import given_schema, given_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class IdentityGenerator:
    """How the numbers of an identity column go.

    Attributes:
        start: the first number.
        step: from one number to the next; not zero.
    """

    start: int = 1
    step: int = 1


class DeltaTableBuilder:
    """A table in the making. Each call changes the builder and returns it; `execute` makes the table."""

    def __init__(self, spark: SparkSession, mode: str, made: Callable[[str], Any]) -> None:
        self._spark = spark
        self._made = made
        self._mode = mode
        self._definition = TableDefinition()

    @raised_as_pyspark
    def tableName(self, identifier: str) -> DeltaTableBuilder:  # noqa: N802  (delta-spark's name)
        """Names the table: a name for the catalog, or ``delta.`/a/path` ``."""
        return self._with(name=_text(identifier, "Identifier"))

    @raised_as_pyspark
    def location(self, location: str) -> DeltaTableBuilder:
        """Puts the table's files into a folder."""
        return self._with(location=_text(location, "Location"))

    @raised_as_pyspark
    def comment(self, comment: str) -> DeltaTableBuilder:
        """Describes the table."""
        return self._with(comment=_text(comment, "Table comment"))

    @raised_as_pyspark
    def addColumn(  # noqa: N802  (delta-spark's signature)
        self,
        colName: str,  # noqa: N803
        dataType: str | SparkDataType,  # noqa: N803
        nullable: bool = True,  # noqa: FBT001, FBT002
        generatedAlwaysAs: str | IdentityGenerator | None = None,  # noqa: N803
        generatedByDefaultAs: IdentityGenerator | None = None,  # noqa: N803
        comment: str | None = None,
    ) -> DeltaTableBuilder:
        """Adds a column.

        Args:
            colName: its name.
            dataType: its type, as SQL or as PySpark has it.
            nullable: whether it may be NULL.
            generatedAlwaysAs: a SQL expression over other columns, or an identity, that gives its values.
            generatedByDefaultAs: an identity that gives its values where a writer brings none.
            comment: what it is.

        Raises:
            TypeError, ValueError: an argument is not of its kind, or both ways of generating are given.
            InvalidSchemaError: an identity column is no BIGINT.
        """
        field = _column(self._spark, colName, dataType, nullable=nullable, comment=comment)
        metadata = dict(field.metadata)
        if generatedAlwaysAs is not None and generatedByDefaultAs is not None:
            raise ValueError("generatedByDefaultAs and generatedAlwaysAs cannot both be set.")
        if isinstance(generatedAlwaysAs, str):
            metadata[GENERATION_EXPRESSION] = generatedAlwaysAs
        elif generatedAlwaysAs is not None:
            metadata |= _identity(generatedAlwaysAs, "generatedAlwaysAs", explicit=False)
        elif generatedByDefaultAs is not None:
            metadata |= _identity(generatedByDefaultAs, "generatedByDefaultAs", explicit=True)
        made = replace(field, metadata=metadata)
        check_definition(StructType((made,)), (), table=self._definition.name or self._definition.location)
        return self._add([made])

    @raised_as_pyspark
    def addColumns(self, cols: SparkStruct | list[SparkField]) -> DeltaTableBuilder:  # noqa: N802  (delta-spark's name)
        """Adds the columns of a schema."""
        fields: Any = list(cols.fields) if isinstance(cols, SparkStruct) else cols
        if not isinstance(fields, list) or not all(isinstance(each, SparkField) for each in fields):
            raise TypeError("Schema must be StructType or a list of StructField.")
        return self._add(given_schema(self._spark, fields).fields)

    @raised_as_pyspark
    def partitionedBy(self, *cols: Any) -> DeltaTableBuilder:  # noqa: N802  (delta-spark's name)
        """Partitions the table by columns."""
        return self._with(partition_by=_names(cols, "Partitioning column must be str."))

    @raised_as_pyspark
    def clusterBy(self, *cols: Any) -> DeltaTableBuilder:  # noqa: N802  (delta-spark's name)
        """Clusters the table by columns."""
        return self._with(cluster_by=_names(cols, "Clustering column must be str."))

    @raised_as_pyspark
    def property(self, key: str, value: str) -> DeltaTableBuilder:
        """Sets a property."""
        given: tuple[Any, ...] = (key, value)
        if not all(isinstance(each, str) for each in given):
            raise TypeError("Key and value of property must be string.")
        return self._with(properties={**self._definition.properties, key: value})

    @raised_as_pyspark
    def execute(self) -> Any:
        """Makes the table.

        Returns:
            The `DeltaTable`.

        Raises:
            TableExistsError: there is a table, and the builder is one of `create`.
            TableNotFoundError: there is none, and the builder is one of `replace`.
            InvalidSchemaError: no table can have these columns.
            InvalidOptionError: a property cannot be set, or neither a name nor a location is given.
        """
        return self._made(create(Application.of(self._spark), self._spark, self._definition, self._mode))

    def _with(self, **changes: Any) -> DeltaTableBuilder:
        self._definition = replace(self._definition, **changes)
        return self

    def _add(self, fields: Iterable[StructField]) -> DeltaTableBuilder:
        return self._with(schema=StructType((*self._definition.schema.fields, *fields)))


def _column(spark: SparkSession, name: str, kind: str | SparkDataType, *, nullable: bool, comment: str | None) -> StructField:
    if not isinstance(name, str):
        raise TypeError("Column name must be str.")
    if not isinstance(kind, (str, SparkDataType)):
        raise TypeError("Column data type must be str or DataType.")
    if not isinstance(nullable, bool):
        raise TypeError("Column nullable must be bool.")
    metadata = {} if comment is None else {COMMENT: _text(comment, "Column comment")}
    return StructField(name, given_type(spark, kind), nullable, metadata)


def _identity(generator: Any, argument: str, *, explicit: bool) -> dict[str, Any]:
    if not isinstance(generator, IdentityGenerator):
        raise TypeError(f"{argument} must be an IdentityGenerator{'' if explicit else ' or a str'}.")
    if generator.step == 0:
        raise ValueError("Column identity generation requires step to be non-zero.")
    return identity_metadata(generator.start, generator.step, allow_explicit_insert=explicit)


def _names(columns: tuple[Any, ...], message: str) -> tuple[str, ...]:
    found = columns[0] if len(columns) == 1 and isinstance(columns[0], (list, tuple)) else columns
    if not all(isinstance(each, str) for each in found):
        raise TypeError(message)
    return tuple(found)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str.")
    return value
