# SPDX-License-Identifier: Apache-2.0
"""Files that a DataFrame reads, looked at once more: whether one of them was written again under its name meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_STATUS: Final = re.compile(r"\{path=(.*); isDirectory=false; length=(\d+);.*?; modification_time=(\d+);", re.DOTALL)
"""The text of a `FileStatus`. Source: Hadoop's `FileStatus.toString`."""
_GONE_HAS_NO_ROWS: Final = {"ignoreMissingFiles": "true"}


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """Files as they were at some moment. A file whose file system does not tell of it as Hadoop's do is none of them.

    Attributes:
        indexes: what lists them: Spark's `InMemoryFileIndex`.
        known: the length of each, in bytes, and the time of its last change, in milliseconds, by its path.
    """

    indexes: Sequence[JavaObject]
    known: Mapping[str, tuple[int, int]]

    @classmethod
    def now(cls, jvm: Jvm, session: JavaObject, indexes: Sequence[JavaObject]) -> ListedFiles:
        """The files as they are. What a reader listed once is listed again, in the way that it listed it.

        Args:
            jvm: the bridge.
            session: the JVM's side of a session.
            indexes: what lists them.
        """
        return cls(indexes, {path: fact for each in indexes for path, fact in _listed(jvm, session, each).items()})

    def written_again(self, jvm: Jvm, session: JavaObject) -> list[str]:
        """The paths of those that are others now. Who reads one that is gone fails, and it is not among them."""
        now = ListedFiles.now(jvm, session, self.indexes).known
        return sorted(path for path, fact in self.known.items() if now.get(path, fact) != fact)


def names_of(index: JavaObject) -> list[str]:
    """The names of the files that an index has listed, without their folders."""
    return [path.rsplit("/", 1)[-1] for path in _told(index)]


def _listed(jvm: Jvm, session: JavaObject, index: JavaObject) -> dict[str, tuple[int, int]]:
    """The files of an index as they are now."""
    known = _told(index)
    again = jvm.construct(
        jvm.java_class(f"{_DATASOURCES}.InMemoryFileIndex"),
        session,
        index.rootPaths(),
        jvm.scala_map(_GONE_HAS_NO_ROWS),
        jvm.none,
        jvm.module(f"{_DATASOURCES}.NoopCache"),
        jvm.none,
        jvm.none,
    )
    return {path: fact for path, fact in _told(again).items() if path in known}


def _told(index: JavaObject) -> dict[str, tuple[int, int]]:
    """The files that an index has listed, in one call."""
    texts = str(index.allFiles().mkString("\0")).split("\0")
    found = (_STATUS.search(each) for each in texts)
    return {each[1]: (int(each[2]), int(each[3])) for each in found if each is not None}
