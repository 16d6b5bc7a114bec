# SPDX-License-Identifier: Apache-2.0
"""Deletion Vectors and Deletion Vector Format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Z85_CHARACTER, Found, Reads, Section, first, in_rows
from bayou.checks.timeline import Part
from bayou.errors import DeltaError
from bayou.protocol.actions import paths
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor, decode_inline, read_from_file

_VECTORS = Section("Deletion Vectors", "dv")
_FORMAT = Section("Deletion Vector Format", "dv-format", Reads.FILES)
SECTIONS = (_VECTORS, _FORMAT)

_REQUIRED = ("storageType", "pathOrInlineDv", "sizeInBytes", "cardinality")


def _field(rows: pa.Table, name: str) -> pa.ChunkedArray:
    return pc.struct_field(rows["deletionVector"], name)


def _with_vectors(part: Part) -> pa.Table:
    return part.rows.filter(pc.is_valid(part.rows["deletionVector"]))


def _of_type(rows: pa.Table, storage: str) -> pa.Table:
    return rows.filter(pc.equal(_field(rows, "storageType"), storage))


@_VECTORS.broken("feature", "An add has a deletion vector only if readers and writers must support deletionVectors.")
def vectors_need_their_feature(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        if not {"deletionVectors"} <= part.epoch.writer_features & part.epoch.reader_features:
            # Tombstones keep their vectors after the feature was dropped.
            rows = part.adds.filter(pc.is_valid(part.adds["deletionVector"]))
            yield from in_rows(log, rows, "{path} has a deletion vector, and the protocol lacks deletionVectors")


@_VECTORS.risky("enabled", "A new deletion vector is written only if delta.enableDeletionVectors is true.")
def vectors_are_enabled(log: RawLog) -> Iterator[Found]:
    known: set[str] = set(log.timeline.base.rows["vectorId"].to_pylist()) if log.timeline.base else set()
    for part in log.parts:
        if part.checkpoint is None:
            # A first version takes its vectors over from the table that it clones.
            rows = part.adds.filter(pc.and_(pc.is_valid(part.adds["vectorId"]), pc.greater(part.adds["version"], 0)))
            new = rows.filter(pc.invert(pc.is_in(rows["vectorId"], pa.array(known, pa.string()))))
            if not part.epoch.is_on("delta.enableDeletionVectors"):
                yield from in_rows(log, new, "{path} has a new deletion vector")
            known.update(part.rows["vectorId"].drop_null().to_pylist())


@_VECTORS.broken("required", "A deletion vector has storageType, pathOrInlineDv, sizeInBytes and cardinality.")
def vectors_are_complete(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        rows = _with_vectors(part)
        for name in _REQUIRED:
            yield from in_rows(log, rows.filter(pc.is_null(_field(rows, name))), f"{name} is missing, of {{path}}")


@_VECTORS.broken("storage-type", "The storageType of a deletion vector is u, i or p.")
def storage_types_are_known(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        rows = _with_vectors(part)
        found = _field(rows, "storageType")
        odd = pc.and_(pc.is_valid(found), pc.invert(pc.is_in(found, pa.array(["u", "i", "p"]))))
        yield from in_rows(log, rows.filter(odd), "the storageType of {path} is {deletionVector[storageType]!r}")


@_VECTORS.broken("inline-offset", "An inline deletion vector has no offset.")
def inline_vectors_have_no_offset(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        rows = _of_type(part.rows, "i")
        yield from in_rows(
            log, rows.filter(pc.is_valid(_field(rows, "offset"))), "the offset of {path} is {deletionVector[offset]}"
        )


@_VECTORS.broken("path", "A deletion vector names its file by the Z85 form of a UUID, or by an absolute path.")
def vector_paths_are_valid(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for storage, pattern in (("u", f"^.*{Z85_CHARACTER}{{20}}$"), ("p", r"^([a-zA-Z][a-zA-Z0-9+.\-]*:|/)")):
            rows = _of_type(part.rows, storage)
            odd = pc.invert(pc.match_substring_regex(_field(rows, "pathOrInlineDv"), pattern))
            yield from in_rows(log, rows.filter(odd), "the vector of {path} is at {deletionVector[pathOrInlineDv]!r}")


@_VECTORS.broken("cardinality", "A deletion vector deletes at least one row, and not more rows than its file has.")
def cardinalities_fit(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        has_vector = pc.is_valid(part.adds["deletionVector"])
        if pc.any(has_vector).as_py():
            count = _field(part.adds, "cardinality")
            odd = pc.or_kleene(pc.less(count, 0), pc.greater(count, pa.chunked_array([part.statistics.records])))
            rows = part.adds.filter(pc.and_(has_vector, pc.fill_null(odd, False)))
            yield from in_rows(log, rows, "the vector of {path} deletes {deletionVector[cardinality]} rows")


@_VECTORS.broken("num-records", "The add of a file with a deletion vector has numRecords.")
def files_with_vectors_have_counts(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        has_vector = pc.is_valid(part.adds["deletionVector"])
        if pc.any(has_vector).as_py():
            lacking = pa.chunked_array([pc.is_null(part.statistics.records)])
            yield from in_rows(log, part.adds.filter(pc.and_(has_vector, lacking)), "the statistics of {path} lack numRecords")


@_VECTORS.broken("inline-bytes", "The bytes of an inline deletion vector are valid, and have the stated size and number of rows.")
def inline_vectors_are_valid(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        yield from first(
            Found(why, log.files[row["file"]], row["line"], row["kind"])
            for row in _of_type(part.rows, "i").select(["file", "line", "kind", "deletionVector"]).to_pylist()
            if (why := _wrong_inline(row["deletionVector"]))
        )


def _wrong_inline(vector: dict[str, Any]) -> str | None:
    if any(vector[name] is None for name in _REQUIRED) or vector["offset"] is not None:
        return None
    try:
        decode_inline(DeletionVectorDescriptor.from_json({name: each for name, each in vector.items() if each is not None}))
    except (DeltaError, ValueError) as error:
        return _reason(error)
    return None


@_FORMAT.broken("exists", "The file of a deletion vector exists.")
def vector_files_exist(log: RawLog) -> Iterator[Found]:
    yield from first(Found("the file of the vector does not exist", *place) for place, data, _ in live_vectors(log) if data is None)


@_FORMAT.broken("bytes", "The bytes of a deletion vector have the stated size, checksum and number of rows.")
def vector_files_are_valid(log: RawLog) -> Iterator[Found]:
    yield from first(
        Found(why, *place) for place, data, vector in live_vectors(log) if data is not None and (why := wrong_bytes(vector, data))
    )


def wrong_bytes(vector: DeletionVectorDescriptor, data: bytes) -> str | None:
    """Return why the bytes of a file do not hold a vector; None if they do."""
    try:
        read_from_file(data, vector)
    except (DeltaError, ValueError) as error:
        return _reason(error)
    return None


def _uri(log: RawLog, vector: DeletionVectorDescriptor) -> str:
    uri = vector.absolute_uri(log.uri)
    # The log has absolute paths percent-encoded; a relative one is derived from the root, which is not encoded.
    return paths.to_uri(uri, log.uri) if vector.storage_type == "p" else uri


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, DeltaError) else str(error)


def live_vectors(log: RawLog) -> Iterator[tuple[tuple[Any, int, str], bytes | None, DeletionVectorDescriptor]]:
    """Yield the place, the file's bytes and the descriptor of each vector of a live file. A file is read once."""
    rows = log.live.filter(pc.is_valid(log.live["vectorId"])).select(["file", "line", "kind", "deletionVector"]).to_pylist()
    folder = log.folder
    content: dict[str, bytes | None] = {}
    for row in rows:
        value = {name: each for name, each in row["deletionVector"].items() if each is not None}
        try:
            vector = DeletionVectorDescriptor.from_json(value)
            uri = None if vector.is_inline else _uri(log, vector)
        except (DeltaError, ValueError):
            continue
        if uri is not None:
            if uri not in content:
                content[uri] = folder.read(uri)
            yield (log.files[row["file"]], row["line"], row["kind"]), content[uri], vector
