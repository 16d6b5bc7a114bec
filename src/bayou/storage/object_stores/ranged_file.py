# SPDX-License-Identifier: Apache-2.0
"""Read a file in an object store in parts. Each part is one request; the last one is cached."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO, Final, TypeAlias, cast

Get: TypeAlias = Callable[[int | None, int], tuple[bytes, int]]
"""Reads a part by its offset (None for the last bytes) and length. Returns the bytes and the size of the whole file."""

# The first request almost always covers a Parquet footer, or the first line of a commit.
_BLOCK: Final = 64 << 10


def open_ranged(get: Get, size: Callable[[], int], *, has_suffix_ranges: bool) -> BinaryIO:
    """Open a file. The first part is read now, so that a missing file is noticed.

    Args:
        get: reads a part.
        size: requests the size, for stores without suffix ranges.
        has_suffix_ranges: whether parts can be counted from the end.
    """
    return cast("BinaryIO", _RangedFile(get, size, has_suffix_ranges=has_suffix_ranges))


class _RangedFile(io.RawIOBase):
    def __init__(self, get: Get, size: Callable[[], int], *, has_suffix_ranges: bool) -> None:
        super().__init__()
        self._get = get
        self._ask_size = size
        self._has_suffix_ranges = has_suffix_ranges
        self._size: int | None = None
        self._position = 0
        self._start, self._block = 0, b""
        self._load_end()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._known_size()}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        data = self._part(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self._known_size() - self._position, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._part(self._position, wanted)
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read(-1)

    def readline(self, size: int | None = -1, /) -> bytes:
        found = bytearray()
        most = self._known_size() if size is None or size < 0 else size
        while len(found) < most:
            piece = self._part(self._position, min(_BLOCK, most - len(found)))
            end = piece.find(b"\n") + 1
            piece = piece[:end] if end else piece
            found += piece
            self._position += len(piece)
            if end or not piece:
                break
        return bytes(found)

    def _part(self, start: int, length: int) -> bytes:
        length = min(length, max(self._known_size() - start, 0))
        if length <= 0:
            return b""
        if not (self._start <= start and start + length <= self._start + len(self._block)):
            wanted = min(max(length, _BLOCK), self._known_size() - start)
            block, _ = self._get(start, wanted)
            if len(block) != wanted:
                msg = f"{wanted} bytes from {start} on were asked for, and {len(block)} came"
                raise OSError(msg)
            if length > _BLOCK:  # a large part is not requested again
                return block
            self._start, self._block = start, block
        return self._block[start - self._start : start - self._start + length]

    def _known_size(self) -> int:
        return self._size or 0

    def _load_end(self) -> None:
        if self._has_suffix_ranges:
            self._block, self._size = self._get(None, _BLOCK)
        else:
            self._size = self._ask_size()
            length = min(_BLOCK, self._size)
            self._block = self._get(self._size - length, length)[0] if length else b""
        self._start = self._size - len(self._block)
