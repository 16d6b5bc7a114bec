# SPDX-License-Identifier: Apache-2.0
"""Whether the rows of a table kept their ids over a range of versions.

Source: PROTOCOL.md, "Row Tracking": ids survive rewriting while `delta.enableRowTracking` is true; a commit may say in its tags
that it did not keep them.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from bayou.errors import CorruptLogError
from bayou.log.actions.action_files import ActionFile
from bayou.log.rows.row_tracking import PRESERVED_TAG
from bayou.protocol import properties
from bayou.protocol.actions.file_names import commit_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.protocol.actions.actions import Metadata

_AT_ONCE: Final = 64
_READERS: Final = 16
_NAMES: Final = (properties.MATERIALIZED_ROW_ID, properties.MATERIALIZED_ROW_COMMIT_VERSION)


def first_without_ids(log: LogReader, versions: Iterable[int]) -> int | None:
    """The first of some versions after which rows may have other ids than before; None where there is none.

    Reads the head of each commit.

    Args:
        log: the table's log.
        versions: the versions, in order.

    Raises:
        CorruptLogError: a commit is gone, or cannot be read.
    """
    names: tuple[str | None, ...] | None = None
    remaining = iter(versions)
    with ThreadPoolExecutor(_READERS) as pool:
        while some := list(itertools.islice(remaining, _AT_ONCE)):
            for file in pool.map(lambda version: _read(log, version), some):
                info, metadata = file.commit_info(), file.header().metadata
                tags = {} if info is None else info.raw.get("tags")
                if isinstance(tags, dict) and tags.get(PRESERVED_TAG) == "false":
                    return file.version
                if metadata is None:
                    continue
                now = _names(metadata)
                if not properties.ENABLE_ROW_TRACKING.read(metadata.configuration) or now != (names or now):
                    return file.version
                names = now
    return None


def _names(metadata: Metadata) -> tuple[str | None, ...]:
    return tuple(each.read(metadata.configuration) for each in _NAMES)


def _read(log: LogReader, version: int) -> ActionFile:
    try:
        return ActionFile.of_commit(log.store, version, log.table_uri)
    except FileNotFoundError as error:
        raise CorruptLogError(
            "a commit of the range is gone, and with it what says whether rows kept their ids",
            table=log.table_uri,
            version=version,
            file=commit_path(version),
            next_step="Read the changes from a later version on.",
        ) from error
