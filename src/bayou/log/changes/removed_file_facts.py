# SPDX-License-Identifier: Apache-2.0
"""The sizes and partition values of removed files that old writers left out of their `remove` actions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError, failed
from bayou.log.actions.keys import canonical_paths
from bayou.log.changes.files import CDC, CHANGE_FILES, DELETE

FACTS: Final = ("path", "partition_values", "size")
"""The columns of an `add` action that do not depend on the file's deletion vector."""


def with_file_facts(files: pa.Table, sources: Iterable[pa.Table], table_uri: str, *, is_partitioned: bool) -> pa.Table:
    """Return the files with the facts that their `remove` actions lack, from the `add` actions of the same files.

    Args:
        sources: tables of FACTS, each read only while facts are missing.
        is_partitioned: whether a file needs partition values.

    Raises:
        CorruptLogError: the log no longer has a fact that a file needs, or a change data file was logged without its size.
    """
    unsized = files.filter(pc.and_(pc.is_null(files["size"]), pc.equal(files["kind"], CDC)))
    if unsized.num_rows:
        raise failed(
            "DELTA_STATE_RECOVER_ERROR/cdc-size",
            table=table_uri,
            version=unsized["commit_version"][0].as_py(),
            file=unsized["path"][0].as_py(),
        )
    lacks = _lacks(files, is_partitioned=is_partitioned)
    pending = iter(sources)
    while pc.any(lacks).as_py():
        known = next(pending, None)
        if known is None:
            raise _missing(files.filter(lacks), table_uri)
        files = _filled(files, lacks, known, table_uri)
        lacks = _lacks(files, is_partitioned=is_partitioned)
    return files


def _lacks(files: pa.Table, *, is_partitioned: bool) -> pa.ChunkedArray:
    lacks = pc.is_null(files["size"])
    if is_partitioned:
        values = files["partition_values"]
        empty = pa.chunked_array([_is_empty(chunk) for chunk in values.chunks], pa.bool_())
        lacks = pc.or_(lacks, empty)
    return pc.and_(lacks, pc.equal(files["kind"], DELETE))


def _is_empty(maps: pa.MapArray) -> pa.Array:
    offsets = maps.offsets
    return pc.or_(pc.is_null(maps), pc.equal(offsets.slice(1), offsets.slice(0, len(offsets) - 1)))


def _filled(files: pa.Table, lacks: pa.ChunkedArray, known: pa.Table, table_uri: str) -> pa.Table:
    paths = canonical_paths(files["path"], table_uri)
    held = canonical_paths(known["path"], table_uri).combine_chunks()
    places = pc.if_else(lacks, pc.index_in(paths, value_set=held), pa.scalar(None, pa.int32()))
    found = pc.is_valid(places)
    rest = files.filter(pc.invert(found))
    some = files.filter(found)
    facts = known.take(places.drop_null())
    for name in FACTS[1:]:
        some = some.set_column(CHANGE_FILES.get_field_index(name), CHANGE_FILES.field(name), facts[name])
    return pa.concat_tables([rest, some]).sort_by([("commit_version", "ascending"), ("kind", "ascending")])


def _missing(files: pa.Table, table_uri: str) -> DeltaError:
    sample: Sequence[str] = files["path"].slice(0, 5).to_pylist()
    return failed(
        "DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA",
        table=table_uri,
        version=files["commit_version"][0].as_py(),
        file=sample[0],
        files=sample,
        num_files=files.num_rows,
    )
