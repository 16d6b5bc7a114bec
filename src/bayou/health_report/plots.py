# SPDX-License-Identifier: Apache-2.0
"""The plots of a health report as SVG, drawn by Matplotlib, which the extra `report` installs."""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.report.units import count_text, size_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.health_report.facts import ColumnFacts, HealthFacts

_WIDTH: Final = 7.2
"""The width of a plot, in inches."""
_MOST_BARS: Final = 30
_LONGEST_LABEL: Final = 40
_BLUE, _LIGHT, _RED = "#00798c", "#9fd3da", "#d1495b"
# Text stays text, so that it can be searched. No `$` in a name begins a formula. Equal reports are equal files.
_STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bayou",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Plots:
    """Draws plots.

    Raises:
        MissingPackageError: Matplotlib is not installed.
    """

    def __init__(self) -> None:
        try:
            self._library = import_module("matplotlib")
            self._figure = import_module("matplotlib.figure")
            self._ticker = import_module("matplotlib.ticker")
        except ModuleNotFoundError as error:
            raise failed("rows-package-missing", method="A health report in HTML", name="Matplotlib", package="report") from error

    def sizes(self, health: HealthFacts) -> str:
        """Draw the number of files by size."""
        names = [each.text for each in health.sizes.classes]
        counts = [each.files for each in health.sizes.classes]
        notes = [
            f"{count_text(each.files, 'file')}, {size_text(each.bytes)}" if each.files else "" for each in health.sizes.classes
        ]
        return self._bars("sizes", names, [(counts, _BLUE, None)], notes, "files")

    def partitions(self, health: HealthFacts) -> str:
        """Draw the number of files of the partitions with the most small files."""
        rows = health.sizes.partitions
        names = [each.text for each in rows]
        series: list[tuple[list[int], str, str | None]] = [
            ([each.files for each in rows], _LIGHT, "all files"),
            ([each.small_files for each in rows], _BLUE, "small files"),
        ]
        return self._bars("partitions", names, series, [size_text(each.bytes) or "" for each in rows], "files")

    def reads(self, columns: Sequence[ColumnFacts]) -> str:
        """Draw how many files a point filter reads, by column."""
        names = [each.name for each in columns]
        series: list[tuple[list[float], str, str | None]] = [
            ([each.most_reads for each in columns], _LIGHT, "for the worst value"),
            ([each.average_reads for each in columns], _BLUE, "on average"),
        ]
        return self._bars("reads", names, series, [f"{each.average_reads:,.1f}" for each in columns], "files read")

    def missing(self, columns: Sequence[ColumnFacts]) -> str:
        """Draw how many files lack statistics, by column."""
        counts = [each.missing for each in columns]
        names = [each.name for each in columns]
        return self._bars("missing", names, [(counts, _RED, None)], [f"{each:,}" for each in counts], "files without statistics")

    def _bars(
        self, name: str, labels: Sequence[str], series: Sequence[tuple[Any, str, str | None]], notes: Sequence[str], axis: str
    ) -> str:
        """Draw horizontal bars, the first on top. Later series are drawn over earlier ones."""
        count = min(len(labels), _MOST_BARS)
        with self._library.rc_context({**_STYLE, "svg.hashsalt": f"bayou-{name}"}):
            figure = self._figure.Figure(figsize=(_WIDTH, 0.9 + 0.28 * max(count, 1)), layout="constrained")
            axes = figure.subplots()
            places = range(count)
            for values, color, label in series:
                axes.barh(places, values[:count], color=color, label=label, height=0.7)
            longest = max((value for values, _, _ in series for value in values[:count]), default=0) or 1
            for place in places:
                end = max(values[place] for values, _, _ in series)
                axes.annotate(notes[place], (end, place), xytext=(4, 0), textcoords="offset points", va="center", color="#555")
            axes.set_yticks(list(places), labels=[plain(each) for each in labels[:count]])
            axes.set_ylim(count - 0.4, -0.6)
            axes.set_xlim(0, longest * 1.3)
            axes.xaxis.set_major_locator(self._ticker.MaxNLocator(5, integer=True))
            axes.xaxis.set_major_formatter(self._ticker.StrMethodFormatter("{x:,.0f}"))
            axes.set_xlabel(axis)
            if any(label for _, _, label in series):
                figure.legend(loc="outside upper right", ncols=len(series), frameon=False)
            out = io.StringIO()
            figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        text = out.getvalue()
        return text[text.index("<svg") :]


def plain(text: str) -> str:
    """Return a label that fits. Control characters, which XML does not allow, are escaped."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
    return shown if len(shown) <= _LONGEST_LABEL else f"{shown[: _LONGEST_LABEL - 1]}…"
