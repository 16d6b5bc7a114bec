# SPDX-License-Identifier: Apache-2.0
"""The table that a resolved statement changes: one of bayou's relations, as it is, and no other view of its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayou.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """The table that a statement changes.

    Attributes:
        path: its URI.
        storage_options: options for the file system.
    """

    path: str
    storage_options: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, text: str | None, operation: str) -> ChangedTable:
        """The table that a relation stands for.

        Args:
            text: the relation's request, as `jvm.catalyst.row_changes.table_of` gives it.

        Raises:
            UnsupportedFeatureError: it is a query, an older version, the change data feed, or the folder of a partition.
        """
        found: dict[str, Any] | None = None if text is None else json.loads(text)
        if found is None:
            raise UnsupportedFeatureError(
                f"{operation} changes the rows of a table, and not those of a query.",
                error_class="DELTA_OPERATION_NOT_ALLOWED",
                features=[f"{operation} on a query"],
                next_step="name the table.",
            )
        if found["version"] is not None:
            raise UnsupportedFeatureError(
                "Expect a full scan of the latest version of the Delta source, but found a historical scan of version "
                f"{found['version']}: {operation} changes the rows of a table as it is now.",
                table=found["path"],
                version=found["version"],
                error_class="DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION",
                features=[f"{operation} on an older version"],
                next_step="name the table without a version.",
            )
        return cls._whole(found, operation)

    @classmethod
    def of_insert(cls, text: str) -> ChangedTable:
        """The table that an INSERT appends to; those of older versions are refused before.

        Raises:
            UnsupportedFeatureError: as for `of`.
        """
        return cls._whole(json.loads(text), "INSERT")

    @classmethod
    def _whole(cls, found: dict[str, Any], operation: str) -> ChangedTable:
        if "changes" in found:
            raise UnsupportedFeatureError(
                "The change data feed of a table can only be read.",
                table=found["path"],
                error_class="DELTA_OPERATION_NOT_ALLOWED",
                features=["readChangeFeed"],
                next_step=f"{operation} on the table itself.",
            )
        if "partition" in found:
            raise UnsupportedFeatureError(
                f"Expect a full scan of Delta sources, but found a partial scan. {found['partition']} is a folder of the "
                "table, and can only be read.",
                table=found["path"],
                error_class="DELTA_UNEXPECTED_PARTIAL_SCAN",
                features=[f"{operation} on the folder of a partition"],
                next_step="name the table, and say in a condition which partitions are meant.",
            )
        return cls(found["path"], found["options"])
