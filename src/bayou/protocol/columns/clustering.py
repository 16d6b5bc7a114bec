# SPDX-License-Identifier: Apache-2.0
"""The columns that OPTIMIZE clusters a table's rows by, and how the log keeps them.

The log keeps physical names, so that a rename changes nothing. Sources: PROTOCOL.md, "Clustered Table"; delta-spark's
`ClusteringMetadataDomain`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from bayou.errors import failed
from bayou.protocol.actions.actions import DomainMetadata
from bayou.protocol.stats.file_stats import parse_column_list
from bayou.protocol.types.schema import DataType, StructField, StructType
from bayou.protocol.types.sql_text import quoted_name

ClusteringColumns: TypeAlias = tuple[tuple[str, ...], ...]
"""Columns in their order, each as the names that lead to it."""

CLUSTERING: Final = "clustering"
"""The table feature."""
CLUSTERING_DOMAIN: Final = "delta.clustering"
"""The domain that holds the columns' physical names."""

# The names that Spark shows without backticks: others, and those of digits alone, have them.
_PLAIN_NAME: Final = re.compile(r"(?![0-9]+$)[a-zA-Z0-9_]+")


def parse_columns(texts: Sequence[str]) -> ClusteringColumns:
    """Columns from one text for each: names with dots between them, in backticks where they need it.

    Raises:
        InvalidOptionError: a text is not the path of one column.
    """
    return tuple(_one_column(text) for text in texts)


def names_of(columns: ClusteringColumns) -> list[str]:
    """The columns as Spark shows them: dots between names, backticks around those that are no identifiers."""
    return [".".join(part if _PLAIN_NAME.fullmatch(part) else quoted_name(part) for part in path) for path in columns]


def clustering_domain(columns: ClusteringColumns, schema: StructType) -> DomainMetadata:
    """The action that makes these the table's clustering columns, as delta-spark writes it.

    Args:
        columns: the logical paths of columns that the table has; none where it is clustered by nothing.
    """
    physical = [[field.physical_name for field in fields_on(path, schema) or ()] for path in columns]
    document = {"clusteringColumns": physical, "domainName": CLUSTERING_DOMAIN}
    return DomainMetadata(CLUSTERING_DOMAIN, json.dumps(document, separators=(",", ":"), ensure_ascii=False))


def physical_columns(domains: Mapping[str, DomainMetadata]) -> ClusteringColumns | None:
    """The physical paths of a table's clustering columns; None where it has no such domain, or one that cannot be read."""
    domain = domains.get(CLUSTERING_DOMAIN)
    if domain is None or domain.removed:
        return None
    try:
        return tuple(tuple(map(str, path)) for path in json.loads(domain.configuration)["clusteringColumns"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def logical_columns(physical: ClusteringColumns, schema: StructType) -> ClusteringColumns:
    """The logical paths for physical ones; a path that the schema does not have stays as it is."""
    return tuple(_logical(path, schema) or path for path in physical)


def fields_on(path: tuple[str, ...], schema: StructType) -> list[StructField] | None:
    """The fields that a logical path leads to, through structs, or None where it leads nowhere."""
    found: list[StructField] = []
    kind: DataType = schema
    for name in path:
        field = kind.field(name) if isinstance(kind, StructType) else None
        if field is None:
            return None
        found.append(field)
        kind = field.type
    return found


def _one_column(text: str) -> tuple[str, ...]:
    paths = parse_column_list(text)
    if len(paths) != 1:
        raise failed("PARSE_SYNTAX_ERROR/clustering-column", column=text, option="clusterBy")
    return paths[0]


def _logical(physical: tuple[str, ...], schema: StructType) -> tuple[str, ...] | None:
    if not physical:
        return None
    field = next((each for each in schema.fields if each.physical_name.lower() == physical[0].lower()), None)
    if field is None:
        return None
    if len(physical) == 1:
        return (field.name,)
    inner = _logical(physical[1:], field.type) if isinstance(field.type, StructType) else None
    return None if inner is None else (field.name, *inner)
