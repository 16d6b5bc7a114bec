# SPDX-License-Identifier: Apache-2.0
"""DataFrames that the program cached: they keep the versions of their tables until the program drops them from the cache."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class CachedFrame:
    """A cached DataFrame.

    Attributes:
        original: the relation of the program.
        sent: the relation that the server cached.
        level: where the rows are kept, or None for the default.
    """

    original: proto.Relation
    sent: proto.Relation
    level: proto.StorageLevel | None


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

    def put(self, relation: proto.Relation) -> bool:
        """Replace a relation by what the server cached for it.

        Returns:
            False if the relation is not cached.
        """
        frames = self._frames
        frame = frames.get(relation.common.plan_id) if frames else None
        if frame is None:
            return False
        relation.CopyFrom(frame.sent)
        return True

    def renew(self, rewrite: Callable[[proto.Relation], object], cache_again: Callable[[CachedFrame, CachedFrame], object]) -> None:
        """Cache again each DataFrame whose tables have a new version.

        Args:
            rewrite: replaces the relations in a relation, in place.
            cache_again: drops the first from the server's cache and caches the second.
        """
        with self._lock:
            frames = list(self._frames.values())
        for old in frames:
            self.drop(old.original.common.plan_id)
            sent = proto.Relation()
            sent.CopyFrom(old.original)
            rewrite(sent)
            new = CachedFrame(old.original, sent, old.level)
            if sent != old.sent:
                cache_again(old, new)
            self.add(new)
