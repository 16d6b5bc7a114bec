# SPDX-License-Identifier: Apache-2.0
"""Read the footers of data files: from the local disk by Arrow, otherwise through the session's JVM, many in one call."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.errors import StorageError, failed
from bayou.log.staging.footer_statistics import FOOTERS_AT_ONCE
from bayou.spark.scan.file_source import uris
from bayou.storage import host_of, qualify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bayou.spark.backend import Backend


def read_footers(
    backend: Backend, files: Sequence[tuple[str, int]], storage_options: Mapping[str, str]
) -> list[pq.FileMetaData | OSError]:
    """Read the footers of Parquet files.

    Costs one call into the JVM for each remote host, and for each 64 MB of footers.

    Args:
        files: the URI of each file, not percent-encoded, and its size in bytes.

    Returns:
        The footer of each, or the error: FileNotFoundError, StorageError, or another OSError if the file is not Parquet.
    """
    footers: dict[int, pq.FileMetaData | OSError] = {}
    remote: defaultdict[str, list[int]] = defaultdict(list)
    for position, (uri, _) in enumerate(files):
        local = qualify(uri).local
        if local is None:
            remote[host_of(uri)].append(position)
        else:
            footers[position] = _parsed(local, uri)
    for positions in remote.values():
        chosen = [files[position] for position in positions]
        for position, (uri, _), answer in zip(positions, chosen, _ask(backend, chosen, storage_options), strict=True):
            footers[position] = answer if isinstance(answer, OSError) else _parsed(pa.BufferReader(answer), uri)
    return [footers[position] for position in range(len(files))]


def footers_in_turn(
    backend: Backend, files: pa.Table, table_uri: str, storage_options: Mapping[str, str]
) -> Iterator[pq.FileMetaData | OSError]:
    """Yield the footers of files with `path` and `size` in order, as `read_footers` does, at most `FOOTERS_AT_ONCE` in memory."""
    for first in range(0, files.num_rows, FOOTERS_AT_ONCE):
        batch = files.slice(first, FOOTERS_AT_ONCE)
        paths = uris(batch["path"].combine_chunks(), table_uri).to_pylist()
        yield from read_footers(backend, list(zip(paths, batch["size"].to_pylist(), strict=True)), storage_options)


def _ask(backend: Backend, files: Sequence[tuple[str, int]], storage_options: Mapping[str, str]) -> list[bytes | OSError]:
    answers = backend.footers(files, storage_options)
    return [_as_os_error(answer, uri) for answer, (uri, _) in zip(answers, files, strict=True)]


def _as_os_error(answer: bytes | Exception, uri: str) -> bytes | OSError:
    if isinstance(answer, bytes | OSError):
        return answer
    return _unreadable(uri, answer)


def _parsed(source: str | pa.BufferReader, uri: str) -> pq.FileMetaData | OSError:
    try:
        return pq.read_metadata(source)
    except FileNotFoundError as error:
        return error
    except (OSError, pa.ArrowInvalid) as error:
        return _unreadable(uri, error)


def _unreadable(uri: str, error: Exception) -> OSError:
    return cast("StorageError", failed("footer-unreadable", file=uri, reason=str(error)))
