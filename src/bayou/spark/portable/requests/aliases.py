# SPDX-License-Identifier: Apache-2.0
"""Names for the rows that travel with a SQL text."""

from __future__ import annotations

import heapq
import threading
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class AliasPool:
    """Names that no two requests use at the same time.

    The server makes a temporary view of each name while it analyses a request, and drops it afterwards. With the same name, two
    requests at once would drop each other's views. Names are used again, because the server recognises a request that it
    analysed before only if the request is the same to the byte.
    """

    def __init__(self) -> None:
        # Another process may use the same session.
        self._process = uuid4().hex[:8]
        self._lock = threading.Lock()
        self._free: list[int] = []
        self._made = 0

    def take(self) -> Aliases:
        """Names for one request. Give them back when the server has answered it."""
        with self._lock:
            if self._free:
                number = heapq.heappop(self._free)
            else:
                number, self._made = self._made, self._made + 1
        return Aliases(number, f"bayou_{self._process}_{number}")

    def give_back(self, aliases: Aliases) -> None:
        """Let another request use the names. It is always safe not to do so."""
        with self._lock:
            heapq.heappush(self._free, aliases.number)


class Aliases:
    """The names in one request: the same name for the same rows.

    Attributes:
        number: the number of the names in their pool.
        names: all names that the request has.
    """

    def __init__(self, number: int, prefix: str) -> None:
        self.number = number
        self.names: list[str] = []
        self._prefix = prefix
        # It holds the DataFrames, so that no other gets the identity of one.
        self._of_frames: dict[int, tuple[str, DataFrame]] = {}

    def name_of(self, frame: DataFrame) -> str:
        """The name of a DataFrame, valid in SQL without quotes."""
        if id(frame) not in self._of_frames:
            self._of_frames[id(frame)] = (self.another(), frame)
        return self._of_frames[id(frame)][0]

    def another(self) -> str:
        """A further name."""
        self.names.append(f"{self._prefix}_{len(self.names)}")
        return self.names[-1]
