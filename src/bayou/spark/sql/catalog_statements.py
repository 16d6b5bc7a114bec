# SPDX-License-Identifier: Apache-2.0
"""Decode the messages of the Java class `bayou.Catalog` that create, replace or write named tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.columns.clustering import names_of
from bayou.protocol.types.schema import parse_schema
from bayou.spark.create.definition import TableDefinition, refused_transform
from bayou.spark.create.statement import TableStatement
from bayou.spark.types.catalog_columns import schema_of_statement
from bayou.spark.write.inserts import InsertStatement

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESERVED = ("provider", "location", "comment", "owner", "external", "is_managed_location", "collation", "table_type")
"""Spark passes clauses such as LOCATION to the catalog as these properties (`TableCatalog.RESERVED_PROPERTIES`)."""
_OPTION = "option."
_BETWEEN_TRANSFORMS, _BETWEEN_COLUMNS, _BETWEEN_PARTS = "\3", "\1", "\2"


def insert_statement(name: str, texts: Sequence[str]) -> InsertStatement:
    """Decode a write to an existing table."""
    how, condition, columns, *pairs = texts
    return InsertStatement(name, how, condition, columns, _pairs(pairs, "o"))


def table_statement(name: str, texts: Sequence[str]) -> TableStatement:
    """Decode a statement that creates or replaces a table. Raise UnsupportedFeatureError if it partitions by an expression."""
    kind, writer, schema, transforms, *pairs = texts
    partitions, clustering = _partitions(transforms, name)
    properties_of_statement = _pairs(pairs, "p")
    properties = {
        name: value
        for name, value in properties_of_statement.items()
        if name not in _RESERVED
        and not name.startswith(_OPTION)
        and (_OPTION + name not in properties_of_statement or _is_delta(name))
    }
    definition = TableDefinition(
        name=name,
        location=None if properties_of_statement.get("is_managed_location") else properties_of_statement.get("location"),
        schema=schema_of_statement(parse_schema(schema)),
        partition_by=partitions,
        cluster_by=clustering or None,
        properties=properties,
        comment=properties_of_statement.get("comment"),
        in_sql=True,
    )
    return TableStatement(definition, kind, writer, _pairs(pairs, "o"))


def _is_delta(name: str) -> bool:
    """Whether a key in the clause OPTIONS is a table property of Delta Lake."""
    return name.lower().startswith("delta.")


def _pairs(texts: Sequence[str], kind: str) -> dict[str, str]:
    return {name[1:]: value for name, value in zip(texts[::2], texts[1::2], strict=True) if name[0] == kind}


def _partitions(text: str, table: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the partition columns and the clustering columns.

    If the transform `cluster_by` has no columns, the identity transforms after it are the clustering columns. `with_clustering`
    encodes them in this way.
    """
    partitions: list[str] = []
    clustering: list[str] = []
    is_clustered = False
    for each in text.split(_BETWEEN_TRANSFORMS) if text else ():
        transform, *columns = each.split(_BETWEEN_COLUMNS)
        paths = tuple(tuple(column.split(_BETWEEN_PARTS)) for column in columns)
        if transform == "identity" and is_clustered:
            clustering += names_of(paths)
        elif transform == "identity":
            partitions += [".".join(path) for path in paths]
        elif transform == "cluster_by":
            clustering += names_of(paths)
            is_clustered = not paths
        else:
            raise refused_transform(transform, table)
    return tuple(partitions), tuple(clustering)
