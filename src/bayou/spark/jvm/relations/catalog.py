# SPDX-License-Identifier: Apache-2.0
"""The session's catalog: entries of Delta tables as delta-spark writes them, with provider `delta` and without columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from bayou.errors import InvalidOptionError, TableNotFoundError
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.jvm.relations.relation import struct_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from typing_extensions import Self

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_CATALOG = "org.apache.spark.sql.catalyst.catalog"
_SESSION_CATALOG = "spark_catalog"
_NO_COLUMNS = '{"type":"struct","fields":[]}'


@dataclass(frozen=True, slots=True)
class TableName:
    """A name of a table, taken apart.

    Attributes:
        identifier: Spark's object for it.
        path: the path, of a name like ``delta.`/data/t` ``; None for a name in the catalog.
    """

    identifier: JavaObject
    path: str | None

    @classmethod
    def of(cls, identifier: JavaObject) -> Self:
        """The name that Spark's object is."""
        table = str(identifier.table())
        is_path = identifier.database().isDefined() and identifier.database().get().lower() == "delta" and "/" in table
        return cls(identifier, table if is_path else None)

    @property
    def text(self) -> str:
        """The name as SQL has it, without that of the session's own catalog."""
        database = self.identifier.database()
        parts = [] if database.isEmpty() else [str(database.get())]
        return ".".join(map(quoted_name, (*parts, str(self.identifier.table()))))

    def at(self, suffix: str) -> TableName:
        """The name with a suffix: that of a table as it was."""
        identifier = self.identifier
        longer = identifier.copy(identifier.table() + suffix, identifier.database(), identifier.catalog())
        return TableName(longer, None if self.path is None else self.path + suffix)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """What the catalog knows of a table.

    Attributes:
        provider: its provider, in lower case; empty for none.
        location: its URI; empty for none.
        is_view: whether it is a view.
        name: its name with those of its database and its catalog, as users see it.
        managed: whether the catalog chose its folder.
        partition_by: the columns that it is partitioned by; none for a Delta table, whose log knows.
        created_time: when it was made, in milliseconds since 1970.
    """

    provider: str
    location: str
    is_view: bool
    name: str = ""
    managed: bool = False
    partition_by: tuple[str, ...] = ()
    created_time: int = 0


def _has_three_parts(name: str) -> bool:
    """Whether a name as SQL has it may name a catalog before its database and its table."""
    return re.sub(r"`[^`]*`", "", name).count(".") > 1


class Catalog:
    """The session catalog of one session."""

    def __init__(self, jvm: Jvm, spark: SparkSession) -> None:
        self._jvm = jvm
        self._session = spark._jsparkSession  # noqa: SLF001  (the bridge)
        self._state = self._session.sessionState()

    def name(self, text: str) -> TableName:
        """A name as SQL has it, with the name of the session's own catalog before it or without.

        Raises:
            InvalidOptionError: it is no name, or that of a table in another catalog.
        """
        parser = self._state.sqlParser()
        # PySpark 4 logs each error of Spark's parser, which takes two parts at most: longer names do not go there.
        parts = table_name(self._jvm, self._session, text) if _has_three_parts(text) else None
        try:
            return TableName.of(parser.parseTableIdentifier(text if parts is None else ".".join(map(quoted_name, parts))))
        except FAILED_CALL as error:
            message = f"{text!r} is no name of a table in the session's catalog: {reason_of(error)}"
            raise InvalidOptionError(message, option="tableName") from None

    def entry(self, name: TableName) -> CatalogEntry | None:
        """The entry of a name; None where there is none."""
        catalog = self._state.catalog()
        if catalog.isTempView(name.identifier):
            return CatalogEntry("", "", is_view=True)
        if not catalog.tableExists(name.identifier):
            return None
        found = catalog.getTableMetadata(name.identifier)
        provider = found.provider()
        location = found.storage().locationUri()
        kind = str(found.tableType().name())
        uri = "" if location.isEmpty() else self._jvm.static("org.apache.hadoop.fs.Path")(location.get()).toString()
        return CatalogEntry(
            provider="" if provider.isEmpty() else provider.get().lower(),
            location=uri,
            is_view=kind == "VIEW",
            name=str(found.identifier().unquotedString()),
            managed=kind == "MANAGED",
            partition_by=tuple(str(each) for each in self._jvm.list_of(found.partitionColumnNames())),
            created_time=int(found.createTime()),
        )

    def is_temporary(self, text: str) -> bool:
        """Whether a name, as SQL has it, is that of a temporary view."""
        return bool(self._state.catalog().isTempView(self.name(text).identifier))

    def delta_location(self, text: str) -> str:
        """Where the Delta table of a name lies, as SQL has the name: its path, or the URI that the catalog knows.

        Raises:
            TableNotFoundError: there is no such Delta table. Views are no tables.
        """
        return self.delta_entry(text).location

    def delta_entry(self, text: str) -> CatalogEntry:
        """The entry of a Delta table by its name, as SQL has it; that of a path has no name.

        Raises:
            TableNotFoundError: there is no such Delta table. Views are no tables.
        """
        name = self.name(text)
        if name.path is not None:
            return CatalogEntry("delta", name.path, is_view=False)
        entry = self.entry(name)
        if entry is None or entry.is_view or entry.provider != "delta":
            message = f"{text} is not a Delta table."
            raise TableNotFoundError(message, table=text, error_class="DELTA_MISSING_DELTA_TABLE")
        return entry

    def is_delta(self, text: str) -> bool:
        """Whether a name, as SQL has it, is that of a Delta table in the catalog, or of a path, if the session's SQL has paths."""
        name = self.name(text)
        if name.path is not None and self.has_paths():
            return True
        entry = self.entry(name)
        return entry is not None and not entry.is_view and entry.provider == "delta"

    def has_paths(self) -> bool:
        """Whether the session's SQL may name tables by their paths (`spark.sql.runSQLOnFiles`)."""
        return bool(self._state.conf().runSQLonFile())

    def columns(self, name: TableName) -> tuple[str, list[str], dict[str, str], str | None]:
        """What an entry or a temporary view says of itself: JSON of its columns, partition columns, properties and comment.

        A view has no properties that are a table's.
        """
        found = self._state.catalog().getTempViewOrPermanentTableMetadata(name.identifier)
        is_view = str(found.tableType().name()) == "VIEW"
        pairs = [] if is_view else self._jvm.list_of(found.properties().toSeq())
        comment = None if found.comment().isEmpty() else str(found.comment().get())
        partitions = [str(each) for each in self._jvm.list_of(found.partitionColumnNames())]
        return found.schema().json(), partitions, {str(pair._1()): str(pair._2()) for pair in pairs}, comment  # noqa: SLF001  (Scala's)

    def default_location(self, name: TableName) -> str:
        """Where a managed table of that name lies."""
        uri: Any = self._state.catalog().defaultTablePath(name.identifier)
        text: str = self._jvm.static("org.apache.hadoop.fs.Path")(uri).toString()
        return text

    def create(self, name: TableName, location: str, *, managed: bool, if_absent: bool = False) -> None:
        """Puts a Delta table into the catalog.

        Args:
            location: its URI, not percent-encoded.
            managed: whether its files belong to the catalog, and go with the entry.
            if_absent: whether it is no error that the catalog has an entry of that name.
        """
        self._state.catalog().createTable(self.new_entry(name, location, managed=managed), if_absent, False)

    def new_entry(self, name: TableName, location: str, *, managed: bool, options: Mapping[str, str] | None = None) -> JavaObject:
        """An entry as delta-spark makes it: provider `delta`, no columns, no properties. The truth is the log.

        Args:
            location: its URI, not percent-encoded.
            managed: whether its files belong to the catalog.
            options: what the data source is told beside the path.
        """
        jvm = self._jvm
        identifier = name.identifier
        if identifier.database().isDefined() and identifier.catalog().isEmpty():
            identifier = identifier.copy(identifier.table(), identifier.database(), jvm.some(_SESSION_CATALOG))
        empty = jvm.module(f"{_CATALOG}.CatalogStorageFormat").empty()
        uri = jvm.static("org.apache.hadoop.fs.Path")(location).toUri()
        length = len(jvm.overloads(empty, "copy")[0])
        tail = [getattr(empty, f"copy$default${number}")() for number in range(5, length + 1)]
        none = empty.properties()  # they are not at the same place in every Spark
        tail = [jvm.scala_map(dict(options or {})) if each == none else each for each in tail]
        storage = empty.copy(jvm.some(uri), jvm.none, jvm.none, jvm.none, *tail)
        kinds = jvm.module(f"{_CATALOG}.CatalogTableType")
        kind = kinds.MANAGED() if managed else kinds.EXTERNAL()
        return jvm.call(
            jvm.module(f"{_CATALOG}.CatalogTable"),
            "apply",
            identifier,
            kind,
            storage,
            struct_type(jvm, _NO_COLUMNS),
            jvm.some("delta"),
        )

    def move(self, name: TableName, location: str) -> None:
        """Lets the entry of a table name another folder.

        Args:
            location: the URI of the folder, not percent-encoded.
        """
        catalog = self._state.catalog()
        found = catalog.getTableMetadata(name.identifier)
        uri = self._jvm.static("org.apache.hadoop.fs.Path")(location).toUri()
        catalog.alterTable(self._jvm.call(found, "withNewStorage", self._jvm.some(uri)))

    def refresh(self, name: TableName) -> None:
        """Forgets what Spark keeps of a table; with `spark.sql.legacy.v1IdentifierNoCatalog`, it can only forget all tables."""
        try:
            self._state.catalog().refreshTable(name.identifier)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != "java.util.NoSuchElementException":
                raise
            self._state.catalog().invalidateAllCachedTables()
