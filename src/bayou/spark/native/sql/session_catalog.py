# SPDX-License-Identifier: Apache-2.0
"""Create, write, alter and describe tables by name, for `bayou.Catalog`, the Java class that replaces the session's catalog.

Spark calls the Java class, which sends each call on Delta tables here as a message. Other tables stay with Spark's catalog.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from bayou.errors import failed
from bayou.log.segment.time_travel import split_path
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.alter.set_location import set_location
from bayou.spark.alter.truncate import truncate
from bayou.spark.create.create import create
from bayou.spark.create.with_rows import create_with_rows
from bayou.spark.expressions.default_checks import harmless_defaults
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.core.session import java_session, session_of
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.native.scan.relations import relation
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.request import PINNED_VERSION, TableRequest, is_table
from bayou.spark.read.session_table import SessionTable
from bayou.spark.sql import alter_table
from bayou.spark.sql.catalog_statements import insert_statement, table_statement
from bayou.spark.table.refused_commands import refused_on_path, refuses
from bayou.spark.table.shown import shown_properties
from bayou.spark.types.catalog_columns import catalog_schema
from bayou.spark.types.readable_types import check_types
from bayou.spark.write.inserts import InsertStatement, insert
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.create.statement import TableStatement
    from bayou.spark.session.application import Application


class SessionCatalog:
    """Answers the calls of `bayou.Catalog`."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, text: str, objects: Any) -> Any:
        """Answer a call of `bayou.Catalog` or of its tables.

        Args:
            text: the message; its first argument is the name of the table in SQL.
            objects: the session, and the rows to write; the rows are None if the call writes none.
        """
        message = Message.decode(text)
        word, (name, *texts) = message.word, message.texts
        session, data = objects
        spark = session_of(session)
        rows = None if data is None else DataFrame(data, spark)
        if word == "write":
            assert rows is not None  # noqa: S101  (a write always has rows)
            return self._insert(insert_statement(name, texts), rows)
        if word == "make":
            return self._make(spark, table_statement(name, texts), rows)
        if word == "alter":
            return self._alter(spark, name, texts[0])
        if word == "truncate":
            truncate(SessionTable.of(self._application, spark, qualify(self._location(spark, name)).uri, {}))
            return self._refresh(spark, name)
        if word == "travel":
            return self._travelled(spark, name, *texts)
        return self._answer(message, spark, name)

    def _alter(self, spark: SparkSession, name: str, text: str) -> None:
        changes = alter_table.changes_in(text)
        place = alter_table.new_location(changes)
        if place is None:
            target = SessionTable.of(self._application, spark, qualify(self._location(spark, name)).uri, {})
            alter_table.run(target, changes)
        else:
            set_location(self._application, spark, name, place)
        self._refresh(spark, name)

    def _answer(self, message: Message, spark: SparkSession, text: str) -> Any:
        """Answer a question about a table, or refuse what Delta tables do not support."""
        word = message.word
        if word == "columns":
            snapshot = self._snapshot(spark, text)
            check_types(self._application, snapshot)
            schema = catalog_schema(harmless_defaults(self._application.backend, spark, snapshot))
            return "\0".join([schema_to_json(schema), *snapshot.partition_columns])
        if word == "relation":
            request = TableRequest.from_options({"path": self._location(spark, text)})
            return relation(self._application, java_session(spark), request)
        if word == "properties":
            return "\0".join(each for pair in shown_properties(self._snapshot(spark, text)).items() for each in pair)
        if word == "changelog":
            raise failed("DELTA_CHANGELOG_REQUIRES_V2_TABLE", table=text, features=["CHANGES"])
        if word == "replaced":
            raise failed(
                "DELTA_OPERATION_NOT_ALLOWED/replaced-by-other-format",
                table=text,
                features=["replacing a Delta table by another source"],
            )
        catalog = Catalog(jvm_of(self._application), spark)
        name = catalog.name(text)
        path = name.path or ""
        if refuses(word):
            raise refused_on_path(word, path)
        if word == "exists":
            return is_table(path)
        if word == "entry":
            return catalog.new_entry(name, qualify(path).uri, managed=False)
        raise message.unknown()

    def _travelled(self, spark: SparkSession, text: str, what: str, when: str) -> Any:
        """Return a catalog entry for an earlier version of a table.

        The entry has a separate name, such as `orders@v3`, because Spark caches one relation per name.

        Args:
            what: "suffix" if the table's name ends with the version or time, "version", or "timestamp".
            when: the suffix, the version, or the time in microseconds since the epoch.
        """
        self._check_travels_once(spark, text)
        location = qualify(self._location(spark, text)).uri
        log = self._application.logs.get(location, {})
        suffix = split_path(f"{location}{when}") if what == "suffix" else None
        if suffix is not None:
            zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
            version = suffix.version if suffix.timestamp is None else log.version_at(suffix.timestamp, time_zone=zone)
        elif what == "version":
            version = TableRequest.from_options({"path": location, "versionAsOf": when}).version
        else:
            version = log.version_at(dt.datetime.fromtimestamp(int(when) / 1_000_000, dt.timezone.utc))
        catalog = Catalog(jvm_of(self._application), spark)
        name = catalog.name(text).at(f"@v{version}")
        return catalog.new_entry(name, location, managed=False, options={PINNED_VERSION: str(version)})

    def _check_travels_once(self, spark: SparkSession, text: str) -> None:
        """Refuse a version or a time if the table's name already contains one."""
        catalog = Catalog(jvm_of(self._application), spark)
        name = catalog.name(text)
        if name.path is None and catalog.entry(name) is None and split_path(name.table) is not None:
            raise failed(
                "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS", table=text, place="name of the table", other_place="query"
            )

    def _location(self, spark: SparkSession, text: str) -> str:
        catalog = Catalog(jvm_of(self._application), spark)
        name = catalog.name(text)
        if name.path is not None:
            return name.path
        entry = catalog.entry(name)
        if entry is None:
            raise failed("DELTA_MISSING_DELTA_TABLE", table=text)
        return entry.location

    def _snapshot(self, spark: SparkSession, text: str) -> Snapshot:
        return self._application.logs.get(qualify(self._location(spark, text)).uri, {}).update()

    def _insert(self, statement: InsertStatement, rows: DataFrame) -> None:
        spark = rows.sparkSession
        insert(self._application, rows, statement, self._location(spark, statement.name))
        self._refresh(spark, statement.name)

    def _make(self, spark: SparkSession, statement: TableStatement, rows: DataFrame | None) -> None:
        if rows is None:
            create(self._application, spark, statement.definition, statement.kind)
        else:
            create_with_rows(self._application, rows, statement)
        self._refresh(spark, statement.definition.name or "")

    def _refresh(self, spark: SparkSession, text: str) -> None:
        catalog = Catalog(jvm_of(self._application), spark)
        name = catalog.name(text)
        if name.path is None:
            catalog.refresh(name)
