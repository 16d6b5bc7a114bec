# SPDX-License-Identifier: Apache-2.0
"""Small files with statistics, by bayou's writer and by writers with other habits."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.tables.spark_semantics import order_key

from bayou.protocol.stats.file_stats import LeafStatistics, to_json, truncate_maximum, truncate_minimum
from bayou.protocol.types import instants
from bayou.protocol.types.partition_values import decimal_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.plan.predicates.predicate import Path

Row = dict["Path", Any]


@dataclass(frozen=True)
class DataFile:
    """A file of a table.

    Attributes:
        rows: all rows, deleted ones included.
        deleted: the positions of the deleted ones.
        stats: the text in the log.
        partition: the partition column's value, which is in every row too.
    """

    rows: list[Row]
    deleted: frozenset[int]
    stats: str | None
    partition: Any

    @property
    def live_rows(self) -> list[Row]:
        return [row for position, row in enumerate(self.rows) if position not in self.deleted]


def bayou_stats(rows: list[Row], types: Mapping[Path, str], *, tight: bool | None) -> str:
    leaves = []
    for path, data_type in types.items():
        values = [row[path] for row in rows]
        present = sorted((value for value in values if value is not None), key=order_key)
        low, high = (present[0], present[-1]) if present else (None, None)
        leaves.append(LeafStatistics(path, data_type, low, high, values.count(None)))
    return to_json(len(rows), leaves, tight_bounds=tight)


def foreign_stats(rows: list[Row], types: Mapping[Path, str], *, tight: bool | None, habits: frozenset[str]) -> str:
    """Statistics by a writer that leaves NaN out, and has some habits.

    Habits: "micros" keeps the microseconds of timestamps, "doubles" sends decimals through a double, "whole" keeps
    strings whole, "no_nulls" leaves null counts out, "no_bounds" leaves bounds out, "no_rows" leaves numRecords out.
    """
    document: dict[str, Any] = {} if "no_rows" in habits else {"numRecords": len(rows)}
    for path, data_type in types.items():
        values = [row[path] for row in rows]
        present = sorted((value for value in values if value is not None and not is_nan(value)), key=order_key)
        if present and "no_bounds" not in habits:
            _put(document, ("minValues", *path), _foreign(present[0], data_type, habits, truncate_minimum))
            _put(document, ("maxValues", *path), _foreign(present[-1], data_type, habits, truncate_maximum))
        if "no_nulls" not in habits:
            _put(document, ("nullCount", *path), values.count(None))
    if tight is not None:
        document["tightBounds"] = tight
    return json.dumps(document).replace('"#', "").replace('#"', "")


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _foreign(value: Any, data_type: str, habits: frozenset[str], truncate: Any) -> Any:
    if data_type == "string":
        return value if "whole" in habits else truncate(value)
    if data_type == "date":
        return instants.format_date(value)
    if data_type in {"timestamp", "timestamp_ntz"}:
        text = instants.format_timestamp(value, fraction_digits=6 if "micros" in habits else 3)
        return text + ("Z" if data_type == "timestamp" else "")
    if decimal_type(data_type):
        # Marks that are taken off again: json would quote a text.
        return float(value) if "doubles" in habits else f"#{value}#"
    if isinstance(value, float) and math.isinf(value):
        return None
    return value


def _put(document: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        document = document.setdefault(name, {})
    if value is not None:
        document[path[-1]] = value
