# SPDX-License-Identifier: Apache-2.0
"""Runs an operation again where another commit only moved the rows that it read into other files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from bayou.errors import ConcurrentModificationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

MOST_RERUNS: Final = 3
"""How often an operation is run again before its conflict is raised."""


class Repeatable(Protocol):
    """The result of an operation that may have been run again."""

    def after_retries(self, count: int) -> Self:
        """The result with the number of reruns."""
        ...


Planned = TypeVar("Planned")
Result = TypeVar("Result", bound=Repeatable)


def may_run_again(error: ConcurrentModificationError) -> bool:
    """Whether the commit that excludes an operation changed no row, as OPTIMIZE does not."""
    return error.facts.get("rows_only_moved") is True


def with_reruns(planned: Planned, run: Callable[[Planned], Result], again: Callable[[Planned], Planned]) -> Result:
    """Runs an operation until no commit moves its rows away from under it.

    Args:
        planned: the operation on the state that it was planned for.

    Raises:
        ConcurrentModificationError: a commit changed rows that it depends on; or commits moved them more than `MOST_RERUNS` times.
    """
    for retries in range(MOST_RERUNS + 1):
        try:
            return run(planned).after_retries(retries)
        except ConcurrentModificationError as error:
            if retries == MOST_RERUNS or not may_run_again(error):
                raise
        planned = again(planned)
    raise AssertionError
