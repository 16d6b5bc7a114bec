# SPDX-License-Identifier: Apache-2.0
"""Rerun an operation if the winning commits only moved its rows into other files, as OPTIMIZE does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from bayou.errors import ConcurrentModificationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

MOST_RERUNS: Final = 3
"""The number of reruns before the conflict is raised."""


class Repeatable(Protocol):
    """The result of an operation that may have been rerun."""

    def after_retries(self, count: int) -> Self:
        """Return the result with the number of reruns."""
        ...


Planned = TypeVar("Planned")
Result = TypeVar("Result", bound=Repeatable)


def may_run_again(error: ConcurrentModificationError) -> bool:
    """Return whether the winning commit only moved rows into other files."""
    return error.facts.get("rows_only_moved") is True


def with_reruns(planned: Planned, run: Callable[[Planned], Result], again: Callable[[Planned], Planned]) -> Result:
    """Run an operation. If it conflicts with commits that only moved its rows, rerun it.

    Args:
        planned: the operation on the snapshot that it was planned for.
        again: plans the operation on the latest version.

    Raises:
        ConcurrentModificationError: a winning commit changed rows that the operation depends on, or its rows were moved in every
            one of `MOST_RERUNS` reruns.
    """
    for retries in range(MOST_RERUNS + 1):
        try:
            return run(planned).after_retries(retries)
        except ConcurrentModificationError as error:
            if retries == MOST_RERUNS or not may_run_again(error):
                raise
        planned = again(planned)
    raise AssertionError
