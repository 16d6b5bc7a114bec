# SPDX-License-Identifier: Apache-2.0
"""Data files of a table, opened in the store that holds them, and read in batches without their deleted rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayou.errors import DeltaError, Located, StorageError, failed, reason
from bayou.protocol.actions import paths
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.storage.store import LogStore

_BITS_OF_CONTAINER: Final = 1 << 16
_BYTES_OF_CONTAINER: Final = _BITS_OF_CONTAINER // 8


class DataFiles:
    """Opens the data files of a table.

    Args:
        store: the table's store.
        table_uri: the table's URI.
        storage_options: access to files outside the table's folder, as shallow clones have them.
    """

    def __init__(self, store: LogStore, table_uri: str, storage_options: Mapping[str, str] | None) -> None:
        self._store = store
        self._table_uri = table_uri
        self._options = storage_options
        self._others: dict[str, LogStore] = {}

    @contextmanager
    def opened(self, path: str, at: Located) -> Iterator[pq.ParquetFile]:
        """Open a data file by its path in the log.

        Raises:
            DataFileNotFoundError: the file does not exist.
            UnreadableDataFileError: it is not a Parquet file, or a part of it cannot be read.
        """
        store, name = self._place(path)
        uri = paths.to_uri(path, self._table_uri)
        try:
            with contextlib.ExitStack() as held:
                local = store.local_path(name)
                source: Any = local if local is not None else held.enter_context(store.open(name))
                # INT96 is read as microseconds: as nanoseconds, years before 1678 and after 2261 would wrap around.
                yield held.enter_context(pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=local is None))
        except (DeltaError, GeneratorExit):
            raise
        except FileNotFoundError as error:
            raise failed("DELTA_FILE_NOT_FOUND_DETAILED/live", at=at, file=uri) from error
        except (pa.ArrowException, StorageError, OSError, UnicodeDecodeError) as error:
            raise failed("FAILED_READ_FILE/rows", at=at, file=uri, reason=reason(error)) from error

    def _place(self, path: str) -> tuple[LogStore, str]:
        name = paths.canonical(path, self._table_uri)
        if not paths.is_absolute(name):
            return self._store, name
        folder, _, name = paths.to_uri(path, self._table_uri).rpartition("/")
        if folder not in self._others:
            self._others[folder] = open_store(qualify(folder), self._options)
        return self._others[folder], name


def live_batches(file: pq.ParquetFile, columns: Sequence[str], vector: Bitmap | None, batch_size: int) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a file, without the rows of a deletion vector. One row group at a time is in memory."""
    live = None if vector is None else _live(vector, file.metadata.num_rows)
    start = 0
    for group in range(file.metadata.num_row_groups):
        for batch in _of_group(file, group, columns, batch_size):
            yield batch if live is None else batch.filter(live.slice(start, batch.num_rows))
            start += batch.num_rows


def _of_group(file: pq.ParquetFile, group: int, columns: Sequence[str], batch_size: int) -> Iterator[pa.RecordBatch]:
    if columns:
        yield from file.iter_batches(batch_size, row_groups=[group], columns=list(columns))
        return
    # No column of the file is asked for: only the number of its rows counts.
    left = file.metadata.row_group(group).num_rows
    while left > 0:
        rows = min(left, batch_size)
        yield without_columns(rows)
        left -= rows


def without_columns(rows: int) -> pa.RecordBatch:
    """Return a batch that has rows and no column."""
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))


def _live(vector: Bitmap, num_rows: int) -> pa.Array:
    """Return whether each row of a file is live. A bit for each row, in the order that Arrow has too."""
    size = -(-num_rows // _BITS_OF_CONTAINER)
    blocks = [bytes(_BYTES_OF_CONTAINER)] * size
    for container in vector.containers:
        if container.key < size:
            blocks[container.key] = container.bits()
    deleted = pa.BooleanArray.from_buffers(pa.bool_(), num_rows, [None, pa.py_buffer(b"".join(blocks))])
    return pc.invert(deleted)
