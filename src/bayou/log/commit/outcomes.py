# SPDX-License-Identifier: Apache-2.0
"""What came of a commit, as values: callers decide from them what happens to the data files that were written for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bayou.errors import ConcurrentModificationError, StorageError


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit is in the log.

    Attributes:
        version: the version that it made.
        attempts: how many versions were tried.
        metrics: what it counted, as the history has it, with numbers as numbers: corrected where others came before it; None
            where it was given nothing to say. Outcomes are compared without it.
    """

    version: int
    attempts: int
    metrics: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing was committed, because there was nothing to commit. Data files that were written for it may be deleted.

    Attributes:
        version: the table's version, as far as it was read.
        reason: `empty`, or `replayed` where the same application committed this version of its own before.
    """

    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The commit is not in the log: another writer's commit excludes it. Its data files may be deleted."""

    error: ConcurrentModificationError


@dataclass(frozen=True, slots=True)
class Unknown:
    """The store failed, and the log does not say whether the commit is there. Its data files must stay."""

    error: StorageError


CommitOutcome: TypeAlias = Committed | Unchanged | Conflicted | Unknown
