# SPDX-License-Identifier: Apache-2.0
"""The outcome of a commit, as values. Callers decide from it whether to delete the files that were written for the commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bayou.errors import DeltaError


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit is in the log.

    Attributes:
        version: the version that it made.
        attempts: how many versions were tried.
        metrics: the metrics as in the history, with numbers as numbers, corrected after a rebase; None if not given. Not part
            of comparisons.
    """

    version: int
    attempts: int
    metrics: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A no-op: there was nothing to commit. Files that were written for it can be deleted.

    Attributes:
        version: the table's version as read.
        reason: `empty`, or `replayed` if the log already has this version of the application.
    """

    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The commit is not in the log: a winning commit conflicts. Its files can be deleted.

    Attributes:
        error: a ConcurrentModificationError.
    """

    error: DeltaError


@dataclass(frozen=True, slots=True)
class Unknown:
    """The store failed, and the log does not show whether the commit landed. Its files must stay.

    Attributes:
        error: a StorageError.
    """

    error: DeltaError


CommitOutcome: TypeAlias = Committed | Unchanged | Conflicted | Unknown
