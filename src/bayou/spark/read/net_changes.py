# SPDX-License-Identifier: Apache-2.0
"""Compute net changes: at most one change for each row over a range of versions, without the intermediate changes.

bayou joins the rows before the range and the rows at its end by their row ids. It reads only data files that are in exactly one of
the two versions. From the commits in between it reads only the row id fields and the metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import DeltaError, failed
from bayou.log.actions.keys import canonical_paths, vector_ids
from bayou.log.changes.feed import CHANGE_TYPE, COMMIT_VERSION, feed_schema
from bayou.log.rows.row_tracking import first_without_ids
from bayou.protocol.features.features import check_readable
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.read.change_request import ChangeSettings
from bayou.spark.read.stored_rows import stored_rows
from bayou.spark.scan.row_ids import RowIdColumns
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.request import TableRequest
    from bayou.spark.session.application import Application

_ID: Final = "__bayou_row_id"
_OLD, _NEW = "__bayou_old", "__bayou_new"
_OLD_VERSION, _NEW_VERSION = "__bayou_old_version", "__bayou_new_version"
_TRACKED: Final = "Set delta.enableRowTracking to true and begin after that"
_LATER: Final = "Begin after the version that changed the column"


def net_changes(application: Application, spark: SparkSession, request: TableRequest) -> DataFrame:
    """Return the rows that a range of versions inserted, deleted or updated, with `_change_type` and `_commit_version`.

    The columns are those of the last version. `_commit_version` is the version that last changed the row, for both images of an
    update; it is NULL for a deleted row. Rows inserted and deleted within the range do not appear.

    Raises:
        InvalidOptionError: the range is missing, or it ends before it starts.
        TimeTravelError: the range is not in the log.
        InvalidSchemaError: the table has columns with the names of the added ones.
        UnsupportedFeatureError: the table's rows had no stable ids over the whole range, or a column changed its type.
    """
    if request.changes is None:
        raise failed("DELTA_ILLEGAL_OPTION/net", option="net")
    log = application.logs.get(request.path, request.storage_options)
    versions = log.change_range(ChangeSettings.of(application.backend.conf(spark)).applied(request.changes))
    after = log.snapshot(max(versions.end, 0))
    before = after if versions.is_empty else (None if versions.start == 0 else log.snapshot(versions.start - 1))
    for each in (after, *([] if before is None else [before])):
        check_readable(each.protocol, each.table_uri, each.version)
    feed_schema(after)  # refuses columns with the names of the added ones
    _check_ids(after, before)
    version_without_ids = first_without_ids(log, range(versions.start, versions.end + 1))
    if version_without_ids is not None:
        raise _unsupported(after, f"version {version_without_ids} does not keep their ids")
    old, new = _changed_files(before, after)
    reader = _Reader(application, spark, after, request)
    joined = reader.rows(before or after, old, _OLD, _OLD_VERSION).join(
        reader.rows(after, new, _NEW, _NEW_VERSION), _ID, "full_outer"
    )
    return _images(joined, [field.name for field in readable_schema(after.schema).fields])


class _Reader:
    """Reads rows of any version of the range, with the columns of its last version."""

    def __init__(self, application: Application, spark: SparkSession, after: Snapshot, request: TableRequest) -> None:
        self._application = application
        self._spark = spark
        self._after = after
        self._options = request.storage_options

    def rows(self, snapshot: Snapshot, positions: pa.Array, image: str, version: str) -> DataFrame:
        """Return the rows of some files, each as a struct, with its row id and the version that last changed it.

        Args:
            image: the name of the struct column.
            version: the name of the column with the version.
        """
        ids = RowIdColumns.of(snapshot)
        assert ids is not None  # noqa: S101  (checked before)
        rows = stored_rows(self._application, self._spark, snapshot, positions, options=self._options)
        columns = F.struct(*self._columns(snapshot))
        return rows.select(
            columns.alias(image), F.col(quoted_name(ids.id)).alias(_ID), F.col(quoted_name(ids.version)).alias(version)
        )

    def _columns(self, snapshot: Snapshot) -> list[Column]:
        stored_fields = {field.physical_name: field for field in snapshot.schema.fields}
        columns = []
        for field, readable in zip(self._after.schema.fields, readable_schema(self._after.schema).fields, strict=True):
            stored = stored_fields.get(field.physical_name)
            if stored is None and snapshot.schema.field(field.name) is not None:
                why = f"column {field.name!r} is another one, or has another name in the files, in version {snapshot.version}"
                raise _unsupported(self._after, why, _LATER)
            if stored is not None and readable_schema(snapshot.schema).field(stored.name).type != readable.type:  # type: ignore[union-attr]
                raise _unsupported(
                    self._after, f"column {field.name!r} had another type, or other fields, in version {snapshot.version}", _LATER
                )
            value = F.lit(None) if stored is None else F.col(quoted_name(stored.name))
            columns.append(value.cast(spark_data_type(readable)).alias(field.name))
        return columns


def _images(joined: DataFrame, names: list[str]) -> DataFrame:
    """Convert joined pairs of an old and a new row to change rows. Drop pairs that did not change."""
    is_deleted, is_new = F.col(_NEW_VERSION).isNull(), F.col(_OLD_VERSION).isNull()
    changed = joined.where(is_deleted | is_new | (F.col(_OLD_VERSION) != F.col(_NEW_VERSION)))

    def image(side: str, kind: str) -> Column:
        return F.struct(F.col(side).alias("row"), F.lit(kind).alias(CHANGE_TYPE), F.col(_NEW_VERSION).alias(COMMIT_VERSION))

    images = (
        F.when(is_new, F.array(image(_NEW, "insert")))
        .when(is_deleted, F.array(image(_OLD, "delete")))
        .otherwise(F.array(image(_OLD, "update_preimage"), image(_NEW, "update_postimage")))
    )
    rows = changed.select(F.explode(images).alias("change"))
    columns = [F.col(f"change.row.{quoted_name(name)}").alias(name) for name in names]
    return rows.select(*columns, F.col(f"change.{CHANGE_TYPE}"), F.col(f"change.{COMMIT_VERSION}"))


def _changed_files(before: Snapshot | None, after: Snapshot) -> tuple[pa.Array, pa.Array]:
    """Return the positions of the files that are only in the first version, and of those only in the second."""
    if before is None:
        return pa.array([], pa.int64()), pa.array(range(len(_keys(after))), pa.int64())
    old, new = _keys(before), _keys(after)
    only_old = pc.indices_nonzero(pc.invert(pc.is_in(old, value_set=new)))
    return only_old, pc.indices_nonzero(pc.invert(pc.is_in(new, value_set=old)))


def _keys(snapshot: Snapshot) -> pa.Array:
    files = snapshot.files(["path", "deletion_vector"])
    paths = canonical_paths(files["path"], snapshot.table_uri)
    vectors = pc.fill_null(vector_ids(files["deletion_vector"]), "")
    return pc.binary_join_element_wise(paths, vectors, "\0").combine_chunks()


def _check_ids(after: Snapshot, before: Snapshot | None) -> None:
    ids = RowIdColumns.of(after)
    if ids is None:
        raise _unsupported(after, "its rows have no stable ids")
    if before is not None and RowIdColumns.of(before) != ids:
        raise _unsupported(after, f"its rows had no ids, or others, in version {before.version}")


def _unsupported(snapshot: Snapshot, why: str, instead: str = _TRACKED) -> DeltaError:
    return failed("DELTA_OPERATION_NOT_ALLOWED/net-changes", at=snapshot, features=["net changes"], why=why, instead=instead)
