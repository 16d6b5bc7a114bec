# SPDX-License-Identifier: Apache-2.0
"""Find the files whose partition values satisfy conditions, by Spark's own evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.relation import bound_predicate
from bayou.spark.native.scan.file_index import PartitionColumn, partition_groups
from bayou.spark.native.session.jvm import jvm_of, workbench_of
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application


def matching_partitions(application: Application, spark: SparkSession, snapshot: Snapshot, conditions: Sequence[Any]) -> pa.Array:
    """Return the files whose partition values satisfy all conditions, by Spark's own evaluation; all files without conditions.

    A condition is evaluated only if those before it are true, as in a query: they may exclude values that it fails on.
    """
    if not conditions:
        return pa.array(np.arange(snapshot.files(["path"]).num_rows), pa.int64())
    fields = [f for name in snapshot.partition_columns if (f := snapshot.schema.field(name)) is not None]
    texts = snapshot.partition_texts()
    partitions = [PartitionColumn(f.physical_name, sql_type(f.type), texts[f.physical_name].combine_chunks()) for f in fields]
    if not snapshot.files(["path"]).num_rows:
        return pa.array([], pa.int64())
    jvm = jvm_of(application)
    groups = partition_groups(jvm, snapshot, workbench_of(application, java_session(spark)), lambda: partitions)
    assert groups.rows is not None  # noqa: S101  (there are files, and conditions on their partition columns)
    logical = StructType(tuple(StructField(f.name, f.type) for f in fields))
    matching = Bulk.of(jvm).matching(groups.rows, bound_predicate(jvm, conditions, schema_to_json(logical)))
    return pc.indices_nonzero(pc.is_in(groups.ids, pa.array(matching, pa.int64()))).cast(pa.int64())
