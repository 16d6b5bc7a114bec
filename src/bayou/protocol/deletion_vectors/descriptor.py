# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors: the descriptor in the log, and the serialised bytes.

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

from bayou.errors import DeltaError, failed
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
"""The required fields, by their names in the log. Source: PROTOCOL.md, "Deletion Vector Descriptor Schema"."""
_UUID_CHARACTERS = 20
_FILE_VERSION = 1
# Without an offset in the descriptor, the vector is the first in its file, after the version byte.
_FIRST_OFFSET = 1
_SIZE_BYTES = 4
_CRC_BYTES = 4
FRAME_BYTES = _SIZE_BYTES + _CRC_BYTES
"""The number of bytes of the size and the checksum around each vector in a file."""


@dataclass(frozen=True, slots=True)
class DeletionVectorDescriptor:
    """The descriptor of the deletion vector of a logical file.

    Attributes:
        storage_type: "u" for a file of the table named by a UUID, "i" for inline, "p" for an absolute path.
        path_or_inline_dv: for "u" an optional folder and the UUID in Z85; for "i" the vector in Z85; for "p" a URI.
        offset: the position of the vector in its file, in bytes; None if it is inline.
        size_in_bytes: the size of the serialised vector, without the size and the checksum around it in a file.
        cardinality: the number of rows that the vector deletes.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None
    size_in_bytes: int
    cardinality: int

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DeletionVectorDescriptor:
        """Read the value in the log. Raise DeletionVectorError if a field is missing or has a wrong type."""
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
        """Return the value for the log."""
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
        """The unique id of the vector. Together with the file's path it is the key of a logical file."""
        suffix = "" if self.offset is None else f"@{self.offset}"
        return f"{self.storage_type}{self.path_or_inline_dv}{suffix}"

    @property
    def is_inline(self) -> bool:
        """Whether the descriptor contains the vector."""
        return self.storage_type == "i"

    @property
    def relative_path(self) -> str | None:
        """The file's path relative to the table for storage type "u"; None for others.

        Raises:
            DeletionVectorError: it has no UUID, or a folder outside the table.
        """
        if self.storage_type != "u":
            return None
        prefix, text = self.path_or_inline_dv[:-_UUID_CHARACTERS], self.path_or_inline_dv[-_UUID_CHARACTERS:]
        if any(character in prefix for character in "/\\:") or prefix in {".", ".."}:
            raise failed("DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/folder", folder=prefix, descriptor=self)
        try:
            uuid = UUID(bytes=z85.decode(text))
        except ValueError as error:
            raise failed(
                "DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/uuid", path=self.path_or_inline_dv, reason=str(error), descriptor=self
            ) from error
        name = f"deletion_vector_{uuid}.bin"
        return f"{prefix}/{name}" if prefix else name

    def absolute_uri(self, table_uri: str) -> str:
        """Return the URI of the vector's file.

        Raises:
            DeletionVectorError: the vector is inline, or its storage type or path is not valid.
        """
        if self.storage_type == "p":
            return self.path_or_inline_dv
        relative = self.relative_path
        if relative is None:
            raise failed(
                "DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/inline"
                if self.is_inline
                else "DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/storage-type",
                table=table_uri,
                storage_type=self.storage_type,
                descriptor=self,
            )
        return f"{table_uri.rstrip('/')}/{relative}"


def incomplete_descriptor(missing: Iterable[str]) -> DeltaError:
    """Return the error for a descriptor that lacks required fields."""
    return _not_valid(f"it lacks {', '.join(sorted(missing))}")


def _not_valid(why: str) -> DeltaError:
    return failed("DELTA_STATE_RECOVER_ERROR/descriptor", reason=why)


def decode(data: bytes, *, table: str | None = None, file: str | None = None) -> Bitmap:
    """Parse a serialised vector, including its magic number. Raise DeletionVectorError if it is not valid.

    Args:
        data: the vector, without the size and the checksum around it in a file.
        file: the file of the vector, for errors.
    """
    try:
        return roaring.decode(data)
    except ValueError as error:
        said = str(error)
        raise failed("DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH/unreadable", table=table, file=file, reason=said) from error


def encode(positions: Bitmap | Iterable[int]) -> bytes:
    """Serialise row positions, including the magic number."""
    return roaring.encode(positions)


def decode_inline(descriptor: DeletionVectorDescriptor, *, table: str | None = None) -> Bitmap:
    """Parse an inline vector. Raise DeletionVectorError if it is not valid, or has another number of rows than the descriptor."""
    place: Any = {"table": table, "descriptor": descriptor}
    if not descriptor.is_inline:
        storage_type = descriptor.storage_type
        raise failed("DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH/not-inline", storage_type=storage_type, **place)
    try:
        data = z85.decode(descriptor.path_or_inline_dv, descriptor.size_in_bytes)
    except ValueError as error:
        raise failed("DELTA_DELETION_VECTOR_SIZE_MISMATCH/inline", reason=str(error), **place) from error
    return _checked(decode(data, table=table), place)


def encode_inline(positions: Bitmap | Iterable[int]) -> DeletionVectorDescriptor:
    """Return an inline descriptor for row positions."""
    bitmap = positions if isinstance(positions, Bitmap) else Bitmap.from_positions(positions)
    data = encode(bitmap)
    return DeletionVectorDescriptor("i", z85.encode(data), None, len(data), bitmap.cardinality)


def read_from_file(
    data: bytes, descriptor: DeletionVectorDescriptor, *, table: str | None = None, file: str | None = None
) -> Bitmap:
    """Parse a vector in the bytes of a file. Raise DeletionVectorError if its size, checksum or cardinality is wrong."""
    place: Any = {"table": table, "file": file, "descriptor": descriptor}
    if not data or data[0] != _FILE_VERSION:
        found = data[0] if data else None
        raise failed("DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH/version", found=found, known=_FILE_VERSION, **place)
    start = _FIRST_OFFSET if descriptor.offset is None else descriptor.offset
    end = start + _SIZE_BYTES + descriptor.size_in_bytes + _CRC_BYTES
    if start < _FIRST_OFFSET or descriptor.size_in_bytes < 0 or end > len(data):
        raise failed("DELTA_DELETION_VECTOR_SIZE_MISMATCH/range", start=start, expected=end, found=len(data), **place)
    (size,) = struct.unpack_from(">I", data, start)
    if size != descriptor.size_in_bytes:
        raise failed("DELTA_DELETION_VECTOR_SIZE_MISMATCH", expected=descriptor.size_in_bytes, found=size, **place)
    body = data[start + _SIZE_BYTES : end - _CRC_BYTES]
    (expected,) = struct.unpack_from(">I", data, end - _CRC_BYTES)
    found = zlib.crc32(body)
    if found != expected:
        raise failed("DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH", expected=expected, found=found, **place)
    return _checked(decode(body, table=table, file=file), place)


def encode_file(
    vectors: Sequence[Bitmap | Iterable[int]], uuid: UUID, *, prefix: str = ""
) -> tuple[bytes, list[DeletionVectorDescriptor]]:
    """Return the bytes of a file with several vectors, and their descriptors in the same order.

    Args:
        vectors: the row positions of each vector.
        prefix: the name of a folder for the file; empty for the table's root.
    """
    bitmaps = [each if isinstance(each, Bitmap) else Bitmap.from_positions(each) for each in vectors]
    return frame_file([(encode(bitmap), bitmap.cardinality) for bitmap in bitmaps], uuid, prefix=prefix)


def frame_file(
    serialised: Iterable[tuple[bytes, int]], uuid: UUID, *, prefix: str = ""
) -> tuple[bytes, list[DeletionVectorDescriptor]]:
    """Like `encode_file`, but for serialised vectors.

    Args:
        serialised: the bytes of each vector (see `encode`), and the number of rows that it deletes.
        prefix: the name of a folder for the file; empty for the table's root.
    """
    name = prefix + z85.encode(uuid.bytes)
    parts, descriptors, offset = [bytes([_FILE_VERSION])], [], _FIRST_OFFSET
    for body, cardinality in serialised:
        parts += [struct.pack(">I", len(body)), body, struct.pack(">I", zlib.crc32(body))]
        descriptors.append(DeletionVectorDescriptor("u", name, offset, len(body), cardinality))
        offset += FRAME_BYTES + len(body)
    return b"".join(parts), descriptors


def _checked(bitmap: Bitmap, place: Mapping[str, Any]) -> Bitmap:
    expected, found = place["descriptor"].cardinality, bitmap.cardinality
    if expected != found:
        raise failed("DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH", expected=expected, found=found, **place)
    return bitmap
