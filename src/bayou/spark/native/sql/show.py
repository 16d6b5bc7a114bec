# SPDX-License-Identifier: Apache-2.0
"""Answer SHOW PARTITIONS, SHOW COLUMNS and SHOW TBLPROPERTIES of a Delta table from its log.

Spark's own commands read the catalog entry. The entry of a Delta table has neither partitions nor columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.snapshot.partition_columns import typed_partitions
from bayou.plan.predicates.partition_values import to_arrow
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.partition_values import NULL_FOLDER
from bayou.protocol.types.schema import StructType, schema_to_json
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.session import active_session, java_session, partitions_in, table_in
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.plans import analyzed, output
from bayou.spark.jvm.relations.relation import local_relation
from bayou.spark.native.session.jvm import jvm_of, workbench_of
from bayou.spark.types.types import readable_schema
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    if not snapshot.partition_columns:
        raise failed("DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE", at=snapshot)
    columns, table = _partitions(snapshot, partitions_in(jvm, command))
    session = java_session(active_session(jvm))
    rows = Bulk.of(jvm).dataset(session, workbench_of(application, session), table, schema_to_json(readable_schema(columns)))
    return analyzed(rows)


def _partitions(snapshot: Snapshot, filters: Mapping[str, str]) -> tuple[StructType, pa.Table]:
    """Return the partition columns, and their distinct values in order.

    Args:
        filters: the values of some partition columns, as strings. Only partitions with these values are returned.
    """
    fields = {name.lower(): snapshot.schema.field(name) for name in snapshot.partition_columns}
    unknown = [name for name in filters if name.lower() not in fields]
    if unknown:
        raise failed(
            "DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_COLUMN",
            at=snapshot,
            columns=unknown,
            partition_columns=snapshot.partition_columns,
        )
    columns = StructType(tuple(field for field in fields.values() if field is not None))
    typed = typed_partitions(snapshot.schema, snapshot.partition_texts())
    table = pa.table({field.name: typed[(field.physical_name,)] for field in columns.fields})
    for name, text in filters.items():
        field = columns.field(name)
        assert field is not None  # noqa: S101  (it is a partition column)
        padded = None if text == NULL_FOLDER else text.ljust(char_width(field))
        value = to_arrow(pa.array([padded]), str(field.type))[0]
        column = table[field.name]
        table = table.filter(column.is_null() if not value.is_valid else pc.fill_null(pc.equal(column, value), False))
    # Deduplicate before sorting: there are far more files than partitions.
    table = table.group_by(columns.names).aggregate([]).select(columns.names)
    return columns, table.sort_by([(name, "ascending") for name in columns.names])


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


def shown_properties(snapshot: Snapshot) -> dict[str, str]:
    """Return a table's properties, sorted, with its protocol and its comment, as delta-spark shows them."""
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    properties = {
        **snapshot.metadata.configuration,
        "delta.minReaderVersion": str(protocol.min_reader_version),
        "delta.minWriterVersion": str(protocol.min_writer_version),
        **{f"delta.feature.{name}": "supported" for name in features},
    }
    if snapshot.metadata.description is not None:
        properties["comment"] = snapshot.metadata.description
    return dict(sorted(properties.items()))
