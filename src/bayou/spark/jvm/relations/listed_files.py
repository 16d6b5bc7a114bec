# SPDX-License-Identifier: Apache-2.0
"""Detect whether the files that a DataFrame reads have changed since it listed them.

Spark reads a file by name, and a file that was rewritten under its name gives other rows. DataFrames may share a list of files,
such as that of a catalog table, which may be replaced for all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.relations.encryption import reads_encrypted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_STATUS: Final = re.compile(r"\{path=(.*); isDirectory=false; (.*)", re.DOTALL)
"""The string of a `FileStatus`. Source: Hadoop's `FileStatus.toString`."""
_OF_READS: Final = re.compile(r"access_time=\d+;? ?")
_LENGTH: Final = re.compile(r"length=(\d+);")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MANY_FILES: Final = 100_000
"""The number of files above which none is checked: their list alone would take this process a hundred megabytes."""


@dataclass(frozen=True)
class ListedFiles:
    """The files of one relation, as its reader listed them.

    Attributes:
        session: the JVM's side of the session that reads them.
        relation: Spark's `HadoopFsRelation`, with an `InMemoryFileIndex`.
    """

    jvm: Jvm = field(repr=False)
    session: JavaObject
    relation: JavaObject

    @cached_property
    def known(self) -> Mapping[str, str] | None:
        """The status of each file in the reader's list, by path. None if there are too many files, or a status is incomplete."""
        index = self.relation.location()
        return None if int(index.allFiles().size()) > _MANY_FILES else _statuses(index)

    @cached_property
    def have_unique_names(self) -> bool:
        """Whether each name contains a UUID, like the names that Spark chooses. No file gets such a name twice."""
        return self.known is not None and all(_UUID.search(path.rsplit("/", 1)[-1]) for path in self.known)

    def now(self) -> Mapping[str, str]:
        """List the files again in the same way. Return the current status of each that exists.

        Return nothing for files with unique names, because nobody rewrites them.
        """
        if self.have_unique_names:
            return {}
        options = self.jvm.module("org.apache.spark.sql.catalyst.util.CaseInsensitiveMap").apply(self.relation.options())
        index = self.relation.location()
        again = self.jvm.construct(
            self.jvm.java_class(f"{_DATASOURCES}.InMemoryFileIndex"),
            self.session,
            index.rootPaths(),
            getattr(options, "$plus")(self.jvm.static("scala.Tuple2")("ignoreMissingFiles", "true")),
            self.jvm.none,
            self.jvm.module(f"{_DATASOURCES}.NoopCache"),
            self.jvm.some(index.partitionSpec()),
            self.jvm.none,
        )
        return {path: status for path, status in (_statuses(again) or {}).items() if path in (self.known or {})}

    @property
    def sizes(self) -> list[tuple[str, int]] | None:
        """The URI of each file, not percent-encoded, and its size in bytes. None if the list does not have them.

        It does not if it contains a file that is not read as data, such as the summary of a folder's footers.
        Source: `isDataPath` in Spark's `PartitioningAwareFileIndex`.
        """
        statuses = self.known or {}
        lengths = {path: _LENGTH.match(status) for path, status in statuses.items() if path.rsplit("/", 1)[-1][:1] not in "._"}
        file_sizes = [(path, int(length[1])) for path, length in lengths.items() if length is not None]
        return file_sizes if self.known is not None and len(file_sizes) == len(statuses) else None

    def list_has_changed(self) -> bool:
        """Whether the list was replaced by one with other files."""
        return self.known != _statuses(self.relation.location())


@dataclass(frozen=True)
class WholeFiles:
    """Parquet files of which a DataFrame has each row exactly once, and no other rows.

    Attributes:
        columns: the ids of the columns that are read from them.
    """

    files: ListedFiles
    columns: frozenset[int]

    @property
    def num_columns(self) -> int:
        """The number of top-level columns of the files, as their reader knows them."""
        return int(self.files.relation.dataSchema().length())

    @property
    def options(self) -> dict[str, str]:
        """The reader's options with a dot in their names, which may concern the access to the files."""
        options = self.files.relation.options()
        names = str(options.keys().mkString("\0"))
        return {name: str(options.apply(name)) for name in names.split("\0") if "." in name}

    @property
    def may_be_encrypted(self) -> bool:
        """Whether Spark is configured to read encrypted files."""
        return reads_encrypted(self.files.session)

    def column_of(self, node: JavaObject) -> str | None:
        """Return the name of the column that a resolved expression is, or None if it is not one of them."""
        is_column = node.getClass().getSimpleName() == "AttributeReference" and node.exprId().id() in self.columns
        return str(node.name()) if is_column else None


class WatchedFiles:
    """Files whose changes since this object was created can be detected."""

    def __init__(self, files: Iterable[ListedFiles]) -> None:
        """Record the current status of the files."""
        self._files = [(listed, listed.now()) for listed in files]

    def changed(self) -> str | None:
        """Return what changed, for a message: a changed or missing file, or the list of files. None if nothing changed."""
        for files, before in self._files:
            if files.list_has_changed():
                return "the list of its files"
            now = files.now()
            if path := next((path for path, status in before.items() if now.get(path) != status), None):
                return path
        return None


def _statuses(index: JavaObject) -> dict[str, str] | None:
    """Return the status of each file in an index, by path, or None if it is incomplete."""
    joined = str(index.allFiles().mkString("\0"))
    texts = joined.split("\0") if joined else []
    matches = [_STATUS.search(text) for text in texts]
    facts = {match[1]: _OF_READS.sub("", match[2]) for match in matches if match is not None}
    return facts if len(facts) == len(texts) else None
