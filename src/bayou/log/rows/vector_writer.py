# SPDX-License-Identifier: Apache-2.0
"""Writes the deletion vectors of one commit, many per file, and deletes them if the commit fails.

Sources: PROTOCOL.md, "Deletion Vectors" and "Deletion Vector File Storage Format"; delta-spark's `DMLWithDeletionVectorsHelper` for
the packing.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.actions.file_names import vector_prefix
from bayou.protocol.deletion_vectors import z85
from bayou.protocol.deletion_vectors.descriptor import FRAME_BYTES, Bitmap, DeletionVectorDescriptor, encode, frame_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bayou.storage import LogStore

TARGET_BYTES: Final = 2 * 1024 * 1024
"""The size at which a file is complete. Source: delta-spark, `deletionVectors.packing.targetSize`."""

_WRITERS: Final = 16


class VectorFiles:
    """The deletion vector files of one commit.

    A file is durable once `write` has returned, because the store's puts are. Its name is new, so that no other commit can name it.
    `paths` are the files that were written and not deleted, relative to the table.
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
        """Create a writer; nothing is written yet.

        Args:
            configuration: the table's properties, which may ask for folders with random names.
            target_bytes: the size at which a file is complete; a larger deletion vector has its own file.
            inline_bytes: deletion vectors up to this size are stored in the log. Zero by default, as in delta-spark: all readers of
                the log and all checkpoints would hold them, and not all readers support them.
        """
        self.table_uri = table_uri
        self.paths: set[str] = set()
        self._store = store
        self._configuration = configuration
        self._target_bytes = target_bytes
        self._inline_bytes = inline_bytes

    def write(self, vectors: Sequence[Bitmap]) -> list[DeletionVectorDescriptor]:
        """Write deletion vectors, several to a file, and return their descriptors in the same order.

        Raises:
            StorageError: the store failed. The written files are in `paths`, and `discard` deletes them.
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
        """Delete every file: the commit is certainly not in the log. VACUUM deletes what cannot be deleted now."""
        self.discard_unused(())

    def discard_unused(self, used: Iterable[DeletionVectorDescriptor]) -> None:
        """Delete the files that hold none of some deletion vectors: a failed attempt wrote them."""
        kept = {each.relative_path for each in used if each.storage_type == "u"}
        for path in self.paths - kept:
            with contextlib.suppress(OSError):
                self._store.delete(path)
                self.paths.discard(path)

    def _write_file(self, group: Sequence[tuple[int, bytes, int]]) -> list[DeletionVectorDescriptor]:
        bodies = [(body, count) for _, body, count in group]
        data, descriptors = frame_file(bodies, uuid.uuid4(), prefix=vector_prefix(self._configuration))
        path = descriptors[0].relative_path or ""
        # Before the put, because a failed put may have written the file nevertheless.
        self.paths.add(path)
        if not self._store.put_if_absent(path, data):
            self.paths.discard(path)
            raise failed("vector-file-exists", table=self.table_uri, file=path)
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
