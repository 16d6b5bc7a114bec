# SPDX-License-Identifier: Apache-2.0
"""Overwrites that replace the rows which match one of the new rows: `replaceOn` with a condition, `replaceUsing` with columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import InvalidOptionError
from bayou.log.file_statistics import to_predicate
from bayou.protocol.sql_text import quoted_name
from bayou.spark.jvm.relation import alias_of, is_deterministic
from bayou.spark.jvm.session import java_session
from bayou.spark.overwrite import ReplacedRows, check_copies
from bayou.spark.reader import scan_frame
from bayou.spark.scan import Scan
from bayou.spark.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot import Snapshot
    from bayou.spark.application import Application
    from bayou.spark.write_request import WriteRequest

_FILE = "__bayou_file"
_TABLE, _ROWS = "__bayou_table", "__bayou_rows"


def evaluated_once(frame: DataFrame) -> DataFrame:
    """The rows of a write that are looked at several times: kept on the executors where they could be others each time."""
    if is_deterministic(frame):
        return frame
    alias, kept = alias_of(frame), frame.localCheckpoint()
    return kept if alias is None else kept.alias(alias)


def rows_replaced_on(application: Application, frame: DataFrame, request: WriteRequest, snapshot: Snapshot) -> ReplacedRows:
    """What the new rows replace: every row of the table that matches one of them. A file without such a row stays.

    Args:
        application: the application.
        frame: the new rows; what it gives is the same each time.
        request: the write, with `replace_on` or `replace_using`.
        snapshot: the table's state.

    Raises:
        InvalidOptionError: a column of `replaceUsing` is not in both.
        UnsupportedFeatureError: rows of a table with change data feed or stable row ids would have to be copied.
    """
    check_copies(snapshot, data_change=True)
    schema = readable_schema(snapshot.schema)
    count = snapshot.files(["path"]).num_rows
    hidden = {_FILE: pa.array(range(count), pa.int32())}
    spark, session = frame.sparkSession, java_session(frame.sparkSession)

    def matching(positions: pa.Array | None, how: str) -> DataFrame:
        chosen = hidden if positions is None else {_FILE: hidden[_FILE].take(positions)}
        rows = scan_frame(Scan(application, session, snapshot, schema.fields, positions=positions, hidden=chosen), spark)
        if request.replace_using is not None:
            named = _equal(request.replace_using, frame.columns, schema.names, snapshot)
            return rows.alias(_TABLE).join(frame.alias(_ROWS), named, how)
        aliased = rows if request.target_alias is None else rows.alias(request.target_alias)
        return aliased.join(frame, F.expr(request.replace_on or "true"), how)

    touched = [row[0] for row in matching(None, "left_semi").select(_FILE).distinct().collect()] if count else []
    positions = pa.array(sorted(touched), pa.int64())
    kept = matching(positions, "left_anti").select(*map(quoted_name, schema.names)) if touched else None
    return ReplacedRows(positions, to_predicate([], snapshot.schema), kept, None)


def _equal(names: Sequence[str], given: Sequence[str], known: Sequence[str], snapshot: Snapshot) -> Column:
    there = {each.lower() for each in given} & {each.lower() for each in known}
    for name in names:
        if name.lower() not in there:
            raise InvalidOptionError(
                f"The column {name!r} of replaceUsing must be one of the table and of the rows.",
                table=snapshot.table_uri,
                version=snapshot.version,
                error_class="UNRESOLVED_INSERT_REPLACE_USING_COLUMN",
                sql_state="42703",
                option="replaceUsing",
            )
    equal = (f"{_TABLE}.{quoted_name(name)} = {_ROWS}.{quoted_name(name)}" for name in names)
    return F.expr(" and ".join(equal))
