# SPDX-License-Identifier: Apache-2.0
"""The `commitInfo` of a commit, without its file actions: most writers put it on the first line."""

from __future__ import annotations

from typing import Final

from bayou.log.actions.action_files import ActionFile
from bayou.protocol.actions import exact_json
from bayou.protocol.actions.actions import CommitInfo
from bayou.storage.store import FileStatus, LogStore

COUNTABLE_TAG: Final = "bayou.countable"
"""The tag in `commitInfo.tags` of a commit that only added new files and removed live ones, so that counts follow from it."""

COMPUTE_STATS: Final = "COMPUTE STATS"
"""The operation that adds files again with the statistics of their live rows."""

VACUUM_START: Final = "VACUUM START"
VACUUM_END: Final = "VACUUM END"
"""The operations that VACUUM logs before and after it deletes files."""

MAY_DO_ANYTHING: Final = frozenset({"Manual Update"})
"""Operations after which the table's file counts are unknown. Source: delta-spark, RecordChecksum."""

_PREFIX: Final = b'{"commitInfo":'


def read_commit_info(store: LogStore, status: FileStatus, version: int, table: str) -> CommitInfo | None:
    """Return the `commitInfo` of a commit; None if its writer left it out.

    Reads only the first line if that holds it, otherwise the whole file. Raises FileNotFoundError if the commit is gone.
    """
    with store.open(status.path) as file:
        line = file.readline()
        if line.startswith(_PREFIX):
            try:
                found = exact_json.loads(line).get("commitInfo")
            except (ValueError, RecursionError):  # reading the whole file reports what is wrong
                found = None
            if isinstance(found, dict):
                return CommitInfo(found)
        data = line + file.read()
    if not data.strip():
        return None
    return ActionFile(data, table=table, path=status.path, version=version).commit_info()
