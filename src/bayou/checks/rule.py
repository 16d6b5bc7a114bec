# SPDX-License-Identifier: Apache-2.0
"""A rule of the check: a normative sentence of PROTOCOL.md, and a function that finds the places that break it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.checks.log_file import Action, LogFile
    from bayou.checks.raw_log import RawLog

Z85_CHARACTER: Final = r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]"
"""A character of Z85 text, for regular expressions."""
_MOST_PLACES: Final = 5


class Severity(enum.IntEnum):
    """How bad a finding is. The value is the exit code of `bayou check`.

    Attributes:
        ODD: the protocol recommends something else. Readers and writers are not affected.
        RISKY: some readers or writers fail, or a check that protects the table is missing.
        BROKEN: the table breaks the protocol. Readers may fail or return wrong rows.
    """

    ODD = 0
    RISKY = 1
    BROKEN = 2


class Reads(enum.Enum):
    """What a rule reads."""

    LOG = "log"
    CHECKPOINT = "checkpoint"
    CHECKSUM = "checksum"
    HINT = "hint"
    FILES = "files"
    FOOTERS = "footers"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Found:
    """A place that breaks a rule.

    Attributes:
        detail: what is wrong there.
        file: the log file.
        line: the line of a JSON file, or the row of a Parquet file, counted from one; None for the whole file.
        action: the name of the action; None if the place is not an action.
        more: the number of further places that are not listed.
    """

    detail: str
    file: LogFile
    line: int | None = None
    action: str | None = None
    more: int = 0


Run = Callable[["RawLog"], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table of rules.

    Attributes:
        id: its name, which never changes.
        section: the section of PROTOCOL.md.
        severity: how bad a finding is.
        reads: what the rule reads.
        text: the sentence that a sound table fulfils.
        run: finds the places that break the rule.
    """

    id: str
    section: str
    severity: Severity
    reads: Reads
    text: str
    run: Run


class Section:
    """The rules of one section of PROTOCOL.md, in the order of their functions."""

    def __init__(self, title: str, prefix: str, reads: Reads = Reads.LOG) -> None:
        """Begin a section. Ids of rules start with the prefix, and rules read the given files unless they say otherwise."""
        self.title = title
        self.rules: list[Rule] = []
        self._prefix = prefix
        self._reads = reads

    def broken(self, name: str, text: str, reads: Reads | None = None) -> Callable[[Run], Run]:
        """Add a rule whose findings are broken."""
        return self._add(name, Severity.BROKEN, text, reads)

    def risky(self, name: str, text: str, reads: Reads | None = None) -> Callable[[Run], Run]:
        """Add a rule whose findings are risky."""
        return self._add(name, Severity.RISKY, text, reads)

    def odd(self, name: str, text: str, reads: Reads | None = None) -> Callable[[Run], Run]:
        """Add a rule whose findings are odd."""
        return self._add(name, Severity.ODD, text, reads)

    def _add(self, name: str, severity: Severity, text: str, reads: Reads | None) -> Callable[[Run], Run]:
        def decorate(run: Run) -> Run:
            self.rules.append(Rule(f"{self._prefix}-{name}", self.title, severity, reads or self._reads, text, run))
            return run

        return decorate


def in_action(action: Action, detail: str) -> Found:
    """Return the place of an action."""
    return Found(detail, action.file, action.line, action.kind)


def in_rows(log: RawLog, rows: pa.Table, detail: str) -> Iterator[Found]:
    """Yield the places of some file actions: the first ones one by one, and the number of the others.

    Args:
        log: the log.
        rows: the rows of file actions that break a rule.
        detail: what is wrong; fields of the row are in braces.
    """
    for number, row in enumerate(rows.slice(0, _MOST_PLACES).to_pylist(), 1):
        more = rows.num_rows - number if number == _MOST_PLACES else 0
        yield Found(detail.format(**row), log.files[row["file"]], row["line"], row["kind"], more)


def without_max(counts: pa.Table) -> pa.Table:
    """Return the result of a grouping with its maxima under the names of their columns, so that its rows have places."""
    return counts.rename_columns([name.removesuffix("_max") for name in counts.column_names])


def first(places: Iterable[Found]) -> Iterator[Found]:
    """Yield the first places, and the number of the others."""
    listed = list(places)
    for number, each in enumerate(listed[:_MOST_PLACES], 1):
        more = len(listed) - number if number == _MOST_PLACES else 0
        yield Found(each.detail, each.file, each.line, each.action, each.more + more)


def violated(log: RawLog, kind: str) -> Iterator[Found]:
    """Yield the conditions of a kind that rows violate, or that the engine cannot evaluate, at the metadata in force."""
    latest = log.latest
    for each in log.row_counts.counts:
        if latest is not None and latest.metadata is not None and each.kind == kind and (each.count or each.problem):
            why = each.problem or ("1 row violates it" if each.count == 1 else f"{each.count:,} rows violate it")
            yield in_action(latest.metadata, f"{each.name}, {each.condition}: {why}")
