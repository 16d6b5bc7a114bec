# SPDX-License-Identifier: Apache-2.0
"""CREATE TABLE ... LIKE as Spark has it once it is resolved: `CreateTableLikeCommand`, taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.jvm.relations.catalog import TableName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

NAME = "CreateTableLikeCommand"
"""The name of Spark's node."""


@dataclass(frozen=True, slots=True)
class LikeStatement:
    """The statement.

    Attributes:
        target: the name of the table that is to be made.
        source: the name of the table or view that it is made like.
        provider: what USING says, in lower case; empty where it says nothing.
        is_stored_as: whether it has STORED AS or the like, so that Hive makes the table.
        location: the new table's URI, not percent-encoded; None where the catalog chooses.
        properties: what TBLPROPERTIES says.
        if_not_exists: whether a table that is there stays.
    """

    target: TableName
    source: TableName
    provider: str
    is_stored_as: bool
    location: str | None
    properties: Mapping[str, str]
    if_not_exists: bool

    @classmethod
    def of(cls, jvm: Jvm, node: JavaObject) -> Self:
        """The statement that a node is."""
        provider, storage = node.provider(), node.fileFormat()
        location = storage.locationUri()
        return cls(
            TableName.of(node.targetTable()),
            TableName.of(node.sourceTable()),
            "" if provider.isEmpty() else str(provider.get()).lower(),
            bool(storage.inputFormat().isDefined() or storage.serde().isDefined()),
            None if location.isEmpty() else str(jvm.static("org.apache.hadoop.fs.Path")(location.get()).toString()),
            {str(pair._1()): str(pair._2()) for pair in jvm.list_of(node.properties().toSeq())},  # noqa: SLF001  (Scala's)
            bool(node.ifNotExists()),
        )

    @property
    def text(self) -> str:
        """The statement as EXPLAIN shows it."""
        return f"CREATE TABLE {self.target.text} LIKE {self.source.text}"
