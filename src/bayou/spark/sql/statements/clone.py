# SPDX-License-Identifier: Apache-2.0
"""Parse, explain and run CREATE TABLE ... CLONE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from bayou.errors import DeltaError, TableExistsError, TableNotFoundError, failed, redact_uri
from bayou.spark.create.clone import clone_table
from bayou.spark.sql.statements.beginnings import BEGINNINGS
from bayou.spark.sql.statements.maintenance import read_moment, wanted_moment
from bayou.spark.sql.statements.plan_text import clone_lines
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.operations.clone import CloneResult
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.sql.statements.context import Context, StatementTable
    from bayou.spark.sql.statements.reader import Reader, TableReference, Written

_FILES: Final = frozenset({"avro", "binaryfile", "csv", "iceberg", "json", "orc", "parquet", "text", "xml"})
"""Formats that Spark reads as ``format.`/a/path` ``."""
_COUNTS: Final = (
    *("source_table_size", "source_num_of_files", "num_removed_files", "num_copied_files"),
    *("removed_files_size", "copied_files_size"),
)


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone of a table.

    `{CREATE [OR REPLACE] | REPLACE} TABLE [IF NOT EXISTS] target [SHALLOW | DEEP] CLONE source [moment] [TBLPROPERTIES (...)]
    [LOCATION 'path']`, where the moment is `VERSION AS OF number` or `TIMESTAMP AS OF time`.

    Attributes:
        target: the clone.
        source: the table to clone.
        is_shallow: whether the clone refers to the source's files.
        replaces: whether to replace an existing table.
        creates: whether to create the table if it does not exist. False only for REPLACE without CREATE.
        if_absent: whether to do nothing if the table exists.
        moment: VERSION or TIMESTAMP and its value; None for the latest version.
        properties: additional properties, as literals.
        location: the literal of the clone's path; None if the catalog chooses it.
    """

    begins: ClassVar = BEGINNINGS["Clone"]
    columns: ClassVar = pa.schema([(name, pa.int64()) for name in _COUNTS])

    target: TableReference
    source: TableReference
    is_shallow: bool
    replaces: bool
    creates: bool = True
    if_absent: bool = False
    moment: tuple[str, Written] | None = None
    properties: tuple[tuple[Written, Written], ...] = ()
    location: str | None = None

    @classmethod
    def read(cls, reader: Reader) -> Clone | None:
        """Parse the words after the beginning, or return None if it is another statement."""
        words = reader.read_words
        replaces, creates = "REPLACE" in words, "CREATE" in words
        if_absent = reader.take("IF", "NOT", "EXISTS")
        if if_absent and replaces:
            clauses = "Mutually exclusive clauses: REPLACE and IF NOT EXISTS"
            raise reader.error(clauses, "DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES")
        target = reader.named_table()
        kind = reader.take_one("SHALLOW", "DEEP")
        if not reader.take("CLONE"):
            return None
        source = reader.table()
        reader.take("FOR")
        moment = None
        if any(reader.next_is(word) for word in ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")):
            moment = read_moment(reader)
        properties = _properties(reader) if reader.take("TBLPROPERTIES") else ()
        location = reader.string() if reader.take("LOCATION") else None
        return cls(target, source, kind == "SHALLOW", replaces, creates, if_absent, moment, properties, location)

    def run(self, context: Context) -> DataFrame:
        """Clone the table, and return the counts."""
        altered, source, target, exists = self._prepared(context)
        if exists and self.if_absent:
            return context.rows(self.columns, [])
        try:
            done = self._cloned(context, altered, source, target)
        except TableExistsError:
            if self.if_absent and self._exists(context, target):  # another writer created it in the meantime
                return context.rows(self.columns, [])
            raise
        values = (
            source.size_bytes,
            source.num_files,
            done.num_removed_files,
            done.num_copied_files,
            done.removed_bytes,
            done.copied_bytes,
        )
        return context.rows(self.columns, [dict(zip(_COUNTS, values, strict=True))])

    def explain(self, context: Context) -> list[str]:
        """Return the files that it would copy and remove."""
        table, source, target, exists = self._prepared(context)
        first = f"Source: {redact_uri(table.session_table.uri)}, version {source.version}"
        if exists and self.if_absent:
            return [first, f"The table {target} exists. Would do nothing."]
        return [first, *clone_lines(self._cloned(context, table, source, target, dry_run=True), is_shallow=self.is_shallow)]

    def _prepared(self, context: Context) -> tuple[StatementTable, Snapshot, str, bool]:
        """Resolve and check the source and the target.

        Returns:
            The source, its snapshot, the target's name, and whether the target exists. The last is checked only for IF NOT EXISTS
            and for REPLACE without CREATE, otherwise it is False.
        """
        table, suffix = self._source(context)
        if context.path_of(self.target) is None:
            context.check_is_no_path(self.target)
        target = context.name_of(self.target)
        _refuse_view(context, target)
        exists = self._exists(context, target) if self.if_absent or not self.creates else False
        if not exists and not self.creates:
            raise failed("DELTA_CANNOT_REPLACE_MISSING_TABLE", table=target)
        if suffix and self.moment is not None:
            raise failed(
                "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS", table=self.source.text, place="source", other_place="statement"
            )
        moment = suffix if self.moment is None else wanted_moment(context, *self.moment)
        return table, table.session_table.log.snapshot(**moment, time_zone=context.time_zone), target, exists

    def _cloned(
        self, context: Context, table: StatementTable, source: Snapshot, target: str, *, dry_run: bool = False
    ) -> CloneResult:
        """Clone the table, or only plan that in a dry run."""
        _, done = clone_table(
            table.session_table,
            source,
            target,
            shallow=self.is_shallow,
            replace=self.replaces,
            properties={context.key(key): context.text(value) for key, value in self.properties},
            source_name=table.name,
            location=None if self.location is None else context.string(self.location),
            dry_run=dry_run,
        )
        return done

    def _source(self, context: Context) -> tuple[StatementTable, dict[str, Any]]:
        """Return the table to clone, and the version in its name. Raise UnsupportedFeatureError if it is not a Delta table."""
        if context.path_of(self.source) is None:
            text = context.name_of(self.source)
            name = context.catalog.name(text)
            entry = context.catalog.entry(name)
            of_files = context.parts(text)[0].lower()
            if entry is not None and (entry.is_view or entry.provider != "delta"):
                raise _unsupported(name.text, "View" if entry.is_view else entry.provider or "Unknown")
            if entry is None and of_files in _FILES and "/" in name.text and context.catalog.has_paths():
                raise _unsupported(redact_uri(name.text), of_files)
        reference, suffix = context.travelled(self.source)
        return context.table(reference, "CLONE"), suffix

    def _exists(self, context: Context, target: str) -> bool:
        name = context.catalog.name(target)
        if name.path is None:
            return context.catalog.entry(name) is not None
        try:
            context.application.logs.get(qualify(name.path).uri, {}).version()
        except TableNotFoundError:
            return False
        return True


def _refuse_view(context: Context, target: str) -> None:
    name = context.catalog.name(target)
    entry = None if name.path is not None else context.catalog.entry(name)
    if entry is not None and entry.is_view:
        raise failed("DELTA_ONLY_OPERATION/view", table=name.text, operation="CLONE", option="target")


def _unsupported(name: str, provider: str) -> DeltaError:
    return failed("DELTA_CLONE_UNSUPPORTED_SOURCE", table=name, format=provider, features=[f"CLONE of the format {provider}"])


def _properties(reader: Reader) -> tuple[tuple[Written, Written], ...]:
    """Parse `(key = value, ...)`. Keys are names or string literals; values are string literals, numbers or booleans."""
    reader.expect("(")
    properties: list[tuple[Written, Written]] = []
    while True:
        key = reader.string_or(reader.name)
        if key in dict(properties):
            raise reader.error(f"Found duplicate keys {key.text}", "DUPLICATE_KEY")
        if not reader.take("="):
            reader.take("==")
        properties.append((key, reader.value()))
        if not reader.take(","):
            break
    reader.expect(")")
    return tuple(properties)
