# SPDX-License-Identifier: Apache-2.0
"""Prune the files of a snapshot by a filter: with statistics, partition values and generated partition columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.predicate import And, Predicate, columns, is_never_true
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.relation import bound_predicate
from bayou.spark.scan.file_index import PartitionColumn, partition_groups
from bayou.spark.scan.generated_partitions import partition_filter
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def choose(application: Application, session: JavaObject | None, snapshot: Snapshot, predicate: Predicate) -> pa.Array | None:
    """Return the positions of the files that may hold a row for which the predicate is true; None for all of them.

    Args:
        session: the session that resolves the expressions of generated partition columns; None to leave such columns out.
    """
    if is_never_true(predicate):
        return pa.array([], pa.int64())
    if not columns(predicate):
        return None
    derived = None if session is None else partition_filter(application, session, snapshot, predicate)
    may_match = snapshot.may_match(predicate if derived is None else And((predicate, derived)))
    return None if pc.all(may_match).as_py() is not False else pc.indices_nonzero(may_match)


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
    jvm = application.jvm
    groups = partition_groups(jvm, snapshot, application.workbench(java_session(spark)), lambda: partitions)
    assert groups.rows is not None  # noqa: S101  (there are files, and conditions on their partition columns)
    logical = StructType(tuple(StructField(f.name, f.type) for f in fields))
    matching = Bulk.of(jvm).matching(groups.rows, bound_predicate(jvm, conditions, schema_to_json(logical)))
    return pc.indices_nonzero(pc.is_in(groups.ids, pa.array(matching, pa.int64()))).cast(pa.int64())
