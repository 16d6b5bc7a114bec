# SPDX-License-Identifier: Apache-2.0
"""Commit provenance without the file actions: most writers put `commitInfo` on a commit's first line."""

from __future__ import annotations

from typing import Final

from bayou.log.actions.action_files import ActionFile
from bayou.protocol.actions import exact_json
from bayou.protocol.actions.actions import CommitInfo
from bayou.storage.store import FileStatus, LogStore

COUNTABLE_TAG: Final = "bayou.countable"
"""The tag in `commitInfo.tags` that says: all added files are new ones, and all removed ones were live. Then what the commit
makes of the table's numbers is known without the file list."""

COMPUTE_STATS: Final = "COMPUTE STATS"
"""The operation that adds files again with the statistics of their live rows."""

VACUUM_START: Final = "VACUUM START"
VACUUM_END: Final = "VACUUM END"
"""What VACUUM notes before it deletes files, and after that."""

MAY_DO_ANYTHING: Final = frozenset({"Manual Update"})
"""Operations after which nothing is known of the table's numbers. Source: delta-spark, RecordChecksum."""

_PREFIX: Final = b'{"commitInfo":'


def read_commit_info(store: LogStore, status: FileStatus, version: int, table: str) -> CommitInfo | None:
    """The provenance of a commit, or None where its writer left it out.

    Reads the first line alone where that is the provenance, else the whole file.

    Raises:
        CorruptLogError: the line is no valid JSON.
        FileNotFoundError: the commit is gone.
    """
    with store.open(status.path) as file:
        line = file.readline()
        if line.startswith(_PREFIX):
            try:
                found = exact_json.loads(line).get("commitInfo")
            except (ValueError, RecursionError):  # the whole file says what is wrong with it
                found = None
            if isinstance(found, dict):
                return CommitInfo(found)
        data = line + file.read()
    if not data.strip():
        return None
    return ActionFile(data, table=table, path=status.path, version=version).commit_info()
