# SPDX-License-Identifier: Apache-2.0
"""Find the files of a table with narrower types than the table's, which were written before a column was widened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.protocol.evolution.feature_traces import has_type_changes
from bayou.protocol.types.schema import StructType
from bayou.spark.scan.file_types import group_by_types
from bayou.spark.scan.footers import read_footers
from bayou.spark.types.types import physical_field, stored_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import Backend


def narrow_files(backend: Backend, snapshot: Snapshot, positions: pa.Array, storage_options: Mapping[str, str]) -> pa.Array:
    """Return the positions of those files that hold a column in another type than the table's. Reads their footers.

    Only columns that the schema records as widened are checked. A missing file is ignored. Raise StorageError if an existing footer
    cannot be read.
    """
    widened = [f for f in snapshot.schema.fields if has_type_changes(StructType((f,)))]  # files may hold partition columns
    fields = tuple(stored_fields(physical_field(f, f, by_id=False) for f in widened))
    if not fields or not len(positions):
        return pa.array([], pa.int64())
    groups = group_by_types(
        snapshot.files(["path", "size"]),
        snapshot.table_uri,
        positions.cast(pa.int64()),
        fields,
        lambda files: read_footers(backend, files, storage_options),
    )
    narrow = [chosen for chosen, stored in groups if stored != fields]
    return pa.concat_arrays([pa.array([], pa.int64()), *narrow])
