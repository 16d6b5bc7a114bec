# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` for CLONE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayou.spark.create.clone import clone_table
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.table.handle import Handle, TableHandle
from bayou.spark.table.not_yet import check_kind


class TableClones(TableHandle):
    """CLONE as methods."""

    @raised_as_pyspark
    def clone(
        self: Handle,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002, N803  (delta-spark's name)
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Mapping[str, str] | None = None,
    ) -> Handle:
        """Clone the latest version to a new table (CLONE). Runs no job.

        A clone has its own id, history and row ids. It does not have the source's `txn` versions.

        Args:
            target: an absolute path, or a name in the catalog.
            isShallow: whether the clone references this table's files. It then breaks if VACUUM deletes them here. By default
                data files and deletion vectors are copied.
            replace: whether to replace an existing table. A deep clone onto an earlier one copies only new files, and removes
                files that the source no longer has, in one commit.
            properties: properties to set in addition to this table's.

        Returns:
            The clone.

        Raises:
            ValueError: an argument has the wrong type.
            TableExistsError: the target exists or has other files, and `replace` is not set.
            InvalidOptionError: the path is not absolute, or a property cannot be set.
            DataFileNotFoundError: a file to copy does not exist.
            UnsupportedFeatureError: a shallow clone would replace a table that has files, the column mapping mode would change,
                or bayou cannot write to the clone.

        Examples:
            >>> table.clone("/tmp/orders_copy", replace=True)
        """
        return _cloned(self, target, isShallow, replace, properties)

    @raised_as_pyspark
    def cloneAtVersion(  # noqa: N802  (delta-spark's name)
        self: Handle,
        version: int,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002, N803
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Mapping[str, str] | None = None,
    ) -> Handle:
        """Clone a version to a new table; see `clone`.

        Raises:
            VersionNotFoundError: the version cannot be read.

        Examples:
            >>> table.cloneAtVersion(1, "/tmp/orders_v1", isShallow=True)
        """
        check_kind(version, int, "version")
        return _cloned(self, target, isShallow, replace, properties, version=version)

    @raised_as_pyspark
    def cloneAtTimestamp(  # noqa: N802  (delta-spark's name)
        self: Handle,
        timestamp: str,
        target: str,
        isShallow: bool = False,  # noqa: FBT001, FBT002, N803
        replace: bool = False,  # noqa: FBT001, FBT002
        properties: Mapping[str, str] | None = None,
    ) -> Handle:
        """Clone the state at a time to a new table; see `clone`.

        Args:
            timestamp: the time as a string, in the session's time zone unless it names one.
            target: see `clone`.
            isShallow: see `clone`.
            replace: see `clone`.
            properties: see `clone`.

        Raises:
            TimestampOutOfRangeError: the version of that time cannot be read.

        Examples:
            >>> table.cloneAtTimestamp("2026-11-01", "/tmp/orders_2026")
        """
        check_kind(timestamp, str, "timestamp")
        return _cloned(self, target, isShallow, replace, properties, timestamp=timestamp)


def _cloned(handle: Handle, target: Any, is_shallow: Any, replace: Any, properties: Any, **wanted: Any) -> Handle:
    check_kind(target, str, "target")
    check_kind(is_shallow, bool, "isShallow")
    check_kind(replace, bool, "replace")
    if properties is not None:
        check_kind(properties, dict, "properties")
        for key, value in properties.items():
            check_kind(key, str, f"All property keys including {key}")
            check_kind(value, str, f"All property values including {value}")
    table = handle._session_table()  # noqa: SLF001  (of this class)
    spark, name = handle._spark, handle._name  # noqa: SLF001
    source = table.log.snapshot(**wanted, time_zone=handle._time_zone)  # noqa: SLF001 if wanted else table.log.update()
    place, _ = clone_table(
        table,
        source,
        target,
        shallow=is_shallow,
        replace=replace,
        properties=properties or {},
        source_name=name,
    )
    made = handle._at(spark, place.uri, {})  # noqa: SLF001
    if place.name is not None:
        made._name = target  # noqa: SLF001  (of this class)
        made._called = tuple(target.split("."))  # noqa: SLF001
    return made
