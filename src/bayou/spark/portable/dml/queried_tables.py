# SPDX-License-Identifier: Apache-2.0
"""Find out whether the subqueries of a statement may read the table that it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.queries import read_query
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.read.request import TableRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bayou.spark.portable.text.queries import TableReference


def may_query(table_uri: str, given: Iterable[Any], settings: Mapping[str, str]) -> bool:
    """Whether subqueries may read the latest rows of a table. Only paths of other tables, and named versions, certainly do not.

    A name may be that of a view of the table.

    Args:
        table_uri: the table.
        given: expressions: SQL, or columns.
        settings: the session's settings.
    """
    dialect = Dialect.of(settings)
    for each in given:
        if not isinstance(each, str):
            return True
        try:
            query = read_query(each, is_query=False, dialect=dialect)
        except UnreadableTextError:
            return True
        if query.calls or any(_may_be(table, table_uri) for table in query.tables):
            return True
    return False


def _may_be(table: TableReference, table_uri: str) -> bool:
    if table.path is None:
        return True
    request = TableRequest.from_options({"path": table.path})
    is_latest = table.travel is None and request.version is None and request.timestamp is None
    # The folder of a partition is below that of the table.
    return is_latest and f"{request.path}/".startswith(f"{table_uri}/")
