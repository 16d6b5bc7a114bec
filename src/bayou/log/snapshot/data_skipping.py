# SPDX-License-Identifier: Apache-2.0
"""Data skipping: the files of a table that may, or must, hold rows that a filter keeps, according to the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast, get_args

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan import skipping
from bayou.plan.predicates.predicate import Predicate, columns, from_dnf
from bayou.plan.statistics.columns import FileStatistics
from bayou.protocol.stats.file_stats import is_collated, skipping_types
from bayou.protocol.types.char_varchar import char_lengths
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot.statistics_cache import ColumnPath, Fields
    from bayou.plan.predicates.predicate import Filters

_FLOAT_CHARACTERS = 12


class PrunableFiles(Protocol):
    """Files that data skipping can prune: a snapshot's, or those that a commit added. All columns are aligned."""

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        ...

    def files(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the files, one row each."""
        ...

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """Return the partition values as in the log, by physical name."""
        ...

    def partitions(self) -> Mapping[ColumnPath, pa.Array]:
        """Return the typed partition values, by physical path."""
        ...

    def statistics(self, fields: Fields) -> FileStatistics:
        """Return statistics of some columns, by physical path."""
        ...


def may_match(snapshot: PrunableFiles, where: Filters) -> pa.BooleanArray:
    """Return for each file of a snapshot whether it may hold a row that a filter keeps."""
    predicate = to_predicate(where, snapshot.schema)
    return skipping.may_match(predicate, *_facts(snapshot, predicate, is_exact=predicate is where))


def must_match(snapshot: PrunableFiles, predicate: Predicate) -> pa.BooleanArray:
    """Return for each file of a snapshot whether the log proves a predicate true for all its rows."""
    from bayou.plan.proofs import must_match as proved  # noqa: PLC0415  (reading a table needs no proof)

    return proved(predicate, *_facts(snapshot, predicate, is_exact=True))


def _facts(
    snapshot: PrunableFiles, predicate: Predicate, *, is_exact: bool
) -> tuple[FileStatistics, Mapping[ColumnPath, pa.Array]]:
    """Return the statistics and the partition values that matter to a predicate.

    Args:
        is_exact: whether the predicate compares what readers compare. Otherwise a timestamp without a zone may be in another zone,
            and the constants of CHAR columns are not padded as the values are.
    """
    used = columns(predicate)
    collated = {physical for _, physical, leaf in leaves(snapshot.schema) if is_collated(leaf)}
    used = used if is_exact else used - char_lengths(snapshot.schema).keys()
    wanted = {path: values for path, values in snapshot.partitions().items() if path in used - collated}
    partitions = {path: values for path, values in wanted.items() if _is_certain(snapshot.partition_texts()[path[0]], values)}
    if is_exact:
        partitions = {path: values for path, values in partitions.items() if _names_its_zone(snapshot, path, values.type)}
    types = skipping_types(snapshot.schema)
    fields = {path: types[path] for path in used if path in types and path not in partitions}
    return snapshot.statistics(fields) if fields else _nothing_known(snapshot.files(["path"]).num_rows), partitions


def to_predicate(where: Filters, schema: StructType) -> Predicate:
    """Return a filter as a predicate over physical paths, or raise InvalidOptionError if it is invalid."""
    if isinstance(where, get_args(Predicate)):
        return cast("Predicate", where)
    return from_dnf(cast("Sequence[Any]", where), schema)


def _names_its_zone(snapshot: PrunableFiles, path: ColumnPath, kind: pa.DataType) -> bool:
    """Return whether a partition column has the same values for every reader: not timestamps without a zone."""
    if not (pa.types.is_timestamp(kind) and kind.tz is not None):
        return True
    texts = snapshot.partition_texts()[path[0]]
    zoned = pc.match_substring_regex(texts, r"^\d{4}-\d{1,2}-\d{1,2}[T ]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?(Z|[+-]\d{1,2}:?\d{2})$")
    return pc.all(pc.fill_null(zoned, True)).as_py() is not False


def _is_certain(texts: pa.ChunkedArray, values: pa.Array) -> bool:
    """Return whether every engine parses the strings of a partition column to these values.

    Spark may parse a string that Python cannot, and a float of many digits depends on how often it is rounded. No writer produces
    such strings, so one of them excludes the whole column.
    """
    if pa.types.is_float32(values.type):
        return pc.any(pc.greater(pc.utf8_length(texts), _FLOAT_CHARACTERS)).as_py() is not True
    said = pc.greater(pc.binary_length(pc.fill_null(texts, "")), 0)
    return pc.any(pc.and_(said, pc.is_null(values))).as_py() is not True


def _nothing_known(size: int) -> FileStatistics:
    return FileStatistics(pa.nulls(size, pa.int64()), pa.repeat(pa.scalar(value=True), size))
