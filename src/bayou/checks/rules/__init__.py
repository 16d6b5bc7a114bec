# SPDX-License-Identifier: Apache-2.0
"""The rules of the check, one file for each section of PROTOCOL.md, or for a few small ones."""

from __future__ import annotations

from typing import Final

from bayou.checks.rule import Rule, Section
from bayou.checks.rules import (
    checkpoints,
    checksums,
    column_mapping,
    columns,
    data_files,
    deletion_vectors,
    features,
    files,
    log_entries,
    metadata,
    other_actions,
    protocol,
    row_tracking,
    schema,
    statistics,
)

SECTIONS: Final[tuple[Section, ...]] = (
    *(*log_entries.SECTIONS, *checkpoints.SECTIONS, *checksums.SECTIONS, *metadata.SECTIONS, *files.SECTIONS),
    *(*other_actions.SECTIONS, *protocol.SECTIONS, *column_mapping.SECTIONS, *deletion_vectors.SECTIONS),
    *(*row_tracking.SECTIONS, *features.SECTIONS, *data_files.SECTIONS, *columns.SECTIONS, *statistics.SECTIONS),
    *schema.SECTIONS,
)
"""All sections, in the order of the page."""

RULES: Final[tuple[Rule, ...]] = tuple(rule for section in SECTIONS for rule in section.rules)
"""The table of rules."""
