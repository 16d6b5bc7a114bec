# SPDX-License-Identifier: Apache-2.0
"""What a write goes into: a table that is there, or one that it makes; checked before any file is written."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.errors import AppendOnlyError, SchemaMismatchError
from bayou.protocol import properties
from bayou.protocol.actions import Metadata, Protocol
from bayou.protocol.features import check_writable
from bayou.protocol.new_table import check_schema, differences, protocol_for
from bayou.protocol.schema import schema_to_json
from bayou.spark.types import as_nullable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot import Snapshot
    from bayou.protocol.schema import StructType
    from bayou.spark.writer import WriteRequest


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A table that rows can be written into.

    Attributes:
        log: its log.
        snapshot: its state; None for a table that the write makes.
        schema: its schema.
        partition_by: its partition columns.
        properties: its properties.
        head: the actions that make it; empty for a table that is there.
    """

    log: DeltaLog
    snapshot: Snapshot | None
    schema: StructType
    partition_by: tuple[str, ...]
    properties: Mapping[str, str]
    head: tuple[Protocol | Metadata, ...] = ()


def write_target(request: WriteRequest, given: StructType, log: DeltaLog, snapshot: Snapshot | None) -> WriteTarget:
    """The target of a write, after every check that needs no file.

    Args:
        request: what the writer asked for.
        given: the schema of the rows.
        log: the table's log.
        snapshot: the table's state; None where there is no table.

    Raises:
        InvalidSchemaError: no table can have this schema or these partition columns.
        SchemaMismatchError: the rows do not have the table's columns, or other partition columns were asked for.
        AppendOnlyError: the mode is `overwrite` and the table only takes appends.
        UnsupportedFeatureError: the table needs a rule that is not enforced yet; it is named.
    """
    return _new(request, given, log) if snapshot is None else _existing(request, given, log, snapshot)


def _new(request: WriteRequest, given: StructType, log: DeltaLog) -> WriteTarget:
    check_schema(given, request.partition_by or (), log.table_uri)
    schema = as_nullable(given)
    protocol = protocol_for(schema, request.properties)
    partitions = [schema.field(name) for name in request.partition_by or ()]
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(schema),
        partition_columns=tuple(found.name for found in partitions if found is not None),
        configuration=dict(request.properties),
        created_time=int(time.time() * 1000),
    )
    check_writable(protocol, metadata, log.table_uri)
    return WriteTarget(log, None, schema, metadata.partition_columns, request.properties, (protocol, metadata))


def _existing(request: WriteRequest, given: StructType, log: DeltaLog, snapshot: Snapshot) -> WriteTarget:
    check_writable(snapshot.protocol, snapshot.metadata, snapshot.table_uri, snapshot.version)
    if request.mode == "overwrite" and properties.APPEND_ONLY.read(snapshot.metadata.configuration):
        raise AppendOnlyError(
            "The table only takes appends (delta.appendOnly), and an overwrite removes its rows.",
            table=snapshot.table_uri,
            version=snapshot.version,
            next_step="append, or set delta.appendOnly to false first.",
        )
    wanted = request.partition_by
    existing = snapshot.partition_columns
    if wanted is not None and [n.lower() for n in wanted] != [n.lower() for n in existing]:
        raise SchemaMismatchError(
            f"The table is partitioned by {list(existing)}, and the write asks for {list(wanted)}.",
            table=snapshot.table_uri,
            version=snapshot.version,
            next_step="leave partitionBy out, or name the table's partition columns.",
        )
    problems = list(differences(snapshot.schema, given))
    missing = [name for name in existing if given.field(name) is None]
    problems += [f"the partition column {name!r} is missing in the rows" for name in missing]
    if problems:
        raise SchemaMismatchError(
            f"The rows do not have the table's schema: {'; '.join(problems)}.",
            table=snapshot.table_uri,
            version=snapshot.version,
            problems=problems,
            next_step="select or cast the columns to the table's.",
        )
    return WriteTarget(log, snapshot, snapshot.schema, existing, snapshot.properties)
