# SPDX-License-Identifier: Apache-2.0
"""Expand rows that are rewritten into their images in the table and in the change data feed.

If finding the rows twice would take long or could have different results, one job writes the images of the table and of the
feed, each marked as data or as a change. A leading partition column separates their files, and Spark's writer then makes every
row twice. Otherwise a separate job writes the feed's images, and reads only the rows that change.
Source: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
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

ROW_ACTION: Final = "__bayou_row_action"
"""The column with what happens to a row, a number of `RowAction`."""
IS_CHANGE: Final = "__bayou_is_change"
"""The column that marks rows of the change data feed, as opposed to rows of the table."""
_IMAGE: Final = "__bayou_image"
_IMAGE_NAME: Final = "__bayou_image_name"


class RowAction(IntEnum):
    """What happens to a row."""

    KEPT = 0
    """It is rewritten unchanged, and is not in the feed."""
    UPDATED = 1
    DELETED = 2
    INSERTED = 3


class _Image(IntEnum):
    """What a written row shows."""

    DATA = 0
    PREIMAGE = 1
    DELETE = 2
    POSTIMAGE = 3
    INSERT = 4


_CHANGE_TYPES: Final[Mapping[_Image, str]] = {
    _Image.PREIMAGE: "update_preimage",
    _Image.DELETE: "delete",
    _Image.POSTIMAGE: "update_postimage",
    _Image.INSERT: "insert",
}
"""The `_change_type` of each image in the feed."""
_HAS_OLD_VALUES: Final = (_Image.PREIMAGE, _Image.DELETE)
# A row has at most one image of each of these: in the table, in the feed before the change, in the feed after it.
_IMAGES: Final[tuple[Mapping[RowAction, _Image], ...]] = (
    {RowAction.KEPT: _Image.DATA, RowAction.UPDATED: _Image.DATA, RowAction.INSERTED: _Image.DATA},
    {RowAction.UPDATED: _Image.PREIMAGE, RowAction.DELETED: _Image.DELETE},
    {RowAction.UPDATED: _Image.POSTIMAGE, RowAction.INSERTED: _Image.INSERT},
)


@dataclass(frozen=True, slots=True)
class AuxiliaryColumns:
    """The auxiliary columns of rows to write.

    Attributes:
        hidden: those that data files hold under these names.
        feeds: whether rows have `ROW_ACTION`, and rows of the change data feed are written too.
        before: if it feeds, the columns with the old values, by the columns that have new values.
        is_for_feed: whether it feeds, and the rows of the table are written elsewhere. Nothing is hidden in these rows.
    """

    hidden: tuple[str, ...] = ()
    feeds: bool = False
    before: Mapping[str, str] = field(default_factory=dict)
    is_for_feed: bool = False

    @property
    def given(self) -> tuple[str, ...]:
        """Return the auxiliary columns before `with_changes`."""
        return (*self.hidden, ROW_ACTION, *self.before.values()) if self.feeds else self.hidden

    @property
    def written(self) -> tuple[str, ...]:
        """Return the auxiliary columns after `with_changes`."""
        if not self.feeds:
            return self.hidden
        return (CHANGE_TYPE,) if self.is_for_feed else (*self.hidden, CHANGE_TYPE, IS_CHANGE)


def with_changes(jvm: Jvm, rows: DataFrame, columns: Iterable[str], auxiliary: AuxiliaryColumns) -> DataFrame:
    """Return the images of some rows: those of the table, unless only the feed is written, and those of the feed.

    Args:
        rows: the rows with their new values.

    Returns:
        Rows with `columns`, the hidden columns (NULL in rows of the feed), `CHANGE_TYPE` (NULL in rows of the table) and
        `IS_CHANGE`. If only the feed is written, rows with `columns` and `CHANGE_TYPE`.
    """
    images = {f"{_IMAGE}{n}": each for n, each in enumerate(_IMAGES[1:] if auxiliary.is_for_feed else _IMAGES)}
    marked = select(jvm, rows, ["*", *(f"{_chosen(ROW_ACTION, each)} as {name}" for name, each in images.items())])
    found = marked.unpivot("*", [*images], _IMAGE_NAME, _IMAGE).where(f"{_IMAGE} is not null")
    old = {name.lower(): column for name, column in auxiliary.before.items()}
    of_table = f"{_IMAGE} = {int(_Image.DATA)}"
    made: list[str | tuple[str]] = [_either(name, old.get(name.lower())) for name in columns]
    made += [f"case when {of_table} then {quoted_name(name)} end as {quoted_name(name)}" for name in auxiliary.hidden]
    made += [f"{_chosen(_IMAGE, _CHANGE_TYPES)} as {CHANGE_TYPE}"]
    made += [] if auxiliary.is_for_feed else [f"not ({of_table}) as {IS_CHANGE}"]
    return select(jvm, found, made)


def _chosen(of: str, values: Mapping[Any, str | int]) -> str:
    """Return SQL that maps the values of a column to others, or to NULL."""
    texts = ((int(each), f"'{value}'" if isinstance(value, str) else int(value)) for each, value in values.items())
    return f"case {of} {' '.join(f'when {each} then {value}' for each, value in texts)} end"


def _either(name: str, old: str | None) -> str | tuple[str]:
    if old is None:
        return (name,)
    is_old = " or ".join(f"{_IMAGE} = {int(each)}" for each in _HAS_OLD_VALUES)
    return f"case when {is_old} then {quoted_name(old)} else {quoted_name(name)} end as {quoted_name(name)}"
