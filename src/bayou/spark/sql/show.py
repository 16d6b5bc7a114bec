# SPDX-License-Identifier: Apache-2.0
"""SHOW PARTITIONS, SHOW COLUMNS and SHOW TBLPROPERTIES of a Delta table, answered from its log.

Spark looks for partitions and columns in the catalog entry, which has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.errors import InvalidOptionError
from bayou.protocol.types import partition_values
from bayou.protocol.types.partition_values import NULL_FOLDER, partition_folder
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.session import active_session, java_session, table_in
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.relation import local_relation
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

SHOW_PARTITIONS: Final = "ShowPartitionsCommand"
"""The name of Spark's command."""


def partitions_of(application: Application, command: JavaObject) -> JavaObject:
    """What stands for the command: the partitions that have files, as Spark writes them.

    The command itself, where it is about another table.

    Args:
        application: the application.
        command: Spark's command.

    Raises:
        InvalidOptionError: the table has no partition columns, or not that one.
    """
    snapshot = snapshot_in(application, command)
    if snapshot is None:
        return command
    jvm = application.jvm
    if not snapshot.partition_columns:
        raise _refused(snapshot, "SHOW PARTITIONS is not allowed on a table that is not partitioned", "TABLE", "42809")
    given = command.spec()
    keys = [] if given.isEmpty() else jvm.list_of(given.get().keys().toList())
    found = sorted(set(_partitions(snapshot, {str(key): str(given.get().apply(key)) for key in keys})))
    table = pa.table({"partition": pa.array(found, pa.string())})
    rows = Bulk.of(jvm).rows(java_session(active_session(jvm)), table, ["partition"])
    return local_relation(jvm, command.output(), list(rows))


def _partitions(snapshot: Snapshot, wanted: Mapping[str, str]) -> Iterator[str]:
    fields = {name.lower(): snapshot.schema.field(name) for name in snapshot.partition_columns}
    unknown = [name for name in wanted if name.lower() not in fields]
    if unknown:
        message = f"Non-partitioning column(s) [{', '.join(unknown)}] are specified for SHOW PARTITIONS"
        raise _refused(snapshot, message, "COLUMN", "42P10")
    columns = [field for field in fields.values() if field is not None]
    # There are far more files than partitions.
    names = [field.physical_name for field in columns]
    texts = snapshot.partition_texts()
    found = pa.table({name: texts[name] for name in names}).group_by(names).aggregate([])
    values = {
        name.lower(): None if text == NULL_FOLDER else partition_values.parse(text, str(fields[name.lower()].type))  # type: ignore[union-attr]
        for name, text in wanted.items()
    }
    for row in found.select(names).to_pylist():
        pairs = [(field, row[field.physical_name] or None) for field in columns]
        if all(
            partition_values.parse(text, str(field.type)) == values[field.name.lower()]
            for field, text in pairs
            if field.name.lower() in values
        ):
            yield partition_folder((field.name, text) for field, text in pairs)


def _refused(snapshot: Snapshot, message: str, what: str, state: str) -> InvalidOptionError:
    return InvalidOptionError(
        message,
        table=snapshot.table_uri,
        version=snapshot.version,
        error_class=f"DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_{what}",
        sql_state=state,
        next_step=f"the table is partitioned by {list(snapshot.partition_columns) or 'nothing'}.",
    )


SHOW_COLUMNS: Final = "ShowColumnsCommand"
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


def shown_properties(snapshot: Snapshot) -> dict[str, str]:
    """A table's properties by name, with its protocol and its comment in the words of properties, as delta-spark shows them."""
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    found = {
        **snapshot.metadata.configuration,
        "delta.minReaderVersion": str(protocol.min_reader_version),
        "delta.minWriterVersion": str(protocol.min_writer_version),
        **{f"delta.feature.{name}": "supported" for name in features},
    }
    if snapshot.metadata.description is not None:
        found["comment"] = snapshot.metadata.description
    return dict(sorted(found.items()))
