# SPDX-License-Identifier: Apache-2.0
"""The clustering columns of a table, and their domain metadata in the log.

The log has physical names, so that a rename does not change them. Sources: PROTOCOL.md, "Clustered Table"; delta-spark's
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
"""Clustering columns in order, each as a path."""

CLUSTERING: Final = "clustering"
"""The table feature."""
CLUSTERING_DOMAIN: Final = "delta.clustering"
"""The domain of the metadata."""

# The names that Spark shows without backticks, which excludes names of only digits.
_PLAIN_NAME: Final = re.compile(r"(?![0-9]+$)[a-zA-Z0-9_]+")


def parse_columns(texts: Sequence[str]) -> ClusteringColumns:
    """Parse the path of each column: names with dots between them, which may be in backticks.

    Raise InvalidOptionError if a string is not the path of one column.
    """
    return tuple(_one_column(text) for text in texts)


def names_of(columns: ClusteringColumns) -> list[str]:
    """Return the columns as Spark shows them, with dots between names, and backticks around names that need them."""
    return [".".join(part if _PLAIN_NAME.fullmatch(part) else quoted_name(part) for part in path) for path in columns]


def clustering_domain(columns: ClusteringColumns, schema: StructType) -> DomainMetadata:
    """Return the action that sets a table's clustering columns, as delta-spark writes it.

    Args:
        columns: the logical paths of existing columns; empty for CLUSTER BY NONE.
    """
    physical = [[field.physical_name for field in fields_on(path, schema) or ()] for path in columns]
    document = {"clusteringColumns": physical, "domainName": CLUSTERING_DOMAIN}
    return DomainMetadata(CLUSTERING_DOMAIN, json.dumps(document, separators=(",", ":"), ensure_ascii=False))


def physical_columns(domains: Mapping[str, DomainMetadata]) -> ClusteringColumns | None:
    """Return the physical paths of a table's clustering columns; None if it has no such domain, or it cannot be parsed."""
    domain = domains.get(CLUSTERING_DOMAIN)
    if domain is None or domain.removed:
        return None
    try:
        return tuple(tuple(map(str, path)) for path in json.loads(domain.configuration)["clusteringColumns"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def logical_columns(physical: ClusteringColumns, schema: StructType) -> ClusteringColumns:
    """Return the logical paths of physical paths, which stay as they are if the schema lacks them."""
    return tuple(_logical(path, schema) or path for path in physical)


def fields_on(path: tuple[str, ...], schema: StructType) -> list[StructField] | None:
    """Return the fields on a logical path through structs, or None if it does not exist."""
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
