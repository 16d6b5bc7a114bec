# SPDX-License-Identifier: Apache-2.0
"""The commits that stop a stream, and their errors: what the commit did, who made it, and how to go on.

Source: delta-spark's `DeltaSource.validateCommitAndDecideSkipping`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import StreamingSourceError

if TYPE_CHECKING:
    from bayou.log.streaming.batches.commits import StreamCommit
    from bayou.log.streaming.request.options import StreamOptions

_TEXT: Final = 300


def check_changes(commit: StreamCommit, options: StreamOptions, table: str) -> None:
    """Raise StreamingSourceError if a commit removes files with `dataChange` and no option allows it."""
    if commit.removed is None or options.ignore_changes or options.skip_change_commits:
        return
    if commit.adds.num_rows:
        raise _changed(commit, table)
    if not options.ignore_deletes:
        raise _deleted(commit, table)


def operation_of(info: Mapping[str, Any]) -> str | None:
    """Return the operation that a commit names."""
    value = info.get("operation")
    return value if isinstance(value, str) else None


def user_of(info: Mapping[str, Any]) -> str | None:
    """Return who made a commit, by name if possible, otherwise by id."""
    return next((value for key in ("userName", "userId") if isinstance(value := info.get(key), str)), None)


def what_it_was(version: int, info: Mapping[str, Any]) -> str:
    """Describe a commit: its version, operation, user and engine."""
    words = [operation_of(info) or "an operation that it does not name"]
    user, engine = user_of(info), info.get("engineInfo")
    if user is not None:
        words.append(f"by {user}")
    if isinstance(engine, str):
        words.append(f"with {engine}")
    return f"version {version} is {' '.join(words)}"


def _changed(commit: StreamCommit, table: str) -> StreamingSourceError:
    example = _operation_with_parameters(commit.info) or commit.removed
    return StreamingSourceError(
        f"Detected a data update (for example {example}) in the source table at version {commit.version}. This is currently not"
        f" supported: {what_it_was(commit.version, commit.info)}; it removes files (for example {commit.removed}) and adds"
        f" {commit.adds.num_rows}",
        table=table,
        version=commit.version,
        file=commit.removed,
        error_class="DELTA_SOURCE_TABLE_IGNORE_CHANGES",
        next_step="Set the option 'skipChangeCommits' to 'true' to leave such commits out, with the rows that they add or change;"
        " or 'ignoreChanges' to 'true' to read all rows of the files that they add, so that unchanged rows come again; or read"
        " the changes themselves with 'readChangeFeed' and a fresh checkpoint directory, where the table records them.",
        operation=operation_of(commit.info),
        user=user_of(commit.info),
        options=("skipChangeCommits", "ignoreChanges"),
    )


def _deleted(commit: StreamCommit, table: str) -> StreamingSourceError:
    return StreamingSourceError(
        f"Detected deleted data (for example {commit.removed}) from streaming source at version {commit.version}. This is"
        f" currently not supported: {what_it_was(commit.version, commit.info)}",
        table=table,
        version=commit.version,
        file=commit.removed,
        error_class="DELTA_SOURCE_IGNORE_DELETE",
        next_step="Set the option 'ignoreDeletes' to 'true' to pass over commits that only remove files: the rows that they delete"
        " stay where the stream has written them.",
        operation=operation_of(commit.info),
        user=user_of(commit.info),
        options=("ignoreDeletes", "skipChangeCommits", "ignoreChanges"),
    )


def _operation_with_parameters(info: Mapping[str, Any]) -> str | None:
    name, parameters = operation_of(info), info.get("operationParameters")
    if name is None:
        return None
    shown = json.dumps(parameters, ensure_ascii=False) if parameters else ""
    return f"{name} ({shown[:_TEXT]})" if shown else name
