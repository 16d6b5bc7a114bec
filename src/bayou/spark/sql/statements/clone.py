# SPDX-License-Identifier: Apache-2.0
"""CREATE TABLE ... CLONE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa

from bayou.errors import InvalidOptionError, TableExistsError, TableNotFoundError
from bayou.spark.create.clone import clone_table
from bayou.spark.sql.statements.maintenance import read_moment, time_of, version_of
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.spark.sql.statements.context import Context
    from bayou.spark.sql.statements.reader import Reader, TableReference, Written

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
        source: the table that is cloned.
        is_shallow: whether the clone refers to the source's files.
        replaces: whether a table that is there is replaced.
        creates: whether a table is made if the target does not exist.
        if_absent: whether nothing happens where there is a table.
        moment: VERSION or TIMESTAMP and its value; None for the latest version.
        properties: further properties, by their literals.
        location: the literal with the clone's path; None where the catalog chooses it.
    """

    begins: ClassVar = (("CREATE", "OR", "REPLACE", "TABLE"), ("CREATE", "TABLE"), ("REPLACE", "TABLE"))
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
        """Read what follows the first words; None where it is another statement."""
        if not reader.has("CLONE"):
            return None
        words = reader.read_words
        replaces, creates = "REPLACE" in words, "CREATE" in words
        if_absent = reader.take("IF", "NOT", "EXISTS")
        if if_absent and replaces:
            clauses = "Mutually exclusive clauses: REPLACE and IF NOT EXISTS"
            raise reader.error(clauses, "DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES", "KD009")
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
        """Make the clone; gives counts."""
        location = None if self.location is None else context.string(self.location)
        properties = {context.key(key): context.text(value) for key, value in self.properties}
        reference, suffix = context.travelled(self.source)
        table = context.table(reference, "CLONE")
        altered = table._altered()  # noqa: SLF001  (of this package)
        if context.path_of(self.target) is None:
            context.check_is_no_path(self.target)
        target = context.name_of(self.target)
        is_there = self._is_there(context, target) if self.if_absent or not self.creates else False
        if is_there and self.if_absent:
            return context.rows(self.columns, [])
        if not is_there and not self.creates:
            raise TableNotFoundError(
                f"Table {target} cannot be replaced as it does not exist. Use CREATE OR REPLACE TABLE to create the table.",
                table=target,
                error_class="DELTA_CANNOT_REPLACE_MISSING_TABLE",
                sql_state="42P01",
            )
        wanted = suffix if self.moment is None else _wanted(context, *self.moment)
        if suffix and self.moment is not None:
            raise InvalidOptionError(
                "The source names a version, and the statement names another one.",
                table=self.source.text,
                error_class="DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS",
                sql_state="42613",
                next_step="name the version once.",
            )
        source = altered.log.snapshot(**wanted, time_zone=context.time_zone)
        try:
            _, done = clone_table(
                altered,
                source,
                target,
                shallow=self.is_shallow,
                replace=self.replaces,
                properties=properties,
                source_name=table.name,
                location=location,
            )
        except TableExistsError:
            if self.if_absent and self._is_there(context, target):  # another program was faster
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

    def _is_there(self, context: Context, target: str) -> bool:
        name = context.catalog.name(target)
        if name.path is None:
            is_there = context.catalog.entry(name) is not None
            if is_there:
                context.entry(name, "CREATE TABLE CLONE")  # a view is an error
            return is_there
        try:
            context.application.logs.get(qualify(name.path).uri, {}).version()
        except TableNotFoundError:
            return False
        return True


def _wanted(context: Context, by: str, value: Written) -> dict[str, Any]:
    return {"version": version_of(context, value)} if by == "VERSION" else {"timestamp": time_of(context, value)}


def _properties(reader: Reader) -> tuple[tuple[Written, Written], ...]:
    """Read `(key = value, ...)`; keys are names or string literals, values are string literals, numbers or booleans."""
    reader.expect("(")
    found: list[tuple[Written, Written]] = []
    while True:
        key = reader.string_or(reader.name)
        if key in dict(found):
            raise reader.error(f"Found duplicate keys {key.text}", "DUPLICATE_KEY", "23505")
        if not reader.take("="):
            reader.take("==")
        found.append((key, reader.value()))
        if not reader.take(","):
            break
    reader.expect(")")
    return tuple(found)
