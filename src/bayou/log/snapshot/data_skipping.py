# SPDX-License-Identifier: Apache-2.0
"""Data skipping: which files of a table may, or must, hold rows that a filter keeps, by what the log says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, get_args

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan import skipping
from bayou.plan.predicates.predicate import Predicate, columns, from_dnf
from bayou.plan.statistics.columns import FileStatistics
from bayou.protocol.stats.file_stats import is_collated, skipping_types
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot.statistics_cache import ColumnPath, Fields
    from bayou.plan.predicates.predicate import Filters

_FLOAT_CHARACTERS = 12


class PrunableFiles(Protocol):
    """Files of a table that skipping can decide about: a snapshot's, or those that a commit added. All columns are aligned."""

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        ...

    def files(self, columns: Iterable[str] | None = None) -> pa.Table:
        """The files, one row each."""
        ...

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """The partition values as in the log, by physical name."""
        ...

    def partitions(self) -> Mapping[ColumnPath, pa.Array]:
        """The partition values typed, by physical path."""
        ...

    def statistics(self, fields: Fields) -> FileStatistics:
        """Statistics of some columns, by physical path."""
        ...


def may_match(snapshot: PrunableFiles, where: Filters) -> pa.BooleanArray:
    """For each file of a snapshot, whether it may hold a row that a filter keeps.

    Raises:
        InvalidOptionError: the filter cannot be understood.
    """
    predicate = to_predicate(where, snapshot.schema)
    return skipping.may_match(predicate, *_facts(snapshot, predicate, is_exact=predicate is where))


def must_match(snapshot: PrunableFiles, predicate: Predicate) -> pa.BooleanArray:
    """For each file of a snapshot, whether the log proves a predicate true for every row of it."""
    from bayou.plan.proofs import must_match as proved  # noqa: PLC0415  (reading a table needs no proof)

    return proved(predicate, *_facts(snapshot, predicate, is_exact=True))


def _facts(
    snapshot: PrunableFiles, predicate: Predicate, *, is_exact: bool
) -> tuple[FileStatistics, Mapping[ColumnPath, pa.Array]]:
    """The statistics and the partition values that tell something about a predicate.

    Args:
        is_exact: whether its instants are exact: whoever made it reads texts without a zone in a zone of his own.
    """
    used = columns(predicate)
    collated = {physical for _, physical, leaf in leaves(snapshot.schema) if is_collated(leaf)}
    wanted = {path: values for path, values in snapshot.partitions().items() if path in used - collated}
    partitions = {path: values for path, values in wanted.items() if _is_certain(snapshot.partition_texts()[path[0]], values)}
    if is_exact:
        partitions = {path: values for path, values in partitions.items() if _names_its_zone(snapshot, path, values.type)}
    types = skipping_types(snapshot.schema)
    fields = {path: types[path] for path in used if path in types and path not in partitions}
    return snapshot.statistics(fields) if fields else _nothing_known(snapshot.files(["path"]).num_rows), partitions


def to_predicate(where: Filters, schema: StructType) -> Predicate:
    """A filter as a predicate over physical paths.

    Raises:
        InvalidOptionError: the filter cannot be understood.
    """
    if isinstance(where, get_args(Predicate)):
        return cast("Predicate", where)
    return from_dnf(cast("Sequence[Any]", where), schema)


def _names_its_zone(snapshot: PrunableFiles, path: ColumnPath, kind: pa.DataType) -> bool:
    """Whether the values of a partition column mean the same to every reader: not so for timestamps without a zone."""
    if not (pa.types.is_timestamp(kind) and kind.tz is not None):
        return True
    texts = snapshot.partition_texts()[path[0]]
    zoned = pc.match_substring_regex(texts, r"^\d{4}-\d{1,2}-\d{1,2}[T ]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?(Z|[+-]\d{1,2}:?\d{2})$")
    return pc.all(pc.fill_null(zoned, True)).as_py() is not False


def _is_certain(texts: pa.ChunkedArray, values: pa.Array) -> bool:
    """Whether every engine reads the texts of a partition column as these values.

    A text that Python reads as nothing may be something to Spark; and a float of many digits depends on how often it is
    rounded. No writer makes such texts, so that the whole column is given up for one.
    """
    if pa.types.is_float32(values.type):
        return pc.any(pc.greater(pc.utf8_length(texts), _FLOAT_CHARACTERS)).as_py() is not True
    said = pc.greater(pc.binary_length(pc.fill_null(texts, "")), 0)
    return pc.any(pc.and_(said, pc.is_null(values))).as_py() is not True


def _nothing_known(size: int) -> FileStatistics:
    return FileStatistics(pa.nulls(size, pa.int64()), pa.repeat(pa.scalar(value=True), size))
