# SPDX-License-Identifier: Apache-2.0
"""Rows that are written again, and beside them the rows that tell a change data feed what became of them.

A row becomes as many rows as there are images of it. One job writes the table's and the feed's, each marked as data or as a
change, where finding them again would take long or could give something else; their files are apart by a leading partition
column, for which Spark's writer makes every row twice. Else the feed's have a job of their own, which reads the rows that change
and no others. Source: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from bayou.log.changes.feed import CHANGE_TYPE
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.catalyst.wide_columns import select

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    from bayou.spark.jvm.core.bridge import Jvm

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
        is_for_feed: whether it feeds, and the rows of the table are written elsewhere. Nothing is hidden in these rows.
    """

    hidden: tuple[str, ...] = ()
    feeds: bool = False
    before: Mapping[str, str] = field(default_factory=dict)
    is_for_feed: bool = False

    @property
    def given(self) -> tuple[str, ...]:
        """What the rows come with."""
        return (*self.hidden, FATE, *self.before.values()) if self.feeds else self.hidden

    @property
    def written(self) -> tuple[str, ...]:
        """What they have when they are written, as `with_changes` gives them."""
        if not self.feeds:
            return self.hidden
        return (CHANGE_TYPE,) if self.is_for_feed else (*self.hidden, CHANGE_TYPE, IS_CHANGE)


def with_changes(jvm: Jvm, rows: DataFrame, columns: Iterable[str], beside: BesideColumns) -> DataFrame:
    """The images of some rows: as the table has them from now on, unless they are for the feed, and as the feed tells of them.

    Args:
        rows: the rows with their new values.

    Returns:
        Rows with `columns`, those that are hidden, which the feed's rows do not have, `CHANGE_TYPE`, which is NULL for rows
        of the table, and `IS_CHANGE`; rows for the feed with `columns` and `CHANGE_TYPE`.
    """
    images = {f"{_IMAGE}{n}": each for n, each in enumerate(_IMAGES[1:] if beside.is_for_feed else _IMAGES)}
    marked = select(jvm, rows, ["*", *(f"{_chosen(FATE, each)} as {name}" for name, each in images.items())])
    found = marked.unpivot("*", [*images], _IMAGE_NAME, _IMAGE).where(f"{_IMAGE} is not null")
    old = {name.lower(): column for name, column in beside.before.items()}
    of_table = f"{_IMAGE} = {int(_Image.DATA)}"
    made: list[str | tuple[str]] = [_either(name, old.get(name.lower())) for name in columns]
    made += [f"case when {of_table} then {quoted_name(name)} end as {quoted_name(name)}" for name in beside.hidden]
    made += [f"{_chosen(_IMAGE, _TOLD)} as {CHANGE_TYPE}"]
    made += [] if beside.is_for_feed else [f"not ({of_table}) as {IS_CHANGE}"]
    return select(jvm, found, made)


def _chosen(of: str, values: Mapping[Any, str | int]) -> str:
    """SQL for the value of what a column is; NULL where there is none."""
    texts = ((int(each), f"'{value}'" if isinstance(value, str) else int(value)) for each, value in values.items())
    return f"case {of} {' '.join(f'when {each} then {value}' for each, value in texts)} end"


def _either(name: str, old: str | None) -> str | tuple[str]:
    if old is None:
        return (name,)
    is_old = " or ".join(f"{_IMAGE} = {int(each)}" for each in _HAS_OLD_VALUES)
    return f"case when {is_old} then {quoted_name(old)} else {quoted_name(name)} end as {quoted_name(name)}"
