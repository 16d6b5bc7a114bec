# SPDX-License-Identifier: Apache-2.0
"""Run `df.write` and `df.writeTo` on Delta tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql.connect import proto

from bayou.errors import failed
from bayou.spark.create.with_rows import whole
from bayou.spark.data_files.request import Statement, WriteContext, WriteOptions, WriteRequest
from bayou.spark.portable.catalog import refusal
from bayou.spark.portable.commands.inserts import overwrites_dynamically
from bayou.spark.portable.names import path_in
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.requests.frames import frame_of
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.protobufs import expression_of
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.portable.text.written import written
from bayou.spark.read.request import is_table
from bayou.spark.write.inserts import InsertStatement, insert
from bayou.spark.write.writer import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.session.application import Application

_DELTA: Final = "delta"
_DONE: Final = CommandAnswer()
_WRITE = proto.WriteOperation
_WRITE_TO = proto.WriteOperationV2
_MODES: Final = {
    _WRITE.SAVE_MODE_UNSPECIFIED: "error",
    _WRITE.SAVE_MODE_APPEND: "append",
    _WRITE.SAVE_MODE_OVERWRITE: "overwrite",
    _WRITE.SAVE_MODE_ERROR_IF_EXISTS: "error",
    _WRITE.SAVE_MODE_IGNORE: "ignore",
}
_INSERTS: Final = {
    _WRITE_TO.MODE_APPEND: "append",
    _WRITE_TO.MODE_OVERWRITE_PARTITIONS: "dynamic",
}
_CREATES: Final = {
    _WRITE_TO.MODE_CREATE: "CREATE TABLE AS SELECT",
    _WRITE_TO.MODE_REPLACE: "REPLACE TABLE AS SELECT",
    _WRITE_TO.MODE_CREATE_OR_REPLACE: "CREATE OR REPLACE TABLE AS SELECT",
}


def write_of(
    application: Application, spark: SparkSession, command: proto.WriteOperation, given: DataFrame | None = None
) -> CommandAnswer | None:
    """Run `save`, `saveAsTable` or `insertInto`; None if it does not write a Delta table by its path.

    Args:
        given: the rows, if they are not in the command.
    """
    kind, mode = command.WhichOneof("save_type"), _MODES[command.mode]
    options = dict(command.options)
    rows = frame_of(spark, command.input) if given is None else given
    if kind != "table":
        if command.source.lower() != _DELTA:
            return None
        _refuse_buckets(command)
        path = command.path or next((value for name, value in options.items() if name.lower() == "path"), "")
        write(application, rows, _request(command, {**options, "path": path}, mode))
        return _DONE
    path = path_in(command.table.table_name)
    is_insert = command.table.save_method == _WRITE.SaveTable.TABLE_SAVE_METHOD_INSERT_INTO
    if path is None:
        if command.source.lower() == _DELTA and not is_insert:
            raise refusal(application.backend.catalog(spark).name(command.table.table_name))
        if is_insert and command.source.lower() == _DELTA:
            command.ClearField("source")  # the table decides, and the server knows no `delta`
        return None
    _refuse_buckets(command)
    if is_insert and not is_table(path):
        raise failed("TABLE_OR_VIEW_NOT_FOUND", table=command.table.table_name)
    if is_insert or (mode == "append" and is_table(path)):
        how = "overwrite" if mode == "overwrite" else "append"
        if mode == "overwrite" and overwrites_dynamically(application, spark):
            how = "dynamic"
        columns = "position" if is_insert else "frame"
        insert(application, rows, InsertStatement(command.table.table_name, how, "", columns, options), path)
        return _DONE
    write(application, rows, _request(command, {**options, "path": path}, mode))
    return _DONE


def write_to(
    application: Application, spark: SparkSession, command: proto.WriteOperationV2, given: DataFrame | None = None
) -> CommandAnswer | None:
    """Run a method of `df.writeTo`; None if it does not write a Delta table by its path.

    Args:
        given: the rows, if they are not in the command.
    """
    path = path_in(command.table_name)
    if path is None:
        if command.provider.lower() == _DELTA and command.mode in _CREATES:
            raise refusal(application.backend.catalog(spark).name(command.table_name))
        return None
    if command.mode in _INSERTS and not is_table(path):
        raise failed("TABLE_OR_VIEW_NOT_FOUND", table=command.table_name)
    rows, options = frame_of(spark, command.input) if given is None else given, dict(command.options)
    if getattr(command, "with_schema_evolution", False):  # from PySpark 4.2 on
        options["mergeSchema"] = "true"
    if command.mode in _INSERTS:
        insert(application, rows, InsertStatement(command.table_name, _INSERTS[command.mode], "", "frame", options), path)
        return _DONE
    if command.mode not in _CREATES:
        condition = _condition(application, spark, command.overwrite_condition)
        insert(application, rows, InsertStatement(command.table_name, "replace", condition, "frame", options), path)
        return _DONE
    partitions = [each.unresolved_attribute.unparsed_identifier for each in command.partitioning_columns]
    if any(each.WhichOneof("expr_type") != "unresolved_attribute" for each in command.partitioning_columns):
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="partitioning by an expression", features=("Spark Connect",))
    creates = command.mode == _WRITE_TO.MODE_CREATE
    if command.mode == _WRITE_TO.MODE_REPLACE and not is_table(path):
        raise failed("DELTA_MISSING_DELTA_TABLE", table=command.table_name)
    replaces = not creates and is_table(path)
    options |= {"clusterBy": ",".join(command.clustering_columns)} if command.clustering_columns else {}
    parsed = WriteOptions.parse({**options, "path": path}, "error" if creates else "overwrite", partitions)
    parsed = replace(parsed, properties={**parsed.properties, **command.table_properties})
    statement = Statement(_CREATES[command.mode], None, managed=False, replaces=replaces)
    if replaces:
        parsed = whole(parsed, options)
    write(application, rows, WriteRequest(parsed, WriteContext(statement)))
    return _DONE


def _condition(application: Application, spark: SparkSession, given: proto.Expression) -> str:
    """Return the condition of `writeTo(...).overwrite(condition)` as SQL, which becomes a part of the history."""
    try:
        return written(expression_of(given, Dialect.of(application.backend.settings(spark))))
    except UnreadableTextError as error:
        what = f"writeTo(...).overwrite(condition) with {error}"
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",)) from None


def _request(command: proto.WriteOperation, options: dict[str, str], mode: str) -> WriteRequest:
    if command.clustering_columns:
        options["clusterBy"] = ",".join(command.clustering_columns)
    return WriteRequest(WriteOptions.parse(options, mode, list(command.partitioning_columns)))


def _refuse_buckets(command: proto.WriteOperation) -> None:
    if command.HasField("bucket_by"):
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="bucketBy", features=("bucketing",))
