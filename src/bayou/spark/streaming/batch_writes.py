# SPDX-License-Identifier: Apache-2.0
"""Write a micro-batch of a streaming query in one commit that names the query and the batch, on any session."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import failed, redact_uri
from bayou.spark.data_files.request import StreamBatch, WriteContext, WriteOptions, WriteRequest
from bayou.spark.session.settings import REPLAYED
from bayou.spark.types.types import contains_void, readable_schema
from bayou.spark.write.row_types import with_types_of
from bayou.spark.write.writer import write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.data_files.request import PlannedBatch
    from bayou.spark.session.application import Application

_logger = logging.getLogger("bayou")
_MODES: Final = {"Append": "append", "Complete": "overwrite"}


def sink_options(options: Mapping[str, str], partitions: Sequence[str], output_mode: str) -> WriteOptions:
    """Return the options of the writes of a streaming query.

    Args:
        output_mode: Append or Complete.

    Raises:
        UnsupportedFeatureError: the output mode is update.
        InvalidOptionError: the path is missing, or the value of an option is not valid.
    """
    table = redact_uri(options.get("path", ""))
    if output_mode not in _MODES:
        raise failed(
            "DELTA_UNSUPPORTED_OUTPUT_MODE", table=table, output_mode=output_mode, features=[f"output mode {output_mode.lower()}"]
        )
    write_options = WriteOptions.parse(options, _MODES[output_mode], list(partitions) or None)
    # A batch consists of new rows or, in complete mode, of all rows. Options that replace a part of the table do not apply.
    write_options = replace(
        write_options, dynamic_partitions=False, replace_where=None, replace_on=None, replace_using=None, data_change=True
    )
    if output_mode == "Append" and _is_true(options, "overwriteSchema"):
        raise failed("DELTA_ILLEGAL_USAGE/append", table=table, option="overwriteSchema")
    return write_options


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return any(key.lower() == name.lower() and value.strip().lower() == "true" for key, value in options.items())


def write_batch(
    application: Application,
    options: WriteOptions,
    rows: DataFrame,
    txn: tuple[str, int],
    *,
    output_mode: str,
    batch: PlannedBatch | None = None,
    reads_itself: bool = False,
) -> None:
    """Write a batch, or skip it if the log already has it.

    Args:
        options: those of `sink_options`.
        txn: the id of the query, and the number of the batch.
        output_mode: Append or Complete.
        batch: the rows in the form that a classic session has for them; None on Spark Connect.
        reads_itself: whether the query reads the table that it writes.
    """
    query_id, number = txn
    stream = StreamBatch(query_id, number, output_mode, batch, reads_itself=reads_itself)
    request = WriteRequest(replace(options, txn=txn), WriteContext(stream=stream))
    shown = redact_uri(options.path)

    def cast(rows: DataFrame, snapshot: Snapshot | None) -> DataFrame:
        """Cast the rows to the table's types, like every write that matches columns by name; see `with_types_of`."""
        schema = readable_schema(application.backend.columns_of(rows))
        void = [each.name for each in schema.fields if contains_void(each.type)]
        if void:
            version = None if snapshot is None else snapshot.version
            raise failed("DELTA_NULL_SCHEMA_IN_STREAMING_WRITE", table=options.path, version=version, columns=void)
        return with_types_of(application.backend, rows, options, snapshot, f"delta.`{shown}`")

    result = write(application, rows, request, cast)
    if result.reason == REPLAYED:
        _logger.info("batch %s of query %s is already in the table and is skipped (table: %s)", number, query_id, shown)
