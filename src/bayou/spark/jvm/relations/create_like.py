# SPDX-License-Identifier: Apache-2.0
"""Read a resolved CREATE TABLE ... LIKE, which is a `CreateTableLikeCommand`."""

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
        target: the name of the table to create.
        source: the name of the table or view to copy.
        provider: the format after USING, in lower case, or empty.
        is_stored_as: whether it has STORED AS or similar, so that Hive creates the table.
        location: the new table's URI, not percent-encoded; None if the catalog chooses it.
        properties: the properties in TBLPROPERTIES.
        if_not_exists: whether to keep an existing table.
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
        """Read the statement from a node."""
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
