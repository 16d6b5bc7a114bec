# SPDX-License-Identifier: Apache-2.0
"""Rows that are written again, and beside them the rows that tell a change data feed what became of them.

One job writes both: a row becomes as many rows as there are images of it, each marked as data or as a change. The files of the
two are apart by a leading partition column. Source: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.log.change_feed import CHANGE_TYPE
from bayou.protocol.sql_text import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

FATE: Final = "__bayou_fate"
"""The column that says what becomes of a row, by the numbers of `Fate`."""
IS_CHANGE: Final = "__bayou_is_change"
"""The column that says whether a row is for the change data feed, and not for the table."""
_IMAGE: Final = "__bayou_image"
_IS_THERE: Final = "__bayou_is_there"


class Fate(IntEnum):
    """What becomes of a row."""

    KEPT = 0
    """It is written again as it was; the feed does not know of it."""
    UPDATED = 1
    DELETED = 2
    INSERTED = 3


_DATA, _OLD, _NEW = "__bayou_data", "__bayou_old", "__bayou_new"
# The images of a row, and for the rows of which fates there is one; for the feed's, what it says of them.
_IMAGES: Final[Mapping[str, Mapping[Fate, str | None]]] = {
    _DATA: {Fate.KEPT: None, Fate.UPDATED: None, Fate.INSERTED: None},
    _OLD: {Fate.UPDATED: "update_preimage", Fate.DELETED: "delete"},
    _NEW: {Fate.UPDATED: "update_postimage", Fate.INSERTED: "insert"},
}


@dataclass(frozen=True, slots=True)
class BesideColumns:
    """The columns of rows to write that are none of the table's.

    Attributes:
        hidden: those that data files hold under these names.
        feeds: whether there is `FATE`, and rows for the change data feed are written beside those of the table.
        before: where it feeds, for the columns that have new values those with the old ones.
    """

    hidden: tuple[str, ...] = ()
    feeds: bool = False
    before: Mapping[str, str] = field(default_factory=dict)

    @property
    def given(self) -> tuple[str, ...]:
        """What the rows come with."""
        return (*self.hidden, FATE, *self.before.values()) if self.feeds else self.hidden

    @property
    def written(self) -> tuple[str, ...]:
        """What they have when they are written, as `with_changes` gives them."""
        return (*self.hidden, CHANGE_TYPE, IS_CHANGE) if self.feeds else self.hidden


def with_changes(rows: DataFrame, columns: Iterable[str], beside: BesideColumns) -> DataFrame:
    """The images of some rows: as the table has them from now on, and as the change data feed tells of them.

    Args:
        rows: the rows with their new values.
        columns: the table's columns.
        beside: what the rows have beside these.

    Returns:
        Rows with `columns`, those that are hidden, which the feed's rows do not have, `CHANGE_TYPE`, which is NULL for rows
        of the table, and `IS_CHANGE`.
    """
    flags = [F.col(FATE).isin(*map(int, fates)).alias(image) for image, fates in _IMAGES.items()]
    kept: list[Column | str] = [quoted_name(name) for name in rows.columns]
    images = rows.select(*kept, *flags).unpivot(kept, [*_IMAGES], _IMAGE, _IS_THERE).where(F.col(_IS_THERE))
    image = F.col(_IMAGE)
    old = {name.lower(): F.col(quoted_name(column)) for name, column in beside.before.items()}
    kind = F.lit(None).cast("string")
    for each, fates in _IMAGES.items():
        for fate, name in fates.items():
            if name is not None:
                kind = F.when((image == each) & (F.col(FATE) == int(fate)), name).otherwise(kind)
    return images.select(
        *(_either(name, old.get(name.lower())) for name in columns),
        *(F.when(image == _DATA, F.col(quoted_name(name))).alias(name) for name in beside.hidden),
        kind.alias(CHANGE_TYPE),
        (image != _DATA).alias(IS_CHANGE),
    )


def _either(name: str, old: Column | None) -> Column:
    new = F.col(quoted_name(name))
    return new if old is None else F.when(F.col(_IMAGE) == _OLD, old).otherwise(new).alias(name)
