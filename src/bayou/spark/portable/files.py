# SPDX-License-Identifier: Apache-2.0
"""List the files that a job of the server wrote, and read their footers, from the client."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from bayou.errors import DeltaError
from bayou.spark.backend import WrittenFile
from bayou.storage import delete_many, list_tree, open_store, qualify
from bayou.storage.trees import EVERY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

_FOOTER_BYTES: Final = 64 << 10
"""So many bytes from the end of a file are read first. Most footers are smaller."""
_LENGTH_BYTES: Final = 8
"""The end of a Parquet file: four bytes with the length of the footer, and `PAR1`."""
_THREADS: Final = 16


def files_in(folder: str, storage_options: Mapping[str, str]) -> list[WrittenFile]:
    """Return the Parquet files below a folder; none if it does not exist.

    Args:
        folder: its URI, not percent-encoded.
    """
    store = open_store(qualify(folder), storage_options)
    found = []
    try:
        for batch in list_tree(store, EVERY_NAME):
            for row in batch.to_pylist():
                if not row["is_folder"] and row["path"].endswith(".parquet") and not _is_hidden(row["path"]):
                    uri = quote(f"{folder}/{row['path']}", safe="/:=@!$&'()*+,;~-._")
                    found.append(WrittenFile(uri, row["size"], row["modification_time"]))
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda file: file.uri)


def _is_hidden(path: str) -> bool:
    """Whether a committer of the server left a file, such as one in `_temporary`. Folders of partitions may begin like those."""
    return any(part.startswith(("_", ".")) and "=" not in part for part in path.split("/"))


def delete_files(folder: str, storage_options: Mapping[str, str]) -> None:
    """Delete what a failed job left in its own folder: Spark deletes the files of unfinished tasks only.

    Files that cannot be deleted stay, and VACUUM finds them.

    Args:
        folder: the URI of the folder, not percent-encoded. It may be missing.
    """
    with contextlib.suppress(DeltaError, OSError):
        store = open_store(qualify(folder), storage_options)
        for batch in list_tree(store, EVERY_NAME):
            delete_many(store, [row["path"] for row in batch.to_pylist() if not row["is_folder"]])
    remove_empty(folder)


def remove_empty(folder: str, *, is_deep: bool = True) -> None:
    """Remove what a failed job left on a local disk: a folder if it has no file.

    Args:
        is_deep: whether folders in it that have no file are removed first.
    """
    local = qualify(folder).local
    if local is None:
        return
    for each in [walked[0] for walked in os.walk(local, topdown=False)] if is_deep else [local]:
        with contextlib.suppress(OSError):
            os.rmdir(each)  # noqa: PTH106  (os.walk gives strings)


def footers_in(files: Sequence[tuple[str, int]], storage_options: Mapping[str, str]) -> list[bytes | Exception]:
    """Return the footer of each file as a Parquet file without data, or the error.

    Args:
        files: the URI of each file, not percent-encoded, and its size in bytes. All are in one store.
    """

    def footer(file: tuple[str, int]) -> bytes | Exception:
        try:
            return _footer(*file, storage_options)
        except (OSError, DeltaError) as error:
            return error

    with ThreadPoolExecutor(min(_THREADS, len(files)), thread_name_prefix="bayou-footers") as pool:
        return list(pool.map(footer, files))


def _footer(uri: str, size: int, storage_options: Mapping[str, str]) -> bytes:
    folder, _, name = uri.rpartition("/")
    with open_store(qualify(folder), storage_options).open(name) as file:
        end = _last(file, size, _FOOTER_BYTES)
        needed = int.from_bytes(end[-_LENGTH_BYTES:-4], "little") + _LENGTH_BYTES
        return b"PAR1" + (end if needed <= len(end) else _last(file, size, needed))


def _last(file: BinaryIO, size: int, count: int) -> bytes:
    file.seek(max(0, size - count))
    return file.read()
