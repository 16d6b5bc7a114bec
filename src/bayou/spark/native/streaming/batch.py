# SPDX-License-Identifier: Apache-2.0
"""Plan a scan of a micro-batch's files by Spark's own reader, and return its rows as a streaming Dataset."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from bayou.log.changes.feed import ChangeFeed
from bayou.plan.predicates.predicate import columns
from bayou.protocol.types.schema import StructType
from bayou.spark.jvm.core.session import dataset, session_of
from bayou.spark.jvm.relations.relation import java_frame
from bayou.spark.jvm.relations.streaming import adds_metadata_to_projections
from bayou.spark.native.scan.change_plan import planned_changes
from bayou.spark.native.scan.rows import named_frame
from bayou.spark.native.scan.scan import Scan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.change_scan import FEED_NAMES, Changes
from bayou.spark.scan import vector_columns
from bayou.spark.scan.vector_loading import load_vectors
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from bayou.log.streaming.batches.files import StreamFiles
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.native.scan.scan import PlannedScan
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class BatchFiles:
    """The files of a batch, as a `FileSource` for a scan, which skips rows in their deletion vectors.

    Attributes:
        batch: the files.
        name: the batch's unique name, for Spark's caches.
    """

    batch: StreamFiles
    name: str

    @property
    def key(self) -> str:  # noqa: D102  (of FileSource, as all below)
        return f" batch {self.name}"

    def files(self, columns: Sequence[str]) -> pa.Table:  # noqa: D102
        return self.batch.files.select(list(columns))

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:  # noqa: D102
        return self.batch.partition_texts()

    def prune(self, predicate: Predicate) -> pa.Array | None:
        """Return the positions of the files that may have a row that satisfies a predicate; None for all files."""
        if not columns(predicate):
            return None
        kept = self.batch.may_match(predicate)
        return None if pc.all(kept).as_py() is not False else pc.indices_nonzero(kept)

    def vectors(self, positions: pa.Array | None, options: Mapping[str, str]) -> dict[str, pa.Array]:  # noqa: D102
        files = self.batch.files if positions is None else self.batch.files.take(positions)
        descriptors = files["deletion_vector"].combine_chunks()
        if descriptors.null_count == len(descriptors):
            return {}
        vectors = load_vectors(self.batch.snapshot, descriptors, lambda: self._num_records(positions), options)
        return vector_columns.to_arrow(vectors)

    def _num_records(self, positions: pa.Array | None) -> pa.Array:
        counts = self.batch.num_records()
        return counts if positions is None else counts.take(positions)

    def row_condition(self, vectors: dict[str, pa.Array], row: str) -> str:  # noqa: D102
        return vector_columns.row_is_live(vectors, row)


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """The request to read a batch.

    Attributes:
        name: the batch's unique name, for Spark's caches.
        metadata: Spark's `_metadata` column if the query uses it, otherwise None.
        options: options for the file system.
    """

    name: str
    metadata: StructField | None
    options: Mapping[str, str] = field(repr=False)


def rows_of(application: Application, session: JavaObject, files: StreamFiles | ChangeFeed, request: BatchRequest) -> JavaObject:
    """Return the rows of a batch as a streaming Dataset.

    Args:
        session: the JVM session that the stream belongs to.
    """
    fields = readable_schema(files.snapshot.schema).fields
    spark = session_of(session)
    # None: Spark adds `_metadata` to the projection itself, or the query does not read it. Otherwise the scan has to return it.
    metadata_names = None if adds_metadata_to_projections(jvm_of(application)) else _names_of(request.metadata)
    if isinstance(files, ChangeFeed):
        changes = Changes(files, request.options, request.name)
        planned = planned_changes(changes, application, session, fields, metadata_names, streaming=True)
        return java_frame(named_frame(application, spark, planned, fields, [*FEED_NAMES, *_metadata_of(planned, metadata_names)]))
    source = BatchFiles(files, request.name)
    scan = Scan(
        application,
        session,
        files.snapshot,
        fields,
        options=request.options,
        source=source,
        streaming=True,
        prune=source.prune,
    )
    planned = scan.planned()
    if scan.is_plain(planned):
        # The plan is a bare relation, and every Spark version adds `_metadata` to a relation itself.
        return dataset(jvm_of(application), session, planned.plan)
    planned = planned if metadata_names is None else replace(scan, metadata=metadata_names).planned()
    return java_frame(named_frame(application, spark, planned, fields, _metadata_of(planned, metadata_names)))


def _names_of(metadata: StructField | None) -> list[str] | None:
    return None if metadata is None or not isinstance(metadata.type, StructType) else list(metadata.type.names)


def _metadata_of(planned: PlannedScan, metadata_names: list[str] | None) -> list[str]:
    return [] if metadata_names is None else planned.columns[-1:]
