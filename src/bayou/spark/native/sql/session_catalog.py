# SPDX-License-Identifier: Apache-2.0
"""Create, write, alter and describe tables by name, for `bayou.Catalog`, the Java class that replaces the session's catalog.

Spark calls the Java class, which sends each call on Delta tables here as a message. Other tables stay with Spark's catalog.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import DataFrame

from bayou.errors import failed
from bayou.log.operations.create import refuse_other_files
from bayou.log.segment.time_travel import split_path
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.alter.set_location import set_location
from bayou.spark.alter.truncate import truncate
from bayou.spark.create.create import create
from bayou.spark.create.place import check_same_place, creation_at, place_of
from bayou.spark.data_files.request import Statement, WriteContext, WriteOptions, WriteRequest
from bayou.spark.expressions.default_checks import harmless_defaults
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.core.session import java_session, session_of
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.native.scan.relations import relation
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.refused_statements import refused_on_path, refuses
from bayou.spark.native.sql.show import shown_properties
from bayou.spark.read.request import PINNED_VERSION, TableRequest, is_table
from bayou.spark.read.session_table import SessionTable
from bayou.spark.sql import alter_table
from bayou.spark.sql.catalog_statements import TableStatement, insert_statement
from bayou.spark.types.catalog_columns import catalog_schema
from bayou.spark.types.readable_types import check_types
from bayou.spark.write.inserts import InsertStatement, insert
from bayou.spark.write.writer import write
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.create.place import Place
    from bayou.spark.jvm.relations.catalog import TableName
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
            return self._make(spark, TableStatement.read(name, texts), rows)
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
            self._make_with_rows(statement, rows)
        self._refresh(spark, statement.definition.name or "")

    def _make_with_rows(self, statement: TableStatement, rows: DataFrame) -> None:
        """Create or replace a table with rows. A lock on the location serialises creations within this process."""
        definition = statement.definition
        catalog = Catalog(jvm_of(self._application), rows.sparkSession)
        place = place_of(catalog, definition)
        check_same_place(place, definition)
        creates_table = statement.creates or not is_table(place.uri)
        with creation_at(place.uri) if creates_table else contextlib.nullcontext():
            # Look the place up again: another thread may have registered the table while this one waited for the lock.
            self._write_table(statement, rows, catalog, place_of(catalog, definition))

    def _write_table(self, statement: TableStatement, rows: DataFrame, catalog: Catalog, place: Place) -> None:
        """Commit the rows as a new table or a new version, and register the table in the catalog if necessary."""
        definition = statement.definition
        if statement.creates and not is_table(place.uri):
            refuse_other_files(self._application.logs.get(place.uri, {}))
        options_of_writer = {name: value for name, value in statement.options.items() if name.lower() != "path"}
        if definition.cluster_by:
            options_of_writer["clusterBy"] = ",".join(definition.cluster_by)
        # Spark has checked whether the table exists. Another writer may have created it since then, so the mode checks again.
        if_absent = statement.kind == "createIfNotExists"
        mode = "ignore" if if_absent else "error" if statement.creates else "overwrite"
        options = WriteOptions.parse({**options_of_writer, "path": place.uri}, mode, list(definition.partition_by))
        properties = {name: value for name, value in definition.properties.items() if name not in options_of_writer}
        options, context = replace(options, properties={**options.properties, **properties}), WriteContext()
        # saveAsTable in mode overwrite keeps the table and overwrites its rows. Therefore replaceWhere, dynamic partitions and
        # overwriteSchema work as in a write to a path.
        overwrites = statement.writer == "saveAsTable" and statement.kind == "createOrReplace"
        if not (overwrites and options.replaces_a_part):
            replaces = not statement.creates and not (overwrites and place.is_registered)
            statement_of_commit = Statement(statement.operation, definition.comment, place.managed, replaces, overwrites)
            context = WriteContext(statement_of_commit)
            if replaces and not overwrites:
                options = _whole(options, options_of_writer)
        write(self._application, rows, WriteRequest(options, context))
        if place.name is not None and not place.is_registered:
            name = cast("TableName", place.name)
            catalog.create(name, place.uri, managed=place.managed, if_absent=if_absent or not statement.creates)

    def _refresh(self, spark: SparkSession, text: str) -> None:
        catalog = Catalog(jvm_of(self._application), spark)
        name = catalog.name(text)
        if name.path is None:
            catalog.refresh(name)


def _whole(options: WriteOptions, options_of_writer: Mapping[str, str]) -> WriteOptions:
    """Return the options of a statement that replaces all rows, even if the session's partition overwrite mode is dynamic.

    Raises:
        InvalidOptionError: an option would keep a part of the table.
    """
    keeps_schema = any(
        key.lower() == "overwriteschema" and value.strip().lower() == "false" for key, value in options_of_writer.items()
    )
    keep_a_part = {
        "replaceOn": options.replace_on is not None,
        "replaceUsing": options.replace_using is not None,
        "replaceWhere": options.replace_where is not None,
        "partitionOverwriteMode": bool(options.dynamic_partitions),
        "overwriteSchema": keeps_schema,
    }
    option = next((name for name, is_asked in keep_a_part.items() if is_asked), None)
    if option is None:
        return replace(options, dynamic_partitions=False)
    by_match = option in {"replaceOn", "replaceUsing"}
    raise failed(
        "DELTA_ILLEGAL_USAGE",
        table=options.path,
        error_class="DELTA_DFV2_CREATE_REPLACE_INCOMPATIBLE_REPLACE_ON_OR_USING" if by_match else "DELTA_ILLEGAL_USAGE",
        option=option,
    )
