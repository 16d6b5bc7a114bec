# SPDX-License-Identifier: Apache-2.0
"""The catalogue of errors: every case that bayou reports, with its message and its next step.

A module here holds the rows of one area, as text. A row begins with a line that has its key and the class of the exception. The
indented lines after it hold the message, which is one sentence; the next step follows after `Next:`, and after `Parameters:` what
`getMessageParameters` gives for the error class, by the names that delta-spark has for it.

A key is one of these:

- the error class of delta-spark or Spark, if it has one message;
- `CLASS/form`, if one class has several messages;
- a name in lower case, if the case has the error class of its exception, or none.

A message names facts in braces, as `str.format` does: `{column}`, `{columns!r}`, `{size:,}`. A list or tuple is shown as its
elements, separated by commas, or as `none`. `{table}`, `{version}` and `{file}` are the place of the error. Parameters may
also name `{table_name}`, `{table_path}` and `{table_uri}`.

No message of an error belongs anywhere else, and this folder imports nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Any, Final

from bayou.errors.catalogue.actions import ACTIONS
from bayou.errors.catalogue.columns import COLUMNS
from bayou.errors.catalogue.commits import COMMITS
from bayou.errors.catalogue.features import FEATURES
from bayou.errors.catalogue.log import LOG
from bayou.errors.catalogue.maintenance import MAINTENANCE
from bayou.errors.catalogue.operations import OPERATIONS
from bayou.errors.catalogue.reads import READS
from bayou.errors.catalogue.row_changes import ROW_CHANGES
from bayou.errors.catalogue.schemas import SCHEMAS
from bayou.errors.catalogue.statements import STATEMENTS
from bayou.errors.catalogue.storage import STORAGE
from bayou.errors.catalogue.streams import STREAMS
from bayou.errors.catalogue.tables import TABLES
from bayou.errors.catalogue.writes import WRITES

AREAS: Final[Mapping[str, str]] = {
    "Constraints, defaults, generated, identity and clustering columns": COLUMNS,
    "Schemas": SCHEMAS,
    "Table features and properties": FEATURES,
    "Arguments, actions and deletion vectors": ACTIONS,
    "Log stores and locations": STORAGE,
    "Writes": WRITES,
    "DELETE, UPDATE, MERGE and overwrites that replace rows": ROW_CHANGES,
    "Creating and altering tables": TABLES,
    "Versions, snapshots, filters and change data": LOG,
    "Commits, checkpoints and manifests": COMMITS,
    "Creating, cloning, converting, restoring and VACUUM": OPERATIONS,
    "Sessions, and reading tables with Spark": READS,
    "SQL statements and the session catalog": STATEMENTS,
    "Streams that read or write a table": STREAMS,
    "OPTIMIZE, statistics, CONVERT on a session and other calls of DeltaTable": MAINTENANCE,
}
"""The rows of each area, by its title in docs/errors.md."""

_FIELDS: Final = re.compile(r"\{(\w+)")
_TWO_STOPS: Final = re.compile(r"(?<!\.)\.\.$")


@dataclass(frozen=True, slots=True)
class Row:
    """A case that bayou reports.

    Attributes:
        key: what a program raises it by.
        exception: the name of the class in `bayou.errors`.
        message: what happened, with the names of facts in braces.
        next_step: what the reader can do about it, likewise; empty if there is nothing.
        parameters: the parameters of delta-spark's message by their names, likewise.
    """

    key: str
    exception: str
    message: str
    next_step: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def error_class(self) -> str | None:
        """The error class that the key names, or None if the class of the exception says it."""
        found = self.key.partition("/")[0]
        return found if found.isupper() else None

    @property
    def facts(self) -> frozenset[str]:
        """The names of the facts that the message and the next step name."""
        return frozenset(_FIELDS.findall(self.message + self.next_step))


@cache
def rows() -> Mapping[str, Row]:
    """Return the rows of all areas by their keys."""
    return {row.key: row for text in AREAS.values() for row in rows_of(text)}


def rows_of(text: str) -> list[Row]:
    """Return the rows of one area, in its order."""
    return [_row(block) for block in re.split(r"\n(?=\S)", text.strip())]


def _row(block: str) -> Row:
    head, _, body = block.partition("\n")
    key, exception = head.split()
    texts, _, parameters = " ".join(body.split()).partition(" Parameters: ")
    message, _, next_step = texts.partition(" Next: ")
    names_and_values = (each.partition("=") for each in parameters.split())
    return Row(key, exception, message, next_step, tuple((name, value) for name, _, value in names_and_values))


def shown(template: str, facts: Mapping[str, Any]) -> str:
    """Return a message or a next step with its facts. A fact that ends with a full stop ends the sentence."""
    return _TWO_STOPS.sub(".", filled(template, facts))


def filled(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template with its facts, lists and tuples with commas."""
    return _FORMATTER.vformat(template, (), facts)


class _Formatter(Formatter):
    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if isinstance(value, list | tuple):
            return ", ".join(str(super(_Formatter, self).convert_field(each, conversion)) for each in value) or "none"
        return super().convert_field(value, conversion)


_FORMATTER: Final = _Formatter()
