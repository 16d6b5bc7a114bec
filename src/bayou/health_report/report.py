# SPDX-License-Identifier: Apache-2.0
"""The formats of a health report: JSON, text, a page, and HTML for notebooks."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from bayou.health_report.facts import HealthFacts
from bayou.health_report.page import page
from bayou.report.html import facts_html, rows_html


class Health(HealthFacts):
    """The health of a table at a version; `print` shows it as text, a notebook as tables."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as one JSON document."""
        document: dict[str, Any] = _to_json(self)
        return document

    def to_html(self) -> str:
        """Return the report as one HTML page with plots, which needs no other file.

        Raises:
            MissingPackageError: Matplotlib is not installed.

        Examples:
            >>> Path("health.html").write_text(bayou.health("/data/orders").to_html(), encoding="utf-8")
        """
        return page(self)

    def __str__(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.facts().items() if value is not None]
        advice = [f"{each.why} {each.sql or each.python} {each.effect}" for each in self.advice]
        return "\n".join([f"Health of {self.table}", *lines, *advice])

    def __repr__(self) -> str:
        return f"Health({self.table!r}, version={self.version}, files={self.sizes.files}, advice={len(self.advice)})"

    def _repr_html_(self) -> str:
        advice = ((each.why, each.sql or each.python, each.effect) for each in self.advice)
        return facts_html(f"Health of {self.table}", self.facts()) + rows_html("What helps", ("why", "call", "effect"), advice)


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        return {_camel(each.name): _to_json(getattr(value, each.name)) for each in fields(value)}
    return [_to_json(each) for each in value] if isinstance(value, tuple) else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
