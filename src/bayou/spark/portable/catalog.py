# SPDX-License-Identifier: Apache-2.0
"""Read the catalog of a Spark Connect server: see `spark.catalog`.

A stock server refuses entries `USING delta`, because it has no data source of that name. Entries that are in its metastore already
can be read.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException

from bayou.errors import DeltaError, failed, redact_text
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.catalog import CatalogEntry
from bayou.spark.portable.text.literals import name_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.spark.catalog import TableName

_SESSION_CATALOG: Final = "spark_catalog"
_OF_VERSION_2: Final = "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"
_DETAILS: Final = "# Detailed Table Information"
_MOST_PARTS: Final = 2
"""The parts of a name without its catalog: a database and a table."""


@dataclass(frozen=True, slots=True)
class PortableName:
    """A parsed name of a table: the database, if the name has one, and the table."""

    parts: tuple[str, ...]

    @property
    def table(self) -> str:
        """The name without database and catalog."""
        return self.parts[-1]

    @property
    def database(self) -> str | None:
        """The database in the name, or None."""
        return self.parts[0] if len(self.parts) > 1 else None

    @property
    def path(self) -> str | None:
        """The path in a name like ``delta.`/data/t` ``; None for a name in the catalog."""
        is_path = (self.database or "").lower() == "delta" and "/" in self.table
        return self.table if is_path else None

    @property
    def text(self) -> str:
        """The name in SQL, without that of the session's own catalog."""
        return ".".join(map(quoted_name, self.parts))


class PortableCatalog:
    """The catalog of one session of Spark Connect."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def name(self, text: str) -> PortableName:
        """Parse a name in SQL."""
        try:
            parts = _parts(text)
        except UnreadableTextError as error:
            raise _no_name(text, str(error)) from None
        if len(parts) > _MOST_PARTS and parts[0].lower() == _SESSION_CATALOG:
            parts = parts[1:]
        if len(parts) > _MOST_PARTS:
            raise _no_name(text, f"it is in the catalog {parts[0]!r}, and not in {_SESSION_CATALOG!r}")
        return PortableName(parts)

    def has_paths(self) -> bool:
        """Whether the session's SQL allows paths as table names."""
        return str(self._spark.conf.get("spark.sql.runSQLOnFiles", "true")).lower() == "true"

    def is_temporary(self, text: str) -> bool:
        """Whether a name in SQL is a temporary view."""
        name = self.name(text)
        return name.database is None and any(
            each.isTemporary and each.name.lower() == name.table.lower() for each in self._spark.catalog.listTables()
        )

    def entry(self, name: TableName) -> CatalogEntry | None:
        """Return the entry of a name, or None if it does not exist."""
        if name.path is not None or not self._spark.catalog.tableExists(name.text):
            return None
        table = self._spark.catalog.getTable(name.text)
        if table.isTemporary or "VIEW" in table.tableType:
            return CatalogEntry("", "", is_view=True)
        facts = self._facts(name)
        parts = (facts.get("catalog_name"), *facts.get("namespace", ()), facts["table_name"])
        return CatalogEntry(
            provider=str(facts.get("provider", "")).lower(),
            location=str(facts.get("location", "")),
            is_view=False,
            name=".".join(part for part in parts if part),
            managed=facts.get("type") == "MANAGED",
            partition_by=tuple(facts.get("partition_columns", ())),
            created_time=_milliseconds(facts.get("created_time")),
        )

    def _facts(self, name: TableName) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._spark.sql(f"DESCRIBE TABLE EXTENDED {name.text} AS JSON").collect()[0][0])
        except PySparkException as error:
            if error.getCondition() != _OF_VERSION_2:
                raise
            return self._facts_of_version_2(name)
        return found

    def _facts_of_version_2(self, name: TableName) -> dict[str, Any]:
        """Return what the server says about a table of Spark's catalog API of version 2, such as one of delta-spark."""
        rows = self._spark.sql(f"DESCRIBE TABLE EXTENDED {name.text}").collect()
        names = [row[0] for row in rows]
        facts = {row[0]: row[1] for row in rows[names.index(_DETAILS) + 1 :]} if _DETAILS in names else {}
        *namespace, table = _parts(facts.get("Name", name.text))
        return {
            "table_name": table,
            "namespace": namespace,
            "provider": facts.get("Provider", ""),
            "location": facts.get("Location", ""),
            "type": facts.get("Type", ""),
        }

    def delta_location(self, text: str) -> str:
        """Return the path or the catalog's URI of a Delta table, by its name in SQL."""
        return self.delta_entry(text).location

    def delta_entry(self, text: str) -> CatalogEntry:
        """Return the entry of a Delta table, by its name in SQL. The entry of a path has no name."""
        name = self.name(text)
        if name.path is not None:
            return CatalogEntry("delta", name.path, is_view=False)
        entry = self.entry(name)
        if entry is None or entry.is_view or entry.provider != "delta":
            raise failed("DELTA_MISSING_DELTA_TABLE", table=text)
        return entry

    def check_takes(self, name: TableName) -> None:
        """Raise UnsupportedFeatureError: the server has no data source `delta`, and refuses entries of unknown ones."""
        raise refusal(name)

    def default_location(self, name: TableName) -> str:
        """Raise UnsupportedFeatureError, as `check_takes`."""
        raise refusal(name)

    def create(self, name: TableName, location: str, *, managed: bool, if_absent: bool = False) -> None:
        """Raise UnsupportedFeatureError, as `check_takes`."""
        del location, managed, if_absent
        raise refusal(name)

    def move(self, name: TableName, location: str) -> None:
        """Point the entry of a table to another folder."""
        self._spark.sql(f"ALTER TABLE {name.text} SET LOCATION {_literal(location)}")

    def refresh(self, name: TableName) -> None:
        """Nothing: the plan of each DataFrame names a version."""


def refusal(name: TableName) -> DeltaError:
    """Return the error for a name that was to become that of a Delta table."""
    return failed("DELTA_OPERATION_NOT_ALLOWED/connect-catalog", relation=name.text, features=("Spark Connect",))


def _parts(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for number, word in enumerate(words(text)):
        is_right = word.text == "." if number % 2 else word.is_name
        if not is_right:
            raise UnreadableTextError(f"{word.text!r} is not part of a name", word.start)
        if not number % 2:
            found.append(name_of(word))
    if not found or text.rstrip().endswith("."):
        raise UnreadableTextError("a name is missing", len(text))
    return tuple(found)


def _no_name(text: str, reason: str) -> DeltaError:
    return failed("DELTA_ILLEGAL_OPTION/table-name", option="tableName", given=redact_text(text), reason=redact_text(reason))


def _milliseconds(text: Any) -> int:
    try:
        return int(dt.datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp() * 1000)
    except ValueError:  # `UNKNOWN`
        return 0


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
