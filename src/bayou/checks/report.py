# SPDX-License-Identifier: Apache-2.0
"""The result of a check: the findings, and the exit code that follows from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from bayou.checks.rule import Severity
from bayou.report.html import rows_html


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in a table that breaks a rule of the protocol.

    Attributes:
        rule: the id of the rule.
        severity: how bad it is.
        section: the section of PROTOCOL.md.
        text: the sentence that the table breaks.
        detail: what is wrong at this place.
        file: the log file, relative to the table.
        line: the line or the row in the file, counted from one; None for the whole file.
        action: the name of the action; None if the place is not an action.
        writer: the engine that wrote the file, if known.
        more: the number of further places that are not listed.
    """

    rule: str
    severity: Severity
    section: str
    text: str
    detail: str
    file: str
    line: int | None = None
    action: str | None = None
    writer: str | None = None
    more: int = 0

    @property
    def place(self) -> str:
        """The file and the line."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def to_json(self) -> dict[str, Any]:
        """Return the finding as one JSON object."""
        names = ("rule", "section", "text", "detail", "file", "line", "action", "writer", "more")
        return {"severity": self.severity.name.lower(), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a check, the worst first.

    Attributes:
        table: the URI of the table.
        version: the latest version of the log.
        rules: the number of rules that were checked.
        findings: what was found.
    """

    table: str
    version: int
    rules: int
    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """0 if nothing is risky or broken, 1 if something is risky, 2 if something is broken."""
        return max((int(each.severity) for each in self.findings), default=0)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that break the protocol. Readers may fail or return wrong rows."""
        return self._of(Severity.BROKEN)

    @property
    def risky(self) -> tuple[Finding, ...]:
        """The findings with which some readers or writers fail, or that leave the table without a protection."""
        return self._of(Severity.RISKY)

    @property
    def odd(self) -> tuple[Finding, ...]:
        """The findings that affect no reader and no writer."""
        return self._of(Severity.ODD)

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings by severity, further places included."""
        found: Counter[Severity] = Counter()
        for each in self.findings:
            found[each.severity] += 1 + each.more
        return {each.name.lower(): found[each] for each in sorted(Severity, reverse=True)}

    def to_json(self) -> dict[str, Any]:
        """Return the report as one JSON document."""
        return {
            "table": self.table,
            "version": self.version,
            "rules": self.rules,
            "counts": self.counts,
            "findings": [each.to_json() for each in self.findings],
        }

    def _repr_html_(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        rows = ((each.severity.name.lower(), each.rule, each.place, each.detail, each.writer) for each in self.findings)
        title = f"{self.table} at version {self.version}: {counts}"
        return rows_html(title, ("severity", "rule", "place", "finding", "writer"), rows)

    def __str__(self) -> str:
        lines = [f"{each.severity.name.lower()}: {each.rule} at {each.place}: {each.detail}" for each in self.findings]
        return "\n".join([f"{self.table} at version {self.version}: {len(self.findings)} findings", *lines])

    def _of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity is severity)
