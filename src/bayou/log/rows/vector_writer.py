# SPDX-License-Identifier: Apache-2.0
"""Writes the deletion vectors of one commit, many into each file, and takes them back where the commit does not land.

Sources: PROTOCOL.md, "Deletion Vectors" and "Deletion Vector File Storage Format"; delta-spark's
`DMLWithDeletionVectorsHelper` for how vectors are packed.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from bayou.errors import StorageError
from bayou.protocol.actions.file_names import vector_prefix
from bayou.protocol.deletion_vectors import z85
from bayou.protocol.deletion_vectors.descriptor import FRAME_BYTES, Bitmap, DeletionVectorDescriptor, encode, frame_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bayou.storage import LogStore

TARGET_BYTES: Final = 2 * 1024 * 1024
"""How large a file becomes before another is begun. Source: delta-spark, `deletionVectors.packing.targetSize`."""

_WRITERS: Final = 16


class VectorFiles:
    """The deletion vector files of one commit.

    A file is durable once `write` has returned: the store's puts are. Its name is new, so that no other commit can name it.

    Attributes:
        table_uri: the table.
        paths: the files that were written and not deleted again, relative to the table.
    """

    def __init__(
        self,
        store: LogStore,
        table_uri: str,
        configuration: Mapping[str, str],
        *,
        target_bytes: int = TARGET_BYTES,
        inline_bytes: int = 0,
    ) -> None:
        """Make a writer; nothing is written yet.

        Args:
            configuration: the table's properties, which say whether files go into folders of random names.
            target_bytes: how large a file becomes before another is begun; a vector that is larger has its own.
            inline_bytes: vectors up to this size are kept in the log. Never by default, as in delta-spark: each reader of the
                log would read them, checkpoints would hold them, and not all readers know them.
        """
        self.table_uri = table_uri
        self.paths: set[str] = set()
        self._store = store
        self._configuration = configuration
        self._target_bytes = target_bytes
        self._inline_bytes = inline_bytes

    def write(self, vectors: Sequence[Bitmap]) -> list[DeletionVectorDescriptor]:
        """Write vectors, several to a file.

        Returns:
            Their descriptors in the same order.

        Raises:
            StorageError: the store failed. What was written is in `paths`, and `discard` deletes it.
        """
        found: list[DeletionVectorDescriptor | None] = [None] * len(vectors)
        in_files: list[tuple[int, bytes, int]] = []
        for position, vector in enumerate(vectors):
            body, cardinality = encode(vector), vector.cardinality
            if len(body) <= self._inline_bytes:
                found[position] = DeletionVectorDescriptor("i", z85.encode(body), None, len(body), cardinality)
            else:
                in_files.append((position, body, cardinality))
        packed = list(_packed(in_files, self._target_bytes))
        with ThreadPoolExecutor(min(_WRITERS, len(packed) or 1), thread_name_prefix="bayou-vectors") as pool:
            for group, descriptors in zip(packed, pool.map(self._write_file, packed), strict=True):
                for (position, _, _), descriptor in zip(group, descriptors, strict=True):
                    found[position] = descriptor
        return [each for each in found if each is not None]

    def discard(self) -> None:
        """Delete every file again: the commit is certainly not in the log. What cannot be deleted stays for VACUUM."""
        self.discard_unused(())

    def discard_unused(self, used: Iterable[DeletionVectorDescriptor]) -> None:
        """Delete the files that hold none of some vectors: an attempt that lost had others."""
        kept = {each.relative_path for each in used if each.storage_type == "u"}
        for path in self.paths - kept:
            with contextlib.suppress(OSError):
                self._store.delete(path)
                self.paths.discard(path)

    def _write_file(self, group: Sequence[tuple[int, bytes, int]]) -> list[DeletionVectorDescriptor]:
        bodies = [(body, count) for _, body, count in group]
        data, descriptors = frame_file(bodies, uuid.uuid4(), prefix=vector_prefix(self._configuration))
        path = descriptors[0].relative_path or ""
        # Before the put: one that fails may have written all the same.
        self.paths.add(path)
        if not self._store.put_if_absent(path, data):
            self.paths.discard(path)
            raise StorageError("a deletion vector file of a new name is there already", table=self.table_uri, file=path)
        return descriptors


def _packed(vectors: Iterable[tuple[int, bytes, int]], target_bytes: int) -> Iterator[list[tuple[int, bytes, int]]]:
    group: list[tuple[int, bytes, int]] = []
    size = 0
    for vector in vectors:
        added = len(vector[1]) + FRAME_BYTES
        if group and size + added > target_bytes:
            yield group
            group, size = [], 0
        group.append(vector)
        size += added
    if group:
        yield group
