# SPDX-License-Identifier: Apache-2.0
"""Retry requests, with pauses between the attempts."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from bayou.errors import DeltaError, failed
from bayou.storage.object_stores.failures import Failure, Meaning

T = TypeVar("T")

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0


def attempt(request: Callable[[], T], hide: Callable[[str], str]) -> tuple[T, None] | tuple[None, Failure]:
    """Return the result of a request, or its failure.

    The library's error ends here. It quotes the server, so no error of bayou may have it as its cause or context.
    """
    try:
        return request(), None
    except Exception as error:  # noqa: BLE001  (the library's classes have no other base)
        return None, Failure.of(error, hide)


_asking: Final[list[int]] = []
"""The process that sent the first request."""


def check_process(table: str) -> None:
    """Raise StorageError in a forked process, which lacks the threads for requests and would wait forever.

    Args:
        table: the table's URI, for errors.

    Raises:
        StorageError: the process was forked from one that has sent requests.
    """
    if not _asking:
        _asking.append(os.getpid())
    elif _asking[0] != os.getpid():
        raise failed("forked-process", table=table, is_refused=True)


class Pauses:
    """The pauses between the attempts of one operation: random, and longer each time."""

    def __init__(self, seconds: float, most: int | None, sleep: Callable[[float], None], renew: Callable[[], None]) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._most = most
        self._sleep = sleep
        self._renew: Callable[[], None] | None = renew
        self._count = 0

    def wait(self, failure: Failure) -> bool:
        """Pause before the next attempt. Return False, without a pause, if the time or the number of attempts is used up.

        Renew expired credentials once, without a pause. If the new ones have expired too, return False.
        """
        if failure.meaning is Meaning.EXPIRED:
            renew, self._renew = self._renew, None
            if renew is not None:
                renew()
                self._count += 1
            return renew is not None
        if self._most is not None and self._count >= self._most:
            return False
        longest = min(_FIRST_PAUSE * 2**self._count, _LONGEST_PAUSE)
        pause = random.uniform(0, longest)  # noqa: S311  (not a secret)
        if time.monotonic() - self._start + pause > self._seconds:
            return False
        self._count += 1
        self._sleep(pause)
        return True

    def over(self, failure: Failure, doing: str, table: str, path: str | None, *, may_be_done: bool = False) -> DeltaError:
        """Return the error after the last attempt. The arguments are those of `Failure.error`."""
        tried = f", after {self._count + 1} attempts in {time.monotonic() - self._start:.1f} s"
        return failure.error(doing, table, path, may_be_done=may_be_done, tried=tried)
