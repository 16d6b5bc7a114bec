# SPDX-License-Identifier: Apache-2.0
"""Build a relation from any chosen files of a table.

Spark's own Parquet reader reads the files. Constants of a file travel as hidden partition columns: its partition values from the
log, its deletion vector, and any constant that a caller adds.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.expressions.predicates import by_physical_name, from_catalyst
from bayou.spark.jvm.catalyst.row_reading import reads_batches, row_condition
from bayou.spark.jvm.catalyst.wide_columns import projected
from bayou.spark.jvm.core.adapters import described
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.jvm.core.session import dataset, session_of
from bayou.spark.jvm.relations.plans import analyzed, class_name, file_metadata_name, schema_of, union, where
from bayou.spark.jvm.relations.relation import FileRelation, java_frame, logical_relation
from bayou.spark.native.scan.file_index import (
    FileGroups,
    PartitionColumn,
    ScanFiles,
    group_files,
    list_directories,
    partition_groups,
)
from bayou.spark.native.session.jvm import jvm_of, workbench_of
from bayou.spark.pinned_settings import Job, values, with_options
from bayou.spark.scan import vector_columns
from bayou.spark.scan.file_metadata import FILE_METADATA, OUR_METADATA
from bayou.spark.scan.file_source import FileSource, SnapshotFiles, uris
from bayou.spark.scan.file_types import group_by_types, must_be_grouped
from bayou.spark.scan.footers import read_footers
from bayou.spark.scan.vector_columns import BYTES
from bayou.spark.types.alignment import aligned
from bayou.spark.types.types import contains_void, physical_field, sql_type, stored_fields, stored_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow.parquet as pq

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Predicate
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_SCANS_WITH_CONSTANTS: Final = itertools.count()
_HIDDEN_TYPES = {
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.timestamp("us", "UTC"): "timestamp",
}


@dataclass(frozen=True, slots=True)
class PlannedScan:
    """A plan over real files, ready to replace a table.

    Attributes:
        plan: the logical plan, in the JVM.
        columns: the names of the wanted columns in the plan, in order; `_metadata` comes last, renamed.
        is_union: whether filters must be pushed into it.
    """

    plan: JavaObject
    columns: list[str]
    is_union: bool = False


@dataclass(frozen=True)
class Scan:
    """Chosen files of a table as a relation in Spark.

    Attributes:
        session: the JVM session that the relation belongs to.
        fields: the columns to read, logical, in order; nested fields may be pruned.
        metadata: the fields of `_metadata` to read; None for no such column.
        positions: which files of the source, by their positions in `files()`; None for all.
        hidden: constants for each chosen file, by the name of the column that holds them.
        options: options for Hadoop and the Parquet reader.
        stored: the columns as the chosen files hold them, by physical name; None if they hold the table's types.
        source: the source of the files; None for the snapshot.
        streaming: whether the files are a batch of a stream.
        rewrites: whether the rows are rewritten, or decide what is written. Then every file must be read, whatever the session's
            settings are, and no filter that Parquet evaluates differently from Spark may exclude a row.
        file_tasks: whether each file is one partition of the scan, whatever its size.
        prune: called with the query's filter when Spark plans the scan, returns the positions of the source's files that may match,
            or None for all; None if the files were pruned before.
    """

    application: Application
    session: JavaObject
    snapshot: Snapshot
    fields: Sequence[StructField]
    metadata: Sequence[str] | None = None
    positions: pa.Array | None = None
    hidden: Mapping[str, pa.Array] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    stored: Mapping[str, StructField] | None = None
    source: FileSource | None = None
    streaming: bool = False
    rewrites: bool = False
    file_tasks: bool = False
    prune: Callable[[Predicate], pa.Array | None] | None = field(default=None, compare=False)

    def planned(self) -> PlannedScan:
        """Return the scan as a logical plan, with deletion vectors applied.

        Raise UnsupportedFeatureError if Spark cannot read a type of the table, or a column has the name of an auxiliary column.
        """
        names = [self._physical(f) for f in self.fields]
        if self.stored is None and must_be_grouped(self._table_fields(), jvm_of(self.application).spark_version):
            return self._by_stored_types()
        if not self._vectors and self.metadata is None and self.stored is None and not self._has_void():
            return PlannedScan(self._relation(), names)
        names += self.hidden
        if self.metadata is not None:
            names.append(OUR_METADATA)
        return PlannedScan(analyzed(self._frame()), names)

    def is_plain(self, planned: PlannedScan) -> bool:
        """Whether the plan of this scan is a relation with exactly the wanted columns, in order."""
        if class_name(planned.plan) != "LogicalRelation" or self.hidden:
            return False
        return [(f.name, f.type) for f in schema_of(planned.plan).fields] == [(f.name, f.type) for f in self.fields]

    def _frame(self) -> JavaObject:
        """Return the scan as a Dataset of exactly the wanted columns, for what a relation alone cannot do."""
        jvm = jvm_of(self.application)
        relation = self._relation()
        facts = self._name_of_facts(relation)
        frame = dataset(jvm, self.session, relation)
        if self._vectors:
            condition, carried = self._source.row_condition(self._vectors, f"{facts}.row_index"), self._located[1]
            frame = where(frame, row_condition(jvm, condition, BYTES, carried))
        read = ((self._expression(f), quoted_name(f.name)) for f in self._physical_fields())
        projection = [name if expression == name else f"{expression} as {name}" for expression, name in read]
        projection += [quoted_name(name) for name in self.hidden]
        if self.metadata is not None:
            inner = ", ".join(f"{facts}.{quoted_name(name)}" for name in self.metadata)
            projection.append(f"struct({inner}) as {OUR_METADATA}")
        return java_frame(projected(jvm, session_of(self.session), analyzed(frame), projection))

    def _name_of_facts(self, relation: JavaObject) -> str:
        """Return Spark's name for its metadata of a row's file, which it changes if a column has the same name."""
        if not any(f.name.lower() == FILE_METADATA for f in (*self._physical_fields(), *self._partition_fields())):
            return FILE_METADATA
        return quoted_name(file_metadata_name(jvm_of(self.application), relation))

    def _expression(self, wanted: StructField) -> str:
        stored = stored_type(wanted.type)
        if stored is None:
            return "cast(null as void)"
        if stored != wanted.type:
            # Void fields are in no file.
            source = stored if self.stored is None else self.stored[wanted.name].type
            return aligned(quoted_name(wanted.name), source, wanted.type)
        if self.stored is None or self.stored[wanted.name].type == wanted.type:
            return quoted_name(wanted.name)
        return f"cast({quoted_name(wanted.name)} as {sql_type(wanted.type)})"

    def _by_stored_types(self) -> PlannedScan:
        """Return the union of one scan for each group of files with the same types, each cast to the table's types."""
        files = self._source.files(["path", "size"])
        all_positions = pa.array(np.arange(files.num_rows))
        positions = all_positions if self.positions is None else self.positions
        partitions = set(self.snapshot.partition_columns)
        physical = zip(self._physical_fields(), self.fields, strict=True)
        fields = stored_fields(f for f, logical in physical if logical.name not in partitions)
        groups = group_by_types(files, self.snapshot.table_uri, positions, fields, self._footers) or [(positions, tuple(fields))]
        order = {position: row for row, position in enumerate(positions.to_pylist())}
        scans = []
        for chosen, stored in groups:
            rows = pa.array([order[position] for position in chosen.to_pylist()], pa.int64())
            hidden = {name: values.take(rows) for name, values in self.hidden.items()}
            stored_columns = {**{f.name: f for f in stored_fields(self._physical_fields())}, **{f.name: f for f in stored}}
            scans.append(replace(self, positions=chosen, hidden=hidden, stored=stored_columns))
        rows = union(scan._frame() for scan in scans)  # noqa: SLF001  (of this class)
        names = [self._physical(f) for f in self.fields] + list(self.hidden)
        if self.metadata is not None:
            names.append(OUR_METADATA)
        return PlannedScan(analyzed(rows), names, is_union=True)

    def _has_void(self) -> bool:
        return any(contains_void(f.type) for f in self.fields)

    def _table_fields(self) -> list[StructField]:
        fields = [self.snapshot.schema.field(f.name) for f in self.fields]
        return [f for f in fields if f is not None]

    def _physical_fields(self) -> list[StructField]:
        table = self.snapshot.schema
        return [physical_field(f, table.field(f.name) or f, by_id=self._by_id) for f in self.fields]

    def _physical(self, wanted: StructField) -> str:
        column = self.snapshot.schema.field(wanted.name)
        return column.physical_name if column is not None else wanted.name

    @property
    def _by_id(self) -> bool:
        return self.snapshot.properties.get("delta.columnMapping.mode") == "id"

    @cached_property
    def _vectors(self) -> dict[str, pa.Array]:
        return self._located[0]

    @cached_property
    def _located(self) -> tuple[dict[str, pa.Array], bytes | None]:
        """Return these constants, and the bytes to put into the condition on rows; None if the constants are the bytes.

        Spark may finally read fewer columns than are passed here. The rows are the same either way.
        """
        vectors = self._source.vectors(self.positions, self.options)
        if not vectors:
            return {}, None
        read = {f.name: f for f in (*self._stored_fields(), *self._partition_fields(), *self._hidden_fields(vectors))}
        if reads_batches(jvm_of(self.application), self.session, schema_to_json(StructType(tuple(read.values())))):
            return vectors, None
        return vector_columns.together(vectors) or (vectors, None)

    @cached_property
    def _source(self) -> FileSource:
        return SnapshotFiles(self.snapshot) if self.source is None else self.source

    def _files(self, columns: list[str]) -> pa.Table:
        files = self._source.files(columns)
        return files if self.positions is None else files.take(self.positions)

    def _footers(self, files: Sequence[tuple[str, int]]) -> list[pq.FileMetaData | OSError]:
        return read_footers(self.application.backend, files, self.options)

    def _relation(self) -> JavaObject:
        partitions, hidden = self._partition_fields(), self._hidden_fields(self._vectors)
        by_id, rewriting = [Job.FIELD_IDS] * self._by_id, [Job.REWRITE] * self.rewrites
        self._check_constants(*self._physical_fields(), *partitions)
        relation = FileRelation(
            key=self._key(),
            root=self.snapshot.table_uri,
            columns=schema_to_json(StructType(tuple(self._stored_fields()))),
            partitions=schema_to_json(StructType((*partitions, *hidden))),
            size=int(pc.sum(self._files(["size"])["size"]).as_py() or 0),
            options=with_options(self.options, Job.READ, *by_id, *rewriting),
            pinned={**values(Job.REWRITE if self.rewrites else Job.READ), **(values(Job.COMPACT) if self.file_tasks else {})},
            files=_Listing(self, schema_to_json(StructType((*partitions, *hidden)))),
            streaming=self.streaming,
            exact=self.rewrites,
        )
        return logical_relation(jvm_of(self.application), self.session, relation)

    def _check_constants(self, *columns: StructField) -> None:
        """Raise UnsupportedFeatureError if a constant has the name of a column: Spark would mix up their values.

        The columns that a query needs are not known yet, so all are checked.
        """
        auxiliary = {name.lower() for name in (*self.hidden, *self._vectors, *([] if self.metadata is None else [OUR_METADATA]))}
        taken = next((each for each in columns if each.name.lower() in auxiliary), None)
        if taken is not None:
            shown = next((each.name for each in self.snapshot.schema.fields if each.physical_name == taken.name), taken.name)
            raise failed(
                "DELTA_OPERATION_NOT_ALLOWED/physical-name",
                at=self.snapshot,
                column=shown,
                physical_name=taken.name,
                features=(f"columns that are called {taken.name}",),
            )

    def _stored_fields(self) -> list[StructField]:
        stored = self.stored or {}
        return [stored.get(f.name, f) for f in stored_fields(self._physical_fields())]

    def _hidden_fields(self, vectors: Mapping[str, pa.Array]) -> list[StructField]:
        return [StructField(name, _HIDDEN_TYPES[values.type]) for name, values in (*self.hidden.items(), *vectors.items())]

    def _partition_fields(self) -> list[StructField]:
        table = self.snapshot.schema
        columns = [table.field(name) for name in self.snapshot.partition_columns]
        return [physical_field(f, f, by_id=self._by_id) for f in columns if f is not None]

    def _key(self) -> str:
        chosen = hashlib.sha256()
        if self.positions is not None:
            chosen.update(memoryview(self.positions.cast(pa.int64()).to_numpy()))
        if self.hidden:  # Spark must not take two scans with other constants for the same
            chosen.update(f"#hidden {next(_SCANS_WITH_CONSTANTS)}".encode())
        is_whole = self.positions is None and not self.hidden and self.source is None
        files_key = "all" if is_whole else chosen.hexdigest()[:24] + self._source.key
        how = ("#rewrites" if self.rewrites else "") + ("#tasks" if self.file_tasks else "")
        return f"{self.snapshot.table_uri}@{self.snapshot.version}#{self.snapshot.metadata.id}#{files_key}{how}"


class _Listing:
    """The answer of the scan's `FileIndex`, which Spark calls while it plans."""

    def __init__(self, scan: Scan, partition_schema: str) -> None:
        self._scan = scan
        self._partition_schema = partition_schema

    def __call__(self, partition_filters: Any, data_filters: Any) -> JavaObject:
        scan = self._scan
        jvm = jvm_of(scan.application)
        if partition_filters is None:
            paths = scan._files(["path"])["path"].combine_chunks()  # noqa: SLF001
            return Bulk.of(jvm).strings(uris(paths, scan.snapshot.table_uri))
        filters = jvm.list_of(partition_filters)
        files = self._scan_files()
        if scan.prune is not None and (chosen := self._chosen(scan.prune, [*filters, *jvm.list_of(data_filters)])) is not None:
            files = files.take(chosen if scan.positions is None else pc.indices_nonzero(pc.is_in(scan.positions, chosen)))
        return list_directories(jvm, files, self._partition_schema, filters)

    def _chosen(self, prune: Callable[[Predicate], pa.Array | None], filters: Sequence[JavaObject]) -> pa.Array | None:
        """Return the positions of the source's files that the filters leave, or None for all."""
        if not filters:
            return None
        try:
            predicate = from_catalyst(
                [described(jvm_of(self._scan.application), condition) for condition in filters],
                by_physical_name(self._scan.snapshot.schema),
            )
        except FAILED_CALL:
            return None  # a filter that Spark cannot describe
        return prune(predicate)

    def _scan_files(self) -> ScanFiles:
        scan = self._scan
        table = scan._files(["path", "size", "modification_time"])  # noqa: SLF001
        return ScanFiles(
            uris(table["path"].combine_chunks(), scan.snapshot.table_uri),
            table["size"].combine_chunks(),
            table["modification_time"].combine_chunks(),
            self._groups(table.num_rows),
        )

    def _groups(self, count: int) -> FileGroups:
        """Group the files by their constants. The groups by a snapshot's partition values alone are cached."""
        scan = self._scan
        application = scan.application
        hidden = {**scan.hidden, **scan._vectors}  # noqa: SLF001
        session = workbench_of(application, scan.session)
        if not hidden and scan.source is None:
            groups = partition_groups(jvm_of(application), scan.snapshot, session, self._partitions)
            return groups if scan.positions is None else groups.take(scan.positions)
        partitions = [
            PartitionColumn(c.name, c.type, c.texts if scan.positions is None else c.texts.take(scan.positions))
            for c in self._partitions()
        ]
        return group_files(jvm_of(application), session, partitions, hidden, count)

    def _partitions(self) -> list[PartitionColumn]:
        texts = self._scan._source.partition_texts()  # noqa: SLF001
        fields = self._scan._partition_fields()  # noqa: SLF001
        return [PartitionColumn(f.name, sql_type(f.type), texts[f.name].combine_chunks()) for f in fields]
