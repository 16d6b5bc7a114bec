# SPDX-License-Identifier: Apache-2.0
"""Spark's relations, plans and predicates, as bayou makes and reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bayou.spark.jvm.adapters import Adapters
from bayou.spark.jvm.callbacks import BiFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_DATASET = ("org.apache.spark.sql.classic.Dataset", "org.apache.spark.sql.Dataset")


class FileIndexProxy:
    """Spark's `FileIndex` as a Python object, for a JVM without the adapters; `bayou.DeltaLogFiles` does the same there."""

    def __init__(self, key: str, roots: JavaObject, partitions: JavaObject, size: int, files: BiFunction, none: Any) -> None:
        self._key = key
        self._roots = roots
        self._partitions = partitions
        self._size = size
        self._files = files
        self._none = none

    def rootPaths(self) -> JavaObject:  # noqa: N802, D102  (Spark's name)
        return self._roots

    def listFiles(self, partition_filters: JavaObject, data_filters: JavaObject) -> JavaObject:  # noqa: N802, D102
        return self._files.apply(partition_filters, data_filters)

    def inputFiles(self) -> JavaObject:  # noqa: N802, D102
        return self._files.apply(None, None)

    def sizeInBytes(self) -> int:  # noqa: N802, D102
        return self._size

    def partitionSchema(self) -> JavaObject:  # noqa: N802, D102
        return self._partitions

    def metadataOpsTimeNs(self) -> JavaObject:  # noqa: N802, D102
        return self._none

    def refresh(self) -> None:
        """Nothing to do: the files of a snapshot are fixed."""

    def toString(self) -> str:  # noqa: N802, D102
        return self._key

    def hashCode(self) -> int:  # noqa: N802, D102
        return sum(self._key.encode()) & 0x7FFFFFFF

    def equals(self, other: Any) -> bool:  # noqa: D102
        return other is not None and other.toString() == self._key

    class Java:
        """Read by py4j."""

        implements: ClassVar = [f"{_DATASOURCES}.FileIndex"]


def struct_type(jvm: Jvm, json_text: str) -> JavaObject:
    """Spark's `StructType` of a schema's JSON."""
    return jvm.view.org.apache.spark.sql.types.DataType.fromJson(json_text)


def file_relation(
    jvm: Jvm,
    session: JavaObject,
    *,
    key: str,
    root: str,
    data_schema: str,
    partition_schema: str,
    size: int,
    options: dict[str, str],
    files: Callable[[Any, Any], JavaObject],
    native: bool,
) -> JavaObject:
    """A relation over the files that a Python function names, read by Spark's own Parquet reader.

    Args:
        jvm: the JVM.
        session: the JVM session that the relation belongs to.
        key: two relations with one key list the same files.
        root: the table's URI.
        data_schema: JSON of the columns, in order; partition columns may be among them.
        partition_schema: JSON of the columns that are constant for a file.
        size: what the optimiser shall believe the relation's size to be, in bytes.
        options: the relation's options.
        files: called with the partition filters and the data filters, returns directories; with None, the input files.
        native: whether the adapters are there.
    """
    partitions = struct_type(jvm, partition_schema)
    roots = jvm.seq([jvm.view.org.apache.hadoop.fs.Path(root)])
    callback = BiFunction(jvm, files)
    if native:
        index = Adapters.of(jvm).new("bayou.DeltaLogFiles", key, roots, partitions, str(size), callback)
    else:
        index = FileIndexProxy(key, roots, partitions, size, callback, jvm.none)
    return jvm.view.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
        index,
        partitions,
        struct_type(jvm, data_schema),
        jvm.none,
        jvm.view.org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat(),
        jvm.scala_map(options),
        session,
    )


@dataclass(frozen=True, slots=True)
class BareTable:
    """A table for which a relation stands until the optimizer rule completes it.

    Attributes:
        key: two relations with one key are one to Spark's caches.
        table: what the rule is told: the request that the relation stands for.
        root: the table's URI.
        schema: JSON of its columns.
        partition_schema: JSON of its partition columns, which are among them.
        size: in bytes.
    """

    key: str
    table: str
    root: str
    schema: str
    partition_schema: str
    size: int


def bare_relation(jvm: Jvm, session: JavaObject, bare: BareTable, options: JavaObject) -> JavaObject:
    """The relation that stands for a table until the optimizer rule completes it; without the rule it refuses to list.

    Args:
        jvm: the JVM.
        session: the JVM session that it belongs to.
        bare: the table.
        options: the Scala map of options that Spark gave; a relation with other options it would copy.
    """
    adapters = Adapters.of(jvm)
    path = jvm.view.org.apache.hadoop.fs.Path(bare.root)
    partitions = struct_type(jvm, bare.partition_schema)
    message = (
        f"{bare.root} is read through bayou's optimizer rule, which this session does not have. "
        "Next: call bayou.enable(session) on this session first."
    )
    # Spark inserts by itself only into a relation with exactly one path; with two it refuses, or comes to `insert`.
    refusing = adapters.new("bayou.Refusing", message, bare.table, jvm.seq([path, path]), partitions, str(bare.size))
    schema = struct_type(jvm, bare.schema)
    return adapters.new("bayou.DeltaTable", bare.key, refusing, partitions, schema, options, session)


def logical_relation(jvm: Jvm, relation: JavaObject) -> JavaObject:
    """A relation as a node of a logical plan."""
    companion = jvm.module(f"{_DATASOURCES}.LogicalRelation")
    return companion.apply(relation, False)


def local_relation(jvm: Jvm, output: JavaObject, rows: Sequence[JavaObject]) -> JavaObject:
    """Rows that are at hand as a node of a logical plan."""
    companion = jvm.module("org.apache.spark.sql.catalyst.plans.logical.LocalRelation")
    return jvm.call(companion, "apply", output, jvm.seq(rows), False)


def dataset(jvm: Jvm, session: JavaObject, plan: JavaObject) -> JavaObject:
    """A Dataset of rows over a logical plan."""
    return jvm.module(*_DATASET).ofRows(session, plan)


def bound_predicate(jvm: Jvm, filters: Sequence[JavaObject], partition_schema: str) -> JavaObject:
    """The conjunction of some Catalyst conditions, to be evaluated on rows of the partition columns."""
    view = jvm.view
    condition = filters[0]
    for other in filters[1:]:
        condition = view.org.apache.spark.sql.catalyst.expressions.And(condition, other)
    used = {attribute.name(): attribute for attribute in jvm.list_of(condition.references().toSeq())}
    types = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils")
    columns = jvm.list_of(types.toAttributes(struct_type(jvm, partition_schema)))
    attributes = jvm.seq(used.get(column.name(), column) for column in columns)
    sequence = jvm.construct(jvm.java_class("org.apache.spark.sql.catalyst.expressions.package$AttributeSeq"), attributes)
    expressions = "org.apache.spark.sql.catalyst.expressions"
    bound = jvm.module(f"{expressions}.BindReferences").bindReference(condition, sequence, False)
    return jvm.module(f"{expressions}.Predicate").createInterpreted(bound)
