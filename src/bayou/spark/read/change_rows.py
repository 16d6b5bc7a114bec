# SPDX-License-Identifier: Apache-2.0
"""Turn each row of a row change into the rows to write: its new state in the table, and its images in the change data feed.

There are two ways to write them. If computing the rows a second time is slow or could have a different result, one job writes both
kinds of rows. `IS_CHANGE` then partitions the output, so that data and change rows are in separate files. With such a column,
Spark's writer handles every row twice. Otherwise a second job writes the feed's images, and reads only the rows that change.
Source: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from bayou.log.changes.feed import CHANGE_TYPE
from bayou.protocol.types.sql_text import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    from bayou.spark.backend import Backend

ROW_ACTION: Final = "__bayou_row_action"
"""The column with the `RowAction` of a row, as a number."""
IS_CHANGE: Final = "__bayou_is_change"
"""The column that marks rows of the change data feed, as opposed to rows of the table."""
_IMAGE: Final = "__bayou_image"
_IMAGE_NAME: Final = "__bayou_image_name"


class RowAction(IntEnum):
    """The effect of a row change on one row."""

    KEPT = 0
    """The row is rewritten unchanged, because its file is rewritten. It has no change row in the feed."""
    UPDATED = 1
    DELETED = 2
    INSERTED = 3


class _Image(IntEnum):
    """The role of a row to write: a row of the table (`DATA`) or a change row of the feed."""

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
# A row has at most one image in each of these: the table, the feed before the change, the feed after the change.
_IMAGES: Final[tuple[Mapping[RowAction, _Image], ...]] = (
    {RowAction.KEPT: _Image.DATA, RowAction.UPDATED: _Image.DATA, RowAction.INSERTED: _Image.DATA},
    {RowAction.UPDATED: _Image.PREIMAGE, RowAction.DELETED: _Image.DELETE},
    {RowAction.UPDATED: _Image.POSTIMAGE, RowAction.INSERTED: _Image.INSERT},
)


@dataclass(frozen=True, slots=True)
class AuxiliaryColumns:
    """The auxiliary columns of rows to write.

    Attributes:
        hidden: the columns that data files store under these names, such as row ids, and that readers do not show.
        feeds: whether rows have `ROW_ACTION`, and change rows are written too.
        before: if `feeds`, the names of the columns with old values, by the names of the columns with new values.
        is_for_feed: whether only change rows are written, because another job writes the rows of the table. They have no hidden
            columns.
    """

    hidden: tuple[str, ...] = ()
    feeds: bool = False
    before: Mapping[str, str] = field(default_factory=dict)
    is_for_feed: bool = False

    @property
    def given(self) -> tuple[str, ...]:
        """The auxiliary columns of the rows that `with_changes` takes."""
        return (*self.hidden, ROW_ACTION, *self.before.values()) if self.feeds else self.hidden

    @property
    def written(self) -> tuple[str, ...]:
        """The auxiliary columns of the rows that `with_changes` returns."""
        if not self.feeds:
            return self.hidden
        return (CHANGE_TYPE,) if self.is_for_feed else (*self.hidden, CHANGE_TYPE, IS_CHANGE)


def with_changes(backend: Backend, rows: DataFrame, columns: Iterable[str], auxiliary: AuxiliaryColumns) -> DataFrame:
    """Expand rows into their images in the feed and, unless only the feed is written, in the table.

    Args:
        rows: the rows with their new values, and with the auxiliary columns `auxiliary.given`.
        columns: the columns of the table.

    Returns:
        Rows with `columns`, the hidden columns (NULL in rows of the feed), `CHANGE_TYPE` (NULL in rows of the table) and
        `IS_CHANGE`. If only the feed is written, rows with `columns` and `CHANGE_TYPE`.
    """
    images = {f"{_IMAGE}{n}": each for n, each in enumerate(_IMAGES[1:] if auxiliary.is_for_feed else _IMAGES)}
    marked = backend.select(rows, ["*", *(f"{_chosen(ROW_ACTION, each)} as {name}" for name, each in images.items())])
    unpivoted = marked.unpivot("*", [*images], _IMAGE_NAME, _IMAGE).where(f"{_IMAGE} is not null")
    old = {name.lower(): column for name, column in auxiliary.before.items()}
    of_table = f"{_IMAGE} = {int(_Image.DATA)}"
    selected: list[str | tuple[str]] = [_either(name, old.get(name.lower())) for name in columns]
    selected += [f"case when {of_table} then {quoted_name(name)} end as {quoted_name(name)}" for name in auxiliary.hidden]
    selected += [f"{_chosen(_IMAGE, _CHANGE_TYPES)} as {CHANGE_TYPE}"]
    selected += [] if auxiliary.is_for_feed else [f"not ({of_table}) as {IS_CHANGE}"]
    return backend.select(unpivoted, selected)


def _chosen(of: str, values: Mapping[Any, str | int]) -> str:
    """Return SQL that maps the numbers in a column to other values. A number without a value becomes NULL."""
    literals = ((int(each), f"'{value}'" if isinstance(value, str) else int(value)) for each, value in values.items())
    return f"case {of} {' '.join(f'when {each} then {value}' for each, value in literals)} end"


def _either(name: str, old: str | None) -> str | tuple[str]:
    if old is None:
        return (name,)
    is_old = " or ".join(f"{_IMAGE} = {int(each)}" for each in _HAS_OLD_VALUES)
    return f"case when {is_old} then {quoted_name(old)} else {quoted_name(name)} end as {quoted_name(name)}"
