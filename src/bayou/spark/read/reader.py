# SPDX-License-Identifier: Apache-2.0
"""Read tables as DataFrames, for `bayou.read` and `DeltaTable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from bayou.errors import failed
from bayou.spark.backend import part_of
from bayou.spark.read.change_scan import changes_now
from bayou.spark.read.request import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.request import TableRequest
    from bayou.spark.session.application import Application


def check_has_columns(snapshot: Snapshot) -> None:
    """Raise InvalidSchemaError if a table has no columns yet."""
    if not snapshot.schema.fields:
        raise failed("DELTA_READ_TABLE_WITHOUT_COLUMNS", at=snapshot)


def read(application: Application, spark: SparkSession, request: TableRequest) -> DataFrame:
    """Return a table as a DataFrame, or its change data feed."""
    if application.backend.is_native:
        return cast("DataFrame", part_of(application.backend, "scan.relations").frame_of(application, spark, request))
    resolved, latest = resolve(application, spark, request)  # so that what cannot be read is an error here
    answers, options = application.backend.answers_reads(spark), resolved.storage_options
    if resolved.changes is not None:
        changes = changes_now(application, spark, latest, resolved.changes, options)
        if not answers:
            feed_frame: Callable[..., DataFrame] = part_of(application.backend, "changes").feed_frame
            return feed_frame(spark, changes, options)
    else:
        check_has_columns(latest)
        if not answers:
            scan_frame: Callable[..., DataFrame] = part_of(application.backend, "scan.rows").scan_frame
            listed: Callable[..., Any] = part_of(application.backend, "scan.listed_files").ListedFiles
            files = listed(latest, name=resolved.partition)  # of a partition's folder, the snapshot has its files only
            return scan_frame(spark, latest, storage_options=options, files=files)
    return spark.read.format("delta").options(**request.to_options()).load(request.path)
