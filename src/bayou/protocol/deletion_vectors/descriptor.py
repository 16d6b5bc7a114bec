# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors: the descriptor in the log, and the bytes that it points at.

Sources: PROTOCOL.md, "Deletion Vectors", "Deletion Vector Descriptor Schema", "Deletion Vector Format" and "Deletion
Vector File Storage Format".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from bayou.errors import CorruptLogError, DeletionVectorError
from bayou.protocol.deletion_vectors import roaring, z85
from bayou.protocol.deletion_vectors.roaring import Bitmap, Container

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "FRAME_BYTES",
    "Bitmap",
    "Container",
    "DeletionVectorDescriptor",
    "decode",
    "decode_inline",
    "encode",
    "encode_file",
    "encode_inline",
    "frame_file",
    "read_from_file",
]

_TYPES: Final[Mapping[str, type]] = {
    "storageType": str,
    "pathOrInlineDv": str,
    "offset": int,
    "sizeInBytes": int,
    "cardinality": int,
}
REQUIRED: Final = tuple(name for name in _TYPES if name != "offset")
"""The fields, by their names in the log, that every descriptor has. Source: PROTOCOL.md, "Deletion Vector Descriptor Schema"."""
_UUID_CHARACTERS = 20
_FILE_VERSION = 1
# A vector without an offset in its descriptor is the first of its file, after the version byte.
_FIRST_OFFSET = 1
_SIZE_BYTES = 4
_CRC_BYTES = 4
FRAME_BYTES = _SIZE_BYTES + _CRC_BYTES
"""What stands around each vector in a file: its size and its checksum."""


@dataclass(frozen=True, slots=True)
class DeletionVectorDescriptor:
    """Where the deletion vector of a logical file is, as the log says it.

    Attributes:
        storage_type: "u" for a file of the table named by a UUID, "i" for inline, "p" for an absolute path.
        path_or_inline_dv: for "u" an optional folder and the UUID in Z85; for "i" the vector in Z85; for "p" a URI.
        offset: where the vector starts in its file, in bytes; None for an inline one.
        size_in_bytes: the size of the serialised vector, without the size and the checksum around it in a file.
        cardinality: how many rows the vector deletes.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None
    size_in_bytes: int
    cardinality: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DeletionVectorDescriptor:
        """The descriptor from its object in the log.

        Raises:
            DeletionVectorError: a field is missing or has a wrong type.
        """
        if not isinstance(value, Mapping):
            raise _not_valid("it is not an object")
        missing = [name for name in REQUIRED if value.get(name) is None]
        if missing:
            raise incomplete_descriptor(missing)
        wrong = [name for name, kind in _TYPES.items() if type(value.get(name)) not in {kind, type(None)}]
        if wrong:
            raise _not_valid(f"{', '.join(wrong)} has the wrong type")
        fields: Any = [value.get(name) for name in _TYPES]
        return cls(*fields)

    def to_json(self) -> dict[str, Any]:
        """The descriptor as an object of the log."""
        value = {
            "storageType": self.storage_type,
            "pathOrInlineDv": self.path_or_inline_dv,
            "offset": self.offset,
            "sizeInBytes": self.size_in_bytes,
            "cardinality": self.cardinality,
        }
        return {name: field for name, field in value.items() if field is not None}

    @property
    def unique_id(self) -> str:
        """What tells this vector from every other one; with the file's path the key of a logical file."""
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline_dv}{suffix}"

    @property
    def is_inline(self) -> bool:
        """Whether the descriptor itself holds the vector."""
        return self.storage_type == "i"

    @property
    def relative_path(self) -> str | None:
        """The path of a "u" vector's file relative to the table; None for the other kinds.

        Raises:
            DeletionVectorError: the text holds no UUID, or a folder that leads out of the table.
        """
        if self.storage_type != "u":
            return None
        prefix, text = self.path_or_inline_dv[:-_UUID_CHARACTERS], self.path_or_inline_dv[-_UUID_CHARACTERS:]
        if any(character in prefix for character in "/\\:") or prefix in {".", ".."}:
            raise self._without_path(f"The deletion vector's folder {prefix!r} is no plain name.")
        try:
            uuid = UUID(bytes=z85.decode(text))
        except ValueError as error:
            message = f"The deletion vector's path {self.path_or_inline_dv!r} holds no UUID in Z85: {error}."
            raise self._without_path(message) from error
        name = f"deletion_vector_{uuid}.bin"
        return f"{prefix}/{name}" if prefix else name

    def absolute_uri(self, table_uri: str) -> str:
        """The URI of the file that holds the vector.

        Args:
            table_uri: the root of the table that the log belongs to.

        Raises:
            DeletionVectorError: the vector is inline, or its storage type or path is not valid.
        """
        if self.storage_type == "p":
            return self.path_or_inline_dv
        relative = self.relative_path
        if relative is None:
            raise self._without_path(
                "The deletion vector is inline, so it has no file."
                if self.is_inline
                else f"The log names a deletion vector of the storage type {self.storage_type!r}, which bayou does not know:"
                " vectors are in files of the table (u), in files elsewhere (p), or in the log itself (i).",
                table_uri,
            )
        return f"{table_uri.rstrip('/')}/{relative}"

    def _without_path(self, message: str, table_uri: str | None = None) -> DeletionVectorError:
        return DeletionVectorError(
            message,
            table=table_uri,
            error_class="DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI",
            next_step="Read the table with the engine that wrote the vector, or restore it to a version without this vector.",
            descriptor=self,
        )


def incomplete_descriptor(missing: Iterable[str]) -> DeletionVectorError:
    """The error for a descriptor that lacks required fields."""
    return _not_valid(f"it lacks {', '.join(sorted(missing))}")


def _not_valid(why: str) -> DeletionVectorError:
    return DeletionVectorError(
        f"the descriptor of a deletion vector is not valid: {why}",
        error_class=CorruptLogError.error_class,
        next_step="Restore the file of the log that holds it from a backup, or the table to a version before it.",
    )


def decode(data: bytes, *, table: str | None = None, file: str | None = None) -> Bitmap:
    """The row positions from a serialised vector, magic number included.

    Args:
        data: the vector alone, without the size and the checksum around it in a file.
        file: the file that the bytes come from, for the error.

    Raises:
        DeletionVectorError: the bytes are no vector.
    """
    try:
        return roaring.decode(data)
    except ValueError as error:
        message = f"A deletion vector cannot be read: {error}."
        raise DeletionVectorError(message, table=table, file=file) from error


def encode(positions: Bitmap | Iterable[int]) -> bytes:
    """The serialised vector of some row positions, magic number included."""
    return roaring.encode(positions)


def decode_inline(descriptor: DeletionVectorDescriptor, *, table: str | None = None) -> Bitmap:
    """The row positions of an inline vector.

    Raises:
        DeletionVectorError: the text cannot be read, or holds another number of rows than the descriptor says.
    """
    where = _Where(table, None, descriptor)
    if not descriptor.is_inline:
        raise where.error(f"The deletion vector has the storage type {descriptor.storage_type!r}; it is not inline.")
    try:
        data = z85.decode(descriptor.path_or_inline_dv, descriptor.size_in_bytes)
    except ValueError as error:
        message = f"An inline deletion vector cannot be read: {error}."
        raise where.error(message, "DELTA_DELETION_VECTOR_SIZE_MISMATCH") from error
    return where.checked(decode(data, table=table))


def encode_inline(positions: Bitmap | Iterable[int]) -> DeletionVectorDescriptor:
    """An inline descriptor that deletes some row positions."""
    bitmap = positions if isinstance(positions, Bitmap) else Bitmap.from_positions(positions)
    data = encode(bitmap)
    return DeletionVectorDescriptor("i", z85.encode(data), None, len(data), bitmap.cardinality)


def read_from_file(
    data: bytes, descriptor: DeletionVectorDescriptor, *, table: str | None = None, file: str | None = None
) -> Bitmap:
    """The row positions of a vector in a file, with size, checksum and cardinality checked.

    Raises:
        DeletionVectorError: the file or the vector is not what it should be; the facts are attributes.
    """
    where = _Where(table, file, descriptor)
    if not data or data[0] != _FILE_VERSION:
        found = data[0] if data else None
        raise where.error(f"The deletion vector file has version {found}; only {_FILE_VERSION} is known.", found=found)
    start = _FIRST_OFFSET if descriptor.offset is None else descriptor.offset
    end = start + _SIZE_BYTES + descriptor.size_in_bytes + _CRC_BYTES
    if start < _FIRST_OFFSET or descriptor.size_in_bytes < 0 or end > len(data):
        message = f"The deletion vector lies at bytes {start} to {end} of a file of {len(data)} bytes."
        raise where.error(message, "DELTA_DELETION_VECTOR_SIZE_MISMATCH", expected=end, found=len(data))
    (size,) = struct.unpack_from(">I", data, start)
    if size != descriptor.size_in_bytes:
        message = f"The deletion vector has {size} bytes in its file and {descriptor.size_in_bytes} in the log."
        name = "DELTA_DELETION_VECTOR_SIZE_MISMATCH"
        raise where.error(message, name, expected=descriptor.size_in_bytes, found=size)
    body = data[start + _SIZE_BYTES : end - _CRC_BYTES]
    (expected,) = struct.unpack_from(">I", data, end - _CRC_BYTES)
    found = zlib.crc32(body)
    if found != expected:
        message = f"The deletion vector's checksum is {found:08x}; its file says {expected:08x}."
        raise where.error(message, "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH", expected=expected, found=found)
    return where.checked(decode(body, table=table, file=file))


def encode_file(
    vectors: Sequence[Bitmap | Iterable[int]], uuid: UUID, *, prefix: str = ""
) -> tuple[bytes, list[DeletionVectorDescriptor]]:
    """A deletion vector file with several vectors, and their descriptors in the same order.

    Args:
        vectors: the row positions of each vector.
        prefix: a folder of the table for the file, a plain name; empty for the table's root.
    """
    bitmaps = [each if isinstance(each, Bitmap) else Bitmap.from_positions(each) for each in vectors]
    return frame_file([(encode(bitmap), bitmap.cardinality) for bitmap in bitmaps], uuid, prefix=prefix)


def frame_file(
    serialised: Iterable[tuple[bytes, int]], uuid: UUID, *, prefix: str = ""
) -> tuple[bytes, list[DeletionVectorDescriptor]]:
    """Like `encode_file`, from vectors that are serialised already.

    Args:
        serialised: the bytes of each vector (see `encode`), and how many rows it deletes.
        prefix: a folder of the table for the file, a plain name; empty for the table's root.
    """
    name = prefix + z85.encode(uuid.bytes)
    parts, descriptors, offset = [bytes([_FILE_VERSION])], [], _FIRST_OFFSET
    for body, cardinality in serialised:
        parts += [struct.pack(">I", len(body)), body, struct.pack(">I", zlib.crc32(body))]
        descriptors.append(DeletionVectorDescriptor("u", name, offset, len(body), cardinality))
        offset += FRAME_BYTES + len(body)
    return b"".join(parts), descriptors


@dataclass(frozen=True, slots=True)
class _Where:
    """What an error about one vector names."""

    table: str | None
    file: str | None
    descriptor: DeletionVectorDescriptor

    def error(self, message: str, error_class: str | None = None, **facts: Any) -> DeletionVectorError:
        return DeletionVectorError(
            message,
            table=self.table,
            file=self.file,
            error_class=error_class,
            next_step="Restore the file from a backup, or the table to a version without this vector.",
            descriptor=self.descriptor,
            **facts,
        )

    def checked(self, bitmap: Bitmap) -> Bitmap:
        expected, found = self.descriptor.cardinality, bitmap.cardinality
        if expected != found:
            message = f"The deletion vector deletes {found} rows; the log says {expected}."
            raise self.error(message, "DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH", expected=expected, found=found)
        return bitmap
