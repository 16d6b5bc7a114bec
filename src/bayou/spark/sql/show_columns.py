# SPDX-License-Identifier: Apache-2.0
"""SHOW COLUMNS of a Delta table. Spark would list those of the catalog entry, which has none: the log has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.session import active_session, java_session, table_in
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.relation import local_relation
from bayou.storage import qualify

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

NAME: Final = "ShowColumnsCommand"
"""The name of Spark's command."""


def columns_of(application: Application, command: JavaObject) -> JavaObject:
    """What stands for the command: the names of the columns as rows; the command itself where it is about another table.

    Args:
        application: the application.
        command: Spark's command.
    """
    snapshot = snapshot_in(application, command)
    if snapshot is None:
        return command
    jvm, spark = application.jvm, active_session(application.jvm)
    table = pa.table({"col_name": pa.array(snapshot.schema.names, pa.string())})
    rows = Bulk.of(jvm).rows(java_session(spark), table, ["col_name"])
    return local_relation(jvm, command.output(), list(rows))


def snapshot_in(application: Application, command: JavaObject) -> Snapshot | None:
    """The Delta table that a command of Spark's is about, as it is now; None where it is about another one.

    Args:
        application: the application.
        command: Spark's command.
    """
    catalog = Catalog(application.jvm, active_session(application.jvm))
    name = catalog.name(table_in(command))
    entry = catalog.entry(name) if name.path is None else None
    location = name.path if entry is None or entry.provider != "delta" else entry.location
    return None if location is None else application.logs.get(qualify(location).uri, {}).update()
