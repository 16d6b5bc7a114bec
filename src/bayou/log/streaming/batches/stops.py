# SPDX-License-Identifier: Apache-2.0
"""The commits that stop a stream, and their errors: what the commit did, who made it, and how to go on.

Source: delta-spark's `DeltaSource.validateCommitAndDecideSkipping`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed

if TYPE_CHECKING:
    from bayou.log.streaming.batches.commits import StreamCommit
    from bayou.log.streaming.request.options import StreamOptions

_TEXT: Final = 300


def check_changes(commit: StreamCommit, options: StreamOptions, table: str) -> None:
    """Raise StreamingSourceError if a commit removes files with `dataChange` and no option allows it."""
    if commit.removed is None or options.ignore_changes or options.skip_change_commits:
        return
    if commit.adds.num_rows or not options.ignore_deletes:
        raise failed(
            "DELTA_SOURCE_TABLE_IGNORE_CHANGES" if commit.adds.num_rows else "DELTA_SOURCE_IGNORE_DELETE",
            table=table,
            version=commit.version,
            file=commit.removed,
            example=_operation_with_parameters(commit.info) or commit.removed,
            commit=what_it_was(commit.version, commit.info),
            num_added=commit.adds.num_rows,
            operation=operation_of(commit.info),
            user=user_of(commit.info),
            options=("skipChangeCommits", "ignoreChanges")
            if commit.adds.num_rows
            else ("ignoreDeletes", "skipChangeCommits", "ignoreChanges"),
        )


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


def _operation_with_parameters(info: Mapping[str, Any]) -> str | None:
    name, parameters = operation_of(info), info.get("operationParameters")
    if name is None:
        return None
    shown = json.dumps(parameters, ensure_ascii=False) if parameters else ""
    return f"{name} ({shown[:_TEXT]})" if shown else name
