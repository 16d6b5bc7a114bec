# SPDX-License-Identifier: Apache-2.0
"""Find the relations that may stand in place of a view of them: each request that has them gets the rows of the view."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.names import path_in
from bayou.spark.portable.requests.messages import replace_relations, texts_with_queries
from bayou.spark.portable.text.queries import read_query
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from pyspark.sql.connect import proto

_KIND: Final = "rel_type"
_PLAIN: Final = frozenset(
    {"filter", "project", "subquery_alias", "with_columns", "with_columns_renamed", "drop", "join", "hint", "sort"}
    | {"repartition", "repartition_by_expression"}
)
"""The relations that compute rows of rows, and that conditions may be moved through."""
_SEEDED: Final = re.compile(
    rb"(?:^|[^a-z0-9_])(?:rand|randn|random|randstr|uniform|uuid|shuffle|tablesample|monotonically_increasing_id)(?![a-z0-9_])"
)
"""The functions and clauses to which the server gives a seed when it analyses them, or that number the rows."""


def is_plain(relation: proto.Relation) -> bool:
    """Whether a relation consists of reads of Delta tables by path, and of what always gives the same rows of them.

    A view of another source keeps the list of its files, and the name of a view may mean another view later.
    """
    if _SEEDED.search(relation.SerializeToString(deterministic=True).lower()) or texts_with_queries(relation):
        return False

    def is_other(each: proto.Relation) -> bool:
        kind = each.WhichOneof(_KIND)
        if kind == "read":
            return not _reads_delta(each.read)
        return not _reads_paths(each.sql.query) if kind == "sql" else kind not in _PLAIN

    return not replace_relations(relation, is_other)


def _reads_delta(read: proto.Read) -> bool:
    if read.is_streaming:
        return False
    if read.HasField("named_table"):
        return path_in(read.named_table.unparsed_identifier) is not None
    return read.data_source.format.lower() == "delta"


def _reads_paths(text: str) -> bool:
    """Whether a query reads nothing but tables by path."""
    try:
        query = read_query(text)
    except UnreadableTextError:
        return False
    return not query.calls and all(table.path is not None for table in query.tables)
