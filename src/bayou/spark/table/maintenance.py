# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` that maintain a table: VACUUM, RESTORE, GENERATE, COMPUTE STATS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import pyarrow as pa
from pyspark.sql import DataFrame  # noqa: TC002  (typing.get_type_hints)

from bayou.errors import failed
from bayou.log.operations.manifest import generate_manifests
from bayou.log.operations.restore import RestoreRequest, RestoreResult, restore
from bayou.log.operations.vacuum import VacuumRequest, VacuumResult, vacuum
from bayou.protocol import arguments
from bayou.protocol.actions.paths import hadoop_text
from bayou.report.units import size_text
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.maintenance.statistics import compute_statistics
from bayou.spark.session.arrow_rows import collected
from bayou.spark.session.given_arguments import frame_of
from bayou.spark.session.operations import log_operation
from bayou.spark.session.progress import committed, concluded
from bayou.spark.session.settings import allows_downgrade, is_on
from bayou.spark.table.describe import rows_frame
from bayou.spark.table.handle import TableHandle
from bayou.spark.table.not_yet import check_kind

_MANIFEST_MODE: Final = "symlink_format_manifest"
"""The only manifest format of delta-spark."""
_RETENTION_CHECK: Final = "spark.databricks.delta.retentionDurationCheck.enabled"
_RETENTION_IGNORED: Final = "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled"
_LITE: Final = "spark.databricks.delta.vacuum.lite.enabled"
_LOGGING: Final = "spark.databricks.delta.vacuum.logging.enabled"
_IGNORE_MISSING: Final = "spark.sql.files.ignoreMissingFiles"
_COUNTS: Final = ("num_files", "num_updated_files", "num_scanned_files")
_INVENTORY: Final = pa.schema(
    [("path", pa.string()), ("length", pa.int64()), ("isDir", pa.bool_()), ("modificationTime", pa.int64())]
)


class TableMaintenance(TableHandle):
    """VACUUM, RESTORE, GENERATE and COMPUTE STATS as methods."""

    @raised_as_pyspark
    def vacuum(
        self,
        retentionHours: float | None = None,  # noqa: N803  (delta-spark's name)
        *,
        kind: Literal["full", "lite"] | None = None,
        dry_run: bool = False,
        inventory: DataFrame | None = None,
        keep_versions: Sequence[int] = (),
    ) -> DataFrame:
        """Delete files in the table's folder that neither the table nor its recent versions need (VACUUM). Runs no job.

        Args:
            retentionHours: hours to keep a file after a commit removed it, or after it was written without a commit. Fractions
                are allowed. By default the table property `delta.deletedFileRetentionDuration`.
            kind: "full" lists the table's folder; "lite" reads the commits since the last VACUUM instead. By default the
                session's setting `spark.databricks.delta.vacuum.lite.enabled` decides.
            dry_run: whether to delete and commit nothing.
            inventory: a listing of the table's folder to use instead of listing it, with the columns `path`, `length`, `isDir`
                and `modificationTime`. It is collected.
            keep_versions: versions whose files are kept, regardless of their age.

        Returns:
            One row with the table's path. For a dry run, one row per file that would be deleted.

        Raises:
            InvalidOptionError: the hours are negative or too few, the inventory lacks a column, or LITE needs commits that
                were cleaned up.
            TimeTravelError: the log does not reach back far enough to know which files are needed.
            UnsupportedFeatureError: bayou cannot write to the table.
            StorageError: some files could not be deleted; the others were.

        Examples:
            >>> table.vacuum(240, dry_run=True).show()
        """
        if retentionHours is not None:
            retentionHours = float(retentionHours)  # noqa: N806
        table = self._session_table()
        result = self._vacuumed(retentionHours, kind, dry_run=dry_run, inventory=inventory, keep_versions=keep_versions)
        result.check_deleted()
        return rows_frame(table.application, table.spark, pa.table({"path": pa.array(_paths(result), pa.string())}))

    def _vacuumed(
        self,
        hours: float | None,
        kind: Literal["full", "lite"] | None,
        *,
        dry_run: bool,
        inventory: DataFrame | None = None,
        keep_versions: Sequence[int] = (),
    ) -> VacuumResult:
        table = self._session_table()
        settings = table.settings
        request = VacuumRequest(
            hours,
            kind or ("lite" if is_on(settings, _LITE) else "full"),
            arguments.flag(dry_run, "dry_run", table=self._path),
            None if inventory is None else _listing(inventory),
            tuple(arguments.integer(version, "keep_versions", table=self._path) for version in keep_versions),
            check_retention=is_on(settings, _RETENTION_CHECK, default=True),
            ignores_hours=is_on(settings, _RETENTION_IGNORED),
            is_logged=is_on(settings, _LOGGING) if _LOGGING in settings else None,
        )
        with log_operation("VACUUM", "listing and deleting files", table.spark, table.settings, table.shown):
            result = vacuum(table.log, request, table.begin)
            count = f"would delete {result.files.num_rows:,}" if result.dry_run else f"deleted {result.deleted:,}"
            concluded(f"{count} files and folders, {size_text(result.size_bytes)}")
        return result

    @raised_as_pyspark
    def restoreToVersion(self, version: int) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Restore the table to a version, by a new commit (RESTORE). Runs no job.

        Args:
            version: the version.

        Returns:
            One row of counts. No row if the table is already at that version.

        Raises:
            ValueError: the version is not an int.
            VersionNotFoundError: the version cannot be read.
            DataFileNotFoundError: files of that version do not exist any more, and `spark.sql.files.ignoreMissingFiles` is off.
            UnsupportedFeatureError: the column mapping mode has changed since, or bayou cannot write to the table.
            ConcurrentModificationError: another writer committed first.

        Examples:
            >>> table.restoreToVersion(1)
        """
        check_kind(version, int, "version")
        return self._restored(version=version)

    @raised_as_pyspark
    def restoreToTimestamp(self, timestamp: str) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Restore the table to its state at a time; see `restoreToVersion`.

        Args:
            timestamp: the time as a string, in the session's time zone unless it names one.

        Raises:
            ValueError: the time is not a string.
            TimestampOutOfRangeError: the time is before the first version that can be read.

        Examples:
            >>> table.restoreToTimestamp("2026-11-01 12:00:00")
        """
        check_kind(timestamp, str, "timestamp")
        return self._restored(timestamp=timestamp)

    @raised_as_pyspark
    def generate(self, mode: str) -> None:
        """Write manifests of the latest version, for engines that do not read the log (GENERATE). Runs no job.

        Args:
            mode: `symlink_format_manifest`, in any case.

        Raises:
            InvalidOptionError: the mode is not supported.
            UnsupportedFeatureError: the table has deletion vectors or column mapping.

        Examples:
            >>> table.generate("symlink_format_manifest")
        """
        self._check_mode(mode)
        table = self._session_table()
        with log_operation("GENERATE", "writing manifests", table.spark, table.settings, table.shown):
            generate_manifests(self._log())

    def _check_mode(self, mode: str) -> None:
        if str(mode).lower() != _MANIFEST_MODE:
            raise failed("DELTA_MODE_NOT_SUPPORTED", table=self._path, mode=mode, modes=(_MANIFEST_MODE,))

    @raised_as_pyspark
    def computeStatistics(self, where: str | None = None, missing_only: bool = False) -> DataFrame:  # noqa: FBT001, FBT002, N802
        """Recompute the statistics by which queries skip files (COMPUTE STATS).

        Parquet footers give most of them. One job reads the rows of files whose footers are not sufficient, or that have deletion
        vectors; the statistics of such a file describe its live rows. If no statistics change, nothing is committed.

        Args:
            where: a SQL condition on partition columns; None for all partitions.
            missing_only: whether to recompute only statistics that are incomplete, or do not describe the live rows.

        Returns:
            One row with `path`, `num_files` (inspected), `num_updated_files` and `num_scanned_files`.

        Raises:
            ValueError: an argument is not of its type.
            InvalidOptionError: the condition names a column that is not a partition column.
            UnsupportedFeatureError: bayou cannot write to the table.
            StorageError: a file cannot be read.

        Examples:
            >>> table.computeStatistics(missing_only=True)
        """
        if where is not None:
            check_kind(where, str, "where")
        check_kind(missing_only, bool, "missing_only")
        table = self._session_table()
        done = compute_statistics(table, where, missing_only=missing_only)
        if done.version is not None:
            table.refresh_caches()
        counts = {name: pa.array([getattr(done, name)], pa.int64()) for name in _COUNTS}
        return rows_frame(table.application, table.spark, pa.table({"path": [table.uri], **counts}))

    def _restore_request(self, settings: Mapping[str, str], **wanted: Any) -> RestoreRequest:
        return RestoreRequest(
            **wanted,
            time_zone=self._time_zone,
            ignore_missing_files=is_on(settings, _IGNORE_MISSING),
            allow_protocol_downgrade=allows_downgrade(settings),
        )

    def _planned_restore(self, **wanted: Any) -> RestoreResult:
        """Return what a RESTORE would do. Reads only the log."""
        table = self._session_table()
        request = self._restore_request(table.settings, **wanted, dry_run=True, checks_files=False)
        return restore(table.log, request, table.begin, self._options)

    def _restored(self, **wanted: Any) -> DataFrame:
        table = self._session_table()
        request = self._restore_request(table.settings, **wanted)
        with log_operation("RESTORE", "comparing versions", table.spark, table.settings, table.shown):
            result = restore(table.log, request, table.begin, self._options)
            if result.version is not None:
                committed(result.version, result.metrics)
        columns = {
            "table_size_after_restore": result.size_bytes,
            "num_of_files_after_restore": result.num_files,
            "num_removed_files": result.num_removed_files,
            "num_restored_files": result.num_restored_files,
            "removed_files_size": result.removed_bytes,
            "restored_files_size": result.restored_bytes,
        }
        done = [] if result.version is None else [0]
        if done:
            table.refresh_caches()
        rows = pa.table({name: pa.array([value for _ in done], pa.int64()) for name, value in columns.items()})
        return rows_frame(table.application, table.spark, rows)


def _paths(result: VacuumResult) -> list[str]:
    root = hadoop_text(result.table_uri)
    return [f"{root}/{path}" for path in result.files["path"].to_pylist()] if result.dry_run else [root]


def _listing(inventory: DataFrame) -> pa.Table:
    """Collect the columns of an inventory that VACUUM needs, one row per file."""
    frame = frame_of(inventory)
    types = {"path": "string", "length": "bigint", "isDir": "boolean", "modificationTime": "bigint"}
    columns = [frame[name].cast(kind).alias(name) for name, kind in types.items() if name in frame.columns]
    return collected(frame.select(*columns), _INVENTORY)
