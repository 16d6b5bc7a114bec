# SPDX-License-Identifier: Apache-2.0
"""MERGE as tests call it: the table as `t`, the source as `s`; and all combinations of clauses, with what they mean in Python."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812
from tests.support.tables import queried

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    import bayou
    from bayou.spark.dml.core.result import RowChangeResult

Row = tuple[Any, ...]
Clauses = Sequence[tuple[Callable[..., bool], Callable[..., Row | None]]]
"""Conditions, and what each makes of a row: None for DELETE."""
TEN = "select id, id % 2 p, if(id % 5 = 0, null, id) v from range(0, 10, 1, 2)"
"""Ten rows in two files, two of them without a value."""


def make(spark: SparkSession, path: str, query: str, partition_by: Sequence[str] = (), **properties: str) -> bayou.DeltaTable:
    """A table with the rows of a query, called `t`."""
    return queried.make_table(spark, path, query, partition_by, **properties).alias("t")


def source(spark: SparkSession, query: str) -> DataFrame:
    """The rows of a query, called `s`."""
    return spark.sql(query).alias("s")


def counts(result: RowChangeResult) -> tuple[int, int, int]:
    """How many rows were updated, deleted and inserted."""
    return result.num_updated_rows, result.num_deleted_rows, result.num_inserted_rows


def model(
    table: Sequence[Row], given: Sequence[Row], *, matched: Clauses = (), inserted: Clauses = (), orphaned: Clauses = ()
) -> tuple[list[Row], tuple[int, int, int]]:
    """The same MERGE on `id` in Python: clauses are pairs of a condition and what it makes of the row, None for DELETE."""
    by_id = {row[0]: row for row in given}
    found, updated, deleted = [], 0, 0
    for row in table:
        other = by_id.get(row[0])
        for condition, change in matched if other else orphaned:
            if condition(row, other):
                made = change(row, other)
                deleted, updated = deleted + (made is None), updated + (made is not None)
                found += [] if made is None else [made]
                break
        else:
            found.append(row)
    known = {row[0] for row in table}
    new = []
    for row in given:
        if row[0] not in known:
            new += next(([change(row)] for condition, change in inserted if condition(row)), [])
    return sorted(found + new, key=repr), (updated, deleted, len(new))


def always(*_: Any) -> bool:
    """The condition of a clause that has none."""
    return True


MATCHED = {
    "none": ((), lambda builder: builder),
    "update": (
        ((always, lambda t, s: (t[0], t[1], s[2])),),
        lambda builder: builder.whenMatchedUpdate(set={"v": "s.v"}),
    ),
    "update all": (
        ((lambda t, _: t[0] % 3 > 0, lambda _, s: s),),
        lambda builder: builder.whenMatchedUpdateAll("t.id % 3 > 0"),
    ),
    "delete some, update others": (
        ((lambda t, _: t[0] % 3 == 0, lambda *_: None), (lambda t, _: t[0] % 3 == 1, lambda t, s: (t[0], s[1], t[2]))),
        lambda builder: builder.whenMatchedDelete("t.id % 3 = 0").whenMatchedUpdate("t.id % 3 = 1", {"p": F.col("s.p")}),
    ),
    "delete": (((always, lambda *_: None),), lambda builder: builder.whenMatchedDelete()),
}
"""Clauses for rows with a match: each as the model takes it, and as it is given to a MERGE."""
INSERTED = {
    "none": ((), lambda builder: builder),
    "insert": (((always, lambda s: s),), lambda builder: builder.whenNotMatchedInsertAll()),
    "insert some": (
        ((lambda s: s[0] > 11, lambda s: (s[0], 0, None)),),
        lambda builder: builder.whenNotMatchedInsert("s.id > 11", {"id": "s.id", "p": "0"}),
    ),
}
"""Clauses for rows of the source without a match."""
ORPHANED = {
    "none": ((), lambda builder: builder),
    "delete some, update others": (
        ((lambda t, _: t[0] == 0, lambda *_: None), (lambda t, _: t[0] == 1, lambda t, _: (t[0], t[1], -1))),
        lambda builder: builder.whenNotMatchedBySourceDelete("t.id = 0").whenNotMatchedBySourceUpdate("t.id = 1", {"v": "-1"}),
    ),
    "delete": (((always, lambda *_: None),), lambda builder: builder.whenNotMatchedBySourceDelete()),
}
"""Clauses for rows of the table without a match."""
SHAPES = [each for each in itertools.product(MATCHED, INSERTED, ORPHANED) if set(each) != {"none"}]
"""The names of one of each, for all combinations."""
