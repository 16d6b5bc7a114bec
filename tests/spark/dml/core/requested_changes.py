# SPDX-License-Identifier: Apache-2.0
"""Changes that are asked of a table: as functions of it, and as statements with `{t}` for it."""

from __future__ import annotations

import bayou
from bayou import DeltaTable


def saved(query, mode="append", partition_by=(), **options):
    """A query's rows, saved into the table."""

    def save(table):
        frame = table.toDF().sparkSession.sql(query)
        bayou.write(frame, table._path, mode=mode, partition_by=list(partition_by), **options)

    return save


def appended(query):
    """A query's rows, appended to the table by its name."""
    return lambda table: table.toDF().sparkSession.sql(query).writeTo(f"delta.`{table._path}`").append()


def merged(source, *clauses, on="t.id = s.id"):
    return f"merge into {{t}} t using ({source}) s on {on} {' '.join(clauses)}"


ONE = "select 1L id"
"""A source of one row."""


def builder(table, how):
    return getattr(DeltaTable, how)(table.toDF().sparkSession).location(table._path)
