# SPDX-License-Identifier: Apache-2.0
"""DataFrames that the program cached: they keep the versions of their tables until the program drops them from the cache."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.requests.sql_text import rename

if TYPE_CHECKING:
    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.aliases import Aliases

_CLEARS: Final = re.compile(r"\bclear\s+cache\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CachedFrame:
    """A cached DataFrame.

    Attributes:
        original: the relation of the program.
        sent: the relation that the server cached.
        level: where the rows are kept, or None for the default.
        names: the names for rows in its SQL texts.
    """

    original: proto.Relation
    sent: proto.Relation
    level: proto.StorageLevel | None
    names: tuple[str, ...] = ()


class CachedFrames:
    """The cached DataFrames of one client with replaced relations, by the number of their plan. Threads share it.

    The server finds cached rows by their plan. With a newer version in the plan, it would neither find them nor drop them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: dict[int, CachedFrame] = {}

    def add(self, frame: CachedFrame) -> None:
        """Take note of what the server cached."""
        with self._lock:
            self._frames[frame.original.common.plan_id] = frame

    def drop(self, plan_id: int) -> None:
        """Take note that the server dropped a DataFrame from its cache."""
        with self._lock:
            self._frames.pop(plan_id, None)

    def clear(self) -> None:
        """Take note that the server dropped its whole cache."""
        with self._lock:
            self._frames.clear()

    def is_cleared_by(self, text: str) -> bool:
        """Whether a SQL statement drops the server's whole cache."""
        return bool(self._frames) and _CLEARS.search(text) is not None

    def frames(self) -> list[CachedFrame]:
        """All cached DataFrames."""
        with self._lock:
            return list(self._frames.values())

    def put(self, relation: proto.Relation, aliases: Aliases) -> bool:
        """Replace a relation by what the server cached for it.

        Args:
            relation: the relation of the program.
            aliases: the names of this request. Another request may have the names that the relation was cached with.

        Returns:
            False if the relation is not cached.
        """
        frames = self._frames
        frame = frames.get(relation.common.plan_id) if frames else None
        if frame is None:
            return False
        relation.CopyFrom(frame.sent)
        rename(relation, {name: aliases.another() for name in frame.names})
        return True
