# SPDX-License-Identifier: Apache-2.0
"""Run CREATE TEMPORARY VIEW and CACHE TABLE with a query over Delta tables by path.

The server would parse the query again for each use of the name, and it cannot read the paths. The view of a DataFrame has the
same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.commands.tables.caches import storage_level
from bayou.spark.portable.requests.answers import CommandAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.spark.portable.text.tables.views import TemporaryView

_DONE: Final = CommandAnswer()


def create_view(spark: SparkSession, view: TemporaryView, query: Callable[[str], DataFrame]) -> CommandAnswer:
    """Create a temporary view of a query, which follows the tables in it.

    Args:
        query: returns the rows of a query in the statement, given its text.
    """
    level = storage_level(view.level)
    rows = query(view.query.text) if view.options is None else _table(spark, view.options, view.query.text)
    if view.columns:
        rows = rows.toDF(*(name for name, _ in view.columns))
        rows = rows.select(*(_commented(name, comment) for name, comment in view.columns))
    name = quoted_name(view.name)
    if view.is_global:
        (rows.createOrReplaceGlobalTempView if view.replaces else rows.createGlobalTempView)(name)
    else:
        (rows.createOrReplaceTempView if view.replaces else rows.createTempView)(name)
    if view.caches:
        spark.catalog.cacheTable(name, *([] if level is None else [level]))
        if not view.is_lazy:
            spark.table(name).count()
    return _DONE


def _table(spark: SparkSession, options: Mapping[str, str], columns: str) -> DataFrame:
    """Return the rows of `USING delta`, whose columns may be given in parentheses."""
    reader = spark.read.format("delta").options(**options)
    return (reader.schema(columns[1:-1]) if columns else reader).load()


def _commented(name: str, comment: str | None) -> Column:
    column = F.col(quoted_name(name))
    return column if comment is None else column.alias(name, metadata={"comment": comment})
