# SPDX-License-Identifier: Apache-2.0
"""Rows that are written again, and beside them the rows that tell a change data feed what became of them.

One job writes both: a row becomes as many rows as there are images of it, each marked as data or as a change. The files of the
two are apart by a leading partition column. Source: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.log.change_feed import CHANGE_TYPE
from bayou.protocol.sql_text import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

FATE: Final = "__bayou_fate"
"""The column that says what becomes of a row, by the numbers of `Fate`."""
IS_CHANGE: Final = "__bayou_is_change"
"""The column that says whether a row is for the change data feed, and not for the table."""
_IMAGE: Final = "__bayou_image"
_DATA, _BEFORE, _AFTER, _GONE, _NEW = range(5)
_TYPES: Final = {_BEFORE: "update_preimage", _AFTER: "update_postimage", _GONE: "delete", _NEW: "insert"}


class Fate(IntEnum):
    """What becomes of a row."""

    KEPT = 0
    """It is written again as it was; the feed does not know of it."""
    UPDATED = 1
    DELETED = 2
    INSERTED = 3


_IMAGES: Final = {
    Fate.KEPT: (_DATA,),
    Fate.UPDATED: (_DATA, _BEFORE, _AFTER),
    Fate.DELETED: (_GONE,),
    Fate.INSERTED: (_DATA, _NEW),
}


@dataclass(frozen=True, slots=True)
class BesideColumns:
    """The columns of rows to write that are none of the table's.

    Attributes:
        hidden: those that data files hold under these names.
        has_changes: whether there are `CHANGE_TYPE` and `IS_CHANGE`, and rows for the change data feed among the others.
    """

    hidden: tuple[str, ...] = ()
    has_changes: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.hidden, CHANGE_TYPE, IS_CHANGE) if self.has_changes else self.hidden


def with_changes(
    rows: DataFrame, columns: Iterable[str], *, before: Mapping[str, str] | None = None, hidden: Iterable[str] = ()
) -> DataFrame:
    """The images of some rows: as the table has them from now on, and as the change data feed tells of them.

    Args:
        rows: the rows with their new values, and `FATE`.
        columns: the table's columns.
        before: for the columns that have new values, the columns of the rows that hold the old ones.
        hidden: further columns, which the feed's rows do not have.

    Returns:
        Rows with `columns`, `hidden`, `CHANGE_TYPE`, which is NULL for rows of the table, and `IS_CHANGE`.
    """
    # With `explode`, Spark would ask of each row whether its array has elements.
    cases = " ".join(f"when {int(fate)} then array({', '.join(map(str, images))})" for fate, images in _IMAGES.items())
    images = rows.select("*", F.explode_outer(F.expr(f"case {FATE} {cases} end")).alias(_IMAGE))
    image = F.col(_IMAGE)
    old = {name.lower(): F.col(quoted_name(column)) for name, column in (before or {}).items()}
    kind = F.when(image == _BEFORE, _TYPES[_BEFORE])
    for number, name in _TYPES.items():
        kind = kind.when(image == number, name)
    return images.select(
        *(_either(name, old.get(name.lower())) for name in columns),
        *(F.when(image == _DATA, F.col(quoted_name(name))).alias(name) for name in hidden),
        kind.alias(CHANGE_TYPE),
        (image != _DATA).alias(IS_CHANGE),
    )


def _either(name: str, old: Column | None) -> Column:
    new = F.col(quoted_name(name))
    return new if old is None else F.when(F.col(_IMAGE).isin(_BEFORE, _GONE), old).otherwise(new).alias(name)
