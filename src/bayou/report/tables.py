# SPDX-License-Identifier: Apache-2.0
"""The facts about a table that a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bayou.report.units import size_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_COLUMNS: Final = 12
"""The maximum number of column names that are shown. Further columns are counted."""


def table_facts(
    *,
    version: int,
    columns: Sequence[str],
    partition_columns: Sequence[str],
    num_files: int | None,
    size_bytes: int | None,
    properties: Mapping[str, str],
) -> dict[str, Any]:
    """Return the facts as text, by name. The value of an unknown fact is None."""
    more = f" and {len(columns) - _MOST_COLUMNS:,} more" if len(columns) > _MOST_COLUMNS else ""
    return {
        "version": str(version),
        "columns": ", ".join(columns[:_MOST_COLUMNS]) + more,
        "partitioned by": ", ".join(partition_columns) or None,
        "files": None if num_files is None else f"{num_files:,}",
        "size": size_text(size_bytes),
        "properties": ", ".join(f"{name} = {value}" for name, value in properties.items()) or None,
    }
