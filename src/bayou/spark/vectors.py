# SPDX-License-Identifier: Apache-2.0
"""The deletion vectors of a scan's files as constants that Spark's generated code reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.log.vectors import read_vectors
from bayou.spark.deletion_vectors import EncodedVector, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from bayou.log.snapshot import Snapshot


def load_vectors(
    snapshot: Snapshot, descriptors: pa.StructArray, storage_options: Mapping[str, str] | None = None
) -> list[EncodedVector | None]:
    """The vectors of some files as constants, aligned with the descriptors.

    Args:
        snapshot: the state that the files belong to.
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.
        storage_options: settings for the file system.

    Raises:
        DeletionVectorError: a vector's file is missing, or is not what its descriptor says.
    """
    found = read_vectors(snapshot, descriptors, storage_options)
    return [None if bitmap is None else encode(bitmap) for bitmap in found]
