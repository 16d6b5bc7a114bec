# SPDX-License-Identifier: Apache-2.0
"""The store for a place, chosen by its scheme."""

from __future__ import annotations

from collections.abc import Mapping

from bayou.errors import StorageError
from bayou.storage.local import LocalStore
from bayou.storage.paths import QualifiedPath
from bayou.storage.store import LogStore


def open_store(place: QualifiedPath, storage_options: Mapping[str, str] | None = None) -> LogStore:
    """The store that holds a table.

    Args:
        place: where the table is.
        storage_options: credentials and settings; the local store has none.

    Raises:
        StorageError: no store serves the scheme.
    """
    del storage_options
    if place.local is not None:
        return LocalStore(place.local)
    raise StorageError(
        f"no log store serves the scheme {place.scheme!r}",
        table=place.uri,
        next_step="Use a local path or a file: URI; object stores are not supported yet.",
    )
