# SPDX-License-Identifier: Apache-2.0
"""Turn the start of a stream into a Delta table into the start of a `foreachBatch` that writes it."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.connect.utils import get_python_ver

from bayou.errors import failed, redact_uri
from bayou.spark.portable.names import check_format, path_in
from bayou.spark.portable.streams.package import batch_function, packed
from bayou.spark.session.given_options import storage_options_of
from bayou.spark.streaming.batch_writes import sink_options
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

_DELTA: Final = "delta"
_CHECKPOINT: Final = "checkpointLocation"
_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_logger = logging.getLogger("bayou")


def write_batches(spark: SparkSession, command: proto.WriteStreamOperationStart) -> None:
    """Change the start of a stream into a Delta table, in place. Leave other streams as they are.

    The server then writes each batch by a Python function, which commits with the access to the storage that the server's Python
    has. Credentials in the options of the stream are not sent.

    Raises:
        UnsupportedFeatureError: the output mode is update.
        InvalidOptionError: the checkpoint is missing, or the value of an option is not valid.
    """
    facts = batch_facts(spark, command)
    if facts is None:
        return
    for field in ("format", "path", "table_name", "partitioning_column_names", "clustering_column_names", "options"):
        command.ClearField(cast("Any", field))
    command.options[_CHECKPOINT] = facts["checkpoint"]
    function = command.foreach_batch.python_function
    serializer: Any = cast("Any", CloudPickleSerializer)()
    function.command = serializer.dumps(batch_function(packed(), facts))
    function.python_ver = get_python_ver()


def batch_facts(spark: SparkSession, command: proto.WriteStreamOperationStart) -> dict[str, Any] | None:
    """Return the arguments of the `BatchWriter` of a stream into a Delta table; None for other streams.

    Raises:
        UnsupportedFeatureError: the output mode is update.
        InvalidOptionError: the checkpoint is missing, or the value of an option is not valid.
    """
    path = _path(command)
    if path is None:
        return None
    options = {name: value for name, value in command.options.items() if name.lower() != "path"} | {"path": path}
    if command.clustering_column_names:
        options["clusterBy"] = ",".join(command.clustering_column_names)
    secrets = storage_options_of(options)
    if secrets:
        shown = ", ".join(sorted(secrets))
        _logger.warning("the storage options of a stream are not sent to the server: %s (table: %s)", shown, redact_uri(path))
    options = {name: value for name, value in options.items() if name not in secrets}
    mode = (command.output_mode or "append").strip().capitalize()
    partitions = list(command.partitioning_column_names)
    if path:
        options["path"] = qualify(path).uri  # the server's Python has another working folder
    sink_options(options, partitions, mode)  # so that a wrong option is an error now, and not in the first batch
    checkpoint = _checkpoint(spark, command, path)
    return {"options": options, "partitions": partitions, "output_mode": mode, "checkpoint": checkpoint}


def _path(command: proto.WriteStreamOperationStart) -> str | None:
    """Return the path of the Delta table that a stream writes; None if it writes anything else."""
    if command.HasField("foreach_batch") or command.HasField("foreach_writer"):
        return None
    if command.WhichOneof("sink_destination") == "table_name":
        path = path_in(command.table_name)
        if path is not None:
            check_format(command.format, command.table_name)
        return path
    if command.format.lower() != _DELTA:
        return None
    return command.path or next((value for name, value in command.options.items() if name.lower() == "path"), "")


def _checkpoint(spark: SparkSession, command: proto.WriteStreamOperationStart, path: str) -> str:
    """Return the checkpoint as Spark chooses it for a sink of its own."""
    given = next((value for name, value in command.options.items() if name.lower() == _CHECKPOINT.lower()), "")
    if given:
        return given
    folder = spark.conf.get(_CHECKPOINTS, "")
    if not folder:
        raise failed("DELTA_ILLEGAL_OPTION/checkpoint", table=path, option=_CHECKPOINT, setting=_CHECKPOINTS)
    return f"{folder.rstrip('/')}/{command.query_name or uuid.uuid4()}"
