# SPDX-License-Identifier: Apache-2.0
"""Render the support matrix of the documentation from the features that the code knows."""

from __future__ import annotations

from typing import Final

from bayou.protocol.actions.actions import Metadata
from bayou.protocol.evolution.drop_feature import DROPPABLE
from bayou.protocol.features.features import FEATURES, MAX_READER_VERSION, MAX_WRITER_VERSION, Enablement, Feature
from bayou.protocol.types.schema import StructType

_HEADER: Final = ("Feature", "Protocol", "Read", "Write", "Enabled by", "Drop")
_NOTES: Final = {
    "Protocol": "Protocol: the reader and writer version from which on the feature exists; versions 3 and 7 list features by name.",
    "unless used": "Write: `unless used` means that a table may list the feature, but may not use it.",
    "Enabled by": "Enabled by: `delta.feature.<name>` = `supported` enables every feature but clustering, too.",
    "(new tables)": "Enabled by: `(new tables)` means that an existing table gets the feature only by `delta.feature.<name>`.",
}
"""The notes by the words of the table that they explain."""
# A table without properties and columns.
_NOTHING: Final = (Metadata("", ""), StructType())
_UNRESTRICTED: Final = Feature("", reader_writer=False).write_blocked


def feature_matrix() -> str:
    """Return a Markdown table of all features, with notes."""
    rows = [_row(FEATURES[name]) for name in sorted(FEATURES, key=str.lower)]
    table = "\n".join([_line(_HEADER), _line(("---",) * len(_HEADER)), *map(_line, rows)])
    notes = "\n".join(f"- {note}" for words, note in _NOTES.items() if words in table)
    return f"{table}\n\n{notes}\n"


def _row(feature: Feature) -> tuple[str, ...]:
    return (
        f"`{feature.name}`",
        _versions(feature),
        "yes" if feature.read else "no",
        _write(feature),
        _enabled_by(feature.enabled_by),
        "yes" if feature.name in DROPPABLE else "no",
    )


def _versions(feature: Feature) -> str:
    writer = feature.legacy_writer or MAX_WRITER_VERSION
    if not feature.reader_writer:
        return f"writer {writer}"
    return f"reader {feature.legacy_reader or MAX_READER_VERSION}, writer {writer}"


def _write(feature: Feature) -> str:
    if not feature.read or feature.write_blocked(*_NOTHING):
        return "no"
    return "yes" if feature.write_blocked is _UNRESTRICTED else "unless used"


def _enabled_by(enablement: Enablement) -> str:
    if not enablement.text:
        return "-"
    return enablement.text if enablement.auto else f"{enablement.text} (new tables)"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
