# SPDX-License-Identifier: Apache-2.0
"""The result of a diff: what changed in schema, properties, protocol and domains, which files, and by which operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.report.html import facts_html

if TYPE_CHECKING:
    from bayou.log.segment.history import HistoryEntry

FILES_SCHEMA: Final = pa.schema(
    [
        ("change", pa.string()),
        ("path", pa.string()),
        ("partition", pa.string()),
        ("sizeBefore", pa.int64()),
        ("sizeAfter", pa.int64()),
        ("rowsBefore", pa.int64()),
        ("rowsAfter", pa.int64()),
    ]
)
"""The columns of `Difference.files`. Rows are live rows by the log; null if unknown, or if the side does not have the file."""

_COUNTS: Final = ("added", "removed", "changed")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a diff: a table at a version, and when that version was committed in ms since the epoch."""

    table: str
    version: int
    timestamp: int

    def to_json(self) -> dict[str, Any]:
        """Return the side as one JSON object."""
        return {"table": self.table, "version": self.version, "timestamp": self.timestamp}


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that differs.

    Attributes:
        part: what it belongs to: "schema", "metadata", "properties", "protocol" or "domains".
        name: its name, such as a column or a property.
        before: the value of the first side; None if the first side does not have it.
        after: the value of the second side; None if the second side does not have it.
    """

    part: str
    name: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """One of "added", "removed" and "changed"."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"

    def to_json(self) -> dict[str, Any]:
        """Return the change as one JSON object."""
        return {"part": self.part, "name": self.name, "change": self.kind, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two versions of a table, or between two tables.

    Attributes:
        before: the first side.
        after: the second side.
        changes: the facts that differ.
        files: the files that differ, with the columns of `FILES_SCHEMA`. A file is changed if its deletion vector differs.
        operations: the commits after the earlier version up to the later one, newest first, as far as the log holds them; empty for
            two tables.
    """

    before: Side
    after: Side
    changes: tuple[Change, ...]
    files: pa.Table
    operations: tuple[HistoryEntry, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both sides have the same facts and files."""
        return not self.changes and not self.files.num_rows

    @property
    def partitions(self) -> pa.Table:
        """The number of files that differ by partition, and how many bytes and rows more there are; null if unknown."""
        files = self.files
        columns = {"partition": files["partition"]}
        for name in _COUNTS:
            columns[name] = pc.equal(files["change"], name).cast(pa.int64())
        columns["bytes"] = pc.subtract(pc.fill_null(files["sizeAfter"], 0), pc.fill_null(files["sizeBefore"], 0))
        rows = [_rows(files, side, absent) for side, absent in (("rowsAfter", "removed"), ("rowsBefore", "added"))]
        columns["rows"] = pc.subtract(*rows)
        known = pc.ScalarAggregateOptions(skip_nulls=False)
        sums = [(name, "sum", known) for name in (*_COUNTS, "bytes", "rows")]
        found = pa.table(columns).group_by("partition").aggregate(sums).sort_by("partition")
        return found.select(["partition", *(f"{name}_sum" for name, _, _ in sums)]).rename_columns(
            ["partition", *(each[0] for each in sums)]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the difference as one JSON document."""
        return {
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "changes": [each.to_json() for each in self.changes],
            "partitions": self.partitions.to_pylist(),
            "files": self.files.to_pylist(),
            "operations": [{"version": each.version, "timestamp": each.timestamp, **each.raw} for each in self.operations],
        }

    def __str__(self) -> str:
        lines = [f"{each.part} {each.name}: {each.before} -> {each.after}" for each in self.changes]
        return "\n".join([f"{_shown(self.before)} to {_shown(self.after)}: {self.files.num_rows} files differ", *lines])

    def _repr_html_(self) -> str:
        facts = {f"{each.part} {each.name}": f"{each.before} → {each.after}" for each in self.changes}
        title = f"{_shown(self.before)} to {_shown(self.after)}"
        return facts_html(title, {**facts, "files": self.files.num_rows})


def _rows(files: pa.Table, name: str, absent: str) -> pa.ChunkedArray:
    """Return the rows of one side: 0 for a file that the side does not have, null if unknown."""
    return pc.if_else(pc.equal(files["change"], absent), pa.scalar(0, pa.int64()), files[name])


def _shown(side: Side) -> str:
    return f"{side.table} at version {side.version}"
