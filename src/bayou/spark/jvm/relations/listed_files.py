# SPDX-License-Identifier: Apache-2.0
"""The files that a DataFrame reads, looked at once more: whether they are as they were.

Spark reads a file by its name. A file that was written again under its name gives other rows from then on, and a list of files
that several DataFrames have in common, as that of a table of the session's catalog, may be made anew below all of them.
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
"""The text of a `FileStatus`. Source: Hadoop's `FileStatus.toString`."""
_OF_READS: Final = re.compile(r"access_time=\d+;? ?")
_LENGTH: Final = re.compile(r"length=(\d+);")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MANY_FILES: Final = 100_000
"""So many are not looked at: their list alone would take this process a hundred megabytes."""


@dataclass(frozen=True)
class ListedFiles:
    """The files of one relation, as its reader listed them.

    Attributes:
        jvm: the bridge.
        session: the JVM's side of the session that reads them.
        relation: Spark's `HadoopFsRelation`, with an `InMemoryFileIndex`.
    """

    jvm: Jvm = field(repr=False)
    session: JavaObject
    relation: JavaObject

    @cached_property
    def known(self) -> Mapping[str, str] | None:
        """What the reader's list says of each file, by its path; None where there are too many, or it says too little."""
        index = self.relation.location()
        return None if int(index.allFiles().size()) > _MANY_FILES else _told(index)

    @cached_property
    def have_unique_names(self) -> bool:
        """Whether the name of each has a UUID in it, as the names have that Spark gives: no file gets such a name twice."""
        return self.known is not None and all(_UUID.search(path.rsplit("/", 1)[-1]) for path in self.known)

    def now(self) -> Mapping[str, str]:
        """What their store says of them, listed as the reader listed them; nothing of those that are gone.

        Files with unique names are not looked for: nobody writes them again.
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
        return {path: told for path, told in (_told(again) or {}).items() if path in (self.known or {})}

    @property
    def sizes(self) -> list[tuple[str, int]] | None:
        """The URI of each file, not percent-encoded, and its size in bytes; None where the list does not say it.

        It does not where it has a file that is not read as data, such as the summary of a folder's footers.
        Source: `isDataPath` in Spark's `PartitioningAwareFileIndex`.
        """
        known = self.known or {}
        lengths = {path: _LENGTH.match(told) for path, told in known.items() if path.rsplit("/", 1)[-1][:1] not in "._"}
        found = [(path, int(length[1])) for path, length in lengths.items() if length is not None]
        return found if self.known is not None and len(found) == len(known) else None

    def list_has_changed(self) -> bool:
        """Whether the list itself was made anew, and has other files."""
        return self.known != _told(self.relation.location())


@dataclass(frozen=True)
class WholeFiles:
    """Parquet files of which a DataFrame has all rows, each once, and no others; what is read of them is in the files.

    Attributes:
        files: the files.
        columns: the ids of the columns that they are read with.
    """

    files: ListedFiles
    columns: frozenset[int]

    @property
    def num_columns(self) -> int:
        """How many columns the files have, as their reader knows them, those in structs not counted."""
        return int(self.files.relation.dataSchema().length())

    @property
    def options(self) -> dict[str, str]:
        """Those of their reader's options that have a dot in their names, and may be about how the files are reached."""
        options = self.files.relation.options()
        names = str(options.keys().mkString("\0"))
        return {name: str(options.apply(name)) for name in names.split("\0") if "." in name}

    @property
    def may_be_encrypted(self) -> bool:
        """Whether Spark has been told how to read encrypted files."""
        return reads_encrypted(self.files.session)

    def column_of(self, node: JavaObject) -> str | None:
        """The name of the column that a resolved expression is; None where it is none of them."""
        is_column = node.getClass().getSimpleName() == "AttributeReference" and node.exprId().id() in self.columns
        return str(node.name()) if is_column else None


class WatchedFiles:
    """Files as they are at some moment, from which on it is told whether somebody changes them."""

    def __init__(self, files: Iterable[ListedFiles]) -> None:
        """Begin."""
        self._files = [(each, each.now()) for each in files]

    def changed(self) -> str | None:
        """What was changed, for a message: a file that is another one or gone, or the list of them; None for nothing."""
        for files, before in self._files:
            if files.list_has_changed():
                return "the list of its files"
            now = files.now()
            if path := next((path for path, told in before.items() if now.get(path) != told), None):
                return path
        return None


def _told(index: JavaObject) -> dict[str, str] | None:
    """What the list of an index says of each file, by its path, as one text; None where it does not say it of all."""
    told = str(index.allFiles().mkString("\0"))
    texts = told.split("\0") if told else []
    found = [_STATUS.search(each) for each in texts]
    facts = {each[1]: _OF_READS.sub("", each[2]) for each in found if each is not None}
    return facts if len(facts) == len(texts) else None
