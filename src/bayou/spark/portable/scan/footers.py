# SPDX-License-Identifier: Apache-2.0
"""Read the footers of a table's files in this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.errors import DeltaError, StorageError, failed
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot

_THREADS: Final = 8


@dataclass(frozen=True)
class FooterReader:
    """Reads footers through the store of a snapshot's table.

    Attributes:
        storage_options: credentials for files that are not in the table's folder.
    """

    snapshot: Snapshot
    storage_options: Mapping[str, str] = field(repr=False)

    def __call__(self, files: Sequence[tuple[str, int]]) -> list[pq.FileMetaData | OSError]:
        """Return the footers of files, or the errors, by URI and size."""
        with ThreadPoolExecutor(_THREADS) as threads:
            return list(threads.map(lambda file: self._read(file[0]), files))

    def _read(self, uri: str) -> pq.FileMetaData | OSError:
        root = self.snapshot.table_uri.rstrip("/") + "/"
        try:
            if uri.startswith(root):
                store, path = self.snapshot.source.store, uri[len(root) :]
            else:
                folder, _, path = uri.rpartition("/")
                store = open_store(qualify(folder), self.storage_options)
            with store.open(path) as source:
                return pq.read_metadata(source)
        except FileNotFoundError as error:
            return error
        except (DeltaError, OSError, pa.ArrowInvalid) as error:
            return cast("StorageError", failed("footer-unreadable", file=uri, reason=str(error)))
