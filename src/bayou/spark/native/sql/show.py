# SPDX-License-Identifier: Apache-2.0
"""Answer SHOW PARTITIONS and SHOW COLUMNS of a Delta table from its log.

Spark's own commands read the catalog entry. The entry of a Delta table has neither partitions nor columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.protocol.types.schema import schema_to_json
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.session import active_session, java_session, partitions_in, table_in
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.plans import analyzed, output
from bayou.spark.jvm.relations.relation import local_relation
from bayou.spark.native.session.jvm import jvm_of, workbench_of
from bayou.spark.table.shown import partitions
from bayou.spark.types.types import readable_schema
from bayou.storage import qualify

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

SHOW_PARTITIONS: Final = "ShowPartitionsCommand"
"""The name of Spark's command."""


def partitions_of(application: Application, command: JavaObject) -> JavaObject:
    """Return a plan of the partitions that have files, with one typed column for each partition column.

    Return the command itself if it is about a table of another format.

    Raises:
        InvalidOptionError: the table is not partitioned, or the command filters by a column that is not a partition column.
    """
    snapshot = snapshot_in(application, command)
    if snapshot is None:
        return command
    jvm = jvm_of(application)
    columns, table = partitions(snapshot, partitions_in(jvm, command))
    session = java_session(active_session(jvm))
    rows = Bulk.of(jvm).dataset(session, workbench_of(application, session), table, schema_to_json(readable_schema(columns)))
    return analyzed(rows)


SHOW_COLUMNS: Final = "ShowColumnsCommand"
"""The name of Spark's command."""


def columns_of(application: Application, command: JavaObject) -> JavaObject:
    """Return a plan of the column names, or the command itself if it is about a table of another format."""
    snapshot = snapshot_in(application, command)
    if snapshot is None:
        return command
    jvm, spark = jvm_of(application), active_session(jvm_of(application))
    table = pa.table({"col_name": pa.array(snapshot.schema.names, pa.string())})
    rows = Bulk.of(jvm).rows(java_session(spark), table, ["col_name"])
    return local_relation(jvm, output(command), rows, table.num_rows)


def snapshot_in(application: Application, command: JavaObject) -> Snapshot | None:
    """Return the latest snapshot of the Delta table of a command, or None for another table."""
    catalog = Catalog(jvm_of(application), active_session(jvm_of(application)))
    name = catalog.name(table_in(command))
    entry = catalog.entry(name) if name.path is None else None
    location = name.path if entry is None or entry.provider != "delta" else entry.location
    return None if location is None else application.logs.get(qualify(location).uri, {}).update()
