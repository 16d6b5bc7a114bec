# SPDX-License-Identifier: Apache-2.0
"""Rows that are written again, and beside them the rows that tell a change data feed what became of them.

One job writes both: a row becomes as many rows as there are images of it, each marked as data or as a change. The files of the
two are apart by a leading partition column. Source: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

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
_IMAGE_NAME: Final = "__bayou_image_name"


class Fate(IntEnum):
    """What becomes of a row."""

    KEPT = 0
    """It is written again as it was; the feed does not know of it."""
    UPDATED = 1
    DELETED = 2
    INSERTED = 3


class _Image(IntEnum):
    """What a row that is written shows."""

    DATA = 0
    PREIMAGE = 1
    DELETE = 2
    POSTIMAGE = 3
    INSERT = 4


_TOLD: Final[Mapping[_Image, str]] = {
    _Image.PREIMAGE: "update_preimage",
    _Image.DELETE: "delete",
    _Image.POSTIMAGE: "update_postimage",
    _Image.INSERT: "insert",
}
"""What the feed says of its images."""
_HAS_OLD_VALUES: Final = (_Image.PREIMAGE, _Image.DELETE)
# A row has one image of each of these at most: the table's, the feed's of what it was, and the feed's of what it is.
_IMAGES: Final[tuple[Mapping[Fate, _Image], ...]] = (
    {Fate.KEPT: _Image.DATA, Fate.UPDATED: _Image.DATA, Fate.INSERTED: _Image.DATA},
    {Fate.UPDATED: _Image.PREIMAGE, Fate.DELETED: _Image.DELETE},
    {Fate.UPDATED: _Image.POSTIMAGE, Fate.INSERTED: _Image.INSERT},
)


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
    images = {f"{_IMAGE}{number}": _chosen(F.col(FATE), each) for number, each in enumerate(_IMAGES)}
    kept: list[Column | str] = [quoted_name(name) for name in rows.columns]
    marked = rows.select(*kept, *(column.alias(name) for name, column in images.items()))
    found = marked.unpivot(kept, [*images], _IMAGE_NAME, _IMAGE).where(F.col(_IMAGE).isNotNull())
    image = F.col(_IMAGE)
    is_old = image.isin(*map(int, _HAS_OLD_VALUES))
    old = {name.lower(): F.col(quoted_name(column)) for name, column in beside.before.items()}
    return found.select(
        *(_either(name, old.get(name.lower()), is_old) for name in columns),
        *(F.when(image == int(_Image.DATA), F.col(quoted_name(name))).alias(name) for name in beside.hidden),
        _chosen(image, _TOLD).alias(CHANGE_TYPE),
        (image != int(_Image.DATA)).alias(IS_CHANGE),
    )


def _chosen(of: Column, values: Mapping[Any, str | int]) -> Column:
    """The value for what a column is; NULL where there is none."""
    (first, value), *others = ((int(each), value if isinstance(value, str) else int(value)) for each, value in values.items())
    found = F.when(of == first, value)
    for each, further in others:
        found = found.when(of == each, further)
    return found


def _either(name: str, old: Column | None, is_old: Column) -> Column:
    new = F.col(quoted_name(name))
    return new if old is None else F.when(is_old, old).otherwise(new).alias(name)
