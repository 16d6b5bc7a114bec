# SPDX-License-Identifier: Apache-2.0
"""A table's first commit."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayou.errors import TableExistsError
from bayou.log.transaction import Transaction
from bayou.protocol.actions import Metadata
from bayou.protocol.new_table import check_schema, protocol_for
from bayou.protocol.schema import StructType, schema_to_json

if TYPE_CHECKING:
    from bayou.log.delta_log import DeltaLog


def create_table(
    log: DeltaLog, schema: StructType, partition_by: tuple[str, ...], properties: Mapping[str, str], description: str | None
) -> None:
    """Commit the protocol and the metadata of a table without rows; see `DeltaLog.create`."""
    with log.transaction("CREATE TABLE") as transaction:
        if transaction.snapshot is not None:
            raise TableExistsError(
                "there is a table already",
                table=log.table_uri,
                version=transaction.snapshot.version,
                next_step="Append to it, or choose another path.",
            )
    check_schema(schema, partition_by, log.table_uri)
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(schema),
        partition_columns=partition_by,
        configuration=dict(properties),
        description=description,
        created_time=int(time.time() * 1000),
    )
    parameters = {"partitionBy": list(partition_by), "description": description, "properties": dict(properties)}
    Transaction(log, None, "CREATE TABLE", parameters).commit([protocol_for(schema, properties), metadata], metrics={})
