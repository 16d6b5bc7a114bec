# SPDX-License-Identifier: Apache-2.0
"""Read and write the session catalog. Entries of Delta tables are as in delta-spark: provider `delta`, no columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayou.errors import failed, redact_text
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.catalog import CatalogEntry
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.jvm.gateway import Py4JJavaError
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
    """A parsed name of a table.

    Attributes:
        identifier: Spark's object for it.
        path: the path in a name like ``delta.`/data/t` ``; None for a name in the catalog.
    """

    identifier: JavaObject
    path: str | None

    @classmethod
    def of(cls, identifier: JavaObject) -> Self:
        """Wrap Spark's object."""
        table = str(identifier.table())
        is_path = identifier.database().isDefined() and identifier.database().get().lower() == "delta" and "/" in table
        return cls(identifier, table if is_path else None)

    @property
    def table(self) -> str:
        """The name without database and catalog."""
        return str(self.identifier.table())

    @property
    def database(self) -> str | None:
        """The database in the name, or None."""
        database = self.identifier.database()
        return None if database.isEmpty() else str(database.get())

    @property
    def text(self) -> str:
        """The name in SQL, without that of the session's own catalog."""
        database = self.database
        return ".".join(map(quoted_name, (*([] if database is None else [database]), self.table)))

    def at(self, suffix: str) -> TableName:
        """Return the name with a suffix, for an earlier version of the table."""
        identifier = self.identifier
        longer = identifier.copy(identifier.table() + suffix, identifier.database(), identifier.catalog())
        return TableName(longer, None if self.path is None else self.path + suffix)


def _has_three_parts(name: str) -> bool:
    """Whether a name in SQL may consist of a catalog, a database and a table."""
    return re.sub(r"`[^`]*`", "", name).count(".") > 1


class Catalog:
    """The session catalog of one session."""

    def __init__(self, jvm: Jvm, spark: SparkSession) -> None:
        self._jvm = jvm
        self._session = spark._jsparkSession  # noqa: SLF001  (the bridge)
        self._state = self._session.sessionState()

    def name(self, text: str) -> TableName:
        """Parse a name in SQL, with or without the name of the session's own catalog.

        Raises:
            InvalidOptionError: it is not a name, or names a table in another catalog.
        """
        parser = self._state.sqlParser()
        # PySpark 4 logs each error of Spark's parser, which accepts at most two parts, so longer names are shortened first.
        parts = table_name(self._jvm, self._session, text) if _has_three_parts(text) else None
        try:
            return TableName.of(parser.parseTableIdentifier(text if parts is None else ".".join(map(quoted_name, parts))))
        except FAILED_CALL as error:
            raise failed(
                "DELTA_ILLEGAL_OPTION/table-name", option="tableName", given=redact_text(text), reason=redact_text(reason_of(error))
            ) from None

    def entry(self, name: TableName) -> CatalogEntry | None:
        """Return the entry of a name, or None if it does not exist."""
        catalog = self._state.catalog()
        if catalog.isTempView(name.identifier):
            return CatalogEntry("", "", is_view=True)
        if not catalog.tableExists(name.identifier):
            return None
        table = catalog.getTableMetadata(name.identifier)
        provider = table.provider()
        location = table.storage().locationUri()
        kind = str(table.tableType().name())
        uri = "" if location.isEmpty() else self._jvm.static("org.apache.hadoop.fs.Path")(location.get()).toString()
        return CatalogEntry(
            provider="" if provider.isEmpty() else provider.get().lower(),
            location=uri,
            is_view=kind == "VIEW",
            name=str(table.identifier().unquotedString()),
            managed=kind == "MANAGED",
            partition_by=tuple(str(each) for each in self._jvm.list_of(table.partitionColumnNames())),
            created_time=int(table.createTime()),
        )

    def is_temporary(self, text: str) -> bool:
        """Whether a name in SQL is a temporary view."""
        return bool(self._state.catalog().isTempView(self.name(text).identifier))

    def delta_location(self, text: str) -> str:
        """Return the path or the catalog's URI of a Delta table, by its name in SQL, like `delta_entry`."""
        return self.delta_entry(text).location

    def delta_entry(self, text: str) -> CatalogEntry:
        """Return the entry of a Delta table, by its name in SQL. The entry of a path has no name.

        Raises:
            TableNotFoundError: no Delta table has this name. Views do not count.
        """
        name = self.name(text)
        if name.path is not None:
            return CatalogEntry("delta", name.path, is_view=False)
        entry = self.entry(name)
        if entry is None or entry.is_view or entry.provider != "delta":
            raise failed("DELTA_MISSING_DELTA_TABLE", table=text)
        return entry

    def is_delta(self, text: str) -> bool:
        """Whether a name in SQL is a Delta table of the catalog, or a path, if the session's SQL allows paths."""
        name = self.name(text)
        if name.path is not None and self.has_paths():
            return True
        entry = self.entry(name)
        return entry is not None and not entry.is_view and entry.provider == "delta"

    def has_paths(self) -> bool:
        """Whether the session's SQL allows paths as table names (`spark.sql.runSQLOnFiles`)."""
        return bool(self._state.conf().runSQLonFile())

    def columns(self, name: TableName) -> tuple[str, list[str], dict[str, str], str | None]:
        """Return JSON of the columns, partition columns, properties and comment of an entry or temporary view.

        A view has no table properties.
        """
        table = self._state.catalog().getTempViewOrPermanentTableMetadata(name.identifier)
        is_view = str(table.tableType().name()) == "VIEW"
        pairs = [] if is_view else self._jvm.list_of(table.properties().toSeq())
        comment = None if table.comment().isEmpty() else str(table.comment().get())
        partitions = [str(each) for each in self._jvm.list_of(table.partitionColumnNames())]
        return table.schema().json(), partitions, {str(pair._1()): str(pair._2()) for pair in pairs}, comment  # noqa: SLF001  (Scala's)

    def check_takes(self, name: TableName) -> None:
        """Do nothing: the catalog takes entries of Delta tables."""

    def default_location(self, name: TableName) -> str:
        """Return the location of a managed table of that name."""
        uri: Any = self._state.catalog().defaultTablePath(name.identifier)
        text: str = self._jvm.static("org.apache.hadoop.fs.Path")(uri).toString()
        return text

    def create(self, name: TableName, location: str, *, managed: bool, if_absent: bool = False) -> None:
        """Add a Delta table to the catalog.

        Args:
            location: its URI, not percent-encoded.
            managed: whether its files belong to the catalog and are deleted with the entry.
            if_absent: whether to ignore an existing entry of that name.
        """
        self._state.catalog().createTable(self.new_entry(name, location, managed=managed), if_absent, False)

    def new_entry(self, name: TableName, location: str, *, managed: bool, options: Mapping[str, str] | None = None) -> JavaObject:
        """Return an entry as in delta-spark: provider `delta`, no columns, no properties. The log has the truth.

        Args:
            location: its URI, not percent-encoded.
            managed: whether its files belong to the catalog.
            options: options of the data source in addition to the path.
        """
        jvm = self._jvm
        identifier = name.identifier
        if identifier.database().isDefined() and identifier.catalog().isEmpty():
            identifier = identifier.copy(identifier.table(), identifier.database(), jvm.some(_SESSION_CATALOG))
        empty = jvm.module(f"{_CATALOG}.CatalogStorageFormat").empty()
        uri = jvm.static("org.apache.hadoop.fs.Path")(location).toUri()
        length = len(jvm.overloads(empty, "copy")[0])
        tail = [getattr(empty, f"copy$default${number}")() for number in range(5, length + 1)]
        none = empty.properties()  # their position differs between Spark versions
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
        """Point the entry of a table to another folder, by its URI, not percent-encoded."""
        catalog = self._state.catalog()
        table = catalog.getTableMetadata(name.identifier)
        uri = self._jvm.static("org.apache.hadoop.fs.Path")(location).toUri()
        catalog.alterTable(self._jvm.call(table, "withNewStorage", self._jvm.some(uri)))

    def refresh(self, name: TableName) -> None:
        """Drop Spark's caches of a table, or of all tables under `spark.sql.legacy.v1IdentifierNoCatalog`."""
        try:
            self._state.catalog().refreshTable(name.identifier)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != "java.util.NoSuchElementException":
                raise
            self._state.catalog().invalidateAllCachedTables()
